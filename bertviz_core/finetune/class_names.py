"""Labels as names of classes: which spellings are one class, and in which order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

import numpy as np

from bertviz_core.finetune.notes import Note, excerpt, list_rows, note
from bertviz_core.numbers import parse_number

# What pandas makes of a column of whole numbers with a gap in it.
_WHOLE_WITH_DECIMALS = re.compile(r"([+-]?\d+)\.0*", re.ASCII)
_WHOLE_PART = re.compile(r"[+-]?(\d*)", re.ASCII)
# A number, and its whole part where that is written like a code.
_Number = tuple[Decimal, str]


def class_names(labels: Sequence[str]) -> list[str]:
    """The labels; equal numbers are one class where all are numbers.

    Its name is the shorter spelling, "1" for "1.0" and ".5" for "0.50", and "1" for
    "1.0" also alone where all are whole. "007" is a code, and not "7".
    """
    spellings: dict[str, _Number] = {}
    for label in set(labels):
        number = _number(label)
        if number is None:
            return list(labels)
        spellings[label] = number
    shortest = _shortest(spellings)
    names = {label: shortest[number] for label, number in spellings.items()}
    if all(_is_whole(value) for value, _ in spellings.values()):
        names = {label: _without_decimals(name) for label, name in names.items()}
    return [names[label] for label in labels]


def known_names(labels: Sequence[str], known: Sequence[str]) -> list[str]:
    """The labels, each as training spelled it where it is the same number.

    Args:
        labels: of a validation file.
        known: class names of the training data.
    """
    numbers = {name: _number(name) for name in known}
    spelled = _shortest({name: number for name, number in numbers.items() if number})
    names: dict[str, str] = {name: name for name in known}
    for label in set(labels).difference(known):
        number = _number(label)
        names[label] = label if number is None else spelled.get(number, label)
    return [names[label] for label in labels]


def tell_joined(
    labels: Sequence[str], names: Sequence[str], row_numbers: np.ndarray
) -> tuple[Note, ...]:
    """Says which spellings have become one class; nothing where none have.

    Args:
        labels: R cells.
        names: of the class of each, from `class_names`.
        row_numbers: int `[R]`.
    """
    spellings: dict[str, set[str]] = {}
    for label, name in zip(labels, names, strict=True):
        spellings.setdefault(name, set()).add(label)
    others = [
        index
        for index, (label, name) in enumerate(zip(labels, names, strict=True))
        if label != name and len(spellings[name]) > 1
    ]
    if not others:
        return ()
    pairs = dict.fromkeys(f"{labels[index]} = {names[index]}" for index in others)
    return (
        note(
            "Labels that are the same number are one class, named by the shorter "
            "spelling: {pairs}. Rows with another spelling: {rows} ({count} in all). "
            "If they are different classes, write them as words.",
            pairs=excerpt("; ".join(pairs)),
            rows=list_rows(row_numbers[others]),
            count=len(others),
        ),
    )


def by_value(name: str) -> tuple[float, str]:
    """Sorts numbers by their value, and names after them."""
    value = parse_number(name)
    return (float("inf") if value is None else value, name)


def _number(label: str) -> _Number | None:
    """Exact: two codes of 16 digits may be one float."""
    if parse_number(label) is None:
        return None
    text = label.strip().replace(",", ".")
    whole = _WHOLE_PART.match(text)
    digits = whole[1] if whole else ""
    is_code = len(digits) > 1 and digits.startswith("0")
    return Decimal(text), digits if is_code else ""


def _shortest(spellings: dict[str, _Number]) -> dict[_Number, str]:
    """The shortest spelling of each number, one without an exponent if there is."""

    def plainest(text: str) -> tuple[bool, int, str]:
        return "e" in text.lower(), len(text), text

    found: dict[_Number, str] = {}
    for label in sorted(spellings, key=plainest):
        found.setdefault(spellings[label], label)
    return found


def _is_whole(number: Decimal) -> bool:
    return number == number.to_integral_value()


def _without_decimals(label: str) -> str:
    match = _WHOLE_WITH_DECIMALS.fullmatch(label)
    return match[1] if match else label
