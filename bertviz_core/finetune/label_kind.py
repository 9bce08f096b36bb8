"""Whether a label is a class or a number to predict: a guess with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bertviz_core.finetune.column_profile import ColumnProfile
from bertviz_core.finetune.notes import Note, note

# Numbers with more values than a rating has are an amount.
_MAX_RATING_VALUES = 20
# More values may be codes, where these come as often as classes must to be learned.
_MAX_CODES, _ROWS_PER_CODE = 50, 10


@dataclass(frozen=True)
class KindGuess:
    """What a label is taken for.

    Args:
        is_regression: a number to predict, not a class.
        is_open: all values are numbers, so that the other kind is possible, too.
        reason: why.
    """

    is_regression: bool
    is_open: bool
    reason: Note


def guess_kind(label: ColumnProfile, num_rows: int) -> KindGuess:
    """Guesses the kind of a label where nobody said it.

    Decimals are an amount, and so are numbers with more values than a rating has.
    Ratings, also by half stars, and codes are classes.

    Args:
        label: its column.
        num_rows: of the table.
    """
    num_values = num_rows - label.num_absent
    if label.num_numbers < max(num_values, 1):
        return KindGuess(
            False,
            False,
            note("The label is a class: not all of its values are numbers."),
        )
    has_many = label.num_distinct > _MAX_RATING_VALUES
    is_coded = has_many and _are_codes(label, num_values)
    is_regression = bool(label.num_uneven) or (has_many and not is_coded)
    if label.num_uneven:
        reason = note(
            "The label is a number to predict: {count} of its values have decimals "
            "other than .5.",
            count=label.num_uneven,
        )
    elif is_coded:
        reason = note(
            "The label is a class: its {count} different numbers are written like "
            "codes, and come again and again.",
            count=label.num_distinct,
        )
    elif has_many:
        reason = note(
            "The label is a number to predict: it has {count} different values.",
            count=label.num_distinct,
        )
    elif label.num_fractions:
        reason = note(
            "The label is a class: it has {count} different values in steps of a "
            "half, as ratings have.",
            count=label.num_distinct,
        )
    else:
        reason = note(
            "The label is a class: it has {count} whole numbers and no decimals.",
            count=label.num_distinct,
        )
    return KindGuess(is_regression, True, reason)


def kind_of_column(
    profiles: Sequence[ColumnProfile], name: str, num_rows: int
) -> KindGuess | None:
    """Guesses the kind of a label that was chosen by its name.

    Args:
        profiles: of all columns.
        name: of the label's column.
        num_rows: of the table.

    Returns:
        `None` where there is no such column.
    """
    found = (guess_kind(one, num_rows) for one in profiles if one.name == name)
    return next(found, None)


def _are_codes(label: ColumnProfile, num_values: int) -> bool:
    """Whether many numbers are names: written like codes, each of them often."""
    is_repeated = num_values >= _ROWS_PER_CODE * label.num_distinct
    return label.is_coded and is_repeated and label.num_distinct <= _MAX_CODES
