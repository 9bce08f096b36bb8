"""What a column of a table holds: values, numbers, lengths."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from bertviz_core.finetune.class_names import class_names
from bertviz_core.finetune.table import Table
from bertviz_core.numbers import parse_number

# What spreadsheets and pandas write where a value is absent.
_ABSENT = frozenset({"", "nan", "na", "n/a", "#n/a", "null", "<na>"})

_DIGITS = re.compile(r"\d+", re.ASCII)
# Status codes, area codes and the like; years have four, and are amounts.
_CODE_DIGITS = 3


@dataclass(frozen=True)
class ColumnProfile:
    """What a column holds.

    Args:
        name: of the column.
        num_absent: cells without a value.
        num_distinct: different values among the rest; equal numbers are one where
            all are numbers.
        num_numbers: cells that are a number.
        num_fractions: cells that are a number, and not a whole one.
        num_uneven: those of them that are not a half, either.
        is_coded: all cells are digits alone, three of them or with a 0 before.
        mean_chars: of the cells with a value.
        examples: the first three different values.
    """

    name: str
    num_absent: int
    num_distinct: int
    num_numbers: int
    num_fractions: int
    num_uneven: int
    is_coded: bool
    mean_chars: float
    examples: tuple[str, ...]


def is_absent(cell: str) -> bool:
    """Whether a cell holds no value: empty, blank, "NaN", "N/A", "null"."""
    return cell.strip().lower() in _ABSENT


def profile_columns(table: Table) -> tuple[ColumnProfile, ...]:
    """Looks at every column of a table, in its order."""
    return tuple(_profile(name, table.column(name)) for name in table.columns)


def _profile(name: str, column: np.ndarray) -> ColumnProfile:
    counts = Counter(cell.strip() for cell in column)
    values = {cell: count for cell, count in counts.items() if not is_absent(cell)}
    total = sum(values.values())
    num_chars = sum(len(cell) * count for cell, count in values.items())
    parsed = {cell: parse_number(cell) for cell in values}
    numbers = {cell: value for cell, value in parsed.items() if value is not None}
    return ColumnProfile(
        name=name,
        num_absent=len(column) - total,
        num_distinct=len(set(class_names(list(values)))),
        num_numbers=sum(values[cell] for cell in numbers),
        num_fractions=sum(
            values[cell] for cell, value in numbers.items() if value % 1 != 0
        ),
        num_uneven=sum(
            values[cell] for cell, value in numbers.items() if value % 0.5 != 0
        ),
        is_coded=_is_coded(values),
        mean_chars=num_chars / total if total else 0.0,
        examples=tuple(list(values)[:3]),
    )


def _is_coded(cells: Collection[str]) -> bool:
    """Whether numbers are written as codes are: 404, or 0815."""
    if not all(map(_DIGITS.fullmatch, cells)):
        return False
    has_zero = any(len(cell) > 1 and cell.startswith("0") for cell in cells)
    return has_zero or all(len(cell) == _CODE_DIGITS for cell in cells)
