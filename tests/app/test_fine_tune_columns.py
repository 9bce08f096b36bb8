"""What is done with a label column that a visitor chose."""

import pytest

from bertviz_core.finetune.table import read_table
from bertviz_core.finetune.table_view import view_table
from pages.fine_tune.answers import choose_columns
from pages.fine_tune.state import FineTuneState


def view_of(values):
    rows = [f"text number {i},{'ab'[i % 2]},{v}" for i, v in enumerate(values)]
    return view_table(read_table("\n".join(["text,label,chosen", *rows]).encode()))


@pytest.mark.parametrize(
    ("values", "is_regression"),
    [
        (["4.99", "9.99", "12.50"] * 9, True),
        (["0.5", "1.0", "1.5"] * 9, False),  # half stars
        ([f"{i}" for i in range(27)], True),  # an amount without decimals
        (["0.5", "much", "none"] * 9, False),  # one number among words
        (["1", "2", "3"] * 9, False),
    ],
)
def test_another_label_is_taken_for_what_a_guess_would_take_it(values, is_regression):
    view = view_of(values)
    assert view.guess.label == "label"
    found = choose_columns(view, FineTuneState(label="chosen"))
    assert (found.label, found.is_regression) == ("chosen", is_regression)
    for kind in ("class", "number"):
        chosen = choose_columns(view, FineTuneState(label="chosen", kind=kind))
        assert chosen.is_regression == (kind == "number")
