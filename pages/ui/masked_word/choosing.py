"""From probabilities to a choice: temperature, top-k, top-p, and drawing words."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import streamlit as st

from bertviz_core.analysis.sampling import (
    count_interval,
    draw_tokens,
    effective_choices,
    entropy_bits,
    sampling_distribution,
)
from bertviz_core.figures.masked_word import (
    distribution_figure,
    draws_figure,
    percent,
)
from bertviz_core.snippets import masked_words
from pages.ui.code import show_code
from pages.ui.errors import shown_to_user
from pages.ui.export import show_figure
from pages.ui.language import listed, plain, t
from pages.ui.markdown import Markdown, escape
from pages.ui.masked_word.candidates import MOST_SHOWN, Mask
from pages.ui.masked_word.wording import figure_words

HOTTEST = 3.0
MOST_DRAWS = 10_000
_NUM_PAIRS = 10  # rows of two bars; more would not fit on a screen
_FIRST_DRAWS = 10

# Widget keys, which are also the names in the address, and the neutral settings.
_NEUTRAL = {"masked_temperature": 1.0, "masked_top_k": 0, "masked_top_p": 1.0}


@dataclass(frozen=True)
class Settings:
    """How a word is chosen; see `sampling_distribution`."""

    temperature: float
    top_k: int | None
    top_p: float


@st.fragment
def explore_choosing(mask: Mask, reading: Mapping[str, object]) -> None:
    """Draws the settings, both distributions, the draws and the table.

    A fragment: moving a slider redraws this part of the page alone.

    Args:
        mask: where a word is chosen.
        reading: model, text and whether it was cut, for the program.
    """
    with shown_to_user():
        settings = _choose_settings(mask)
        after = sampling_distribution(
            mask.logits, settings.temperature, settings.top_k, settings.top_p
        )
        _show_uncertainty(mask, after)
        _show_distributions(mask, after)
        _show_table(mask, settings, after)
        st.header(t("masked_word.draws_title"), anchor=False)
        num_draws, seed = _choose_draws()
        _show_draws(mask, after, num_draws, seed)
        show_code(
            masked_words.CHOOSING,
            name="masked_choosing",
            **reading,
            **dataclasses.asdict(settings),
            mask_index=mask.index,
            num_draws=num_draws,
            seed=seed,
        )


def _choose_settings(mask: Mask) -> Settings:
    temperature_box, top_k_box, top_p_box, reset_box = st.columns(
        [3, 2, 3, 1], vertical_alignment="bottom"
    )
    temperature = temperature_box.slider(
        t("masked_word.temperature"),
        0.0,
        HOTTEST,
        _NEUTRAL["masked_temperature"],
        0.05,
        key="masked_temperature",
        help=t("masked_word.help_temperature"),
        bind="query-params",
    )
    top_k = top_k_box.number_input(
        t("masked_word.top_k"),
        0,
        len(mask.logits),
        0,
        key="masked_top_k",
        help=t("masked_word.help_top_k"),
        bind="query-params",
    )
    top_p = top_p_box.slider(
        t("masked_word.top_p"),
        0.01,
        1.0,
        _NEUTRAL["masked_top_p"],
        0.01,
        key="masked_top_p",
        help=t("masked_word.help_top_p"),
        bind="query-params",
    )
    reset_box.button(
        t("masked_word.reset"),
        key="masked_reset",
        help=t("masked_word.reset_help"),
        on_click=st.session_state.update,
        args=(_NEUTRAL,),
    )
    return Settings(temperature, int(top_k) or None, top_p)


def _show_distributions(mask: Mask, after: np.ndarray) -> None:
    ids, tokens = mask.top(_NUM_PAIRS)
    show_figure(
        distribution_figure(tokens, mask.probs[ids], after[ids], figure_words()),
        name="masked_distribution",
        description=t(
            "masked_word.distribution_described",
            word=tokens[0],
            before=Markdown(percent(float(mask.probs[ids[0]]))),
            after=Markdown(percent(float(after[ids[0]]))),
        ),
        columns={
            plain("masked_word.column_rank"): list(range(1, len(ids) + 1)),
            plain("masked_word.column_token"): tokens,
            plain("masked_word.column_probability"): mask.probs[ids].tolist(),
            plain("masked_word.column_after"): after[ids].tolist(),
        },
    )


def _show_uncertainty(mask: Mask, after: np.ndarray) -> None:
    measures = {
        "entropy": entropy_bits,
        "choices": effective_choices,
        "kept": lambda probs: int((probs > 0).sum()),
    }
    for column, (name, measure) in zip(st.columns(3), measures.items(), strict=True):
        column.metric(
            t(f"masked_word.{name}"),
            t(f"masked_word.{name}_value", value=measure(after)),
            t(f"masked_word.{name}_before", value=measure(mask.probs)),
            delta_color="off",
            delta_arrow="off",
            help=t(f"masked_word.help_{name}"),
        )


def _show_table(mask: Mask, settings: Settings, after: np.ndarray) -> None:
    ids, tokens = mask.top(MOST_SHOWN)
    # At temperature 0 the quotient has no value; its limit is in the last column.
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = mask.logits[ids].astype(np.float64) / settings.temperature
    columns = {
        plain("masked_word.column_rank"): np.arange(1, len(ids) + 1),
        plain("masked_word.column_token"): tokens,
        plain("masked_word.column_id"): ids,
        plain("masked_word.column_logit"): mask.logits[ids],
        plain("masked_word.column_scaled"): np.where(
            np.isfinite(scaled), scaled, np.nan
        ),
        plain("masked_word.column_probability"): mask.probs[ids],
        plain("masked_word.column_after"): after[ids],
    }
    # Made when it is opened: a table is a tenth of the work of the whole page.
    table = st.expander(
        t("masked_word.table"),
        icon=":material/table:",
        key="masked_table",
        on_change="rerun",
    )
    if not table.open:
        return
    with table:
        st.dataframe(columns, hide_index=True, alt=t("masked_word.table"))
        st.caption(t("masked_word.table_help"))


def _choose_draws() -> tuple[int, int]:
    """How many draws, and the seed."""
    count_box, seed_box = st.columns(2)
    num_draws = count_box.number_input(
        t("masked_word.num_draws"),
        1,
        MOST_DRAWS,
        100,
        key="masked_draws",
        help=t("masked_word.num_draws_help"),
        bind="query-params",
    )
    seed = seed_box.number_input(
        t("masked_word.seed"),
        0,
        2**31 - 1,
        1,
        key="masked_seed",
        help=t("masked_word.seed_help"),
        bind="query-params",
    )
    return int(num_draws), int(seed)


def _show_draws(mask: Mask, after: np.ndarray, num_draws: int, seed: int) -> None:
    draws = draw_tokens(after, num_draws, seed)
    first = Markdown(
        listed(escape(mask.vocabulary[token_id]) for token_id in draws[:_FIRST_DRAWS])
    )
    st.markdown(
        t("masked_word.first_draws", count=min(_FIRST_DRAWS, len(draws)), words=first)
    )
    # What can be drawn, not what was left out.
    kept = int((after[mask.order] > 0).sum())
    ids, tokens = mask.top(min(_NUM_PAIRS, kept))
    counts = np.bincount(draws, minlength=len(after))[ids]
    low, high = count_interval(after[ids], len(draws))
    outside = int(((counts < low) | (counts > high)).sum())
    show_figure(
        draws_figure(tokens, counts, after[ids], len(draws), figure_words()),
        name="masked_draws_shown",
        description=t("masked_word.draws_described", outside=outside, count=len(ids)),
        columns={
            plain("masked_word.column_token"): tokens,
            plain("masked_word.column_drawn"): counts.tolist(),
            plain("masked_word.column_after"): after[ids].tolist(),
            plain("masked_word.column_low"): low.tolist(),
            plain("masked_word.column_high"): high.tolist(),
        },
    )
