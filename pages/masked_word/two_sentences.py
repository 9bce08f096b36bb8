"""Two sentences compared over the whole vocabulary."""

import numpy as np
import streamlit as st

from bertviz_core.analysis.two_sentences import (
    PredictionComparison,
    compare_predictions,
    find_words,
    most_shifted,
)
from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.explorer import Explorer
from bertviz_core.figures.masked_word import percent
from bertviz_core.figures.sentence_pairs import two_sentences_figure
from bertviz_core.mask_text import MASK
from bertviz_core.snippets import masked_words
from pages.masked_word.question import Question
from pages.shared.answers import ask
from pages.shared.choices import choose_linked, switch_linked, type_linked
from pages.shared.export import download_csv, show_figure, show_table
from pages.shared.language import plain, t
from pages.shared.own_text import type_other, with_a_word_changed
from pages.shared.panel import Program, folded, panel, program

_LIMITS = ("50", "200", "1000")
_NUM_SHIFTED = 10
_NUM_WRITTEN = 6  # words on each side of the picture that carry their name
_LEAST_PROB = 1e-3


@panel
def explore_comparison(question: Question) -> None:
    """Draws a box for the other sentence, and what differs between the two."""
    st.markdown(t("masked.compare_intro"))
    st.warning(t("masked.stereotypes"), icon=":material/diversity_3:")
    mask = question.mask
    if mask is None:
        return
    offered = with_a_word_changed(question.model, question.text)
    other = type_other("masked.other_sentence", offered, "masked_other")
    if MASK not in other:
        st.info(t("masked.other_needs_mask"), icon=":material/edit:")
        return
    rows = ask(Explorer.predict_masks)(question.model, other).logits
    other_mask = min(mask.index, len(rows) - 1)
    if other_mask != mask.index:  # masks of two numbers are compared
        places = {"first": mask.index + 1, "second": other_mask + 1}
        said = t("masked.other_has_fewer", **places, count=len(rows))
        st.warning(said, icon=":material/rule:")
    comparison = compare_predictions(mask.logits, rows[other_mask])
    words = ask(vocabulary)(question.model)
    st.markdown(t("masked.both_sentences", a=question.text, b=other))
    code = program(
        masked_words.COMPARISON,
        question.model,
        first=question.text,
        second=other,
        mask_index=mask.index,
        other_mask_index=other_mask,
        num_words=_NUM_SHIFTED,
        least_prob=_LEAST_PROB,
    )
    _show_points(comparison, words, code)
    _show_shifts(comparison, words)
    _search(comparison, words)


def _show_points(
    comparison: PredictionComparison, words: tuple[str, ...], code: Program
) -> None:
    limit = choose_linked(st.select_slider, "masked.compare_points", _LIMITS, "200")
    # The axes have room for all the others.
    shows_rest = switch_linked("masked.compare_rest")
    best = np.minimum(comparison.ranks_a, comparison.ranks_b)
    ids = np.argsort(best, kind="stable")[: int(limit)]
    toward = most_shifted(comparison, _NUM_WRITTEN, _LEAST_PROB)
    named = set(np.concatenate(toward).tolist())
    a, b = comparison.log_probs_a, comparison.log_probs_b
    rest = np.ones(len(a), bool)
    rest[ids] = False
    show_figure(
        two_sentences_figure(
            [words[index] for index in ids],
            a[ids],
            b[ids],
            [place for place, index in enumerate(ids.tolist()) if index in named],
            title_a=plain("masked.probability_in", name="A"),
            title_b=plain("masked.probability_in", name="B"),
            rest=(a[rest], b[rest]),
            rest_name=plain("masked.words_here"),
            shows_rest=shows_rest,
        ),
        name="masked_comparison",
        description=t(
            "masked.compare_described",
            count=len(ids),
            rest=int(rest.sum()),
            share_a=_share(a[rest]),
            share_b=_share(b[rest]),
            divergence=comparison.divergence_bits,
        ),
        columns=_columns(comparison, words, ids),
        code=code,
    )


def _share(log_probs: np.ndarray) -> str:
    return percent(min(float(np.exp(log_probs).sum()), 1.0))


def _show_shifts(comparison: PredictionComparison, words: tuple[str, ...]) -> None:
    sides = most_shifted(comparison, _NUM_SHIFTED, _LEAST_PROB)
    for box, name, ids in zip(st.columns(2), ("A", "B"), sides, strict=True):
        with box:
            st.markdown(t("masked.likelier_in", name=name))
            _show_words(comparison, words, ids)
    st.caption(t("masked.least_prob", share=percent(_LEAST_PROB)))
    # A table of the whole vocabulary is made when it is asked for.
    label, key = t("masked.all_words"), "masked_compare_all"
    if (box := folded(label, "download", key, st.expander)) is not None:
        everything = np.argsort(comparison.shifts, kind="stable")
        with box:
            download_csv(_columns(comparison, words, everything), "masked_all_words")


def _search(comparison: PredictionComparison, words: tuple[str, ...]) -> None:
    query = type_linked(st.text_input, "masked.compare_search", "", max_chars=100)
    if not query:
        return
    ids = find_words(words, query)
    if not len(ids):
        st.info(t("masked.nothing_found", query=query), icon=":material/search:")
        return
    _show_words(comparison, words, ids)


def _show_words(
    comparison: PredictionComparison, words: tuple[str, ...], ids: np.ndarray
) -> None:
    factors = np.exp(np.abs(comparison.shifts[ids]))
    sides = np.where(comparison.shifts[ids] < 0, "A", "B")
    probs = (np.exp(comparison.log_probs_a[ids]), np.exp(comparison.log_probs_b[ids]))
    shown = {
        "masked.word": [words[index] for index in ids],
        "masked.in_a": list(map(percent, probs[0])),
        "masked.in_b": list(map(percent, probs[1])),
        "masked.factor": [
            f"{side} × {factor:,.1f}"
            for side, factor in zip(sides, factors, strict=True)
        ],
    }
    show_table(shown, plain("masked.shift_table"))


def _columns(
    comparison: PredictionComparison, words: tuple[str, ...], ids: np.ndarray
) -> dict[str, list[object]]:
    return {
        "masked.word": [words[index] for index in ids],
        "masked.in_a": np.exp(comparison.log_probs_a[ids]),
        "masked.in_b": np.exp(comparison.log_probs_b[ids]),
        "masked.rank_a": comparison.ranks_a[ids],
        "masked.rank_b": comparison.ranks_b[ids],
        "masked.shift": comparison.shifts[ids],
    }
