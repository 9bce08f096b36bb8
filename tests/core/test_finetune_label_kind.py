"""Whether a column of numbers is taken for classes or for numbers to predict."""

import pytest

from bertviz_core.finetune.column_profile import profile_columns
from bertviz_core.finetune.columns import guess_columns
from bertviz_core.finetune.label_kind import guess_kind, kind_of_column
from bertviz_core.finetune.notes import in_english
from bertviz_core.finetune.table import read_table


def table_of(labels, name="label"):
    rows = [f"text {i} goes here;{label}" for i, label in enumerate(labels)]
    return read_table("\n".join([f"text;{name}", *rows]).encode())


def kind_of(labels):
    table = table_of(labels)
    return guess_kind(profile_columns(table)[1], table.num_rows)


def halves(start, stop):
    return [f"{i / 2:g}" for i in range(int(2 * start), 2 * stop + 1)]


@pytest.mark.parametrize(
    ("labels", "is_regression", "reason"),
    [
        # Amounts: decimals that no rating has, or many values.
        (["4.99", "9.99", "12.50"] * 9, True, "18 of its values have decimals"),
        (["4,99", "9,99", "12,50"] * 9, True, "18 of its values have decimals"),
        ([*"12345" * 9, "3.7"], True, "1 of its values have decimals"),
        (["0.1", "0.2", "0.3"] * 9, True, "other than .5"),
        ([f"{i % 21}" for i in range(210)], True, "21 different values"),
        (halves(0, 15) * 3, True, "31 different values"),
        ([f"{1990 + i}" for i in range(25)] * 20, True, "25 different values"),
        # Classes: ratings, marks and codes.
        (["0", "1"] * 9, False, "2 whole numbers"),
        ([*"12345" * 9], False, "5 whole numbers"),
        ([f"{i % 4}.0" for i in range(30)], False, "4 whole numbers"),
        (["-1", "0", "1"] * 9, False, "3 whole numbers"),
        ([f"{i % 20}" for i in range(40)], False, "20 whole numbers"),
        (halves(0.5, 5) * 4, False, "10 different values in steps of a half"),
        (["0,5", "", "1"] * 9, False, "2 different values in steps of a half"),
        (["101", "205", "310"] * 9, False, "3 whole numbers"),
        ([f"{200 + i}" for i in range(30)] * 10, False, "30 different numbers"),
        ([f"{i:04}" for i in range(40)] * 10, False, "written like codes"),
    ],
)
def test_amounts_are_numbers_and_ratings_and_codes_are_classes(
    labels, is_regression, reason
):
    kind = kind_of(labels)
    assert kind.is_regression is is_regression
    assert kind.is_open
    said = in_english(kind.reason)
    taken = "a number to predict" if is_regression else "a class"
    assert said.startswith(f"The label is {taken}: ")
    assert reason in said
    choice = guess_columns(table_of(labels))
    assert choice.is_regression is is_regression
    # The reason stands for itself, and not once more among those of the columns.
    assert kind.reason not in choice.reasons


@pytest.mark.parametrize(
    "labels",
    [
        [f"{200 + i}" for i in range(30)] * 9,  # too few rows of each
        [f"{200 + i}" for i in range(51)] * 10,  # too many to be codes
        [f"{95 + i}" for i in range(30)] * 10,  # two digits and three
    ],
)
def test_what_is_no_code_for_certain_is_an_amount(labels):
    assert kind_of(labels).is_regression


@pytest.mark.parametrize(
    "labels", [["4.99", "9.99", "free"] * 9, ["yes", "no"] * 9, ["", ""] * 9]
)
def test_what_is_not_all_numbers_can_be_nothing_but_a_class(labels):
    kind = kind_of(labels)
    assert (kind.is_regression, kind.is_open) == (False, False)


def test_the_kind_of_a_column_is_found_by_its_name():
    table = table_of(["4.99", "9.99"] * 9, "price")
    profiles = profile_columns(table)
    assert kind_of_column(profiles, "price", table.num_rows).is_regression
    assert not kind_of_column(profiles, "text", table.num_rows).is_regression
    assert kind_of_column(profiles, "cost", table.num_rows) is None
