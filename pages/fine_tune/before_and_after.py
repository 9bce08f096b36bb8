"""Step 5, second part: the model before and after it was trained."""

from __future__ import annotations

import streamlit as st

from bertviz_core.engine.finetune_tasks import training_outcome
from pages.fine_tune.compare_heads import show_heads
from pages.fine_tune.compare_layers import show_points, show_probes
from pages.fine_tune.compare_weights import show_weights
from pages.fine_tune.state import FineTuneState
from pages.fine_tune.steps import offer_step
from pages.shared.answers import ask
from pages.shared.choices import choose_named
from pages.shared.errors import shown_to_user
from pages.shared.language import t

PANELS = ("weights", "probes", "points", "heads")


def show(state: FineTuneState) -> None:
    """Draws this part; it is called only when `state.is_trained`."""
    st.header(t("fine_tune_results.compare_title"), anchor=False)
    if state.status is not None:
        st.markdown(
            t("fine_tune_results.compare_intro", model=state.status.request.model)
        )
        _compare(state.run_id, state.status.request.model)
    offer_step("take", "compared")


@st.fragment
def _compare(run: str, base: str) -> None:
    panel = choose_named(
        "fine_tune_results.compare_panel",
        PANELS,
        "panel",
        key="ft_compare_panel",
        widget=st.pills,
    )
    st.markdown(t(f"fine_tune_results.{panel}_intro"))
    with shown_to_user(stop=False):
        if panel == "weights":
            show_weights(run)
            return
        outcome = ask(training_outcome)(run)
        if panel == "probes":
            show_probes(outcome)
        elif panel == "points":
            show_points(outcome)
        else:
            show_heads(base, outcome)
