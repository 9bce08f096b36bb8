"""Files that were joined from others: some lines in UTF-8, some in something else."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator

from bertviz_core.errors import DatasetError
from bertviz_core.finetune.notes import list_rows
from bertviz_core.finetune.table_limits import Limits

_BEYOND_ASCII = re.compile(rb"[\x80-\xff]+")
# How often two bytes of GB18030 text are a character of UTF-8 as well: the first
# byte must be C2 to DF, the second below C0.
_CHANCE = 0.2
# Fewer lines than these may be UTF-8 by chance, and more than so many times what is
# to be expected are not.
_MIN_LINES, _MANY = 3, 3.0
# No line with so many bytes beyond ASCII is UTF-8 by chance.
_NO_CHANCE_BYTES = 40
_MOST_LINES = 20_000
# Of one character, in every encoding that is known here.
_MOST_BYTES = 4


def telling_lines(data: bytes, limits: Limits) -> Iterator[tuple[int, bytes]]:
    """The lines beyond ASCII, the first 20,000 of them, one at a time.

    Args:
        data: the whole file.
        limits: see there.

    Yields:
        Number of the line and its bytes, without its end.

    Raises:
        DatasetError: a line has more bytes than its characters may take.
    """
    # A character for each byte, so that all kinds of line ends are seen.
    stream = io.TextIOWrapper(io.BytesIO(data), encoding="latin-1", newline="")
    most = _MOST_BYTES * limits.max_line_chars
    number = num_telling = 0
    while num_telling < _MOST_LINES and (line := stream.readline(most + 1)):
        number += 1
        if len(line) > most:
            raise limits.long_line(number)
        if not line.isascii():
            num_telling += 1
            yield number, line.rstrip("\r\n").encode("latin-1")


def refuse_mixed(lines: Iterable[tuple[int, bytes]]) -> None:
    """Refuses a file that is not all UTF-8, but in too many places to be by chance.

    Args:
        lines: of `telling_lines`.

    Raises:
        DatasetError: it mixes encodings; the lines of the rarer side are named.
    """
    whole: list[int] = []
    others: list[int] = []
    expected = 0.0
    for number, line in lines:
        (whole if _is_utf8(line) else others).append(number)
        expected += _chance(line)
    if len(whole) > len(others):
        raise DatasetError(
            "The file mixes encodings: most of it is UTF-8, and some is not. "
            "Received: other bytes in lines {lines}. Save the whole file as UTF-8.",
            lines=list_rows(others),
        )
    if len(whole) >= _MIN_LINES and len(whole) > _MANY * expected:
        raise DatasetError(
            "The file mixes encodings: some of it is UTF-8, and some is not. "
            "Received: UTF-8 in lines {lines}. Save the whole file as UTF-8, or "
            "choose an encoding.",
            lines=list_rows(whole),
        )


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _chance(line: bytes) -> float:
    """How likely a line in an encoding of two bytes a letter is UTF-8 as well."""
    size = 0
    for run in _BEYOND_ASCII.finditer(line):
        size += len(run[0])
        # A byte that stands alone never is.
        if len(run[0]) == 1 or size > _NO_CHANCE_BYTES:
            return 0.0
    return _CHANCE ** (size / 2)
