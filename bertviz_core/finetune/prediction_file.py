"""Predictions as a table: for spreadsheets, which run no cell of it, or as they are."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

import numpy as np

from bertviz_core.cells import safe_cell
from bertviz_core.numbers import number_text

PREDICTED = "predicted"


@dataclass(frozen=True)
class PredictedTable:
    """The rows of a table, and what a model says of them.

    A class is followed by its probability and those of all others; a name that
    the table already has gets a number.

    Args:
        columns: names of the table.
        cells: objects `[R, num_columns]`: str, int, or float where a number of
            float32 precision is meant.
        labels: C class names, or the name of the number.
        outputs: float `[R, C]`, probabilities or numbers; a row of NaN has no
            prediction.
        is_regression: whether `outputs` are numbers.
    """

    columns: Sequence[str]
    cells: np.ndarray
    labels: Sequence[str]
    outputs: np.ndarray
    is_regression: bool

    def write_csv(self, file: TextIO) -> None:
        """Writes it so that no cell is taken for a formula; see `safe_cell`.

        Args:
            file: opened with `newline=""` and, for Excel to read Chinese, the encoding
                "utf-8-sig".
        """
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow(map(safe_cell, self._names()))
        for row, said in self._rows():
            shown = [number_text(v) if self.is_regression else f"{v:.6f}" for v in said]
            best = [] if self.is_regression else [safe_cell(self._best(said))]
            found = [*best, *shown] if said else [""] * self._num_added
            writer.writerow([*map(_cell, row), *found])

    def write_json_lines(self, file: TextIO) -> None:
        """Writes an object a line, with all texts and numbers as they are."""
        names = self._names()
        for row, said in self._rows():
            best = [] if self.is_regression else [self._best(said)]
            found = [*best, *said] if said else [None] * self._num_added
            values = dict(zip(names, [*row, *found], strict=True))
            file.write(json.dumps(values, ensure_ascii=False) + "\n")

    @property
    def _num_added(self) -> int:
        return 1 if self.is_regression else 1 + len(self.labels)

    def _names(self) -> list[str]:
        added = [PREDICTED]
        if not self.is_regression:
            added += [f"p({label})" for label in self.labels]
        return [*self.columns, *_free_names(self.columns, added)]

    def _rows(self) -> Iterator[tuple[np.ndarray, list[float]]]:
        """The cells of each row, and what is said of it, if it has a text."""
        for row, values in zip(self.cells, self.outputs, strict=True):
            yield row, [] if np.isnan(values[0]) else values.tolist()

    def _best(self, said: list[float]) -> str:
        return self.labels[int(np.argmax(said))] if said else ""


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return number_text(value)
    return safe_cell(value) if isinstance(value, str) else value


def _free_names(taken: Sequence[str], wanted: Sequence[str]) -> list[str]:
    used, names = set(taken), []
    for name in wanted:
        free, number = name, 2
        while free in used:
            free, number = f"{name} {number}", number + 1
        used.add(free)
        names.append(free)
    return names
