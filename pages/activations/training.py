"""A ReLU that dies while it trains, its twin that does not, and a player of both."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.analysis.activations import ACTIVATIONS
from bertviz_core.analysis.dying_neurons import (
    LEARNED,
    NUM_EXAMPLES,
    NUM_NEURONS,
    Training,
    train,
)
from bertviz_core.figures.small_trainings import fit_figure, neuron_figure
from bertviz_core.snippets import activations as snippets
from pages.activations.widgets import (
    LABELS,
    choose_function,
    choose_seed,
    number,
    slide,
)
from pages.shared.choices import choose_linked_or_none
from pages.shared.export import show_curves, show_figure
from pages.shared.language import Markdown, plain, t, words_of
from pages.shared.panel import Program, folded, program, show_number
from pages.shared.player import play_steps

_STEPS_A_SECOND = 20


def watch_training(
    trainings: Mapping[str, Training], neuron: int, code: Program
) -> None:
    """Draws the steps with their play button, and both networks at a step."""
    first = next(iter(trainings.values()))
    last, words = len(first.losses) - 1, words_of("activations")
    by_step: dict[str, Any] = {"activations.figure_step": range(last + 1)}
    for name, training in trainings.items():
        for measure in ("activity", "gradients"):
            column = plain(f"activations.column_{measure}", name=LABELS[name])
            by_step[column] = getattr(training, measure)[:, neuron]

    def draw(step: int) -> None:
        neuron_box, fit_box = st.columns(2)
        with neuron_box:
            show_figure(
                neuron_figure(trainings, LABELS, neuron, step, words),
                name="activations_neuron",
                description=t("activations.neuron_described", neuron=neuron + 1),
                columns=by_step,
                code=code,
            )
        outputs = {LABELS[name]: one.outputs[step] for name, one in trainings.items()}
        with fit_box:
            show_figure(
                fit_figure(trainings, LABELS, step, words),
                name="activations_fit",
                description=t("activations.fit_described", step=step),
                columns={
                    "activations.figure_input": first.inputs,
                    "activations.figure_examples": first.targets,
                    **outputs,
                },
            )
        show_steps_back(trainings, neuron, step)

    play_steps("act_step", "activations.step", last, draw, _STEPS_A_SECOND)


def show_steps_back(trainings: Mapping[str, Training], neuron: int, step: int) -> None:
    """Draws what folds out: an example, and its way back in both networks."""
    label = t("activations.steps_back", neuron=neuron + 1)
    box = folded(label, "undo", "act_steps_back", st.expander)
    if box is None:
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
        "loss": (r"L=\tfrac1P\sum_p(y_p-t_p)^2=" + loss, rf"(y_p-t_p)^2=({error})^2"),
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


# A start from which one ReLU dies after a few steps and its twin comes back; tests
# hold it to that.
FIRST_SEED = 214
NUM_STEPS = 300
TWINS = ("leaky_relu", "elu", "prelu", "gelu", "swish")
# A leak with which the twin comes back while one watches.
_FIRST_PARAMETERS = {"leaky_relu": 0.1}
# Looking at another step or neuron trains nothing again.
_trained = st.cache_data(max_entries=32, show_spinner=False)(train)


def explore_training() -> None:
    """Draws the settings, both trainings, and one neuron of both."""
    rate_box, twin_box, parameter_box, seed_box = st.columns(4)
    rate = slide(rate_box, "learning_rate", 0.01, 1.0, 0.1, 0.01, key="act_rate")
    twin = choose_function(twin_box, "twin", TWINS, key="act_twin")
    parameter = _choose_parameter(parameter_box, twin)
    seed = choose_seed(seed_box, "act_dead_seed", FIRST_SEED)
    functions = (("relu", None), (twin, parameter))
    run: dict[str, Any] = {"num_steps": NUM_STEPS, "seed": seed, "learning_rate": rate}
    trainings = {name: _trained(name, parameter=p, **run) for name, p in functions}
    for box, (name, training) in zip(st.columns(2), trainings.items(), strict=True):
        dead = int((training.died_at() >= 0).sum())
        show_number(
            box,
            t("activations.dead_of", name=LABELS[name]),
            t("activations.dead_count", dead=dead, count=NUM_NEURONS),
            t("activations.loss_at_end", loss=number(float(training.losses[-1]))),
            t("activations.dead_help"),
        )
    neuron = _choose_neuron(trainings["relu"])
    st.markdown(_story(trainings, twin, neuron))
    code = program(snippets.TRAINING, functions=functions, neuron=neuron, **run)
    # Where both are alike, the one that dies shall be seen.
    watch_training(dict(reversed(trainings.items())), neuron, code)
    if twin == LEARNED:
        _show_leaks(trainings[twin])


def _choose_parameter(box: DeltaGenerator, twin: str) -> float | None:
    """The number that shapes the twin's function; `None` if it has none."""
    shape = ACTIVATIONS[twin].parameter
    if shape is None:
        return None
    symbol = Markdown(shape.symbol)
    return slide(
        box,
        twin,
        max(shape.lowest, 0.01),
        shape.highest,
        _FIRST_PARAMETERS.get(twin, shape.default),
        0.01,
        key=f"act_twin_{twin}",
        label=t("activations.twin_parameter", name=LABELS[twin], symbol=symbol),
        hint=f"parameter_{twin}",
    )


def _choose_neuron(training: Training) -> int:
    """The chosen neuron, from 0; the one that died first where none is chosen."""
    died_at = training.died_at()
    names = {str(neuron + 1): str(neuron + 1) for neuron in range(NUM_NEURONS)}
    for dead in map(str, np.flatnonzero(died_at >= 0) + 1):
        names[dead] = plain("activations.neuron_dies", number=dead)
    chosen = choose_linked_or_none(
        st.segmented_control,
        "activations.neuron",
        list(names),
        format_func=names.__getitem__,
    )
    if chosen is not None:
        return int(chosen) - 1
    return int(np.where(died_at < 0, NUM_STEPS + 1, died_at).argmin())


def _story(trainings: dict[str, Training], twin: str, neuron: int) -> str:
    """What happened to one neuron in both networks, as measured."""
    died_at = int(trainings["relu"].died_at()[neuron])
    key = "activations.story_lives" if died_at < 0 else "activations.story_dies"
    activity = float(trainings["relu"].activity[-1, neuron])
    relu_story = t(key, neuron=neuron + 1, step=died_at, activity=activity)
    other = trainings[twin]
    smallest = other.gradients[:, neuron]
    twin_story = t(
        "activations.story_twin",
        name=LABELS[twin],
        lowest=float(other.activity[:, neuron].min()),
        activity=float(other.activity[-1, neuron]),
        gradient=number(float(smallest.min())),
        step=int(smallest.argmin()),
    )
    return f"{relu_story}\n\n{twin_story}"


def _show_leaks(training: Training) -> None:
    """What PReLU's neurons made of their slopes left of 0."""
    st.subheader(t("activations.leaks_title"), anchor=False)
    leaks = training.leaks
    show_curves(
        {
            plain("activations.neuron_number", number=index + 1): leaks[:, index]
            for index in range(NUM_NEURONS)
        },
        "activations.figure_step",
        title="activations.figure_leak",
        name="activations_leaks",
        description=t(
            "activations.leaks_described",
            start=float(leaks[0, 0]),
            low=float(leaks[-1].min()),
            high=float(leaks[-1].max()),
        ),
    )
