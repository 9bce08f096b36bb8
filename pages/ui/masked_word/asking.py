"""What the panels of the masked-word page ask about, and widgets that they share."""

from __future__ import annotations

from dataclasses import dataclass

from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.trace import TokenizedText
from pages.ui.answers import ask
from pages.ui.language import t
from pages.ui.masked_word.candidates import Mask
from pages.ui.pieces import choose_piece

NUM_OFFERED = 20  # likeliest words in a list; any other may be typed


@dataclass(frozen=True)
class Question:
    """What stands above the panels.

    Args:
        model: its id.
        text: what the model reads of the text.
        tokenized: the same, in tokens.
        mask: the one that is looked at; `None` in a text without any.
    """

    model: str
    text: str
    tokenized: TokenizedText
    mask: Mask | None

    @property
    def position(self) -> int:
        """Token index of the mask, or of the first word where there is none."""
        if self.mask is None:
            return int((~self.tokenized.is_added).argmax())
        return int(self.tokenized.mask_positions[self.mask.index])


def ask_about(model: str, tokenized: TokenizedText, mask: Mask | None) -> Question:
    """Makes a question of what the page shows; a text that was cut stays cut.

    Args:
        model: its id.
        tokenized: what the model read.
        mask: the one that is looked at.
    """
    text = tokenized.text
    if tokenized.was_cut:
        text = text[: int(tokenized.offsets[:, 1].max())]
    return Question(model, text, tokenized, mask)


def choose_word(question: Question, label: str, key: str, first: int = 0) -> int:
    """Draws the choice of a word: the likeliest ones, or any that is typed.

    Args:
        question: whose mask the word would fill.
        label: of the widget.
        key: of the widget.
        first: which of the likeliest words is chosen to begin with.

    Returns:
        The id of the word.
    """
    words = ask(vocabulary)(question.model)
    likely = likely_ids(question)
    return choose_piece(
        label,
        words,
        likely,
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
