"""Files that were joined from others: some lines in UTF-8, some in something else."""

from __future__ import annotations

import re

from bertviz_core.errors import DatasetError
from bertviz_core.finetune.notes import list_rows

_BEYOND_ASCII = re.compile(rb"[\x80-\xff]+")
# How often two bytes of GB18030 text are a character of UTF-8 as well: the first
# byte must be C2 to DF, the second below C0.
_CHANCE = 0.2
# Fewer lines than these may be UTF-8 by chance, and more than so many times what is
# to be expected are not.
_MIN_LINES, _MANY = 3, 3.0


def refuse_mixed(lines: list[tuple[int, bytes]]) -> None:
    """Refuses a file that is not all UTF-8, but in too many places to be by chance.

    Args:
        lines: (line number, bytes) of lines beyond ASCII.

    Raises:
        DatasetError: it mixes encodings; the lines of the rarer side are named.
    """
    whole = [(number, line) for number, line in lines if _is_utf8(line)]
    numbers = {number for number, _ in whole}
    if 2 * len(whole) > len(lines):
        raise DatasetError(
            "The file mixes encodings: most of it is UTF-8, and some is not. "
            "Received: other bytes in lines {lines}. Save the whole file as UTF-8.",
            lines=list_rows(number for number, _ in lines if number not in numbers),
        )
    expected = sum(_chance(line) for _, line in lines)
    if len(whole) >= _MIN_LINES and len(whole) > _MANY * expected:
        raise DatasetError(
            "The file mixes encodings: some of it is UTF-8, and some is not. "
            "Received: UTF-8 in lines {lines}. Save the whole file as UTF-8, or "
            "choose an encoding.",
            lines=list_rows(number for number, _ in whole),
        )


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _chance(line: bytes) -> float:
    """How likely a line in an encoding of two bytes a letter is UTF-8 as well."""
    runs = [len(run) for run in _BEYOND_ASCII.findall(line)]
    # A byte that stands alone never is.
    return 0.0 if 1 in runs else _CHANCE ** (sum(runs) / 2)
