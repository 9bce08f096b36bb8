"""The split: by chance, by class, with copies in one part."""

import numpy as np
import pytest

from bertviz_core.errors import DatasetError
from bertviz_core.training.finetune.columns import ColumnChoice
from bertviz_core.training.finetune.notes import in_english
from bertviz_core.training.finetune.split import (
    MIN_VALIDATION,
    imbalance,
    prepare,
    propose_remedy,
    split_beside_test,
    split_dataset,
    text_keys,
)
from bertviz_core.training.finetune.table import read_table
from tests.core.finetune_samples import dataset_of


def random_dataset(num_rows=211, num_texts=97, seed=3):
    rng = np.random.default_rng(seed)
    texts = [f"text {rng.integers(num_texts)}" for _ in range(num_rows)]
    return dataset_of(texts, rng.choice(3, num_rows, p=[0.7, 0.2, 0.1]))


def test_every_row_is_in_exactly_one_part_as_the_seed_decides():
    dataset = random_dataset()
    split, again = (split_dataset(dataset, seed=1) for _ in range(2))
    parts = [split.train, split.validation, split.test]
    assert np.sort(np.concatenate(parts)).tolist() == list(range(len(dataset)))
    assert [len(part) for part in parts] == pytest.approx([148, 21, 42], abs=2)
    other = split_dataset(dataset, seed=5)
    for name in ("validation", "test"):
        drawn = getattr(split, name).tolist()
        assert drawn == getattr(again, name).tolist() != getattr(other, name).tolist()


def test_a_prepared_table_has_the_rows_of_its_split():
    rows = "".join(f"text {i},{'abc'[i % 3]}\n" for i in range(250))
    found = prepare(
        read_table(f"text,label\n{rows}".encode()),
        ColumnChoice("text", "label"),
        seed=3,
    )
    split = split_dataset(found.dataset, seed=3)
    assert found.data.labels == ("a", "b", "c")
    for name in ("train", "validation", "test"):
        expected = found.dataset.select(getattr(split, name)).texts
        assert getattr(found.data, name).texts == expected


@pytest.mark.parametrize(("num_rows", "expected"), [(199, 20), (180, 0)])
def test_a_small_table_has_no_rows_to_choose_by_and_says_so(num_rows, expected):
    labels = np.arange(num_rows) % 2
    dataset = dataset_of([f"text {i}" for i in range(num_rows)], labels)
    split = split_dataset(dataset, seed=3)
    assert len(split.validation) == expected
    assert len(split.train) + expected + len(split.test) == num_rows
    said = " ".join(map(in_english, split.notes))
    assert (f"fewer than {MIN_VALIDATION} choose" in said) is (expected == 0)


def test_case_width_and_spacing_make_no_other_text_and_a_pair_does():
    texts = ["Good  day", "good day ", "ＧＯＯＤ day", "bad day"]
    keys = text_keys(dataset_of(texts, [0, 0, 1, 2]))
    assert len(set(keys[:3])) == 1
    assert keys[3] != keys[0]
    keys = text_keys(dataset_of(["a"] * 3, [0, 1, 2], pairs=("x", "y", "x")))
    assert keys[0] == keys[2] != keys[1]


@pytest.mark.parametrize("seed", range(7))
def test_no_text_is_on_both_sides_even_with_other_labels(seed):
    dataset = random_dataset(seed=seed)
    split = split_dataset(dataset, seed=seed)
    keys = np.array(text_keys(dataset))
    parts = [set(keys[part]) for part in (split.train, split.validation, split.test)]
    assert sum(map(len, parts)) == len(set.union(*parts))
    assert len(split.validation)
    assert len(split.test)


@pytest.mark.parametrize("rate", [0.1, 0.25, 0.4])
def test_every_class_gives_its_share(rate):
    labels = np.repeat([0, 1, 2], [200, 60, 20])
    dataset = dataset_of([f"text {i}" for i in range(280)], labels)
    split = split_dataset(dataset, rate, seed=5, test_rate=0.5)
    counts = np.bincount(dataset.targets[split.validation])
    assert counts.tolist() == [round(rate * count) for count in (200, 60, 20)]
    split = split_dataset(dataset, 0.1, seed=5, test_rate=rate)
    counts = np.bincount(dataset.targets[split.test])
    assert counts.tolist() == [round(rate * count) for count in (200, 60, 20)]


def test_a_small_class_is_on_both_sides_and_a_class_of_one_is_trained_on():
    labels = [0] * 20 + [1, 1] + [2]
    dataset = dataset_of([f"text {i}" for i in range(23)], labels)
    split = split_dataset(dataset, 0.1, seed=2, test_rate=0.1)
    assert np.bincount(dataset.targets[split.test], minlength=3)[1] == 1
    assert 22 in split.train
    assert in_english(split.notes[0]) == (
        "Classes with a single text are trained on and cannot be checked: c (1 in "
        "all). Rows: 24."
    )


def test_a_large_share_leaves_a_text_of_each_class_to_train_on():
    dataset = dataset_of([f"text {i}" for i in range(7)], [0, 0, 1, 1, 1, 2, 2])
    split = split_dataset(dataset, 0.04, seed=0, test_rate=0.95)
    assert np.bincount(dataset.targets[split.train]).tolist() == [1, 1, 1]


def test_numbers_are_split_over_their_whole_range():
    rng = np.random.default_rng(0)
    values, texts = rng.lognormal(size=300), [f"text {i}" for i in range(300)]
    split = split_dataset(dataset_of(texts, values, names=()), seed=0)
    edges = np.quantile(values, np.linspace(0, 1, 11)[1:-1])
    for part, each in ((split.test, 6), (split.validation, 3)):
        counts = np.bincount(np.searchsorted(edges, values[part]))
        assert counts.tolist() == pytest.approx([each] * 10, abs=1)
    # Nearly all the same.
    split = split_dataset(dataset_of(texts[:40], [0.0] * 39 + [5.0], ()))
    assert 6 <= len(split.test) <= 10


def test_copies_do_not_swallow_a_class_and_one_text_everywhere_cannot_be_split():
    texts = ["copied"] * 30 + [f"text {i}" for i in range(10)]
    split = split_dataset(dataset_of(texts, [0] * 40), seed=0)
    assert 1 <= len(split.test) <= 9
    with pytest.raises(DatasetError, match="same text"):
        split_dataset(dataset_of(["one"] * 9, [0, 1, 2] * 3))
    for rates in ((0.0, 0.2), (1.0, 0.2), (0.1, 0.0), (0.1, 1.0)):
        with pytest.raises(ValueError, match="validation_rate"):
            split_dataset(random_dataset(), rates[0], test_rate=rates[1])


def test_an_own_test_file_takes_its_texts_out_of_training():
    train = dataset_of(["One", "two", "three", "four"], [0, 1, 2, 0])
    test = dataset_of(["ONE ", "five"], [0, 1])
    split, warnings = split_beside_test(train, test)
    assert warnings == ()
    assert train.select(split.train).texts == ("two", "three", "four")
    assert (len(split.test), len(split.validation)) == (0, 0)
    assert "left out: 2 (1 in all)" in in_english(split.notes[0])
    assert "too small" in in_english(split.notes[1])
    (few,) = split_beside_test(train, dataset_of(["new"], [1]))[0].notes
    assert "too small" in in_english(few)


def test_beside_a_test_file_the_table_chooses_the_epoch():
    dataset = random_dataset()
    test = dataset_of(["text 7", "another"], [0, 1])
    split, _ = split_beside_test(dataset, test)
    assert MIN_VALIDATION <= len(split.validation) < len(split.train)
    used = np.concatenate([split.train, split.validation])
    assert not set(text_keys(dataset.select(used))) & set(text_keys(test))


def test_a_class_that_loses_all_its_rows_to_a_test_file_is_named():
    train = dataset_of(["one", "two", "three", "four", "THREE"], [0, 1, 2, 0, 2])
    _, warnings = split_beside_test(train, dataset_of(["three", "new"], [0, 1]))
    (sentence,) = map(in_english, warnings)
    assert "cannot be learned: c (1 in all)" in sentence
    assert "4, 6." in sentence
    numbers = dataset_of(["one", "two"], [0.5, 2], names=())
    assert split_beside_test(numbers, dataset_of(["two"], [2], names=()))[1] == ()


def test_files_that_do_not_go_together_are_refused():
    one_class = dataset_of(["one", "two", "x"], [0, 1, 0])
    with pytest.raises(DatasetError, match=r"single class .*b without .* rows 3\."):
        split_beside_test(one_class, dataset_of(["Two"], [1]))
    train = dataset_of(["one", "two"], [0, 1])
    with pytest.raises(DatasetError, match="Every training row"):
        split_beside_test(train, dataset_of(["two", "one", "x"], [0, 1, 2]))
    with pytest.raises(DatasetError, match="One file has two texts"):
        split_beside_test(train, dataset_of(["x"], [0], pairs=("y",)))


@pytest.mark.parametrize(
    ("counts", "ratio", "remedy"),
    [
        ([30, 20, 11], 30 / 11, "none"),
        ([30, 10, 0], 3, "weights"),
        ([200, 10], 20, "weights"),
        ([210, 10], 21, "oversample"),
        ([125_000, 10, 10, 10], 12_500, "oversample"),
        ([125_001, 10, 10, 10], 12_500.1, "weights"),  # 500,004 rows are refused
    ],
)
def test_the_remedy_grows_with_the_imbalance(counts, ratio, remedy):
    assert imbalance(np.array(counts)) == pytest.approx(ratio)
    assert propose_remedy(np.array(counts)) == remedy
