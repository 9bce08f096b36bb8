"""Where the rows of a training came from: what a recipe needs to find them again."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bertviz_core.pretrain.settings_json import build

if TYPE_CHECKING:
    from bertviz_core.finetune.column_choice import ColumnChoice
    from bertviz_core.finetune.table import Table


@dataclass(frozen=True)
class DataOrigin:
    """A table, what was taken from it, and how its rows were divided.

    Args:
        table_sha256: of the file's bytes, in hexadecimal.
        encoding, separator: that it was read with.
        has_header: whether its first row names the columns.
        text_column, label_column: names.
        pair_column: name of the column with second texts, or `None`.
        is_regression: whether the label is a number to predict.
        validation_sha256: of a file to test on; `None` where rows of the table
            were set aside.
        validation_encoding, validation_separator, validation_has_header: as those
            of the table; `None` where there is no such file, or where a recipe does
            not say.
        validation_rate: share of the rows that chose the epoch.
        split_seed: of the draws.
        test_rate: share of the rows that were tested on; 0 in recipes of earlier
            versions, see `request.DataChoice`.
    """

    table_sha256: str
    encoding: str
    separator: str
    has_header: bool
    text_column: str
    label_column: str
    pair_column: str | None = None
    is_regression: bool = False
    validation_sha256: str | None = None
    validation_encoding: str | None = None
    validation_separator: str | None = None
    validation_has_header: bool | None = None
    validation_rate: float = 0.2
    split_seed: int = 1
    test_rate: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """The origin as JSON holds it."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> DataOrigin:
        """Takes what `to_dict` gave.

        Raises:
            TrainingError: an unknown or absent key, or a value of another kind.
        """
        return build(cls, raw, "data")


def origin_of(
    table: Table,
    columns: ColumnChoice,
    validation: Table | None,
    validation_rate: float,
    seed: int,
    test_rate: float,
) -> DataOrigin:
    """Notes where rows come from.

    Args:
        table: that the rows were taken from.
        columns: which column is what.
        validation: a table to test on; `None` where rows were set aside.
        validation_rate: see `DataOrigin`.
        seed: of the draws.
        test_rate: see `DataOrigin`.
    """
    return DataOrigin(
        table_sha256=table.sha256,
        encoding=table.encoding,
        separator=table.separator,
        has_header=table.has_header,
        text_column=columns.text,
        label_column=columns.label,
        pair_column=columns.pair,
        is_regression=columns.is_regression,
        **({} if validation is None else _layout_of(validation)),
        validation_rate=validation_rate,
        split_seed=seed,
        test_rate=test_rate,
    )


def _layout_of(validation: Table) -> dict[str, Any]:
    return {
        "validation_sha256": validation.sha256,
        "validation_encoding": validation.encoding,
        "validation_separator": validation.separator,
        "validation_has_header": validation.has_header,
    }
