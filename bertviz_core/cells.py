"""Cells that a spreadsheet shows as text instead of running them."""

import re
import unicodedata

from bertviz_core.numbers import is_number

# What a formula begins with in Excel, LibreOffice and Google Sheets; the full-width
# ones in East Asian locales. A tab or an end of line moves what follows into a cell
# of its own when the text is pasted.
# Source: OWASP, "CSV Injection".
_STARTS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
_SEPARATORS = ("\t", "\r", "\n")
# White space, control characters, and what takes no room on the screen: joiners,
# marks of direction, byte order marks.
_UNSEEN = re.compile(
    r"[\s\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e"
    r"\u2060-\u206f\ufeff\ufff9-\ufffb]*"
)
# More characters than a number has.
_MOST_OF_A_NUMBER = 100


def safe_cell(text: str) -> str:
    """Puts an apostrophe before what would be a formula.

    Readers of tables drop what is unseen at the start of a cell, so the first
    character that is seen counts. -3 and +1,5 are numbers and stay: a class of that
    name is still the same in the table that it came from.
    """
    seen = _UNSEEN.sub("", text, count=1)  # it matches at the beginning, if nothing
    if not seen.startswith(_STARTS) and not text.startswith(_SEPARATORS):
        return text
    return text if _is_number(seen) else f"'{text}"


def _is_number(text: str) -> bool:
    """Whether it is a number, of full-width digits as well."""
    if len(text) > _MOST_OF_A_NUMBER:
        return False
    return is_number(unicodedata.normalize("NFKC", text))
