"""GELU: from the normal distribution to the formula, and its stand-in with tanh."""

import math
from collections.abc import Mapping

import numpy as np
import streamlit as st

from bertviz_core.analysis.activations import (
    PAPER_CONSTANT,
    erf,
    normal_cumulative,
    normal_density,
)
from bertviz_core.analysis.gelu_approximation import (
    MEASURES,
    TAYLOR_CONSTANT,
    approximation_error,
    best_constant,
    largest_error,
    largest_errors,
    sampled_gate,
)
from bertviz_core.figures.gelu import error_figure, largest_error_figure, normal_figure
from bertviz_core.snippets import activations as snippets
from pages.activations.widgets import choose_seed, number, slide
from pages.shared.choices import choose_linked, choose_named
from pages.shared.export import show_figure
from pages.shared.language import t, words_of
from pages.shared.navigation import link_to
from pages.shared.panel import button, panel, program, show_number, show_numbers

_POINTS = np.linspace(-4, 4, 161)
_GATES = np.linspace(-4, 4, 33)
_DRAWS = ("1", "10", "100", "1000", "10000")
_NEAR = 0.05
_ERROR_POINTS = np.linspace(-5, 5, 251)
_LOWEST, _HIGHEST = 0.04, 0.05
_CONSTANTS = np.linspace(_LOWEST, _HIGHEST, 81)
_DIGITS = 6  # of the constant, behind the point
# The address of the question about both on the page of masked words.
_TWO_KINDS = {"read_panel": "wrong", "read_wrong": "gelu_curve"}

# Each step of a derivation: the key of its sentence, and its formula. Tests check
# every one of these equations numerically.
GELU_STEPS = {
    "gelu_step_gate": (
        r"\begin{gathered}Z\sim\mathcal N(0,1)\\"
        r"m=\begin{cases}1&Z\le x\\0&Z>x\end{cases}\end{gathered}"
    ),
    "gelu_step_density": (
        r"\begin{gathered}\varphi(t)=\frac{1}{\sqrt{2\pi}}\,e^{-t^2/2}\\"
        r"\int_{-\infty}^{\infty}\varphi(t)\,dt=1\end{gathered}"
    ),
    "gelu_step_cumulative": r"\Phi(x)=P(Z\le x)=\int_{-\infty}^{x}\varphi(t)\,dt",
    "gelu_step_mean": (
        r"\begin{aligned}E[m\,x]&=\Phi(x)\cdot x+\bigl(1-\Phi(x)\bigr)\cdot0\\"
        r"&=x\,\Phi(x)=\operatorname{GELU}(x)\end{aligned}"
    ),
    "gelu_step_half": (
        r"\Phi(x)=\frac12+\int_{0}^{x}\frac{1}{\sqrt{2\pi}}\,e^{-t^2/2}\,dt"
    ),
    "gelu_step_substitution": (
        r"\begin{aligned}&\int_{0}^{x}\frac{1}{\sqrt{2\pi}}\,e^{-t^2/2}\,dt\\"
        r"&=\frac{1}{\sqrt{\pi}}\int_{0}^{x/\sqrt2}e^{-s^2}\,ds\end{aligned}"
    ),
    "gelu_step_erf": (
        r"\begin{gathered}\operatorname{erf}(u)"
        r"=\frac{2}{\sqrt\pi}\int_0^u e^{-s^2}\,ds\\"
        r"\Phi(x)=\frac12\Bigl[1+\operatorname{erf}\frac{x}{\sqrt2}\Bigr]"
        r"\end{gathered}"
    ),
    "gelu_step_result": (
        r"\operatorname{GELU}(x)"
        r"=\frac{x}{2}\Bigl[1+\operatorname{erf}\frac{x}{\sqrt2}\Bigr]"
    ),
    "gelu_step_derivative": (
        r"\begin{aligned}\operatorname{GELU}'(x)&=\Phi(x)+x\,\Phi'(x)\\"
        r"&=\Phi(x)+x\,\varphi(x)\end{aligned}"
    ),
}
TANH_STEPS = {
    "tanh_step_idea": (
        r"\begin{gathered}\operatorname{erf}\frac{x}{\sqrt2}\approx\tanh u(x)\\"
        r"u(x)=\sqrt{\tfrac{2}{\pi}}\,\bigl(x+c\,x^3\bigr)\end{gathered}"
    ),
    "tanh_step_erf": (
        r"\operatorname{erf}\frac{x}{\sqrt2}"
        r"=\sqrt{\tfrac{2}{\pi}}\,\Bigl(x-\frac{x^3}{6}+\frac{x^5}{40}-\dots\Bigr)"
    ),
    "tanh_step_tanh": r"\tanh u=u-\frac{u^3}{3}+\frac{2u^5}{15}-\dots",
    "tanh_step_insert": (
        r"\begin{aligned}&\tanh u(x)=\\&\sqrt{\tfrac{2}{\pi}}\,"
        r"\Bigl(x+\Bigl[c-\frac{2}{3\pi}\Bigr]x^3+\dots\Bigr)\end{aligned}"
    ),
    "tanh_step_equal": (
        r"\begin{gathered}c-\frac{2}{3\pi}=-\frac16\\"
        r"c=\frac{2}{3\pi}-\frac16=\frac{4-\pi}{6\pi}\\"
        r"=0.04553992\ldots\end{gathered}"
    ),
}


@panel
def explore_normal() -> None:
    """Draws the normal density, Φ, erf and GELU, read out at one x."""
    x_box, mean_box, spread_box = st.columns([2, 1, 1])
    read_at = slide(
        x_box, "read_at", -4.0, 4.0, 1.0, 0.05, key="act_normal_x", hint="normal_x_help"
    )
    normal = (
        slide(mean_box, "normal_mean", -2.0, 2.0, 0.0, 0.05),
        slide(spread_box, "normal_spread", 0.1, 3.0, 1.0, 0.05),
    )
    values = _values(_POINTS, *normal)
    read = _values(np.array(read_at), *normal)
    at = {name: float(value) for name, value in read.items()}
    show_numbers({f"activations.figure_{name}": number(at[name], 4) for name in at})
    draws_box, seed_box = st.columns([3, 1])
    widget, label = draws_box.segmented_control, "activations.draws"
    num_draws = int(choose_linked(widget, label, _DRAWS, _DRAWS[2], required=True))
    seed = choose_seed(seed_box, "act_gate_seed", 0)
    means = sampled_gate(_GATES, num_draws, seed, *normal)
    sampled = _GATES, means[-1]
    words = words_of("activations")
    show_figure(
        normal_figure(_POINTS, values, read_at, words, sampled),
        name="activations_normal",
        description=t(
            "activations.normal_described", x=read_at, share=at["cumulative"]
        ),
        columns=_columns(_POINTS, values),
        code=program(
            snippets.NORMAL,
            x=read_at,
            mean=normal[0],
            spread=normal[1],
            num_draws=num_draws,
            seed=seed,
        ),
    )
    st.markdown(_meeting(means, *normal))
    with st.expander(t("activations.gelu_derivation"), icon=":material/functions:"):
        st.markdown(_derivation(GELU_STEPS))


@panel
def explore_approximation() -> None:
    """Draws the constant, the error of the tanh form, and the largest one."""
    with st.expander(t("activations.tanh_derivation"), icon=":material/functions:"):
        st.markdown(_derivation(TANH_STEPS))
    measure = choose_named("activations.measure", MEASURES, "act_measure")
    constants = {
        "chosen": _choose_constant(measure),
        "taylor": TAYLOR_CONSTANT,
        "paper": PAPER_CONSTANT,
    }
    marked = {**constants, "best": best_constant(measure)}
    worst = {name: largest_error(c, measure) for name, c in marked.items()}
    for box, (name, error) in zip(st.columns(4), worst.items(), strict=True):
        title = t(f"activations.constant_{name}", constant=marked[name])
        said = number(error.error, 4), t("activations.worst_at", x=error.x)
        show_number(box, title, *said, t("activations.worst_help"))
    errors, peaks = {}, {}
    for name, constant in constants.items():
        errors[name] = approximation_error(_ERROR_POINTS, constant, measure)
        x = worst[name].x
        peaks[name] = x, float(approximation_error(np.array(x), constant, measure))
    words = words_of("activations")
    show_figure(
        error_figure(_ERROR_POINTS, errors, peaks, words),
        name="activations_error",
        description=t("activations.error_described"),
        columns=_columns(_ERROR_POINTS, errors),
        code=program(
            snippets.APPROXIMATION, measure=measure, constant=constants["chosen"]
        ),
    )
    largest = largest_errors(_CONSTANTS, measure)
    ends = {name: (marked[name], worst[name].error) for name in marked}
    show_figure(
        largest_error_figure(_CONSTANTS, largest, ends, words),
        name="activations_largest_error",
        description=t("activations.largest_described"),
        columns={
            "activations.figure_constant": _CONSTANTS,
            "activations.figure_largest_error": largest,
        },
    )
    places = {"gelu": best_constant("gelu"), "cumulative": best_constant("cumulative")}
    st.markdown(t("activations.best_found", **places, paper=PAPER_CONSTANT))
    link_to("read_model", "activations.gelu_on_model", "arrow_forward", _TWO_KINDS)


def _derivation(steps: Mapping[str, str]) -> str:
    """Sentences and formulas in turn, as Markdown: one element for all of them."""
    return "\n\n".join(
        f"{number}. {t(f'activations.{key}')}\n\n$$\n{formula}\n$$"
        for number, (key, formula) in enumerate(steps.items(), start=1)
    )


def _columns(x: np.ndarray, curves: Mapping[str, np.ndarray]) -> dict[str, list[float]]:
    named = {f"activations.figure_{name}": y for name, y in curves.items()}
    return {name: y.tolist() for name, y in {"x": x, **named}.items()}


def _values(x: np.ndarray, mean: float, spread: float) -> dict[str, np.ndarray]:
    z = (x - mean) / spread
    return {
        "density": normal_density(z) / spread,
        "cumulative": normal_cumulative(z),
        "error_function": erf(z / math.sqrt(2)),
        "gelu": x * normal_cumulative(z),
    }


def _meeting(means: np.ndarray, mean: float, spread: float) -> str:
    """How far the gate's means are from the curve, and since when they are near."""
    share = normal_cumulative((_GATES - mean) / spread)
    apart = np.abs(means - _GATES * share).max(axis=1)  # [n]
    far = np.flatnonzero(apart >= _NEAR)
    since = int(far[-1]) + 2 if len(far) else 1
    expected = np.abs(_GATES) * np.sqrt(share * (1 - share) / len(means))
    return t(
        "activations.gate_meets" if since <= len(means) else "activations.gate_apart",
        draws=len(means),
        apart=number(float(apart[-1])),
        expected=number(float(expected.max())),
        near=_NEAR,
        since=since,
    )


def _choose_constant(measure: str) -> float:
    slider_box, buttons_box = st.columns([3, 2], vertical_alignment="bottom")
    constant = slide(
        slider_box,
        "constant",
        _LOWEST,
        _HIGHEST,
        round(PAPER_CONSTANT, _DIGITS),
        10.0**-_DIGITS,
        format=f"%.{_DIGITS}f",
    )
    with buttons_box.container(horizontal=True):
        known = {"taylor": TAYLOR_CONSTANT, "paper": PAPER_CONSTANT}
        for name, value in {**known, "best": best_constant(measure)}.items():
            taken = {"act_constant": round(value, _DIGITS)}
            label, take = t(f"activations.figure_{name}"), st.session_state.update
            button(label, f"act_take_{name}", "", take, taken)
    return constant
