"""Two sentences: compared over the whole vocabulary; does one follow the other?"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.analysis.two_sentences import (
    PredictionComparison,
    compare_predictions,
    find_words,
    most_shifted,
)
from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.experiments.next_sentence import (
    predict_next_sentence,
    run_shuffled_test,
)
from bertviz_core.experiments.word_results import ShuffledTest
from bertviz_core.explorer import Explorer
from bertviz_core.figures.masked_word import percent
from bertviz_core.figures.sentence_pairs import (
    next_sentences_figure,
    two_sentences_figure,
)
from bertviz_core.mask_text import MASK
from bertviz_core.sentence_splitting import neighbouring_sentences
from bertviz_core.sentences import bundled_text
from bertviz_core.snippets import masked_sentences, masked_words
from pages.masked_word.question import Question
from pages.shared.answers import ask, ask_job, ask_soon
from pages.shared.choices import (
    choose_linked,
    choose_number,
    switch_linked,
    type_linked,
)
from pages.shared.errors import shown_to_user
from pages.shared.export import download_csv, show_figure, show_table
from pages.shared.language import plain, spoken, t
from pages.shared.models import default_model, language_of
from pages.shared.own_text import type_other, with_a_word_changed
from pages.shared.panel import (
    Program,
    button,
    folded,
    panel,
    program,
    show_number,
    show_numbers,
)

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
        title = t("masked.likelier_in", name=name)
        with box:
            st.markdown(title)
            _show_words(comparison, words, ids, spoken(title))
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
    _show_words(comparison, words, ids, plain("masked.compare_search"))


def _show_words(
    comparison: PredictionComparison, words: tuple[str, ...], ids: np.ndarray, told: str
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
    show_table(shown, told)


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


# Name, pairs, P(is next) of each, and whether they are true neighbours, if known.
_Kind = tuple[str, Sequence[tuple[str, str]], np.ndarray, bool | None]

_MOST_PAIRS = 200
_TOKENS_A_PAIR = 30  # of two everyday sentences, to estimate the work


def explore_shuffled(model: str) -> None:
    """Draws a text to take pairs from, and how many the model gets right."""
    st.subheader(t("masked.shuffled_title"), anchor=False)
    st.markdown(t("masked.shuffled_intro"))
    text = type_linked(
        st.text_area,
        "masked.next_passages",
        bundled_text("passages", language_of(model)),
        max_chars=30_000,
        height=180,
    )
    seed = choose_number(
        st.number_input,
        "masked.gibbs_seed",
        0,
        20_000,
        1,
        key="masked_next_seed",
        help=t("masked.shuffled_seed_help"),
    )
    pairs = neighbouring_sentences(text)
    if len(pairs) < 2:
        st.info(t("masked.shuffled_needs_two"), icon=":material/edit:")
        return
    if len(pairs) > _MOST_PAIRS:
        st.caption(t("masked.shuffled_first", count=_MOST_PAIRS, total=len(pairs)))
    _test(model, text, pairs[:_MOST_PAIRS], seed)


def _test(model: str, text: str, pairs: tuple[tuple[str, str], ...], seed: int) -> None:
    asks_other = switch_linked("masked.next_random")
    own = _ask("masked_shuffled", model, pairs, seed, False)
    if own is None:
        return
    other = (
        _ask("masked_shuffled_random", model, pairs, seed, True) if asks_other else None
    )
    boxes = st.columns(2)
    for box, name, found in zip(boxes, ("own", "random"), (own, other), strict=True):
        if found is not None:
            places = {"right": found.num_right, "count": 2 * found.num_pairs}
            share, right = percent(found.accuracy), t("masked.shuffled_right", **places)
            explained = t("masked.shuffled_accuracy_help")
            show_number(box, t(f"masked.accuracy_{name}"), share, right, explained)
    code = None
    if len(pairs) == len(neighbouring_sentences(text)):
        template = masked_sentences.SHUFFLED_TEST
        if other is not None:
            template = masked_sentences.SHUFFLED_TEST_TWICE
        code = program(template, model, text=text, seed=seed)
    shuffled = [
        (pair[0], pairs[int(partner)][1])
        for pair, partner in zip(pairs, own.partners, strict=True)
    ]
    kinds: tuple[_Kind, ...] = (
        ("shuffled_true", pairs, own.probabilities, True),
        ("shuffled_mixed", shuffled, own.shuffled, False),
    )
    places = {
        "true": int((own.probabilities > 0.5).sum()),
        "mixed": int((own.shuffled <= 0.5).sum()),
        "count": own.num_pairs,
    }
    said = t("masked.shuffled_described", **places, cut=own.num_cut)
    _show_kinds("masked_shuffled", kinds, said, code)
    st.caption(t("masked.shuffled_lesson"))


def _ask(
    name: str,
    model: str,
    pairs: tuple[tuple[str, str], ...],
    seed: int,
    random_weights: bool,
) -> ShuffledTest | None:
    question = ask(run_shuffled_test).about(model, pairs, seed, random_weights)
    if random_weights:
        return ask_job(name, "masked.compute", question)
    return ask_soon(name, question, 2 * len(pairs), _TOKENS_A_PAIR)


def _show_kinds(
    name: str, kinds: tuple[_Kind, ...], description: str, code: Program | None
) -> None:
    """Draws a point for each pair of either kind; for the rest see `show_figure`."""
    rows = [
        (plain(f"masked.{kind}"), probs, [*map(" → ".join, texts)], is_next)
        for kind, texts, probs, is_next in kinds
    ]
    figure = next_sentences_figure(rows, title=plain("masked.next_probability"))
    columns: dict[str, list[Any]] = {
        f"masked.{name}": []
        for name in ("shuffled_kind", "next_first", "next_second", "next_probability")
    }
    for (said, *_), (_, texts, probs, _) in zip(rows, kinds, strict=True):
        cells = ([said] * len(texts), *zip(*texts, strict=True), probs.tolist())
        for column, row in zip(columns.values(), cells, strict=True):
            column.extend(row)
    show_figure(figure, name=name, description=description, columns=columns, code=code)


_FIRST, _SECOND = "masked_next_first", "masked_next_second"
_EXAMPLES = {
    "en": ("She opened the window.", "Fresh air came into the room."),
    "zh": ("她打开了窗户。", "新鲜的空气进了房间。"),
}


@panel
def explore_next_sentence(model: str) -> None:
    """Draws two text boxes, what the model says, and a test on many pairs."""
    st.markdown(t("masked.next_intro"))
    if "nsp" not in ask(Explorer.info)(model).heads:
        said = t("masked.next_no_head", model=model, default=default_model())
        st.info(said, icon=":material/block:")
        return
    examples = _EXAMPLES[language_of(model)]
    boxes = zip(st.columns(2), ("first", "second"), examples, strict=True)
    first, second = (
        type_linked(box.text_area, f"masked.next_{name}", example, max_chars=1500)
        for box, name, example in boxes
    )
    button("masked.next_swap", "masked_next_swap", "swap_horiz", _swap)
    if not first or not second:
        st.info(t("masked.next_empty"), icon=":material/edit:")
    else:
        with shown_to_user(stop=False):
            found = ask(predict_next_sentence)(model, first, second)
            probs = (found.probability, found.probability_swapped)
            show_numbers(
                {
                    "masked.next_as_given": percent(probs[0]),
                    "masked.next_swapped": percent(probs[1]),
                }
            )
            kinds: tuple[_Kind, ...] = (
                ("next_as_given_short", [(first, second)], np.array(probs[:1]), None),
                ("next_swapped_short", [(second, first)], np.array(probs[1:]), None),
            )
            texts = {"first": first, "second": second}
            code = program(masked_sentences.NEXT_SENTENCE, model, **texts)
            _show_kinds("masked_next", kinds, t("masked.next_lesson"), code)
    explore_shuffled(model)


def _swap() -> None:
    first, second = st.session_state[_FIRST], st.session_state[_SECOND]
    st.session_state[_FIRST], st.session_state[_SECOND] = second, first
