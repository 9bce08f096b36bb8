"""What each level would need: time and memory, from two timed steps."""

from __future__ import annotations

from typing import cast

import streamlit as st

from bertviz_core.finetune.run_estimate import TrainingEstimate
from pages.ui.fine_tune.asking import timed_settings
from pages.ui.fine_tune.state import FineTuneState
from pages.ui.fine_tune.wording import duration, memory
from pages.ui.jobs import ask_job
from pages.ui.language import plain, t
from pages.ui.markdown import table

_BYTES_UNKNOWN = 0


def ask_estimate(
    state: FineTuneState, at_once: bool = False
) -> TrainingEstimate | None:
    """Draws the question for time and memory, at whatever stage it is.

    Args:
        state: with a check.
        at_once: asks without a button.

    Returns:
        The answer; `None` until it is there.
    """
    if state.check is None or state.data is None:
        return None
    found = ask_job(
        "ft_estimate",
        t("fine_tune.estimate_start"),
        "estimate_training",
        at_once=at_once,
        model=state.model,
        data=state.data,
        settings=timed_settings(state, state.check),
    )
    return cast("TrainingEstimate | None", found)


def show_estimate(state: FineTuneState) -> None:
    """Draws the question, then a table of the levels and the recommended one.

    Args:
        state: with a check.
    """
    st.markdown(t("fine_tune.estimate_explained"))
    estimate = ask_estimate(state)
    if estimate is None:
        return
    rows = [
        [
            plain(f"fine_tune.level_{one.level}"),
            duration(one.run.seconds) if one.run else plain("fine_tune.not_timed"),
            memory(one.memory_bytes),
            plain(f"fine_tune.fits_{'yes' if one.fits else 'no'}"),
        ]
        for one in estimate.levels
    ]
    names = ("level", "time", "memory", "fits")
    st.markdown(table([plain(f"fine_tune.column_{name}") for name in names], rows))
    level = plain(f"fine_tune.level_{estimate.recommended}")
    st.success(
        t("fine_tune.recommended_level", level=level), icon=":material/thumb_up:"
    )
    explain_estimate(estimate)


def explain_estimate(estimate: TrainingEstimate) -> None:
    """Says what the figures rest on.

    Args:
        estimate: that is shown.
    """
    said = [t("fine_tune.estimate_rests_on")]
    if estimate.free_bytes != _BYTES_UNKNOWN:
        said.append(t("fine_tune.memory_free", size=memory(estimate.free_bytes)))
    if estimate.is_loaded:
        said.append(t("fine_tune.estimate_loaded"))
    st.caption(" ".join(said))
