"""What a page says of a table and its rows, held against counting by hand."""

import dataclasses

import numpy as np
import pytest

from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.errors import TrainingError
from bertviz_core.finetune import data_check, remedies
from bertviz_core.finetune.column_choice import ColumnChoice
from bertviz_core.finetune.data_check import LengthCounts, rows_of
from bertviz_core.finetune.dataset import make_dataset
from bertviz_core.finetune.lengths import Lengths
from bertviz_core.finetune.request import (
    DataChoice,
    FinetuneSettings,
    TableSource,
    TrainingRequest,
)
from bertviz_core.finetune.split import split_beside_test, split_dataset
from bertviz_core.finetune.table import read_table
from bertviz_core.finetune.table_limits import Limits
from bertviz_core.finetune.table_view import PREVIEW_CHARS, view_table
from tests.core.finetune_samples import number_data, random_data

ROWS = "".join(f"text number {i},{'abc'[i % 7 % 3]}\n" for i in range(42))


def test_counts_of_lengths_give_the_same_numbers_as_the_rows():
    tokens = np.random.default_rng(7).integers(3, 60, 211).astype("int32")
    lengths = Lengths(tokens, np.zeros_like(tokens), 2)
    counts = data_check.count_lengths(lengths)
    for percent in (0, 1, 50, 90, 95, 99.5, 100):
        assert counts.percentile(percent) == lengths.percentile(percent)
    for most in (1, 3, 17, 30, 59, 60, 512):
        assert counts.share_cut(most) == lengths.share_cut(most)
        share = lengths.share_tokens_cut(most)
        assert counts.share_tokens_cut(most) == pytest.approx(share)
    one = LengthCounts(np.array([9]), np.array([4]))
    assert [one.percentile(p) for p in (0, 50, 100)] == [9, 9, 9]


def test_a_view_shows_the_first_rows_and_cuts_long_cells():
    long = "x" * (PREVIEW_CHARS + 50)
    view = view_table(read_table(f"text,label\n{long},a\n{ROWS}".encode()))
    assert view.columns == ("text", "label")
    assert len(view.preview) == 10
    assert view.preview[:2] == ((long[:PREVIEW_CHARS], "a"), ("text number 0", "a"))
    assert view.preview_rows[:2] == (2, 3)
    assert view.num_rows == 43
    assert (view.guess.text, view.guess.label) == ("text", "label")
    assert len(view.guess.reasons) == 2
    assert view.guess_problem is None
    bare = view_table(read_table(b"text\nall\nin\none\ncolumn\n"))
    assert bare.guess is None
    assert "one column" in str(bare.guess_problem)
    assert bare.preview[0] == ("all",)


def checked():
    dataset = read(ROWS)
    split = split_dataset(dataset, 0.25, seed=3)
    sizes = np.array([2 + len(text.split()) for text in dataset.texts], "int32")
    unknown = np.array([text.count("3") > 0 for text in dataset.texts], "int32")
    lengths, data = Lengths(sizes, unknown, 2), split.training_data(dataset)
    return dataset, data_check.check_data(dataset, data, lengths, 512, split.notes)


def test_all_is_counted_in_all_parts_of_the_split():
    dataset, found = checked()
    assert found.num_rows == 42
    assert found.num_train + found.num_test == 42
    both = found.train_counts + found.test_counts
    assert both.tolist() == dataset.counts.tolist() == [18, 12, 12]
    assert found.num_validation == found.validation_counts.sum() == 0
    assert "too small" in found.notes[-1][0]
    assert found.by_size.tolist() == [0, 1, 2]
    assert found.test_counts.min() >= 1
    assert found.lengths.num_rows.sum() == 42
    assert found.default_max_tokens == 8
    assert found.finding("nothing of the kind") is None
    kinds = [item.severity for item in found.findings]
    assert kinds == sorted(kinds, key=("warning", "notice", "good").index)


def read(rows, names=None, **options):
    table = read_table(f"text,label\n{rows}".encode())
    return make_dataset(table, ColumnChoice("text", "label", **options), names)


def of_four(count):
    """So many rows of four tokens."""
    return Lengths(np.full(count, 4, "int32"), np.zeros(count, "int32"), 2)


def test_a_table_to_test_on_is_checked_with_the_rows_that_it_leaves():
    rows = "".join(f"word number {i},a\nother number {i},b\n" for i in range(15))
    dataset = read(rows + "rare one,c\nrare two,c\n")
    # It takes ten of b and all of c, and says another label of two texts.
    taken = "".join(f"other number {i},b\n" for i in range(10))
    judged = read(
        f"{taken}Rare one,a\nrare two,c\na text of seven words is here,a\n"
        "twice,a\ntwice,b\n",
        dataset.label_names,
    )
    split, warnings = split_beside_test(dataset, judged)
    data, notes = split.training_data(dataset, judged), split.notes
    rows = data_check.rows_in_use(dataset, data, judged)
    assert len(rows) == 20 + 15
    sizes = np.array([2 + len(text.split()) for text in rows.texts], "int32")
    unknown = np.array(["seven" in text for text in rows.texts], "int32")
    found = data_check.check_data(
        dataset, data, Lengths(sizes, unknown, 2), 512, notes, warnings=warnings,
        judged=judged,
    )  # fmt: skip
    assert found.warnings == warnings != ()
    assert found.train_counts.tolist() == [15, 5, 0]
    assert found.test_counts.tolist() == [3, 11, 1]
    # The rows of b and c that are in both tables are used once.
    assert found.num_rows == found.num_train + found.num_test == 20 + 15
    assert found.remedy == "weights"  # 15 : 5; before the removal it was 15 : 15
    assert found.finding("balance").numbers["ratio"] == 3
    assert found.finding("rare").message[1]["names"] == "b (5)"
    assert found.lengths.num_rows.sum() == 35
    assert found.lengths.num_tokens[-1] == 9
    assert found.share_unknown > 0
    # Its rows have numbers of their own, which are none of the table.
    assert found.finding("unknown").rows == ()
    assert found.finding("contradictions") is None
    opposed = found.finding("contradictions_of_files")
    assert opposed.message[1] == {"count": 3, "rows": "12, 15, 16"}


def test_numbers_are_counted_in_ranges():
    rows = "".join(f"text {i},{i * 1.5}\n" for i in range(40))
    dataset = read(rows, is_regression=True)
    data = split_dataset(dataset, 0.25).training_data(dataset)
    found = data_check.check_data(dataset, data, of_four(40), 512)
    assert found.is_regression
    assert found.label_names == ("label",)
    assert len(found.label_edges) == len(found.train_counts) + 1
    both = found.train_counts + found.test_counts
    assert both.tolist() == [2] * 20
    assert (found.remedy, found.num_oversampled) == ("none", found.num_train)


def test_ranges_hold_the_numbers_of_a_table_to_test_on_where_they_are():
    def priced(prices, names=None):
        rows = "".join(f"costs {price},{price}\n" for price in prices)
        return read(rows, names, is_regression=True)

    dataset, judged = priced(range(10)), priced([-90, 5.5, 110], ())
    data = split_beside_test(dataset, judged)[0].training_data(dataset, judged)
    found = data_check.check_data(dataset, data, of_four(13), 512, judged=judged)
    assert found.label_edges[[0, -1]].tolist() == [-90, 110]
    # The ten are within one range; of the three, each is in one of its own.
    assert found.train_counts.tolist() == [0] * 9 + [10] + [0] * 10
    assert np.flatnonzero(found.test_counts).tolist() == [0, 9, 19]


def test_the_largest_class_is_the_one_with_most_to_learn_from():
    rows = "".join(f"one {i},a\nother {i},b\nthird {i},c\n" for i in range(9))
    dataset = read(rows + "once more,b\n")
    judged = read("".join(f"new {i},c\n" for i in range(9)), dataset.label_names)
    data = split_beside_test(dataset, judged)[0].training_data(dataset, judged)
    found = data_check.check_data(dataset, data, of_four(37), 512, judged=judged)
    assert found.by_size.tolist() == [1, 2, 0]
    assert found.finding("balance").message[1]["largest"] == "b"


def test_rows_are_shown_with_their_numbers_and_class_names():
    data = random_data()
    part = data.validation
    first, second = rows_of(part, data.labels, (4, 99, -1, 0))
    assert (first.row, first.text) == (int(part.rows[4]), part.texts[4])
    assert first.label == data.labels[part.targets[4]]
    assert second.text == part.texts[0]
    (number,) = rows_of(number_data().train, ("price",), (1,))
    assert number.label == "530"
    amounts = np.array([1234567, 0.1], "float32")
    part = dataclasses.replace(number_data().train.select([0, 1]), targets=amounts)
    labels = [row.label for row in rows_of(part, ("price",), (0, 1))]
    assert labels == ["1234567", "0.1"]


def test_rare_classes_are_repeated_as_often_as_the_largest(monkeypatch):
    data = random_data(num_train=23)
    keep = np.array([0, 1, 2, 3, 4, 6, 9, 12])  # classes 0, 1, 2, 0, 1, 0, 0, 0
    few = dataclasses.replace(data, train=data.train.select(keep))
    more, again = (remedies.oversampled(few, seed=5) for _ in range(2))
    assert np.bincount(more.train.targets).tolist() == [5, 5, 5]
    assert remedies.num_oversampled(np.bincount(few.train.targets)) == 15
    assert set(more.train.texts) == set(few.train.texts)
    assert more.validation is few.validation
    assert again.train.texts == more.train.texts
    numbers = number_data()
    assert remedies.oversampled(numbers, 1) is numbers
    monkeypatch.setattr(remedies, "MAX_OVERSAMPLED", 23)
    with pytest.raises(TrainingError, match="24"):
        remedies.oversampled(data, 1)


def test_weights_and_repeats_exclude_each_other():
    with pytest.raises(TrainingError, match="oversample"):
        FinetuneSettings(class_weights=True, oversample=True)


def test_a_request_survives_the_way_through_a_file():
    choice = ColumnChoice("a b", "标签", "second", True, (("because", {}),))
    data = DataChoice(
        TableSource("sample:x", "utf-8", "\t", False), choice, TableSource("file:y"),
        validation_rate=0.3, seed=4,
    )  # fmt: skip
    settings = FinetuneSettings(level="top", decay="exponential", oversample=True)
    request = TrainingRequest(DEFAULT_MODEL, data, settings, "标题", True)
    assert TrainingRequest.from_dict(request.to_dict()) == request
    assert hash(data) == hash(dataclasses.replace(data))
    alone = dataclasses.replace(request, data=DataChoice(data.source, choice))
    assert TrainingRequest.from_dict(alone.to_dict()).data.validation is None
    # Requests of before there was a test part say nothing of it.
    raw = request.to_dict()
    del raw["data"]["test_rate"]
    assert TrainingRequest.from_dict(raw).data.test_rate == 0


def test_a_wide_table_is_read_as_far_as_its_cells_allow():
    rows = "".join(f"text {i},{i % 2},,,x\n" for i in range(60))
    limits = Limits(max_cells=210)
    table = read_table(f"text,label,a,b,c\n{rows}".encode(), limits=limits)
    assert table.num_rows == 42
    (cut,) = [details for text, details in table.notes if "limit" in details]
    assert (cut["limit"], cut["row"]) == (42, 43)


def test_of_very_many_rows_some_are_measured_and_the_page_is_told():
    dataset, whole = checked()
    assert data_check.to_measure(dataset, most=42) is dataset
    part = data_check.to_measure(dataset, most=11)
    numbers = part.row_numbers.tolist()
    assert len(set(numbers)) == 11
    assert numbers == sorted(numbers)
    by_row = dict(zip(dataset.row_numbers.tolist(), dataset.texts, strict=True))
    assert [by_row[row] for row in numbers] == list(part.texts)
    data = split_dataset(dataset, 0.25).training_data(dataset)
    found = data_check.check_data(dataset, data, of_four(11), 512, measured=part)
    assert found.num_rows == whole.num_rows == 42
    assert found.lengths.num_rows.sum() == 11
    assert found.notes[-1][1] == {"count": 11, "total": 42}
    assert not any("total" in details for _, details in whole.notes)
