"""What is to be trained, on what and how: plain values that can be asked by."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from bertviz_core.finetune.column_choice import ColumnChoice
from bertviz_core.finetune.settings import FinetuneSettings

# The tables that come with the project, by language.
SAMPLES = {"en": "sample:library_en", "zh": "sample:reviews_zh"}


@dataclass(frozen=True)
class TableSource:
    """A table, and how it is laid out where a guess is not to decide.

    Args:
        table: one of `SAMPLES`, or what `Client.keep_table` returned. The request
            in a `TrainingStatus` names copies that live as long as the run.
        encoding: of `table_encoding.ENCODINGS`; `None` guesses.
        separator: of `table_layout.SEPARATORS`; `None` guesses.
        has_header: `None` guesses.
    """

    table: str
    encoding: str | None = None
    separator: str | None = None
    has_header: bool | None = None


@dataclass(frozen=True)
class DataChoice:
    """Rows to learn from, to choose the epoch by, and to test on.

    Args:
        source: the table.
        columns: which column is what.
        validation: a table to test on, with the same columns; `None` sets rows of
            `source` aside.
        validation_rate: share of the rows that choose the epoch, in (0, 1).
        seed: of the draws.
        test_rate: share of the rows to test on, in (0, 1). 0 in requests of earlier
            versions: the rows that chose the epoch, or that table, gave the report.
    """

    source: TableSource
    columns: ColumnChoice
    validation: TableSource | None = None
    validation_rate: float = 0.1
    seed: int = 1
    test_rate: float = 0.2


@dataclass(frozen=True)
class TrainingRequest:
    """A run that is asked for.

    Args:
        model: id of the model to begin with.
        data: rows.
        settings: of the run.
        title: what to call the trained model; user text.
        tensorboard: whether to write a log for TensorBoard.
        asked_table: `data.source.table` as it was when the run was asked for; ""
            until the run has a table of its own.
    """

    model: str
    data: DataChoice
    settings: FinetuneSettings = field(default_factory=FinetuneSettings)
    title: str = ""
    tensorboard: bool = False
    asked_table: str = ""

    def is_of(self, table: str) -> bool:
        """Whether this is what the run learns from, under either of its names.

        Args:
            table: a handle.
        """
        return table in (self.data.source.table, self.asked_table)

    def to_dict(self) -> dict[str, Any]:
        """The request as JSON holds it, without the reasons of guesses."""
        raw = dataclasses.asdict(self)
        del raw["data"]["columns"]["reasons"]
        return raw

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> TrainingRequest:
        """Takes what `to_dict` gave.

        Raises:
            TrainingError: settings that cannot be.
        """
        data = raw["data"]
        other = data["validation"]
        choice = DataChoice(
            source=TableSource(**data["source"]),
            columns=ColumnChoice(**data["columns"]),
            validation=None if other is None else TableSource(**other),
            validation_rate=data["validation_rate"],
            seed=data["seed"],
            test_rate=data.get("test_rate", 0.0),
        )
        settings = FinetuneSettings.from_dict(raw["settings"])
        return cls(
            raw["model"],
            choice,
            settings,
            str(raw["title"]),
            bool(raw["tensorboard"]),
            str(raw.get("asked_table", "")),
        )
