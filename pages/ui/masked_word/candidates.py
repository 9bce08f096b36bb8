"""The most likely words at one mask: bars, the hidden word's rank, inserting one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import streamlit as st

from bertviz_core.analysis.sampling import rank_order, softmax
from bertviz_core.analysis.wordlists import is_sign
from bertviz_core.errors import TextError
from bertviz_core.figures.masked_word import candidates_figure, percent
from bertviz_core.mask_text import MASK, MaskedText
from bertviz_core.snippets import masked_words
from bertviz_core.trace import MaskPredictions, TokenizedText
from pages.ui.answers import tokenize
from pages.ui.code import show_code
from pages.ui.errors import shown_to_user
from pages.ui.export import show_figure
from pages.ui.language import listed, plain, t
from pages.ui.markdown import Markdown, escape
from pages.ui.masked_word import state
from pages.ui.masked_word.wording import figure_words

MOST_SHOWN = 100
_AROUND = 40  # characters of the sentence on each side of the mask
_FEW_MASKS = 12
_ONE_ROW = 20  # candidates; more scroll sideways


@dataclass(frozen=True)
class Mask:
    """One mask and what the model says about it.

    Args:
        index: which mask, left to right.
        logits: float32 `[V]`, before softmax.
        vocabulary: V word pieces, by id.
        order: token ids, most likely first, int64 `[V]`.
        probs: float64 `[V]`, at temperature 1.
    """

    index: int
    logits: np.ndarray
    vocabulary: tuple[str, ...]
    order: np.ndarray
    probs: np.ndarray

    def top(self, num_words: int) -> tuple[np.ndarray, list[str]]:
        """Ids and tokens of the most likely words."""
        ids = self.order[:num_words]
        return ids, [self.vocabulary[token_id] for token_id in ids]

    def words_alone(self, num_words: int) -> np.ndarray:
        """Ids of the most likely entries of letters, characters and digits alone."""
        found: list[int] = []
        for token_id in self.order.tolist():
            if self.vocabulary[token_id].isalnum():
                found.append(token_id)
            if len(found) == num_words:
                break
        return np.array(found, np.int64)

    def ranks(self, ids: np.ndarray) -> np.ndarray:
        """Places among the whole vocabulary, from 1."""
        places = np.empty(len(self.order), np.int64)
        places[self.order] = np.arange(1, len(self.order) + 1)
        return places[ids]


def choose_mask(predictions: MaskPredictions, vocabulary: tuple[str, ...]) -> Mask:
    """Draws the choice of a mask, where there are several.

    Args:
        predictions: with one mask at least.
        vocabulary: of the same model.
    """
    num_masks = len(predictions.positions)
    mask_index = _choose_index(num_masks) if num_masks > 1 else 0
    place = Markdown(_surroundings(predictions.tokenized, mask_index))
    st.markdown(
        t("masked_word.this_mask", number=mask_index + 1, count=num_masks, place=place)
    )
    logits = predictions.logits[mask_index]
    return Mask(
        index=mask_index,
        logits=logits,
        vocabulary=vocabulary,
        order=rank_order(logits),
        probs=softmax(logits),
    )


@st.fragment
def explore_candidates(
    masked: MaskedText, mask: Mask, reading: Mapping[str, object]
) -> None:
    """Draws the most likely words as bars, and a button to insert each.

    A fragment: another number of words redraws this part of the page alone.

    Args:
        masked: the text.
        mask: where the candidates belong.
        reading: model, text and whether it was cut, for the program.
    """
    with shown_to_user():
        num_shown = st.slider(
            t("masked_word.num_shown"),
            1,
            MOST_SHOWN,
            10,
            key="masked_shown",
            bind="query-params",
        )
        words_alone = st.toggle(
            t("masked_word.words_alone"),
            key="masked_words_alone",
            help=t("masked_word.words_alone_help"),
            bind="query-params",
        )
        ids = mask.words_alone(num_shown) if words_alone else mask.top(num_shown)[0]
        _show_candidates(mask, ids)
        show_code(
            masked_words.WORDS_ALONE if words_alone else masked_words.PREDICTIONS,
            name="masked_candidates",
            **reading,
            mask_index=mask.index,
            num_words=num_shown,
        )
        _offer_insertion(masked, mask, ids)
    if state.take_insertion():
        st.rerun()  # the text has changed, and with it everything above


def _show_candidates(mask: Mask, ids: np.ndarray) -> None:
    tokens = [mask.vocabulary[token_id] for token_id in ids]
    probs, logits, ranks = mask.probs[ids], mask.logits[ids], mask.ranks(ids).tolist()
    best = Markdown(
        listed(
            f"{escape(token)} ({percent(p)})"
            for token, p in zip(tokens[:3], probs[:3], strict=True)
        )
    )
    show_figure(
        candidates_figure(tokens, probs, logits, figure_words(), ranks),
        name="masked_candidates",
        description=t(
            "masked_word.candidates_described",
            best=best,
            count=len(ids),
            share=Markdown(percent(float(probs.sum()))),
        ),
        columns={
            plain("masked_word.column_rank"): ranks,
            plain("masked_word.column_token"): tokens,
            plain("masked_word.column_id"): ids.tolist(),
            plain("masked_word.column_logit"): logits.tolist(),
            plain("masked_word.column_probability"): probs.tolist(),
        },
    )


def _offer_insertion(masked: MaskedText, mask: Mask, ids: np.ndarray) -> None:
    tokens = [mask.vocabulary[token_id] for token_id in ids]
    words = tuple(token for token in dict.fromkeys(tokens) if not is_sign(token))
    if not words:
        return
    labels = [str(escape(word, 40)) for word in words]
    st.pills(
        t("masked_word.insert"),
        range(len(words)),
        format_func=labels.__getitem__,
        key=state.INSERT,
        help=t("masked_word.insert_help"),
        on_change=state.insert_token,
        args=(masked, mask.index, words),
        wrap=len(words) <= _ONE_ROW,
    )


def compare_with_hidden(model: str, masked: MaskedText, mask: Mask) -> None:
    """Says how likely the word was that the reader hid, if one is known."""
    word = masked.originals[mask.index]
    if not word:
        return
    try:
        tokenized = tokenize(model, word, cut=True)
    except TextError:  # nothing is left of it
        st.markdown(t("masked_word.hidden_without_pieces", word=word))
        return
    ids = tokenized.input_ids[~tokenized.is_added]
    if len(ids) != 1 or tokenized.is_unknown.any():
        pieces = " ".join(
            token
            for token, is_added in zip(
                tokenized.tokens, tokenized.is_added, strict=True
            )
            if not is_added
        )
        st.markdown(t("masked_word.hidden_in_pieces", word=word, pieces=pieces))
        return
    rank = 1 + int(np.flatnonzero(mask.order == ids[0])[0])
    st.markdown(
        t(
            "masked_word.hidden_rank",
            word=word,
            rank=rank,
            count=len(mask.order),
            share=Markdown(percent(float(mask.probs[ids[0]]))),
        )
    )


def _choose_index(num_masks: int) -> int:
    numbers = [str(number) for number in range(1, num_masks + 1)]
    if st.session_state.get("masked_mask", "1") not in numbers:
        st.session_state["masked_mask"] = "1"
    if num_masks <= _FEW_MASKS:
        chosen = st.segmented_control(
            t("masked_word.which_mask"),
            numbers,
            default="1",
            required=True,
            key="masked_mask",
            bind="query-params",
        )
    else:
        chosen = st.selectbox(
            t("masked_word.which_mask"),
            numbers,
            key="masked_mask",
            bind="query-params",
        )
    return int(chosen or "1") - 1


def _surroundings(tokenized: TokenizedText, mask_index: int) -> str:
    """The words around a mask, the mask itself marked; as Markdown."""
    start, end = tokenized.offsets[tokenized.mask_positions[mask_index]]
    before, after = tokenized.text[:start], tokenized.text[end:]
    left, right = before[-_AROUND:], after[:_AROUND]
    # Whole words only: half a [MASK] would look like a mistake.
    if len(before) > _AROUND:
        left = "…" + left[max(left.find(" "), 0) :]
    if len(after) > _AROUND:
        right = right[: right.rfind(" ") + 1 or None] + "…"
    return f"{escape(left)} :blue-badge[{escape(MASK)}] {escape(right)}"
