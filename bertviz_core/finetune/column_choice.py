"""Which column of a table is what, as a plain value.

Apart from the guess in `columns`, which reads tables: requests hold a choice, and the
process that serves pages holds requests long before anybody opens a table.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from bertviz_core.finetune.notes import Note


@dataclass(frozen=True)
class ColumnChoice:
    """Which column is what.

    Args:
        text: name of the text column.
        label: name of the label column.
        pair: name of the column with second texts, or `None`.
        is_regression: the label is a number to predict, not a class.
        reasons: why these columns, where this is a guess; of the kind of label
            `guess_kind` tells.
    """

    text: str
    label: str
    pair: str | None = None
    is_regression: bool = False
    # Not part of what is chosen: equal choices give equal rows.
    reasons: tuple[Note, ...] = field(default=(), compare=False)
