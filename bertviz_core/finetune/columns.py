"""Which column is the text and which the label: a guess with its reasons."""

from __future__ import annotations

from collections.abc import Sequence

from bertviz_core.errors import DatasetError
from bertviz_core.finetune.column_choice import ColumnChoice
from bertviz_core.finetune.column_profile import ColumnProfile, profile_columns
from bertviz_core.finetune.label_kind import guess_kind
from bertviz_core.finetune.notes import Note, note
from bertviz_core.finetune.table import Table
from bertviz_core.finetune.table_layout import (
    FIRST_OF_PAIR_NAMES,
    LABEL_NAMES,
    OTHER_NAMES,
    PAIR_NAMES,
    TEXT_NAMES,
)

# A label column of words: no more classes than this are guessed to be one.
_MAX_GUESSED_CLASSES = 50


def guess_columns(table: Table) -> ColumnChoice:
    """Guesses text, second text and label from names and values.

    Raises:
        DatasetError: the table has one column, or no column with texts.
    """
    if len(table.columns) < 2:
        raise DatasetError(
            "The table has one column, and training needs a text and a label. "
            "Received: {column}. Choose another separator, or add a column.",
            column=table.columns[0],
        )
    profiles = [p for p in profile_columns(table) if p.num_distinct]
    if len(profiles) < 2:
        raise DatasetError(
            "No two columns of the table have values. Received: {columns}. Fill in "
            "a text and a label in every row.",
            columns=", ".join(table.columns)[:200],
        )
    text, text_reason = _guess_text(profiles)
    others = [profile for profile in profiles if profile is not text]
    label, label_reason = _guess_label(others, table.num_rows)
    others = [profile for profile in others if profile is not label]
    pair, pair_reasons = _guess_pair(text, others, table.num_rows)
    return ColumnChoice(
        text=text.name,
        label=label.name,
        pair=pair.name if pair else None,
        is_regression=guess_kind(label, table.num_rows).is_regression,
        reasons=(text_reason, *pair_reasons, label_reason),
    )


def _named(
    profiles: Sequence[ColumnProfile], names: Sequence[str]
) -> ColumnProfile | None:
    """The first column called by one of the names; earlier names count more."""
    by_name = {profile.name.lower(): profile for profile in reversed(profiles)}
    return next((by_name[name] for name in names if name in by_name), None)


def _is_text(profile: ColumnProfile) -> bool:
    num_values = profile.num_distinct
    return profile.num_numbers == 0 or profile.num_numbers < 0.5 * num_values


def _guess_text(profiles: Sequence[ColumnProfile]) -> tuple[ColumnProfile, Note]:
    texts = [profile for profile in profiles if _is_text(profile)]
    named = _named(texts, (*FIRST_OF_PAIR_NAMES, *TEXT_NAMES))
    if named is not None:
        return named, note(
            "“{column}” is the text: its name says so.", column=named.name
        )
    if not texts:
        raise DatasetError(
            "No column of the table has texts: all is numbers. Received: {columns}. "
            "Add a column with texts.",
            columns=", ".join(profile.name for profile in profiles)[:200],
        )
    longest = max(texts, key=lambda profile: profile.mean_chars)
    return longest, note(
        "“{column}” is the text: its cells are the longest, {chars} characters "
        "on average.",
        column=longest.name,
        chars=round(longest.mean_chars),
    )


def _guess_label(
    others: Sequence[ColumnProfile], num_rows: int
) -> tuple[ColumnProfile, Note]:
    named = _named(others, LABEL_NAMES)
    if named is not None:
        return named, note(
            "“{column}” is the label: its name says so.", column=named.name
        )
    most = min(_MAX_GUESSED_CLASSES, max(2, num_rows // 4))
    unnamed = [other for other in others if other.name.lower() not in OTHER_NAMES]
    repeating = [other for other in unnamed if 2 <= other.num_distinct <= most]
    if repeating:
        fewest = min(repeating, key=lambda profile: profile.num_distinct)
        return fewest, note(
            "“{column}” is the label: it has only {count} different values.",
            column=fewest.name,
            count=fewest.num_distinct,
        )
    last = (unnamed or others)[-1]
    return last, note(
        "“{column}” is taken as the label: it is the last column that is left. "
        "Nothing else points to it.",
        column=last.name,
    )


def _guess_pair(
    text: ColumnProfile, others: Sequence[ColumnProfile], num_rows: int
) -> tuple[ColumnProfile | None, tuple[Note, ...]]:
    texts = [profile for profile in others if _is_text(profile)]
    # Where the first column is called sentence1, a column of any such name is
    # second; "answer" and "context" alone may be anything.
    certain = [name for name in PAIR_NAMES if name not in ("answer", "context")]
    is_first = text.name.lower() in FIRST_OF_PAIR_NAMES
    named = _named(texts, PAIR_NAMES if is_first else certain)
    if named is None:
        return None, ()
    return named, (
        note("“{column}” is the second text: its name says so.", column=named.name),
    )
