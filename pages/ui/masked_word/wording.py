"""Words of this page that do not stand in a widget."""

from __future__ import annotations

from bertviz_core.figures.masked_word import FigureWords
from pages.ui.language import plain


def figure_words() -> FigureWords:
    """What the figures say, in the visitor's language."""
    return FigureWords(
        probability=plain("masked_word.figure_probability"),
        logit=plain("masked_word.figure_logit"),
        before=plain("masked_word.figure_before"),
        after=plain("masked_word.figure_after"),
        left_out=plain("masked_word.figure_left_out"),
        drawn=plain("masked_word.figure_drawn"),
        expected=plain("masked_word.figure_expected"),
        others=plain("masked_word.figure_others"),
    )
