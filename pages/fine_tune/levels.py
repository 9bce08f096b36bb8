"""How much of the model learns: three cards in plain words."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.finetune.run_estimate import TrainingEstimate
from bertviz_core.finetune.settings import LEVELS
from pages.fine_tune.run_settings import FIRST_LEVEL
from pages.fine_tune.state import FineTuneState, remember
from pages.fine_tune.wording import duration, memory
from pages.shared.language import in_a_row, t

_ICONS = {
    "head": ":material/bolt:",
    "top": ":material/layers:",
    "full": ":material/deployed_code:",
}
# Each level has defaults of its own for these.
_OF_A_LEVEL = ("epochs", "learning_rate", "patience", "num_top_layers")


def choose_level(state: FineTuneState, estimate: TrainingEstimate | None) -> str:
    """Draws the cards.

    Returns:
        One of `LEVELS`: the chosen or recommended one.
    """
    recommended = estimate.recommended if estimate else FIRST_LEVEL
    chosen = state.level or recommended
    for box, level in zip(st.columns(3, border=True), LEVELS, strict=True):
        with box:
            name = t(f"fine_tune.level_{level}")
            st.markdown(f"{_ICONS[level]} **{name}**")
            if estimate is not None and level == recommended:
                st.markdown(t("fine_tune.recommended"))
            st.markdown(t(f"fine_tune.level_{level}_explained"))
            if estimate is not None:
                _show_needs(box, estimate, level)
            st.button(
                t("fine_tune.level_chosen" if level == chosen else "fine_tune.choose"),
                key=f"ft_level_{level}",
                icon=":material/check:" if level == chosen else None,
                disabled=level == chosen,
                on_click=_choose,
                args=(level,),
                width="stretch",
            )
    return chosen


def _show_needs(box: DeltaGenerator, estimate: TrainingEstimate, level: str) -> None:
    one = estimate.level(level)
    time = duration(one.run.seconds) if one.run else t("fine_tune.not_timed")
    box.caption(
        in_a_row(
            [
                t("fine_tune.level_needs", time=time, memory=memory(one.memory_bytes)),
                "" if one.fits else t("fine_tune.does_not_fit"),
            ]
        )
    )


def _choose(level: str) -> None:
    options = remember().options
    kept = tuple((key, value) for key, value in options if key not in _OF_A_LEVEL)
    remember(level=level, options=kept)
