"""GELU: from the normal distribution to the formula, and its stand-in with tanh."""

from __future__ import annotations

import math

import numpy as np
import streamlit as st

from bertviz_core.analysis.activations import (
    activate,
    erf,
    normal_cumulative,
    normal_density,
)
from bertviz_core.analysis.gelu_approximation import (
    MEASURES,
    PAPER_CONSTANT,
    TAYLOR_CONSTANT,
    approximation_error,
    best_constant,
    largest_error,
    largest_errors,
)
from bertviz_core.figures.gelu import error_figure, largest_error_figure, normal_figure
from bertviz_core.snippets import activations as snippets
from pages.ui.activations.choosing import choose_one
from pages.ui.activations.formulas import GELU_STEPS, TANH_STEPS
from pages.ui.activations.wording import derivation, gelu_words, number
from pages.ui.code import show_code
from pages.ui.errors import shown_to_user
from pages.ui.export import show_figure
from pages.ui.language import plain, t

_POINTS = np.linspace(-4, 4, 161)
_ERROR_POINTS = np.linspace(-5, 5, 251)
_LOWEST, _HIGHEST = 0.04, 0.05
_CONSTANTS = np.linspace(_LOWEST, _HIGHEST, 81)
_DIGITS = 6  # of the constant, behind the point


@st.fragment
def explore_normal() -> None:
    """Draws the normal density, Φ, erf and GELU, read out at one x."""
    with shown_to_user():
        read_at = st.slider(
            t("activations.read_at"),
            -4.0,
            4.0,
            1.0,
            0.05,
            key="act_normal_x",
            bind="query-params",
            help=t("activations.normal_x_help"),
        )
        values = _values(_POINTS)
        at = {name: float(value) for name, value in _values(np.array(read_at)).items()}
        for box, (name, value) in zip(st.columns(4), at.items(), strict=True):
            box.metric(t(f"activations.figure_{name}"), number(value, 4))
        show_figure(
            normal_figure(_POINTS, values, read_at, gelu_words()),
            name="activations_normal",
            description=t(
                "activations.normal_described", x=read_at, share=at["cumulative"]
            ),
            columns={"x": _POINTS.tolist()}
            | {
                plain(f"activations.figure_{name}"): value.tolist()
                for name, value in values.items()
            },
        )
        show_code(snippets.NORMAL, name="activations_normal", x=read_at)
    with st.expander(t("activations.gelu_derivation"), icon=":material/functions:"):
        st.markdown(derivation(GELU_STEPS))


@st.fragment
def explore_approximation() -> None:
    """Draws the constant, the error of the tanh form, and the largest one."""
    with st.expander(t("activations.tanh_derivation"), icon=":material/functions:"):
        st.markdown(derivation(TANH_STEPS))
    with shown_to_user():
        measure = choose_one("act_measure", MEASURES, t("activations.measure"))
        constants = {"chosen": _choose_constant(measure)} | {
            "taylor": TAYLOR_CONSTANT,
            "paper": PAPER_CONSTANT,
        }
        marked = {**constants, "best": best_constant(measure)}
        worst = {name: largest_error(c, measure) for name, c in marked.items()}
        for box, (name, error) in zip(st.columns(4), worst.items(), strict=True):
            box.metric(
                t(f"activations.constant_{name}", constant=marked[name]),
                number(error.error, 4),
                t("activations.worst_at", x=error.x),
                delta_color="off",
                delta_arrow="off",
                help=t("activations.worst_help"),
            )
        errors = {
            name: approximation_error(_ERROR_POINTS, constant, measure)
            for name, constant in constants.items()
        }
        peaks = {
            name: _peak(worst[name].x, constants[name], measure) for name in errors
        }
        _show_errors(errors, peaks)
        _show_largest(
            {name: (marked[name], worst[name].error) for name in marked}, measure
        )
        _name_the_best()
        show_code(
            snippets.APPROXIMATION,
            name="activations_error",
            measure=measure,
            constant=constants["chosen"],
        )


def _name_the_best() -> None:
    st.markdown(
        t(
            "activations.best_found",
            gelu=best_constant("gelu"),
            cumulative=best_constant("cumulative"),
            paper=PAPER_CONSTANT,
        )
    )


def _values(x: np.ndarray) -> dict[str, np.ndarray]:
    return {
        "density": normal_density(x),
        "cumulative": normal_cumulative(x),
        "error_function": erf(x / math.sqrt(2)),
        "gelu": activate("gelu", x),
    }


def _choose_constant(measure: str) -> float:
    slider_box, buttons_box = st.columns([3, 2], vertical_alignment="bottom")
    constant = slider_box.slider(
        t("activations.constant"),
        _LOWEST,
        _HIGHEST,
        round(PAPER_CONSTANT, _DIGITS),
        10.0**-_DIGITS,
        format=f"%.{_DIGITS}f",
        key="act_constant",
        bind="query-params",
        help=t("activations.constant_help"),
    )
    with buttons_box.container(horizontal=True):
        for name, value in (
            ("taylor", TAYLOR_CONSTANT),
            ("paper", PAPER_CONSTANT),
            ("best", best_constant(measure)),
        ):
            st.button(
                t(f"activations.figure_{name}"),
                key=f"act_take_{name}",
                on_click=_take_constant,
                args=(round(value, _DIGITS),),
            )
    return constant


def _take_constant(constant: float) -> None:
    st.session_state["act_constant"] = constant


def _peak(x: float, constant: float, measure: str) -> tuple[float, float]:
    return x, float(approximation_error(np.array(x), constant, measure))


def _show_errors(
    errors: dict[str, np.ndarray], peaks: dict[str, tuple[float, float]]
) -> None:
    show_figure(
        error_figure(_ERROR_POINTS, errors, peaks, gelu_words()),
        name="activations_error",
        description=t("activations.error_described"),
        columns={"x": _ERROR_POINTS.tolist()}
        | {
            plain(f"activations.figure_{name}"): error.tolist()
            for name, error in errors.items()
        },
    )


def _show_largest(marked: dict[str, tuple[float, float]], measure: str) -> None:
    largest = largest_errors(_CONSTANTS, measure)
    show_figure(
        largest_error_figure(_CONSTANTS, largest, marked, gelu_words()),
        name="activations_largest_error",
        description=t("activations.largest_described"),
        columns={
            plain("activations.figure_constant"): _CONSTANTS.tolist(),
            plain("activations.figure_largest_error"): largest.tolist(),
        },
    )
