"""The row of steps: where one is, which are open, and the way to another one."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.fine_tune.state import STEP, STEPS, FineTuneState, go_to
from pages.fine_tune.widgets import button
from pages.shared.choices import choose_linked
from pages.shared.language import plain, t
from pages.shared.navigation import is_way_back


def peek_step() -> str:
    """The step that `choose_step` is going to return; call it before."""
    wanted = st.session_state.get(STEP)
    if wanted is None or is_way_back():
        wanted = st.query_params.get(STEP)
    return wanted if wanted in STEPS else STEPS[0]


def choose_step(open_steps: Sequence[str]) -> str:
    """Draws the row of steps."""
    names = {
        step: f"{'' if step in open_steps else ':material/lock: '}{number} "
        + plain(f"fine_tune.step_{step}")
        for number, step in enumerate(STEPS, 1)
    }
    return choose_linked(
        st.segmented_control,
        t("fine_tune.steps"),
        STEPS,
        key=STEP,
        required=True,
        format_func=names.__getitem__,
        label_visibility="collapsed",
    )


def explain_closed(step: str, state: FineTuneState) -> None:
    """Says what a closed step waits for, and offers the way there."""
    needed = "data" if "train" not in state.open_steps else "train"
    st.info(t(f"fine_tune.needs_{needed}"), icon=":material/lock:")
    offer_step(needed, f"closed_{step}")


def offer_step(step: str, key: str) -> None:
    """Draws a button that opens another step."""
    name = plain(f"fine_tune.step_{step}")
    label = t("fine_tune.go_to", number=STEPS.index(step) + 1, step=name)
    button(label, f"ft_go_{key}", "arrow_forward", go_to, step)
