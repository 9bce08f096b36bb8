"""The most likely words at one mask, and how one of them is chosen.

One picture: the model's probabilities, what temperature, top-k and top-p make of them,
and what is drawn by chance.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.analysis.sampling import (
    count_interval,
    draw_tokens,
    effective_choices,
    entropy_bits,
    sampling_distribution,
)
from bertviz_core.analysis.wordlists import is_sign
from bertviz_core.figures.masked_word import candidates_figure, percent
from bertviz_core.mask_text import MaskedText
from bertviz_core.snippets import masked_words
from pages.masked_word.editor import offer_insertion, take_insertion
from pages.masked_word.question import Mask, choose_sampling
from pages.shared.choices import choose_number, switch_linked
from pages.shared.export import show_figure
from pages.shared.language import Markdown, escape, in_a_row, listed, plain, t, words_of
from pages.shared.panel import Program, button, panel, program

MOST_SHOWN = 100
MOST_DRAWS = 10_000
_FIRST_DRAWS = 10

# Widget keys, which are also the names in the address, and the neutral settings.
_NEUTRAL = {"masked_temperature": 1.0, "masked_top_k": 0, "masked_top_p": 1.0}


@panel
def explore_choices(
    masked: MaskedText, mask: Mask, reading: Mapping[str, object]
) -> None:
    """Draws the settings, the picture with its numbers, and a button for each word.

    A fragment: moving a slider redraws this part of the page alone.
    """
    settings = choose_sampling("masked", len(mask.logits))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        num_shown = choose_number(st.slider, "masked_word.shown", 1, MOST_SHOWN, 10)
        box = st.number_input
        num_draws = choose_number(box, "masked_word.draws", 0, MOST_DRAWS, 0)
        seed = 1
        if num_draws:
            seed = choose_number(box, "masked_word.seed", 0, 2**31 - 1, 1)
    picture = st.container()  # beside its settings; the rarer ones follow it
    with st.container(horizontal=True, vertical_alignment="bottom"):
        words_alone = switch_linked("masked_word.words_alone")
        forget = st.session_state.update
        button("masked_word.reset", "masked_reset", "", forget, _NEUTRAL)
    after = sampling_distribution(mask.logits, **settings)
    draws = draw_tokens(after, num_draws, seed)
    ids = mask.words_alone(num_shown) if words_alone else mask.order[:num_shown]
    template = masked_words.CHOICES_ALONE if words_alone else masked_words.CHOICES
    values = {"num_words": num_shown, **settings}
    if num_draws:
        template = masked_words.with_draws(template)
        values |= {"num_draws": num_draws, "seed": seed}
    code = program(template, mask_index=mask.index, **reading, **values)
    with picture:
        _show_words(mask, settings["temperature"], after, draws, ids, code)
        tokens = dict.fromkeys(_tokens(mask, ids))
        if words := tuple(token for token in tokens if not is_sign(token)):
            this = range(mask.index, mask.index + 1)
            offer_insertion(masked, this, words, "masked_insert")
    _show_uncertainty(mask, after)
    if take_insertion():
        st.rerun()  # the text has changed, and with it everything above


def _show_words(
    mask: Mask,
    temperature: float,
    after: np.ndarray,
    draws: np.ndarray,
    ids: np.ndarray,
    code: Program,
) -> None:
    tokens, ranks = _tokens(mask, ids), mask.ranks(ids).tolist()
    counts = np.bincount(draws, minlength=len(after))
    is_changed = not np.array_equal(after, mask.probs)
    show_figure(
        candidates_figure(
            tokens,
            _with_others(mask.probs, ids),
            mask.logits[ids],
            words_of("masked_word"),
            ranks,
            after=_with_others(after, ids) if is_changed else None,
            counts=_with_others(counts, ids) if len(draws) else None,
        ),
        name="masked_candidates",
        description=_described(mask, after, draws, ids, is_changed),
        columns={
            "masked_word.column_rank": ranks,
            "masked_word.column_token": tokens,
            "masked_word.column_id": ids,
            # At temperature 0 the quotient has no value; its limit stands last.
            "masked_word.column_logit": mask.logits[ids],
            "masked_word.column_scaled": mask.logits[ids].astype(float) / temperature
            if temperature
            else [None] * len(ids),
            "masked_word.column_probability": mask.probs[ids],
            "masked_word.column_after": after[ids],
            **(_drawn(after, counts, ids) if len(draws) else {}),
        },
        code=code,
    )


def _drawn(
    after: np.ndarray, counts: np.ndarray, ids: np.ndarray
) -> dict[str, list[Any]]:
    low, high = count_interval(after[ids], int(counts.sum()))
    return {
        "masked_word.column_drawn": counts[ids],
        "masked_word.column_low": low,
        "masked_word.column_high": high,
    }


def _described(
    mask: Mask, after: np.ndarray, draws: np.ndarray, ids: np.ndarray, is_changed: bool
) -> str:
    tokens, probs = _tokens(mask, ids), mask.probs[ids]
    best = listed(
        f"{escape(token)} ({percent(p)})"
        for token, p in zip(tokens[:3], probs[:3], strict=True)
    )
    share = percent(min(float(probs.sum()), 1.0))
    places = {"best": Markdown(best), "count": len(ids), "share": share}
    said = [t("masked_word.candidates_described", **places)]
    if is_changed:
        now = percent(after[ids[0]])
        said.append(t("masked_word.after_described", word=tokens[0], after=now))
    if len(draws):
        first = _tokens(mask, draws[:_FIRST_DRAWS])
        words = Markdown(listed(map(escape, first)))
        counts = np.bincount(draws, minlength=len(after))[ids]
        low, high = count_interval(after[ids], len(draws))
        outside = int(((counts < low) | (counts > high)).sum())
        said += [
            t("masked_word.draws_described", outside=outside, count=len(ids)),
            t("masked_word.first_draws", count=len(first), words=words),
        ]
    return in_a_row(said)


def _with_others(values: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """The values of these words, and the sum of all others."""
    return np.append(values[ids], np.delete(values, ids).sum())


def _tokens(mask: Mask, ids: np.ndarray) -> list[str]:
    return [mask.vocabulary[token_id] for token_id in ids]


def _show_uncertainty(mask: Mask, after: np.ndarray) -> None:
    """Says how open the choice is, and how open it was where settings change that."""
    measures = {
        "entropy": (entropy_bits, "glossary.entropy_meaning"),
        "choices": (effective_choices, "glossary.effective_choices_meaning"),
        "kept": (lambda probs: int((probs > 0).sum()), "masked_word.help_kept"),
    }
    said, meanings = [], []
    for name, (measure, meaning) in measures.items():
        title = t(f"masked_word.{name}")
        before, now = (
            plain(f"masked_word.{name}_value", value=measure(probs))
            for probs in (mask.probs, after)
        )
        was = plain("masked_word.uncertainty_before", before=before)
        said.append(in_a_row((f"{title} **{now}**", was if now != before else "")))
        meanings.append(f"**{title}** {t(meaning)}")
    st.markdown(" · ".join(said), help="\n\n".join(meanings))
