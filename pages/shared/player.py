"""Steps that a slider chooses, and that a clock can go through."""

from collections.abc import Callable
from time import monotonic

import streamlit as st

from pages.shared.choices import choose_number
from pages.shared.language import t
from pages.shared.panel import panel

_TICK_SECONDS = 0.4


def play_steps(
    key: str,
    label: str,
    last: int,
    draw: Callable[[int], None],
    steps_a_second: float,
    default: int = 0,
) -> None:
    """Draws a button, a slider of the steps from 0 to `last`, and by `draw` a step.

    `label` is the key of the slider's text, `key` its own, with which others begin.
    """
    state = st.session_state
    playing, ended = f"{key}_playing", f"{key}_ended"
    if state.pop(ended, False):
        # Once more: a browser may miss what one run sets when another follows.
        state[key] = last
    has_clock = state.get(playing) is not None

    def show() -> None:
        is_playing = _advance(key, playing, last, steps_a_second)
        # A value that comes late from the browser would set the clock back.
        step = choose_number(
            st.slider, label, 0, last, default, key=key, disabled=is_playing
        )
        draw(step)
        if has_clock and not is_playing:
            state[ended] = True
            st.rerun()

    if st.button(
        t("app.play_stop" if has_clock else "app.play"),
        icon=":material/stop:" if has_clock else ":material/play_arrow:",
        key=f"{key}_play",
        help=t("app.play_help"),
    ):
        step = state.get(key, default) or 0
        begin = (monotonic(), 0 if step >= last else step)
        state[playing] = None if has_clock else begin
        # The whole page: only that starts or ends the clock of a fragment.
        st.rerun()
    panel(show, _TICK_SECONDS if has_clock else None)()


def _advance(key: str, playing: str, last: int, steps_a_second: float) -> bool:
    """Moves the slider to where the clock is; whether it still runs."""
    begin = st.session_state.get(playing)
    if begin is None:
        return False
    began, first = begin
    # By the clock and not by the number of runs, which a busy machine may skip.
    step = min(first + int((monotonic() - began) * steps_a_second), last)
    st.session_state[key] = step
    if step == last:
        st.session_state[playing] = None
    return step < last
