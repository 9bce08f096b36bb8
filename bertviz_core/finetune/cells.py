"""Cells that a spreadsheet shows as text instead of running them."""

from __future__ import annotations

# What a formula begins with in Excel, LibreOffice and Google Sheets.
# Source: OWASP, "CSV Injection".
_STARTS = ("=", "+", "-", "@", "\t", "\r")


def safe_cell(text: str) -> str:
    """Puts an apostrophe before what would be a formula."""
    return f"'{text}" if text.startswith(_STARTS) else text
