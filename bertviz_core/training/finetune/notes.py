"""Sentences that a result carries, ready to be translated."""

from collections.abc import Iterable

# (template, details), as a `BertVizError` holds them.
Note = tuple[str, dict[str, str | int | float]]

MAX_LISTED_ROWS = 5


def note(template: str, **details: str | int | float) -> Note:
    """A sentence with named places; write the template as one literal."""
    return template, details


def row_note(
    template: str, rows: Iterable[int], **details: str | int | float
) -> tuple[Note, ...]:
    """A note with `{rows}` and how many they are, `{count}`; none where none are.

    Rows are numbers of the file, from 1. `details` are of other places; a `count` of
    their own is what they count.
    """
    numbers = list(rows)
    counted: dict[str, str | int | float] = {
        "rows": list_rows(numbers),
        "count": len(numbers),
    }
    return ((template, counted | details),) if numbers else ()


def in_english(sentence: Note) -> str:
    """The sentence with its places filled."""
    template, details = sentence
    return template.format(**details)


def list_rows(rows: Iterable[int]) -> str:
    """Row numbers of the file, from 1, for a message: "3, 8, 12", and "…" for more."""
    numbers = [str(int(row)) for row in rows]
    listed = ", ".join(numbers[:MAX_LISTED_ROWS])
    return f"{listed}, …" if len(numbers) > MAX_LISTED_ROWS else listed


def excerpt(text: str, max_chars: int = 60) -> str:
    """The beginning of a cell on one line, for a message."""
    line = " ".join(text.split())
    return line if len(line) <= max_chars else line[: max_chars - 1] + "…"
