"""One thing that a check noticed, ready for a page."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from bertviz_core.finetune.dataset import Dataset
from bertviz_core.finetune.notes import Note

# Rows that a finding shows.
MAX_EXAMPLES = 20


@dataclass(frozen=True)
class Finding:
    """One thing that was noticed.

    Args:
        kind: which check, a key for pages: "balance", "rare", "lengths",
            "unknown", "duplicates", "contradictions", "label_is_text",
            "label_in_text", "giveaway", "spelling", "contradictions_of_files".
        severity: "good", "notice" or "warning".
        message: what was found.
        remedy: what to do, or `None`.
        numbers: what the message says, unrounded; shares in [0, 1].
        rows: row numbers of the file to look at, at most `MAX_EXAMPLES`.
    """

    kind: str
    severity: str
    message: Note
    remedy: Note | None = None
    numbers: dict[str, float] = field(default_factory=dict)
    rows: tuple[int, ...] = ()


def example_rows(
    dataset: Dataset, indices: Sequence[int] | np.ndarray
) -> tuple[int, ...]:
    """Row numbers of the first of these rows.

    Args:
        dataset: R rows; those of another file, which have the number 0, are passed
            over.
        indices: of rows, most telling first.
    """
    numbers = (int(dataset.row_numbers[int(index)]) for index in indices)
    return tuple(itertools.islice(filter(None, numbers), MAX_EXAMPLES))
