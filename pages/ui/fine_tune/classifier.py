"""The model that is tried: of a training of this page, or any with classes."""

from __future__ import annotations

from dataclasses import dataclass

from bertviz_core.finetune.outcome import RunOutcome


@dataclass(frozen=True)
class Classifier:
    """A model that says something of a text.

    Args:
        model_id: opens it.
        has_pairs: whether it is to read two texts at a time.
        max_tokens: what texts are cut to; 0 for what its own files say.
        text_column, pair_column: of the table that it learned from; "" where they
            are not known, or there is no second text.
        outcome: of its training, where that is still here.
    """

    model_id: str
    has_pairs: bool
    max_tokens: int = 0
    text_column: str = ""
    pair_column: str = ""
    outcome: RunOutcome | None = None
