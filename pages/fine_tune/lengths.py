"""How long the texts are, and where they are cut: the picture follows the slider."""

from __future__ import annotations

import math

import streamlit as st

from bertviz_core.figures.finetune_data import (
    DataWords,
    bars_of_lengths,
    lengths_figure,
)
from bertviz_core.finetune.checks import MUCH_CUT
from bertviz_core.finetune.data_check import DataCheck
from pages.fine_tune.state import FineTuneState, remember
from pages.fine_tune.state_widgets import enter_field
from pages.shared.export import show_figure
from pages.shared.language import plain, t, words_of
from pages.shared.panel import show_numbers

_STEP = 8
_KEPT_WHOLE = 0.95  # of the rows, where nothing stands in the way


def max_tokens_of(state: FineTuneState, check: DataCheck) -> int:
    """Where texts are cut."""
    chosen = state.max_tokens or check.default_max_tokens
    return max(_least(check), min(chosen, check.max_position_embeddings))


@st.fragment
def choose_length(check: DataCheck, rests_on: int | None = None) -> None:
    """Draws the slider, and what it cuts off. No question to the engine.

    `rests_on`: the maximum of figures elsewhere on the page; another one draws
    the whole page anew.
    """
    max_tokens = max_tokens_of(remember(), check)
    if rests_on not in (None, max_tokens):
        st.rerun()
    st.markdown(t("fine_tune.lengths_explained"))
    lengths = check.lengths
    longest = int(lengths.num_tokens[-1])
    top = _most(check, max_tokens)
    if top > _least(check):
        enter_field(
            st.slider,
            t("fine_tune.max_tokens"),
            max_tokens,
            name="max_tokens",
            min_value=_least(check),
            max_value=top,
            step=_STEP,
            help=_say_default(check),
        )
    share = lengths.share_cut(max_tokens)
    show_numbers(
        {
            "fine_tune.texts_cut": f"{share:.1%}",
            "fine_tune.tokens_cut": f"{lengths.share_tokens_cut(max_tokens):.1%}",
        }
    )
    if share > MUCH_CUT and max_tokens < top:
        said = t("fine_tune.much_is_cut", share=share)
        st.warning(said, icon=":material/content_cut:")
    bars = bars_of_lengths(lengths.num_tokens, lengths.num_rows, max_tokens, top)
    show_figure(
        lengths_figure(bars, max_tokens, words_of(DataWords, "fine_tune")),
        name="fine_tune_lengths",
        description=t(
            "fine_tune.lengths_described",
            max_tokens=max_tokens,
            share=share,
            median=lengths.percentile(50),
            most=lengths.percentile(95),
            longest=longest,
        ),
        columns={
            plain("fine_tune.figure_tokens"): lengths.num_tokens.tolist(),
            plain("fine_tune.figure_rows"): lengths.num_rows.tolist(),
        },
    )


def _say_default(check: DataCheck) -> str:
    """What the proposed maximum is good for, which the model may have lowered."""
    default = check.default_max_tokens
    whole = 1 - check.lengths.share_cut(default)
    if default >= check.max_position_embeddings and whole < _KEPT_WHOLE:
        return t("fine_tune.max_tokens_help_model", default=default, share=whole)
    if whole < _KEPT_WHOLE:
        return t("fine_tune.max_tokens_help_share", default=default, share=whole)
    return t("fine_tune.max_tokens_help", default=default)


def _most(check: DataCheck, max_tokens: int) -> int:
    """End of the slider: what the longest text asks for, as far as the model reads."""
    longest = int(check.lengths.num_tokens[-1])
    top = max(max_tokens, math.ceil(longest / _STEP) * _STEP)
    return min(top, check.max_position_embeddings)


def _least(check: DataCheck) -> int:
    return min(_STEP, check.max_position_embeddings)
