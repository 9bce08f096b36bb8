"""Which answer of the model the experiments of the attention page watch."""

from __future__ import annotations

import streamlit as st

from bertviz_core.analysis.sampling import rank_order
from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.experiments.cause_results import Target
from bertviz_core.explorer import Explorer
from bertviz_core.trace import Texts, TokenizedText
from pages.attention.before_after import answer_names
from pages.shared.answers import ask
from pages.shared.choices import choose_linked, choose_linked_or_none
from pages.shared.language import plain, t
from pages.shared.pieces import choose_piece, id_of
from pages.shared.watched_answer import Watched

_WHAT = "attention_target"
_WORD = "attention_word"
_CONTRAST = "attention_contrast"
_OTHER_ANSWER = "attention_other_answer"  # of a head without a vocabulary
_NUM_OFFERED = 50  # likeliest words in the list; any other may be typed
_QUESTION = ":material/question_mark:"
_IS_NEXT = 0  # google-research/bert, `create_pretraining_data.py`


def choose_target(model: str, texts: Texts, tokenized: TokenizedText) -> Watched | None:
    """Draws the choice of an answer to watch.

    Returns:
        The target; `None`, with a sentence on the page, if there is none.
    """
    choices = _choices(model, texts, tokenized)
    if not choices:
        has_words = "mlm" in ask(Explorer.info)(model).heads
        missing = "attention.no_target" if has_words else "attention.no_mlm"
        st.info(t(missing), icon=":material/touch_app:")
        return None
    what_box, word_box = st.columns(2)
    what = choose_linked(
        what_box.selectbox,
        t("attention.target"),
        [str(index) for index in range(len(choices))],
        key=_WHAT,
        format_func=lambda index: choices[int(index)].name,
        help=t("attention.target_help"),
    )
    chosen = choices[int(what)]
    if chosen.target.head != "mlm":
        return chosen
    words = ask(vocabulary)(model)
    with word_box:
        index = choose_piece(
            t("attention.target_word"),
            words,
            _likely(model, texts, chosen),
            key=_WORD,
            help=t("attention.target_word_help"),
            unknown="attention.unknown_word",
        )
    target = Target("mlm", index, chosen.target.position)
    return Watched(target, plain("attention.target_named", word=words[index]))


def choose_contrast(model: str, texts: Texts, watched: Watched) -> Watched | None:
    """Draws the choice of an answer to hold the watched one against.

    Returns:
        The other answer of the same head; `None` if none is chosen, or if there is
        none, as for a number.
    """
    target, names = watched.target, answer_names(model, watched)
    is_word = target.head == "mlm"
    offered = _likely(model, texts, watched) if is_word else range(len(names))
    others = {index: names[index] for index in offered if index != target.index}
    if not others:
        return None
    if is_word:
        index = _choose_other_word(names, tuple(others.values()), target.index)
    else:
        chosen = choose_linked_or_none(
            st.selectbox,
            t("attention.contrast"),
            [str(index) for index in others],
            key=_OTHER_ANSWER,
            format_func=lambda option: names[int(option)],
            placeholder=t("attention.no_contrast"),
            help=t("attention.contrast_help"),
        )
        index = None if chosen is None else int(chosen)
    if index is None:
        return None
    return Watched(Target(target.head, index, target.position), names[index])


def _choose_other_word(
    words: tuple[str, ...], offered: tuple[str, ...], watched: int
) -> int | None:
    """Any word but the watched one, or none; says so where there is no such word."""
    chosen = st.selectbox(
        t("attention.contrast"),
        offered,
        index=None,
        key=_CONTRAST,
        bind="query-params",
        persist_state="session",
        placeholder=t("attention.no_contrast"),
        accept_new_options=True,
        help=t("attention.contrast_help"),
    )
    if chosen is None:
        return None
    index = id_of(words, chosen)
    if index is None or index == watched:
        st.warning(t("attention.unknown_contrast", word=chosen), icon=_QUESTION)
        return None
    return index


def _choices(model: str, texts: Texts, tokenized: TokenizedText) -> list[Watched]:
    info = ask(Explorer.info)(model)
    heads, labels = info.heads, info.labels
    choices = []
    if "mlm" in heads:
        choices += [
            Watched(
                Target("mlm", 0, int(position)),
                plain("attention.target_mask", number=number),
            )
            for number, position in enumerate(tokenized.mask_positions, start=1)
        ]
    if "nsp" in heads and texts.pair:
        choices.append(Watched(Target("nsp", _IS_NEXT), plain("attention.target_nsp")))
    if "classifier" in heads and len(labels) == 1:
        name = plain("attention.target_number", label=labels[0])
        choices.append(Watched(Target("classifier", 0), name, is_number=True))
    elif "classifier" in heads:
        choices += [
            Watched(
                Target("classifier", index),
                plain("attention.target_class", label=label),
            )
            for index, label in enumerate(labels)
        ]
    return choices


def _likely(model: str, texts: Texts, watched: Watched) -> list[int]:
    """Ids of the likeliest words at a mask, best first."""
    predictions = ask(Explorer.predict_masks)(model, texts.text, texts.pair, cut=True)
    row = list(predictions.positions).index(watched.target.position)
    best: list[int] = rank_order(predictions.logits[row])[:_NUM_OFFERED].tolist()
    return best
