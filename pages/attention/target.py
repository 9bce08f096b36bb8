"""Which answer of the model the experiments of the attention page watch."""

from __future__ import annotations

from typing import Any

import streamlit as st

from bertviz_core.analysis.sampling import rank_order
from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.experiments.cause_results import Target
from bertviz_core.explorer import Explorer
from bertviz_core.trace import Texts, TokenizedText
from pages.shared.answers import ask
from pages.shared.choices import choose_linked, choose_linked_or_none, follow_default
from pages.shared.language import plain, t
from pages.shared.pieces import choose_piece, id_of
from pages.shared.watched_answer import Watched

_NUM_OFFERED = 50  # likeliest words in the list; any other may be typed
_IS_NEXT = 0  # google-research/bert, `create_pretraining_data.py`


def choose_target(model: str, texts: Texts, tokenized: TokenizedText) -> Watched | None:
    """Draws the choice of an answer to watch; says so, if there is none: `None`."""
    choices = _choices(model, texts, tokenized)
    if not choices:
        has_words = "mlm" in ask(Explorer.info)(model).heads
        missing = "attention.no_target" if has_words else "attention.no_mlm"
        st.info(t(missing), icon=":material/touch_app:")
        return None
    what_box, word_box = st.columns(2)
    what = choose_linked(
        what_box.selectbox,
        "attention.target",
        [str(index) for index in range(len(choices))],
        key="attention_target",
        format_func=lambda index: choices[int(index)].name,
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
            key="attention_word",
            help=t("attention.target_word_help"),
            unknown="attention.unknown_word",
        )
    target = Target("mlm", index, chosen.target.position)
    return Watched(target, plain("attention.target_named", word=words[index]))


def choose_contrast(model: str, texts: Texts, watched: Watched) -> Watched | None:
    """Draws the choice of another answer of the head to hold the watched one against.

    `None` if none is chosen, or if there is none, as for a number.
    """
    target, names = watched.target, answer_names(model, watched)
    is_word = target.head == "mlm"
    offered = _likely(model, texts, watched) if is_word else range(len(names))
    others = {index: names[index] for index in offered if index != target.index}
    if not others:
        return None
    texts_of_box: dict[str, Any] = {
        "placeholder": t("attention.no_contrast"),
        "help": t("attention.contrast_help"),
    }
    if is_word:
        key = "attention_contrast"
        typed = follow_default(key, None)  # any word may be
        chosen = choose_linked_or_none(
            st.selectbox,
            t("attention.contrast"),
            tuple(dict.fromkeys([*others.values(), *filter(None, [typed])])),
            key=key,
            accept_new_options=True,
            index=None,
            **texts_of_box,
        )
        index = None if chosen is None else id_of(names, chosen)
        if chosen is not None and index in (None, target.index):
            said = t("attention.unknown_contrast", word=chosen)
            st.warning(said, icon=":material/question_mark:")
            return None
    else:
        # Without a vocabulary the names depend on the language, the numbers do not.
        option = choose_linked_or_none(
            st.selectbox,
            t("attention.contrast"),
            [str(index) for index in others],
            key="attention_other_answer",
            format_func=lambda option: names[int(option)],
            **texts_of_box,
        )
        index = None if option is None else int(option)
    if index is None:
        return None
    return Watched(Target(target.head, index, target.position), names[index])


def _choices(model: str, texts: Texts, tokenized: TokenizedText) -> list[Watched]:
    info = ask(Explorer.info)(model)
    choices = []
    if "mlm" in info.heads:
        for number, position in enumerate(tokenized.mask_positions.tolist(), start=1):
            name = plain("attention.target_mask", number=number)
            choices.append(Watched(Target("mlm", 0, position), name))
    if "nsp" in info.heads and texts.pair:
        choices.append(Watched(Target("nsp", _IS_NEXT), plain("attention.target_nsp")))
    if "classifier" in info.heads:
        is_number = len(info.labels) == 1
        key = f"attention.target_{'number' if is_number else 'class'}"
        choices += [
            Watched(Target("classifier", index), plain(key, label=label), is_number)
            for index, label in enumerate(info.labels)
        ]
    return choices


def _likely(model: str, texts: Texts, watched: Watched) -> list[int]:
    """Ids of the likeliest words at a mask, best first."""
    predictions = ask(Explorer.predict_masks)(model, texts.text, texts.pair, cut=True)
    row = list(predictions.positions).index(watched.target.position)
    best: list[int] = rank_order(predictions.logits[row])[:_NUM_OFFERED].tolist()
    return best


def answer_names(model: str, watched: Watched) -> tuple[str, ...]:
    """What the answers of the target's head are called, by index."""
    if watched.target.head == "mlm":
        return ask(vocabulary)(model)
    if watched.target.head == "nsp":
        return plain("attention.is_next"), plain("attention.is_random")
    return ask(Explorer.info)(model).labels
