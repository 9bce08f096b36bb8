"""Cells that a spreadsheet shows as text instead of running them."""

from __future__ import annotations

from bertviz_core.finetune.numbers import is_number

# What a formula begins with in Excel, LibreOffice and Google Sheets.
# Source: OWASP, "CSV Injection".
_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


def safe_cell(text: str) -> str:
    """Puts an apostrophe before what would be a formula.

    -3 and +1,5 are numbers and stay: a class of that name is still the same in the
    table that it came from.
    """
    return f"'{text}" if text.startswith(_STARTS) and not is_number(text) else text
