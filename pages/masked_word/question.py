"""What the panels of the masked-word page ask about: a mask, a word, a sampling."""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.analysis.sampling import rank_order, softmax
from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.errors import TextError
from bertviz_core.explorer import Explorer
from bertviz_core.figures.masked_word import percent
from bertviz_core.mask_text import MASK, MaskedText
from bertviz_core.trace import MaskPredictions, TokenizedText
from pages.shared.answers import ask
from pages.shared.choices import choose_number, choose_piece, switch_linked
from pages.shared.language import Markdown, escape, t
from pages.shared.own_text import focus_on, piece_in_focus

_AROUND = 40  # characters of the sentence on each side of the mask
_FEW_MASKS = 12
_MASK = "masked_mask"


@dataclass(frozen=True)
class Mask:
    """One mask and what the model says about it.

    `logits` are float32 `[V]`, before softmax; `probs` float64 `[V]`, at temperature 1;
    `order` token ids, the most likely first, int64 `[V]`.
    """

    index: int
    logits: np.ndarray
    vocabulary: tuple[str, ...]
    order: np.ndarray
    probs: np.ndarray

    def words_alone(self, num_words: int) -> np.ndarray:
        """Ids of the most likely entries of letters, characters and digits alone."""
        alone = (i for i in self.order.tolist() if self.vocabulary[i].isalnum())
        return np.array(list(itertools.islice(alone, num_words)), np.int64)

    def ranks(self, ids: np.ndarray) -> np.ndarray:
        """Places among the whole vocabulary, from 1."""
        return 1 + np.argsort(self.order)[ids]


def choose_mask(predictions: MaskPredictions, vocabulary: tuple[str, ...]) -> Mask:
    """Draws the choice of a mask, where there are several."""
    num_masks = len(predictions.positions)
    positions = predictions.positions.tolist()
    focus = piece_in_focus(predictions.tokenized)
    mask_index = positions.index(focus) if focus in positions else 0
    if num_masks > 1:
        few = num_masks <= _FEW_MASKS
        widget: Any = st.segmented_control if few else st.selectbox
        st.session_state[_MASK] = str(mask_index + 1)
        widget(
            t("masked_word.which_mask"),
            [str(index + 1) for index in range(num_masks)],
            key=_MASK,
            on_change=lambda: focus_on(positions[int(st.session_state[_MASK]) - 1]),
            **({"required": True} if few else {}),
        )
        place = Markdown(_surroundings(predictions.tokenized, mask_index))
        number = mask_index + 1
        st.markdown(
            t("masked_word.this_mask", number=number, count=num_masks, place=place)
        )
    logits = predictions.logits[mask_index]
    return Mask(
        index=mask_index,
        logits=logits,
        vocabulary=vocabulary,
        order=rank_order(logits),
        probs=softmax(logits),
    )


def compare_with_hidden(model: str, masked: MaskedText, mask: Mask) -> None:
    """Says how likely the word was that the reader hid, if one is known."""
    word = masked.originals[mask.index]
    if not word:
        return
    try:
        tokenized = ask(Explorer.tokenize)(model, word, cut=True)
    except TextError:  # nothing is left of it
        st.markdown(t("masked_word.hidden_without_pieces", word=word))
        return
    ids = tokenized.input_ids[~tokenized.is_added]
    if len(ids) != 1 or tokenized.is_unknown.any():
        pieces = " ".join(np.array(tokenized.tokens)[~tokenized.is_added])
        st.markdown(t("masked_word.hidden_in_pieces", word=word, pieces=pieces))
        return
    st.markdown(
        t(
            "masked_word.hidden_rank",
            word=word,
            rank=int(mask.ranks(ids)[0]),
            count=len(mask.order),
            share=percent(mask.probs[ids[0]]),
        )
    )


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


NUM_OFFERED = 20  # likeliest words in a list; any other may be typed


@dataclass(frozen=True)
class Question:
    """What stands above the panels.

    `mask` is `None` in a text without any.
    """

    model: str
    tokenized: TokenizedText
    mask: Mask | None

    @property
    def text(self) -> str:
        """The text; one that was cut stays cut."""
        text, read = self.tokenized.text, self.tokenized
        return text[: int(read.offsets[:, 1].max())] if read.was_cut else text

    @property
    def program(self) -> dict[str, Any]:
        """What every program about it begins with."""
        return {"model": self.model, "text": self.text}

    @property
    def mask_index(self) -> int:
        """Which mask it is, left to right; 0 where there is none."""
        return 0 if self.mask is None else self.mask.index

    @property
    def position(self) -> int:
        """Token index of the mask, or of the first word where there is none."""
        if self.mask is None:
            return int((~self.tokenized.is_added).argmax())
        return int(self.tokenized.mask_positions[self.mask.index])


def choose_sampling(place: str, most: int) -> dict[str, Any]:
    """Draws what `sampling_distribution` takes; `most` is the largest top-k."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        temperature = choose_number(
            st.slider, "masked_word.temperature", 0.0, 3.0, 1.0, step=0.05,
            key=f"{place}_temperature",
        )  # fmt: skip
        top_k = choose_number(
            st.number_input, "masked_word.top_k", 0, most, 0,
            key=f"{place}_top_k",
        )  # fmt: skip
        top_p = choose_number(
            st.slider, "masked_word.top_p", 0.01, 1.0, 1.0, step=0.01,
            key=f"{place}_top_p",
        )  # fmt: skip
    return {"temperature": temperature, "top_k": top_k or None, "top_p": top_p}


def choose_words(question: Question, panel: str) -> tuple[int, ...]:
    """Draws the choice of a word, and of another one beside it where that is wanted."""
    offered = ask(vocabulary)(question.model), likely_ids(question)
    told = {"help": t("masked.word_help")}
    told["unknown"] = "masked.unknown_word"
    key, label = f"masked_{panel}", f"masked.{panel}"
    first, second = st.columns(2)
    with first:
        word = choose_piece(f"{label}_word", *offered, key=f"{key}_word", **told)
    with second:
        if not switch_linked(f"{label}_contrast", key=f"{key}_contrast"):
            return (word,)
        label = "masked.why_other_word"
        return word, choose_piece(label, *offered, 1, key=f"{key}_other", **told)


def likely_ids(question: Question) -> tuple[int, ...]:
    """The likeliest words at the mask, or the word itself where there is none."""
    if question.mask is None:
        return (int(question.tokenized.input_ids[question.position]),)
    return tuple(int(index) for index in question.mask.order[:NUM_OFFERED])
