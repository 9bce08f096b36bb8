"""What the panels of the masked-word page ask about, and widgets that they share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.trace import TokenizedText
from pages.masked_word.candidates import Mask
from pages.shared.answers import ask
from pages.shared.choices import choose_number
from pages.shared.language import t
from pages.shared.pieces import choose_piece

NUM_OFFERED = 20  # likeliest words in a list; any other may be typed


@dataclass(frozen=True)
class Question:
    """What stands above the panels.

    `mask` is `None` in a text without any.
    """

    model: str
    text: str
    tokenized: TokenizedText
    mask: Mask | None

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


@dataclass(frozen=True)
class Sampling:
    """How a word is chosen; see `sampling_distribution`."""

    temperature: float
    top_k: int | None
    top_p: float


def choose_sampling(place: str, most: int) -> Sampling:
    """Draws three settings; `most` is the largest top-k."""
    boxes = st.columns(3, vertical_alignment="bottom")
    temperature = choose_number(
        boxes[0].slider, t("masked_word.temperature"), 0.0, 3.0, 1.0, step=0.05,
        key=f"{place}_temperature", help=t("glossary.temperature_meaning"),
    )  # fmt: skip
    top_k = choose_number(
        boxes[1].number_input, t("masked_word.top_k"), 0, most, 0,
        key=f"{place}_top_k", help=t("glossary.top_k_meaning"),
    )  # fmt: skip
    top_p = choose_number(
        boxes[2].slider, t("masked_word.top_p"), 0.01, 1.0, 1.0, step=0.01,
        key=f"{place}_top_p", help=t("glossary.top_p_meaning"),
    )  # fmt: skip
    return Sampling(temperature, top_k or None, top_p)


def ask_about(model: str, tokenized: TokenizedText, mask: Mask | None) -> Question:
    """Makes a question of what the page shows; a text that was cut stays cut."""
    text = tokenized.text
    if tokenized.was_cut:
        text = text[: int(tokenized.offsets[:, 1].max())]
    return Question(model, text, tokenized, mask)


def choose_word(question: Question, label: str, key: str, first: int = 0) -> int:
    """Draws the choice of a word: the likeliest ones, or any that is typed.

    At first the likeliest one but `first`.
    """
    return choose_piece(
        label,
        ask(vocabulary)(question.model),
        likely_ids(question),
        first,
        key=key,
        help=t("masked_panels.word_help"),
        unknown="masked_panels.unknown_word",
    )


def likely_ids(question: Question) -> tuple[int, ...]:
    """The likeliest words at the mask, or the word itself where there is none."""
    if question.mask is None:
        return (int(question.tokenized.input_ids[question.position]),)
    return tuple(int(index) for index in question.mask.order[:NUM_OFFERED])
