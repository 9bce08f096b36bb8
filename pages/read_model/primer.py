"""What Keras does with a layer and when, told on the shortest one of the core."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.experiments.primer import keras_primer
from bertviz_core.experiments.read_model_results import Primer
from pages.layers.walk import show_lines
from pages.shared.answers import ask
from pages.shared.language import t
from pages.shared.panel import panel

_METHODS = ("init", "build", "call")


@panel
def keras_primer_told() -> None:
    """Draws the three methods side by side, with what there is after each has run."""
    st.markdown(t("read_model.primer_intro"))
    primer = ask(keras_primer)()
    for name, moment in zip(_METHODS, primer.moments, strict=True):
        st.markdown(t(f"read_model.primer_{name}"))
        show_lines(moment.place)
    with st.expander(t("read_model.primer_numbers"), icon=":material/calculate:"):
        _show_numbers(primer)


def _show_numbers(primer: Primer) -> None:
    for name, moment in zip(_METHODS, primer.moments, strict=True):
        count = len(moment.weights)
        st.markdown(t(f"read_model.primer_after_{name}", count=count))
        if name == "build":
            for weight, values in moment.weights.items():
                st.latex(_equation(weight, _matrix(values)))
    kernel, bias = primer.moments[-1].weights.values()
    x, y = _matrix(primer.x), _matrix(primer.y)
    st.latex(_equation("y", rf"{x}\,{_matrix(kernel)} + {_matrix(bias)} = {y}"))


def _equation(name: str, right: str) -> str:
    return rf"\mathrm{{{name}}} = {right}"


def _matrix(values: np.ndarray) -> str:
    rows = r" \\ ".join(
        " & ".join(f"{x:z.4g}" for x in row) for row in np.atleast_2d(values)
    )
    return rf"\begin{{bmatrix}} {rows} \end{{bmatrix}}"
