"""How far the app's numbers are from those of Hugging Face's own code."""

from __future__ import annotations

import streamlit as st

from bertviz_core.experiments.reference import check_against_reference
from pages.shared.answers import ask
from pages.shared.language import plain, t
from pages.shared.markdown import table
from pages.shared.panel import panel


@panel
def parity(model: str) -> None:
    """Compares a model with the reference that it brings; others draw nothing."""
    check = ask(check_against_reference)(model)
    if check is None:
        return
    with st.expander(t("models.parity", far=max(check.differences.values()))):
        count = len(check.tokens)
        st.markdown(
            t("models.parity_said", source=check.source, made=check.made, count=count)
        )
        header = [plain("models.output"), plain("models.farthest")]
        rows = [
            [name, f"{far:.1e}", f"{check.magnitudes[name]:.3g}"]
            for name, far in check.differences.items()
        ]
        st.markdown(table([*header, plain("models.largest_value")], rows))
        st.caption(t("models.parity_read", tokens=" ".join(check.tokens)))
