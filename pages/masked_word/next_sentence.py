"""Does the second text follow the first? One pair, and a test on many."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.experiments.next_sentence import (
    predict_next_sentence,
    run_shuffled_test,
)
from bertviz_core.experiments.word_results import ShuffledTest
from bertviz_core.explorer import Explorer
from bertviz_core.figures.masked_word import percent
from bertviz_core.figures.sentence_pairs import next_sentences_figure
from bertviz_core.sentence_splitting import neighbouring_sentences
from bertviz_core.sentences import bundled_text
from bertviz_core.snippets import masked_sentences
from pages.shared.answers import ask, ask_job, ask_soon
from pages.shared.choices import choose_number, switch_linked, type_linked
from pages.shared.errors import shown_to_user
from pages.shared.export import show_figure
from pages.shared.language import plain, t
from pages.shared.models import default_model, language_of
from pages.shared.panel import (
    Program,
    button,
    panel,
    program,
    show_number,
    show_numbers,
)

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
            said = percent(found.accuracy), t("masked.shuffled_right", **places)
            explained = t("masked.shuffled_accuracy_help")
            show_number(box, t(f"masked.accuracy_{name}"), *said, explained)
    code = None
    if len(pairs) == len(neighbouring_sentences(text)):
        template = masked_sentences.SHUFFLED_TEST
        if other is not None:
            template = masked_sentences.SHUFFLED_TEST_TWICE
        code = program(template, model, text=text, seed=seed)
    _show_shuffled(own, pairs, code)


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


def _show_shuffled(
    found: ShuffledTest, pairs: tuple[tuple[str, str], ...], code: Program | None
) -> None:
    shuffled = [
        (pair[0], pairs[int(partner)][1])
        for pair, partner in zip(pairs, found.partners, strict=True)
    ]
    kinds: tuple[_Kind, ...] = (
        ("shuffled_true", pairs, found.probabilities, True),
        ("shuffled_mixed", shuffled, found.shuffled, False),
    )
    right = (int((found.probabilities > 0.5).sum()), int((found.shuffled <= 0.5).sum()))
    places = {"true": right[0], "mixed": right[1], "count": found.num_pairs}
    said = t("masked.shuffled_described", **places, cut=found.num_cut)
    _show_kinds("masked_shuffled", kinds, said, code)
    st.caption(t("masked.shuffled_lesson"))


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
    first, second = _type_both(_EXAMPLES[language_of(model)])
    if not first or not second:
        st.info(t("masked.next_empty"), icon=":material/edit:")
    else:
        with shown_to_user(stop=False):
            _show(model, first, second)
    explore_shuffled(model)


def _type_both(examples: tuple[str, str]) -> tuple[str, str]:
    typed = [
        type_linked(
            box.text_area, f"masked.next_{name}", example, key=key, max_chars=1500
        )
        for box, name, key, example in zip(
            st.columns(2), ("first", "second"), (_FIRST, _SECOND), examples, strict=True
        )
    ]
    button("masked.next_swap", "masked_next_swap", "swap_horiz", _swap)
    return typed[0], typed[1]


def _show(model: str, first: str, second: str) -> None:
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
    code = program(masked_sentences.NEXT_SENTENCE, model, first=first, second=second)
    _show_kinds("masked_next", kinds, t("masked.next_lesson"), code)


def _swap() -> None:
    first, second = st.session_state[_FIRST], st.session_state[_SECOND]
    st.session_state[_FIRST], st.session_state[_SECOND] = second, first
