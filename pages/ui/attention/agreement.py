"""How far two maps agree, in words."""

from __future__ import annotations

import streamlit as st

from bertviz_core.analysis.correlation import MapAgreement
from pages.ui.language import t
from pages.ui.markdown import Markdown


def agreement_sentence(found: MapAgreement) -> str:
    """The same as `show_agreement` in a sentence, as Markdown."""
    return t(
        "attention.agreement_saved",
        mass=Markdown(said_correlation(found.exact_and_mass)),
        gradient=Markdown(said_correlation(found.exact_and_gradient)),
    )


def said_correlation(value: float | None) -> str:
    """A rank correlation, or that there was no order to compare."""
    shown = {} if value is None else {"value": value}
    return t(f"attention.{'correlation' if shown else 'no_order'}", **shown)


def show_agreement(found: MapAgreement) -> None:
    """The correlations of exact changes with attention and with the estimate."""
    boxes = st.columns(2)
    for box, name, value in (
        (boxes[0], "mass", found.exact_and_mass),
        (boxes[1], "gradient", found.exact_and_gradient),
    ):
        title = f"attention.agreement_{name}"
        box.metric(t(title), said_correlation(value), help=t(f"{title}_help"))
    st.caption(t("attention.agreement_lesson"))
