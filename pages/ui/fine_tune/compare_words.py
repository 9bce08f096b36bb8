"""What the figures before and after training say, in the visitor's language."""

from __future__ import annotations

from bertviz_core.figures.before_after import ChangeWords
from pages.ui.language import plain

_NAMES = (
    "before",
    "after",
    "layer",
    "embeddings",
    "least",
    "moved",
    "others",
    "value",
)


def change_words() -> ChangeWords:
    """The texts of these figures."""
    return ChangeWords(
        **{name: plain(f"fine_tune_results.figure_{name}") for name in _NAMES}
    )
