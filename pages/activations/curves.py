"""The functions: curves and slopes on one axis, formulas, values at one x."""

import numpy as np
import streamlit as st

from bertviz_core.analysis.activations import ACTIVATIONS, activate, differentiate
from bertviz_core.experiments.activation_times import NUM_NUMBERS, time_activations
from bertviz_core.figures.activations import Curve, curves_figure
from bertviz_core.snippets import activations as snippets
from pages.activations.widgets import LABELS, choose_functions, number, slide
from pages.shared.answers import ask, ask_job
from pages.shared.choices import switch_linked
from pages.shared.export import show_figure
from pages.shared.language import plain, t, table, words_of
from pages.shared.panel import panel, program

FARTHEST = 5.0
_DEFAULT = ["sigmoid", "relu", "gelu"]
# A slope that jumps does so at 0: both sides of it are drawn.
_NEAR_ZERO = 1e-6
_POINTS = np.concatenate(
    [np.linspace(-FARTHEST, -_NEAR_ZERO, 121), np.linspace(_NEAR_ZERO, FARTHEST, 121)]
)
_CARDS_BESIDE = 3
# f(x) and f′(x), in LaTeX.
FORMULAS = {
    "sigmoid": (
        r"\sigma(x)=\frac{1}{1+e^{-x}}",
        r"\sigma'(x)=\sigma(x)\,\bigl(1-\sigma(x)\bigr)",
    ),
    "tanh": (r"\tanh x=\frac{e^{x}-e^{-x}}{e^{x}+e^{-x}}", r"\tanh' x=1-\tanh^2x"),
    "relu": (r"f(x)=\max(0,x)", r"f'(x)=\begin{cases}1&x>0\\0&x\le0\end{cases}"),
    "leaky_relu": (
        r"f(x)=\begin{cases}x&x>0\\\lambda x&x\le0\end{cases}",
        r"f'(x)=\begin{cases}1&x>0\\\lambda&x\le0\end{cases}",
    ),
    "prelu": (
        r"f(x)=\begin{cases}x&x>0\\a\,x&x\le0\end{cases}",
        r"\begin{aligned}\tfrac{\partial f}{\partial x}"
        r"&=\begin{cases}1&x>0\\a&x\le0\end{cases}\\[2ex]"
        r"\tfrac{\partial f}{\partial a}"
        r"&=\begin{cases}0&x>0\\x&x\le0\end{cases}\end{aligned}",
    ),
    "elu": (
        r"f(x)=\begin{cases}x&x>0\\\alpha\,(e^{x}-1)&x\le0\end{cases}",
        r"f'(x)=\begin{cases}1&x>0\\\alpha\,e^{x}&x\le0\end{cases}",
    ),
    "gelu": (
        r"\begin{aligned}f(x)&=x\,\Phi(x)\\&=\tfrac{x}{2}"
        r"\bigl[1+\operatorname{erf}\tfrac{x}{\sqrt2}\bigr]\end{aligned}",
        r"f'(x)=\Phi(x)+x\,\varphi(x)",
    ),
    "gelu_tanh": (
        r"\begin{aligned}f(x)&=\tfrac{x}{2}\,(1+\tanh u)\\"
        r"u&=\sqrt{\tfrac{2}{\pi}}\,(x+c\,x^3)\\c&=0.044715\end{aligned}",
        r"\begin{aligned}f'(x)=\;&\tfrac12(1+\tanh u)\\"
        r"&+\tfrac{x}{2}(1-\tanh^2u)\,u'\end{aligned}",
    ),
    "swish": (
        r"f(x)=x\,\sigma(\beta x)",
        r"\begin{aligned}f'(x)=\;&\sigma(\beta x)\\"
        r"&+\beta x\,\sigma'(\beta x)\end{aligned}",
    ),
}


@panel
def explore_curves() -> None:
    """Draws the choice, the figure and a card for every chosen function."""
    names = choose_functions("act_functions", _DEFAULT, t("activations.functions_help"))
    slopes_box, reading_box = st.columns([1, 2], vertical_alignment="bottom")
    with slopes_box:
        with_slopes = switch_linked("activations.slopes", default=True)
    read_at = slide(reading_box, "read_at", -FARTHEST, FARTHEST, 1.0, 0.05, key="act_x")
    if not names:
        st.info(t("activations.choose_some"), icon=":material/touch_app:")
        return
    parameters = _choose_parameters(names)
    curves = [_curve(name, read_at, parameters.get(name)) for name in names]
    columns = {"x": _POINTS.tolist()}
    for curve in curves:
        slope = plain("activations.column_slope", name=curve.label)
        columns |= {curve.label: curve.values.tolist(), slope: curve.slopes.tolist()}
    show_figure(
        curves_figure(_POINTS, curves, read_at, words_of("activations"), with_slopes),
        name="activations_curves",
        description=t("activations.curves_described", x=read_at),
        columns=columns,
        code=program(
            snippets.CURVES,
            functions=tuple((name, parameters.get(name)) for name in names),
            x=read_at,
        ),
    )
    for start in range(0, len(curves), _CARDS_BESIDE):
        row = curves[start : start + _CARDS_BESIDE]
        boxes = st.columns(min(len(curves), _CARDS_BESIDE), border=True)
        for box, curve in zip(boxes, row, strict=False):
            box.markdown(_card(curve, read_at))
    with st.expander(t("activations.times"), icon=":material/timer:"):
        _offer_times()


def _offer_times() -> None:
    """Draws the button that times all functions, then what they take."""
    st.markdown(t("activations.times_intro", count=NUM_NUMBERS))
    found = ask_job(
        "activation_times", "activations.times_start", ask(time_activations).about()
    )
    if found is None:
        return
    words = ("function", "time", "gradient_time")
    titles = [plain(f"activations.column_{word}") for word in words]
    rows = [
        [
            LABELS.get(name) or plain("activations.times_alone"),
            *(f"{1000 * s:.2f} ms" for s in (one.seconds, one.gradient_seconds)),
        ]
        for name, one in found.items()
    ]
    st.markdown(table(titles, rows))
    st.caption(t("activations.times_read"))


def _choose_parameters(names: tuple[str, ...]) -> dict[str, float]:
    """A slider for each chosen function that has a parameter."""
    shaped = {
        name: parameter
        for name in names
        if (parameter := ACTIVATIONS[name].parameter) is not None
    }
    if not shaped:
        return {}
    boxes = zip(st.columns(max(len(shaped), 2)), shaped.items(), strict=False)
    return {
        name: slide(
            box,
            name,
            parameter.lowest,
            parameter.highest,
            parameter.default,
            0.01,
            label=f"{LABELS[name]}: ${parameter.symbol}$",
            hint=f"parameter_{name}",
        )
        for box, (name, parameter) in boxes
    }


def _curve(name: str, read_at: float, parameter: float | None) -> Curve:
    at = np.array(read_at)
    return Curve(
        name=name,
        label=LABELS[name],
        values=activate(name, _POINTS, parameter),
        slopes=differentiate(name, _POINTS, parameter),
        value=float(activate(name, at, parameter)),
        slope=float(differentiate(name, at, parameter)),
    )


def _card(curve: Curve, read_at: float) -> str:
    value, slope = FORMULAS[curve.name]
    places = {"x": read_at, "value": number(curve.value, 4)}
    lines = (
        f"**{curve.label}**",
        f"$$\n{value}\n$$",
        f"$$\n{slope}\n$$",
        t("activations.reading", **places, slope=number(curve.slope, 4)),
        t(f"activations.about_{curve.name}"),
    )
    return "\n\n".join(lines)
