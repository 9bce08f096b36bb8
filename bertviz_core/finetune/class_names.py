"""Labels as names of classes: which spellings are one class, and in which order."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bertviz_core.finetune.numbers import parse_number

# What pandas makes of a column of whole numbers with a gap in it.
_WHOLE_WITH_DECIMALS = re.compile(r"([+-]?\d+)\.0*", re.ASCII)


def class_names(labels: Sequence[str]) -> list[str]:
    """The labels; "1.0" is "1" where all are whole numbers, and "007" is not "7"."""
    values = [parse_number(label) for label in set(labels)]
    if any(value is None or value % 1 != 0 for value in values):
        return list(labels)
    return [_without_decimals(label) for label in labels]


def known_names(labels: Sequence[str], known: Sequence[str]) -> list[str]:
    """The labels, each as training spelled it where it differs by ".0" alone.

    Args:
        labels: of a validation file.
        known: class names of the training data.
    """
    spelled = {_without_decimals(name): name for name in known}
    spelled |= {name: name for name in known}
    return [
        spelled.get(label, spelled.get(_without_decimals(label), label))
        for label in labels
    ]


def by_value(name: str) -> tuple[float, str]:
    """Sorts numbers by their value, and names after them."""
    value = parse_number(name)
    return (float("inf") if value is None else value, name)


def _without_decimals(label: str) -> str:
    match = _WHOLE_WITH_DECIMALS.fullmatch(label)
    return match[1] if match else label
