"""Tokens as labels of a figure, letter for letter; and where its words come from."""

import html
from collections.abc import Callable

# What a figure says, by name, in the reader's language.
Words = Callable[[str], str]

LONGEST_LABEL = 24  # characters
_FIRST_STRONG_ISOLATE, _POP_ISOLATE = "\u2068", "\u2069"


def label(token: str) -> str:
    """A token as plotly shows it letter for letter, cut to `LONGEST_LABEL`."""
    return escaped(plain_label(token))


def plain_label(token: str) -> str:
    """The same for what reads no HTML in its texts."""
    short = shortened(token, LONGEST_LABEL)
    # Isolated, so that a right-to-left word does not turn the number before it.
    return f"{_FIRST_STRONG_ISOLATE}{short}{_POP_ISOLATE}"


def shortened(text: str, most: int) -> str:
    """A text of at most so many characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def escaped(text: str) -> str:
    """Plotly reads some HTML in labels and hints; `%{` would begin a place to fill."""
    return html.escape(text, quote=False).replace("%{", "%\u2060{")


def with_minus(number: str) -> str:
    """A written number with the minus of plotly's axes in place of the hyphen."""
    return number.replace("-", "−")
