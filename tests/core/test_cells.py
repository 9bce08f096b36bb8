"""Cells that a spreadsheet would run become text, and all others stay."""

import pytest

from bertviz_core.cells import safe_cell

FORMULAS = ["=1+1", "+a", "-a", "@a", "＝1+1", "＋a", "－a", "＠a"]


@pytest.mark.parametrize("unseen", ["", *" \t\r\n\u3000\ufeff\u200b\x00"])
def test_nothing_unseen_hides_a_formula(unseen):
    for formula in FORMULAS:
        for text in (unseen + formula, unseen * 3 + formula):
            assert safe_cell(text) == f"'{text}"


@pytest.mark.parametrize("separator", "\t\r\n")
def test_what_would_move_to_a_cell_of_its_own_is_kept_together(separator):
    assert safe_cell(f"{separator}1+1") == f"'{separator}1+1"


WORDS = ["'", "##-", "a=1", " a", "a@b.c", "\u200bword", "", " "]
NUMBERS = ["-3.5", "+1.5", " +1,5", "\ufeff-1e-3", "－3.5", "＋１"]


def test_text_and_numbers_stay_as_they_are():
    for text in (*WORDS, *NUMBERS):
        assert safe_cell(text) == text
