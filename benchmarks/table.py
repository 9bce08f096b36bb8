"""What a benchmark found, as a table in Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Table:
    """Rows under a title, with sentences that say what they mean."""

    title: str  # of the table
    header: Sequence[str]  # of the columns
    rows: Sequence[Sequence[str]]  # a text for each column
    # What a reader has to know to trust the numbers.
    notes: Sequence[str] = field(default=())

    def markdown(self) -> str:
        lines = [self.header, ["---"] * len(self.header), *self.rows]
        table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        notes = "\n".join(f"- {note}" for note in self.notes)
        return f"## {self.title}\n\n{table}\n\n{notes}\n"


def met(measured: float, target: float) -> str:
    """Says whether a number that should be small is small enough."""
    return "yes" if measured <= target else "**no**"
