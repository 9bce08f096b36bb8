"""Models in folders of this machine, which may change while the server runs."""

from __future__ import annotations

import streamlit as st

from bertviz_core.checkpoints.versions import version_of
from pages.ui.answers import forget_models


def ask_anew_if_changed(model: str) -> None:
    """Has every page ask the engine anew where a folder holds another model now.

    Args:
        model: its id.
    """
    seen, version = _seen(model), version_of(model)
    if seen["version"] != version:
        seen["version"] = version
        forget_models()


@st.cache_resource(max_entries=32, show_spinner=False)
def _seen(model: str) -> dict[str, str]:
    """What all sessions remember of a model."""
    return {"version": version_of(model)}
