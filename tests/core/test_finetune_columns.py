"""Which column is what, classes or numbers, and what becomes of every row."""

import numpy as np
import pytest

from bertviz_core.errors import DatasetError
from bertviz_core.numbers import number_text, parse_number
from bertviz_core.training.finetune.columns import (
    ColumnChoice,
    guess_columns,
    guess_kind,
    profile_columns,
)
from bertviz_core.training.finetune.dataset import make_dataset
from bertviz_core.training.finetune.notes import in_english
from bertviz_core.training.finetune.table import read_table

NAMED = ColumnChoice("text", "label")


def table_of(header, rows):
    lines = [header, *rows]
    return read_table("\n".join(";".join(line) for line in lines).encode())


def labelled(labels, **options):
    rows = [
        (f"text number {i} of some length", label) for i, label in enumerate(labels)
    ]
    choice = ColumnChoice("text", "label", **options)
    return make_dataset(table_of(("text", "label"), rows), choice)


def reasons(choice):
    return " ".join(in_english(reason) for reason in choice.reasons)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (("id", "review", "sentiment"), ("review", "sentiment")),
        (("label", "sentence", "n"), ("sentence", "label")),
        (("类别", "评论", "编号"), ("评论", "类别")),
    ],
)
def test_names_decide_first(header, expected):
    def cell(name, i):
        if name in ("id", "n", "编号"):
            return str(i)
        return f"a text about subject {i}" if name == expected[0] else "ab"[i % 2]

    rows = [[cell(name, i) for name in header] for i in range(12)]
    choice = guess_columns(table_of(header, rows))
    assert (choice.text, choice.label, choice.pair) == (*expected, None)
    assert "its name says so" in reasons(choice)


def test_without_names_the_longest_is_the_text_and_the_least_varied_the_label():
    rows = [
        (f"{i}", "xyz"[i % 3], f"what was said on day {i} at length", f"c{i % 7}")
        for i in range(40)
    ]
    choice = guess_columns(table_of(("k", "m", "w", "v"), rows))
    assert (choice.text, choice.label) == ("w", "m")
    assert "longest" in reasons(choice)
    assert "3 different values" in reasons(choice)


def test_a_pair_is_known_by_its_names():
    rows = [(f"the first text {i}", f"the second {i}", "01"[i % 2]) for i in range(9)]
    names = ("sentence1", "sentence2", "label")
    table = table_of(names, rows)
    choice = guess_columns(table)
    assert (choice.text, choice.pair, choice.label) == names
    assert make_dataset(table, choice).pairs == tuple(row[1] for row in rows)


def test_a_profile_counts_what_is_there():
    rows = [("a", "1"), ("bcd", "2.5"), ("a", ""), ("", "x"), ("NaN", "2")]
    text, value = profile_columns(table_of(("text", "value"), rows))
    assert (text.num_absent, text.num_distinct, text.num_numbers) == (2, 2, 0)
    assert text.mean_chars == pytest.approx(5 / 3)
    assert (value.num_absent, value.num_numbers, value.num_fractions) == (1, 3, 1)


@pytest.mark.parametrize(
    ("labels", "names", "ids"),
    [
        (["True", "False"], ("False", "True"), [1, 0]),
        (["10", "9"], ("9", "10"), [1, 0]),
        (["1", "1.0", "2.00"], ("1", "2"), [0, 0, 1]),
        ([" a ", "a", "b"], ("a", "b"), [0, 0, 1]),
        (["007", "7.0", "08"], ("007", "7", "08"), [0, 1, 2]),
        (["9007199254740993", "9007199254740992"],
         ("9007199254740992", "9007199254740993"), [1, 0]),
        (["1", "1.0", "2.5", "2,50"], ("1", "2.5"), [0, 0, 1, 1]),
        (["0.5", ".5", "+.50", "-.5"], ("-.5", ".5"), [1, 1, 1, 0]),
        (["1.50", "2.0"], ("1.50", "2.0"), [0, 1]),
        (["1000", "1e3", "+1", "1"], ("1", "1000"), [1, 1, 0, 0]),
        (["1", "1.0", "x"], ("1", "1.0", "x"), [0, 1, 2]),
        (["-1", "1", "x"], ("-1", "1", "x"), [0, 1, 2]),
        (["好" * 200, "b"], ("b", "好" * 200), [1, 0]),
    ],
)  # fmt: skip
def test_labels_of_any_kind_become_classes(labels, names, ids):
    dataset = labelled(labels * 5)
    assert dataset.label_names == names
    assert dataset.targets.tolist() == ids * 5
    assert dataset.targets.dtype == np.int32
    assert dataset.counts.tolist() == [5 * ids.count(k) for k in range(len(names))]


def test_labels_that_have_become_one_class_are_told_with_their_rows():
    dataset = labelled(["1", "1.0", "2.5", "2.5", "1.00"] * 2)
    ((template, details),) = dataset.notes
    assert "same number are one class" in template
    assert details == {
        "pairs": "1.0 = 1; 1.00 = 1", "rows": "3, 6, 8, 11", "count": 4,
    }  # fmt: skip
    assert dataset.warnings == ()
    # Here nothing was joined: each class has one spelling.
    for alone in (["1.0", "2.0"], ["1.50", "2"], ["007", "7"], ["1", "1.0", "x"]):
        assert labelled(alone * 4).notes == ()


def test_spaces_around_labels_are_told_where_others_have_none():
    ((template, details),) = labelled(["yes", " yes", "no", "yes "] * 3).notes
    assert template.startswith("Spaces around a label make no other class")
    assert details == {"names": "yes", "rows": "3, 5, 7, 9, 11, …", "count": 6}
    assert labelled([" yes", " no"] * 4).notes == ()


@pytest.mark.parametrize(
    ("labels", "count"), [(["1", "1.0", "2.5", "2.50"], 2), (["1", "1.0", "x"], 3)]
)
def test_a_column_counts_equal_numbers_once(labels, count):
    table = table_of(("text", "label"), [("a", label) for label in labels * 2])
    assert profile_columns(table)[1].num_distinct == count


def test_numbers_are_read_with_point_and_comma():
    dataset = labelled(["1.5", "2,25", "-3", "1e2"] * 2, is_regression=True)
    assert dataset.targets.dtype == np.float32
    assert dataset.targets.tolist() == [1.5, 2.25, -3, 100] * 2
    cells = {"0,125": 0.125, ".5": 0.5, "1,50": 1.5, " +7 ": 7.0}
    assert {cell: parse_number(cell) for cell in cells} == cells


@pytest.mark.parametrize(
    "cell", ["", "x", "1,500", "12,000", "1_0", "inf", "nan", "1e999", "0x1", "1.2.3"]
)
def test_what_is_no_number_or_may_be_two_is_none(cell):
    assert parse_number(cell) is None


def test_a_mark_that_may_be_of_thousands_is_a_sentence_for_numbers_and_classes():
    prices = [f"{i},000" for i in range(1, 11)]
    for is_regression in (True, False):
        with pytest.raises(DatasetError, match=r"thousands.*“1,000” in rows 2, 3"):
            labelled(prices, is_regression=is_regression)
    # A name among them is another mistake, and so are repeated values.
    with pytest.raises(DatasetError, match="a label of its own"):
        labelled([*prices, "cheap"])
    assert labelled(["1,000", "2,000"] * 5).label_names == ("1,000", "2,000")


@pytest.mark.parametrize(
    ("labels", "is_told"),
    [
        (["900", "1.500", "2.250", "12.000"], True),
        (["900", "1.500", "2.25", "12.000"], False),
        (["900", "1.500", "0.250", "12.000"], False),
        (["900", "1.500", "2,5", "12.000"], False),
        (["900", "1500", "2250"], False),
        (["0.125", "0.250", "0.5"], False),
    ],
)
def test_decimals_that_may_all_be_thousands_are_a_warning(labels, is_told):
    found = labelled(labels * 3, is_regression=True)
    said = [in_english(each) for each in found.warnings]
    assert len(said) == is_told
    for sentence in said:
        assert "“1.500” is read as 1.5" in sentence
        assert "3, 4, 5, 7, 8, … (9 in all)" in sentence
    assert all(each in found.notes for each in found.warnings)


def test_a_class_that_stands_for_no_label_is_named_where_it_is_left_out():
    notes = labelled(["EU", "NA", "US", ""] * 4).notes
    said = " ".join(map(in_english, notes))
    assert "“NA” stands for no label: 3, 7, 11, 15 (4 in all)" in said
    assert "without a label are left out: 5, 9, 13, 17 (4 in all)" in said


@pytest.mark.parametrize(
    "text", ["0.1", "1234567", "-3", "0", "2.5", "1e+20", "16777216", "1e-07"]
)
def test_a_number_is_written_as_briefly_as_its_precision_allows(text):
    assert number_text(np.float32(text)) == text
    assert number_text(float(np.float32(text))) == text


def test_rows_without_text_or_label_are_left_out_by_their_numbers():
    rows = [(f"text {i}", "ab"[i % 2]) for i in range(12)]
    rows[3], rows[5], rows[8] = ("nan", ""), ("text 5", ""), ("nan", "b")
    dataset = make_dataset(table_of(("text", "label"), rows), NAMED)
    assert dataset.rows.tolist() == [2, 3, 4, 6, 8, 9, 11, 12, 13]
    assert [in_english(each) for each in dataset.notes] == [
        "Rows without a text are left out: 5, 10 (2 in all).",
        "Rows without a label are left out: 7 (1 in all).",
    ]
    examples = dataset.select(np.array([7, 2]))
    assert examples.texts == ("text 10", "text 2")
    assert (examples.targets.tolist(), examples.rows.tolist()) == ([0, 0], [12, 4])


@pytest.mark.parametrize(
    ("known", "labels", "ids"),
    [
        (("a", "b", "c"), ["b", "b"], [1, 1]),
        (("1.0", "2.0", "x"), ["x", "1", "2.00", "1.0"], [2, 0, 1, 0]),
        (("0", "1"), ["1.0", "0.0", "1"], [1, 0, 1]),
        (("007", "7"), ["7.0", "007"], [1, 0]),
        (("1", "1.0", "x"), ["1.0", "1", "1.00"], [1, 0, 0]),
        ((".5", "1.50"), ["0.5", "1,5", "+1.5"], [0, 1, 1]),
    ],
)
def test_each_label_of_a_validation_file_is_looked_for_by_itself(known, labels, ids):
    table = table_of(("text", "label"), [("one text", label) for label in labels])
    assert make_dataset(table, NAMED, label_names=known).targets.tolist() == ids


def test_the_label_that_training_lacks_is_blamed_and_no_other():
    rows = [("one text", label) for label in ("1.0", "0.0", "maybe")]
    with pytest.raises(DatasetError, match="“maybe” in rows 4"):
        make_dataset(table_of(("text", "label"), rows), NAMED, label_names=("0", "1"))


def test_numbers_up_to_the_limit_are_learned_and_one_beyond_names_its_rows():
    largest = labelled(["1e30", "-1e30", "3"] * 3, is_regression=True)
    assert np.isfinite(largest.targets).all()
    with pytest.raises(DatasetError, match=r"too large.*“1e31” in rows 4, 8, 2 rows"):
        labelled(["1", "2", "1e31", "2"] * 2, is_regression=True)


def test_a_validation_file_of_numbers_may_be_short():
    table = table_of(("text", "label"), [("one text", "2.5")])
    choice = ColumnChoice("text", "label", is_regression=True)
    assert make_dataset(table, choice, label_names=()).targets.tolist() == [2.5]
    with pytest.raises(DatasetError, match="nothing to learn"):
        make_dataset(table, choice)


@pytest.mark.parametrize(
    ("labels", "is_regression", "words"),
    [
        (["1", "2", "three", "4"] * 3, True, "“three” in rows 4, 8"),
        (["1.5", "inf"] * 5, True, "“inf” in rows 3, 5"),
        (["1.5", "-1e99"] * 5, True, "“-1e99” in rows 3, 5"),
        (["1", "2", "3"], True, "too few rows"),
        (["a", "b", "a"], False, "too few rows"),
        (["a"] * 9, False, "“a” in all 9 rows"),
        (["a", "好" * 201] * 4, False, "201 characters; rows with such labels: 3, 5"),
        ([f"{i / 7:.3f}" for i in range(40)], False, "predict the number"),
    ],
)
def test_labels_that_cannot_be_learned_are_a_sentence(labels, is_regression, words):
    with pytest.raises(DatasetError) as caught:
        labelled(labels, is_regression=is_regression)
    assert words in str(caught.value)


def test_a_column_cannot_be_two_things():
    table = table_of(("text", "label"), [("a", "b"), ("c", "d")])
    with pytest.raises(DatasetError, match="chosen twice"):
        make_dataset(table, ColumnChoice("text", "text"))
    with pytest.raises(DatasetError, match="chosen twice"):
        make_dataset(table, ColumnChoice("text", "label", pair="label"))


def labels_table(labels, name="label"):
    rows = [f"text {i} goes here;{label}" for i, label in enumerate(labels)]
    return read_table("\n".join([f"text;{name}", *rows]).encode())


def kind_of(labels):
    table = labels_table(labels)
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
    choice = guess_columns(labels_table(labels))
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
