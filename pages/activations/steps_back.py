"""Back-propagation to one weight, in three steps, with the numbers of the moment."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from bertviz_core.analysis.dying_neurons import NUM_EXAMPLES, Training
from pages.activations.widgets import slide
from pages.activations.wording import LABELS
from pages.shared.language import t
from pages.shared.markdown import Markdown


def show_steps_back(trainings: Mapping[str, Training], neuron: int, step: int) -> None:
    """Draws what folds out: an example, and its way back in both networks."""
    box = st.expander(
        t("activations.steps_back", neuron=neuron + 1),
        icon=":material/undo:",
        key="act_steps_back",
        on_change="rerun",
    )
    if not box.open:
        return
    with box:
        st.markdown(t("activations.steps_back_intro"))
        example = slide(st, "example", 1, NUM_EXAMPLES, 30) - 1
        columns = zip(st.columns(len(trainings)), trainings.items(), strict=True)
        for column, (name, training) in columns:
            lines = (f"**{LABELS[name]}**", *_steps(training, step, neuron, example))
            column.markdown("\n\n".join(lines))


def _steps(training: Training, step: int, neuron: int, example: int) -> tuple[str, ...]:
    found = training.steps_back(step, neuron)
    error, residual, slope, x, term = (
        _tex(float(values[example]))
        for values in (
            *(found.errors, found.residuals, found.slopes),
            *(found.inputs, found.terms),
        )
    )
    loss, gradient = (
        _tex(float(value)) for value in ((found.errors**2).mean(), found.terms.sum())
    )
    formulas = {
        "loss": (
            r"L=\tfrac1P\sum_p(y_p-t_p)^2=" + loss,
            rf"(y_p-t_p)^2=({error})^2",
        ),
        "residual": (
            r"\delta_p=\tfrac{\partial L}{\partial y_p}=\tfrac2P(y_p-t_p)",
            rf"\tfrac{{2}}{{{NUM_EXAMPLES}}}\cdot({error})={residual}",
        ),
        "gradient": (
            r"\tfrac{\partial L}{\partial w}=\sum_p\delta_p\,v\,f'(z_p)\,x_p="
            + gradient,
            rf"({residual})\cdot({_tex(found.out)})\cdot {slope}\cdot({x})={term}",
        ),
    }
    told = [
        f"{t(f'activations.steps_back_{name}')}\n\n$$\n{formula}\n$$\n\n"
        + t("activations.steps_back_here", numbers=Markdown(f"${numbers}$"))
        for name, (formula, numbers) in formulas.items()
    ]
    dead = int((found.slopes == 0).sum())
    return (*told, t("activations.steps_back_dead", dead=dead, count=NUM_EXAMPLES))


def _tex(value: float) -> str:
    """A number inside a formula."""
    mantissa, _, power = f"{value:.3g}".partition("e")
    return mantissa + (rf"\cdot10^{{{int(power)}}}" if power else "")
