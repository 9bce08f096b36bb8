"""User text inside Markdown: shown letter for letter, never interpreted.

Streamlit renders labels, captions and messages as Markdown with extras: emoji
codes, icons, colours, arrows, links for bare addresses. A backslash stops what the
parser reads; the extras look at the parsed text again, so there an invisible word
joiner (U+2060) comes between their letters.
"""

import re

MAX_CHARACTERS = 300

_JOINER = "\u2060"
_ISOLATE, _END_ISOLATE = "\u2068", "\u2069"
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
# Emoji codes and icons (":name:"), addresses ("://", "www.", "@").
_AFTER = re.compile(r"(:(?=[\w+/-]+:)|:(?=//)|\bwww(?=\.)|@)", re.IGNORECASE)
# Arrows and comparison signs that Streamlit turns into one character.
_SIGNS = re.compile(r"(<|>|-|~)(?=[-=>])")
# C0 and C1 controls have no picture, and half of a surrogate pair is no character;
# U+FFFD says that something was there.
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")
# Invisible marks that turn the reading direction of what follows.
_DIRECTION_MARKS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# Hebrew, Arabic and neighbours.
_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc"
    "\U00010800-\U00010fff\U0001e800-\U0001efff]"
)


class Markdown(str):
    """Text that is Markdown already; `escape` leaves it alone."""

    __slots__ = ()


def escape(text: str, max_characters: int = MAX_CHARACTERS) -> Markdown:
    """Makes a user's text safe to stand inside a Markdown sentence.

    What is longer than `max_characters` ends in "…".
    """
    if isinstance(text, Markdown):
        return text
    return literal(tidy(text, max_characters))


def tidy(text: str, max_characters: int = MAX_CHARACTERS) -> str:
    """Makes a user's text fit to stand in one line of plain text.

    White space, line breaks included, becomes single spaces. A text that reads
    from right to left is isolated, so it does not turn the sentence around it.
    """
    visible = _DIRECTION_MARKS.sub("", _CONTROLS.sub("\ufffd", text))
    line = " ".join(visible.split())
    if len(line) > max_characters:
        line = line[: max_characters - 1] + "…"
    if _RIGHT_TO_LEFT.search(line):
        return _ISOLATE + line + _END_ISOLATE
    return line


def literal(line: str) -> Markdown:
    """Escapes all that Markdown and Streamlit's extras would interpret."""
    line = _AFTER.sub(rf"\1{_JOINER}", _SIGNS.sub(rf"\1{_JOINER}", line))
    return Markdown(_PUNCTUATION.sub(r"\\\1", line))


def spoken(markdown: str) -> str:
    """A sentence of Markdown as a screen reader should read it out."""
    without_marks = re.sub(r"(?<!\\)[*`]", "", markdown).replace(_JOINER, "")
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", without_marks)


def table(header: list[str], rows: list[list[str]]) -> Markdown:
    """Writes a Markdown table; every cell is shown as text."""
    lines = [[escape(cell) for cell in row] for row in [header, *rows]]
    lines.insert(1, [Markdown("---")] * len(header))
    return Markdown("\n".join("| " + " | ".join(line) + " |" for line in lines))
