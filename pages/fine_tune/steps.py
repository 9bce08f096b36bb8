"""The row of steps: where one is, and which steps are open."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.fine_tune.state import STEP, STEPS, FineTuneState, go_to
from pages.shared.choices import choose_linked
from pages.shared.language import plain, t

_OPEN, _CLOSED = "", ":material/lock: "


def peek_step() -> str:
    """The step that `choose_step` is going to return; call it before."""
    wanted = st.session_state.get(STEP) or st.query_params.get(STEP)
    return wanted if wanted in STEPS else STEPS[0]


def choose_step(open_steps: Sequence[str]) -> str:
    """Draws the row of steps.

    Returns:
        The chosen one of `STEPS`; it may be closed.
    """

    def name(step: str) -> str:
        sign = _OPEN if step in open_steps else _CLOSED
        return f"{sign}{STEPS.index(step) + 1} {plain(f'fine_tune.step_{step}')}"

    return choose_linked(
        st.segmented_control,
        t("fine_tune.steps"),
        STEPS,
        key=STEP,
        required=True,
        format_func={step: name(step) for step in STEPS}.__getitem__,
        label_visibility="collapsed",
    )


def explain_closed(step: str, state: FineTuneState) -> None:
    """Says what a closed step waits for, and offers the way there."""
    needed = "data" if "train" not in state.open_steps else "train"
    st.info(t(f"fine_tune.needs_{needed}"), icon=":material/lock:")
    offer_step(needed, f"closed_{step}")


def offer_step(step: str, key: str) -> None:
    """Draws a button that opens another step."""
    number = STEPS.index(step) + 1
    st.button(
        t("fine_tune.go_to", number=number, step=plain(f"fine_tune.step_{step}")),
        key=f"ft_go_{key}",
        icon=":material/arrow_forward:",
        on_click=go_to,
        args=(step,),
    )
