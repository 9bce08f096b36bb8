"""Predictions as a table that a spreadsheet opens without running any cell."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import TextIO

import numpy as np

from bertviz_core.cells import safe_cell
from bertviz_core.numbers import number_text

PREDICTED = "predicted"


def write_predictions(
    file: TextIO,
    columns: Sequence[str],
    cells: np.ndarray,
    labels: Sequence[str],
    outputs: np.ndarray,
    is_regression: bool,
) -> None:
    """Adds what a model says to the rows of a table.

    A class is followed by its probability and those of all others; a name that
    the table already has gets a number.

    Args:
        file: to write to, opened with `newline=""` and, for Excel to read Chinese,
            the encoding "utf-8-sig".
        columns: names of the table.
        cells: str objects `[R, num_columns]`.
        labels: C class names, or the name of the number.
        outputs: float `[R, C]`, probabilities or numbers; a row of NaN has no
            prediction and gets empty cells.
        is_regression: whether `outputs` are numbers.
    """
    added = [PREDICTED]
    if not is_regression:
        added += [f"p({label})" for label in labels]
    writer = csv.writer(file, lineterminator="\r\n")
    names = [*columns, *_free_names(columns, added)]
    writer.writerow([safe_cell(name) for name in names])
    for row, values in zip(cells, outputs, strict=True):
        own = map(safe_cell, row)
        writer.writerow([*own, *_said(labels, values, is_regression)])


def _said(labels: Sequence[str], values: np.ndarray, is_regression: bool) -> list[str]:
    if np.isnan(values[0]):
        return [""] * (1 if is_regression else 1 + len(labels))
    if is_regression:
        return [number_text(values[0])]
    best = safe_cell(labels[int(values.argmax())])
    return [best, *(f"{value:.6f}" for value in values)]


def _free_names(taken: Sequence[str], wanted: Sequence[str]) -> list[str]:
    used, names = set(taken), []
    for name in wanted:
        free, number = name, 2
        while free in used:
            free, number = f"{name} {number}", number + 1
        used.add(free)
        names.append(free)
    return names
