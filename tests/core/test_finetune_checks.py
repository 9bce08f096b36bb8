"""What the checks say, against counts made by hand; and the sample sets."""

import dataclasses
import itertools
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.errors import TrainingError
from bertviz_core.tokenizer import BertTokenizer
from bertviz_core.trace import SPECIAL_TOKENS
from bertviz_core.training.finetune import checks, split
from bertviz_core.training.finetune.checks import (
    MAX_ROWS,
    LengthCounts,
    Lengths,
    check_classes,
    check_data,
    check_dataset,
    check_giveaways,
    check_label_words,
    check_lengths,
    check_same_texts,
    check_spelling,
    check_unknown,
    measure_lengths,
    rows_of,
)
from bertviz_core.training.finetune.columns import (
    PREVIEW_CHARS,
    ColumnChoice,
    guess_columns,
    view_table,
)
from bertviz_core.training.finetune.dataset import make_dataset
from bertviz_core.training.finetune.notes import in_english
from bertviz_core.training.finetune.request import (
    DataChoice,
    FinetuneSettings,
    TableSource,
    TrainingRequest,
)
from bertviz_core.training.finetune.split import prepare
from bertviz_core.training.finetune.table import Limits, read_table
from tests.core.finetune_samples import dataset_of, number_data, random_data

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "assets" / "datasets"


def only(findings, kind):
    found = [finding for finding in findings if finding.kind == kind]
    assert len(found) == 1
    return found[0]


@pytest.fixture
def tokenizer():
    return BertTokenizer((*SPECIAL_TOKENS, "un", "##do", "it", "now"))


@pytest.fixture
def measured(tokenizer):
    texts = ["it", "undo it now", "it now it now it", "what is it", "undo"]
    dataset = dataset_of(texts, [0, 1, 2, 0, 1])
    return dataset, measure_lengths(dataset, tokenizer)


def test_lengths_count_pieces_and_special_tokens_as_the_tokenizer(measured, tokenizer):
    lengths = measured[1]
    assert lengths.num_tokens.tolist() == [3, 6, 7, 5, 4]
    assert lengths.num_unknown.tolist() == [0, 0, 0, 2, 0]
    texts, pairs = ["it", "undo it", "now"], ("now it", "huh", "undo undo")
    lengths = measure_lengths(dataset_of(texts, [0, 1, 2], pairs=pairs), tokenizer)
    both = zip(texts, pairs, strict=True)
    whole = [tokenizer.encode(text, pair).num_tokens for text, pair in both]
    assert lengths.num_tokens.tolist() == whole
    assert lengths.num_unknown.tolist() == [0, 1, 0]
    texts = ["it " * (1 + i % 3) for i in range(2_003)]  # more than are read at once
    lengths = measure_lengths(dataset_of(texts, [0] * 2_003), tokenizer)
    assert lengths.num_tokens.tolist() == [3 + i % 3 for i in range(2_003)]


def test_the_default_length_comes_from_the_data(tokenizer):
    def default(sizes, positions=512):
        texts = ["it " * size for size in sizes]
        dataset = dataset_of(texts, [0] * len(sizes))
        lengths = measure_lengths(dataset, tokenizer)
        return lengths.counts.default_max_tokens(positions)

    assert default([6] * 20) == 8
    assert default([7] * 20) == 16
    assert default([6] * 95 + [200] * 5) == 8
    assert default([6] * 94 + [200] * 6) == 208
    assert default([600] * 20) == 512


def test_what_a_length_cuts_off_is_found_with_the_longest_rows_first(measured):
    found = check_lengths(*measured, max_tokens=4, limit=9)
    assert found.severity == "warning"
    assert found.rows == (4, 3, 5)
    assert "60.0% of the texts" in in_english(found.message)
    assert "Raise the maximum length" in in_english(found.remedy)
    # What to do depends on what the model reads.
    at_limit = check_lengths(*measured, max_tokens=4, limit=4)
    assert "no more than 4 tokens" in in_english(at_limit.remedy)
    assert check_lengths(*measured, max_tokens=7, limit=9).severity == "good"
    found = check_unknown(*measured)
    assert (found.severity, found.rows) == ("warning", (5,))
    assert found.message[1] == {"percent": 13.33, "count": 1}


def test_copies_and_contradictions_are_told_apart():
    texts = ["x", "y", "X ", "z", "y", "y"]
    findings = check_same_texts(dataset_of(texts, [0, 1, 0, 2, 1, 2]))
    copies = only(findings, "duplicates")
    assert copies.message[1] == {"count": 3}
    assert copies.rows == (2, 4, 3, 6, 7)
    opposed = only(findings, "contradictions")
    assert (opposed.severity, opposed.rows) == ("warning", (3, 6, 7))
    assert opposed.message[1] == {"count": 1, "rows": "3, 6, 7"}
    assert opposed.remedy is not None
    (good,) = check_same_texts(dataset_of("xyz", [0, 1, 2]))
    assert (good.severity, good.remedy) == ("good", None)


@pytest.mark.parametrize(
    ("names", "texts", "is_found"),
    [
        (("体育", "财经"), ("【体育】主队赢了", "【财经】股市上涨"), True),
        (("好", "坏"), ("很好", "不坏"), False),
        (("no", "yes"), ("no, not now", "yes, now"), False),
        (("0", "1"), ("0 is it", "1 was it"), False),  # short names, by chance
        (("cat", "dog"), ("a cat", "a dog"), True),
    ],
)
def test_a_label_inside_its_text_is_found_where_it_is_a_word(names, texts, is_found):
    findings = check_label_words(dataset_of(texts * 4, [0, 1] * 4, names))
    assert [found.kind for found in findings] == ["label_in_text"] * is_found


def marked(num_rows, marks, seed=0, share=1.0, words=("the", "book", "was", "long")):
    """Texts of common words, each with the mark of its class, as a rule."""
    rng = np.random.default_rng(seed)
    labels = np.arange(num_rows) % len(marks)
    texts = []
    for label in labels:
        mark = marks[label] if rng.random() < share else ""
        texts.append(f"{mark} {' '.join(rng.choice(words, 5))} {rng.integers(10**6)}")
    return dataset_of(texts, labels, tuple("abcd"[: len(marks)]))


@pytest.mark.parametrize(
    ("marks", "tokens"),
    [
        (("[POSITIVE]", "[NEGATIVE]"), {"[ positive", "[ negative"}),
        (("", "!!"), {"! !"}),
        (("【好评】这本书很厚", "【差评】这本书很厚"), {"【好", "【差"}),
    ],
)
def test_a_token_that_gives_the_label_away_is_found_with_its_rows(marks, tokens):
    words = ("了", "书", "我", "们") if "【" in marks[0] else ("the", "book", "was")
    for share in (1.0, 0.9):
        dataset = marked(400, marks, share=share, words=words)
        found = check_giveaways(dataset)
        assert {item.message[1]["token"] for item in found} == tokens
        for item in found:
            assert (item.kind, item.severity) == ("giveaway", "warning")
            assert item.message[1]["percent"] == pytest.approx(100 * share, abs=5)
            label = dataset.label_names.index(item.message[1]["label"])
            assert {(row - 2) % 2 for row in item.rows} == {label}
            assert len(item.rows) == item.message[1]["count"]


@pytest.mark.parametrize(
    ("num_rows", "marks", "share"), [(400, 2, 0.6), (40, 2, 1.0), (60, 4, 1.0)]
)
def test_the_surer_a_token_is_the_less_it_need_cover(num_rows, marks, share):
    dataset = marked(num_rows, [f"[{name}]" for name in "abcd"[:marks]], share=share)
    found = check_giveaways(dataset)
    labels = {dataset.label_names.index(item.message[1]["label"]) for item in found}
    assert labels == set(range(marks))


def test_what_often_goes_with_a_class_is_no_giveaway():
    rng = np.random.default_rng(4)
    # Two of five texts of a class, nine of ten with a fifth of the others.
    assert check_giveaways(marked(400, ("good", "bad"), share=0.4)) == []
    texts = [f"{'fine' if rng.random() < 0.9 - 0.7 * (i % 2) else 'so'} {i}"
             for i in range(400)]  # fmt: skip
    assert check_giveaways(dataset_of(texts, np.arange(400) % 2, ("a", "b"))) == []
    # Of eight texts nothing is known; copies of a text are one text.
    few = marked(16, ("[A]", "[B]"))
    assert check_giveaways(few) == []
    assert check_giveaways(few.select(np.repeat(np.arange(16), 20))) == []
    assert check_giveaways(dataset_of([" "] * 40, [0, 1] * 20, ("a", "b"))) == []


@pytest.mark.parametrize(
    ("counts", "severity", "words"),
    [
        ((40, 30, 20), "good", None),
        ((60, 30, 12), "warning", "class weights"),
        ((240, 30, 11), "warning", "oversampling"),
    ],
)
def test_balance_comes_with_a_remedy(counts, severity, words):
    labels = np.repeat([0, 1, 2], counts)
    found = only(check_classes(dataset_of(["x"] * len(labels), labels)), "balance")
    assert found.severity == severity
    assert found.message[1]["ratio"] == round(counts[0] / counts[2], 1)
    remedy = "" if found.remedy is None else in_english(found.remedy)
    assert (words or "") in remedy
    assert bool(remedy) == bool(words)


def test_rare_classes_are_named_with_their_rows():
    labels = [0] * 30 + [1] * 9 + [2] * 10
    found = only(check_classes(dataset_of(["x"] * 49, labels)), "rare")
    assert "b (9)" in in_english(found.message)
    assert "c" not in found.message[1]["names"]
    assert found.rows == tuple(range(32, 41))
    assert in_english(found.message).endswith("Rows: 32, 33, 34, 35, 36, ….")
    labels = [0] * 30 + [1] + [0] * 5
    found = only(check_classes(dataset_of(["x"] * 36, labels)), "rare")
    assert "b (1) (1 in all). Rows: 32." in in_english(found.message)


def test_a_label_that_is_its_text_or_within_most_is_found():
    dataset = dataset_of(["A", "what b is", "c", "b"], [0, 1, 2, 0])
    assert only(check_label_words(dataset), "label_is_text").rows == (2, 4)
    names = ("sport", "music")
    texts = [f"{names[i % 2]} today {i}" if i < 7 else "rain" for i in range(10)]
    labels = [i % 2 for i in range(10)]
    found = only(check_label_words(dataset_of(texts, labels, names)), "label_in_text")
    assert found.message[1] == {"count": 7}
    half = dataset_of(texts[:1] + ["rain"] * 9, labels, names)
    assert check_label_words(half) == []


def test_all_checks_run_with_warnings_first_and_a_limit_of_rows():
    same = dataset_of(["same"] * 600, [0, 1, 2] * 200)
    findings = check_dataset(same)
    order = [finding.severity for finding in findings]
    assert order == sorted(order, key=("warning", "notice", "good").index)
    assert {found.kind for found in findings} == {
        "contradictions", "duplicates", "balance",
    }  # fmt: skip
    assert max(len(found.rows) for found in findings) == MAX_ROWS == 500


def test_classes_that_differ_only_in_spelling_are_found():
    names = ("Good", "bad", "good", "very good", "VeryGood")
    found = check_spelling(dataset_of("vwxyz", range(5), names))[0]
    assert "Good / good; very good / VeryGood" in in_english(found.message)
    assert found.rows == (4, 6)
    assert check_spelling(dataset_of("xy", [0, 1], ("good", "bad"))) == []
    # Wide letters, an accent of its own, and a character of no width.
    for name, other in (("Ａ", "a"), ("cafe\u0301", "café"), ("\u200bgood", "good")):
        assert check_spelling(dataset_of("xy", [0, 1], (name, other)))


def test_numbers_are_checked_without_classes():
    dataset = dataset_of(["it", "it", "now"], [0.5, 2.5, 1.0], ())
    kinds = {finding.kind for finding in check_dataset(dataset)}
    assert kinds == {"duplicates", "contradictions"}


@pytest.mark.parametrize(
    ("name", "num_classes", "gram"),
    [("library_en", 4, 4), ("reviews_en", 3, 4), ("reviews_zh", 3, 2)],
)
def test_a_sample_set_is_clean_varied_and_large_enough(name, num_classes, gram):
    table = read_table(SAMPLES / f"{name}.csv")
    dataset = make_dataset(table, guess_columns(table))
    assert len(dataset) == table.num_rows >= 400
    assert len(dataset.label_names) == num_classes
    assert dataset.counts.min() > 90
    assert {finding.severity for finding in check_dataset(dataset)} == {"good"}
    readme = (SAMPLES / "README.md").read_text("utf-8")
    assert f"`{name}.csv` | {len(dataset)} |" in readme
    for label, count in zip(dataset.label_names, dataset.counts, strict=True):
        assert re.search(rf"{label}[^,;|]*\({count}\)", readme)
    grams = [
        {text[i : i + gram] for i in range(len(text) - gram + 1)}
        for text in dataset.texts
    ]
    for one, other in itertools.combinations(grams, 2):
        assert len(one & other) < 0.35 * len(one | other)


ROWS = "".join(f"text number {i},{'abc'[i % 7 % 3]}\n" for i in range(42))


class Words:
    """Counts words, one of which is unknown."""

    unk_token_id = 1

    def encode_many(self, texts):
        return [
            [1 if word == "unseen" else 5 for word in text.split()] for text in texts
        ]


EXPLORER = SimpleNamespace(
    tokenizer=Words(), config=SimpleNamespace(max_position_embeddings=512)
)


def test_counts_of_lengths_give_the_same_numbers_as_the_rows():
    tokens = np.random.default_rng(7).integers(3, 60, 211).astype("int32")
    counts = Lengths(tokens, np.zeros_like(tokens), 2).counts
    for percent in (0, 1, 50, 90, 95, 99.5, 100):
        expected = np.percentile(tokens, percent, method="inverted_cdf")
        assert counts.percentile(percent) == expected
    for most in (1, 3, 17, 30, 59, 60, 512):
        assert counts.share_cut(most) == (tokens > most).mean()
        share = np.maximum(tokens - most, 0).sum() / tokens.sum()
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


def table_of(rows):
    return read_table(f"text,label\n{rows}".encode())


def checked(rows=ROWS, other=None, rate=0.1, is_regression=False):
    """The rows of a table, perhaps beside another to test on, and what is said."""
    choice = ColumnChoice("text", "label", is_regression=is_regression)
    other = None if other is None else table_of(other)
    prepared = prepare(table_of(rows), choice, other, rate, 3, 0.25)
    return prepared.dataset, check_data(EXPLORER, prepared)


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


def test_a_table_to_test_on_is_checked_with_the_rows_that_it_leaves():
    rows = "".join(f"word number {i},a\nother number {i},b\n" for i in range(15))
    rows += "rare one,c\nrare two,c\n"
    # It takes ten of b and all of c, and says another label of two texts.
    taken = "".join(f"other number {i},b\n" for i in range(10))
    _, found = checked(
        rows,
        f"{taken}Rare one,a\nrare two,c\na text of unseen words is here,a\n"
        "twice,a\ntwice,b\n",
    )
    (warning,) = found.warnings
    assert "without a training row" in warning[0]
    assert found.train_counts.tolist() == [15, 5, 0]
    assert found.test_counts.tolist() == [3, 11, 1]
    # The rows of b and c that are in both tables are used once.
    assert found.num_rows == found.num_train + found.num_test == 20 + 15
    assert found.remedy == "weights"  # 15 : 5; before the removal it was 15 : 15
    assert found.finding("balance").message[1]["ratio"] == 3
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
    _, found = checked(rows, is_regression=True)
    assert found.is_regression
    assert found.label_names == ("label",)
    assert len(found.label_edges) == len(found.train_counts) + 1
    both = found.train_counts + found.test_counts
    assert both.tolist() == [2] * 20
    assert (found.remedy, found.num_oversampled) == ("none", found.num_train)


def test_ranges_hold_the_numbers_of_a_table_to_test_on_where_they_are():
    def priced(prices):
        return "".join(f"costs {price},{price}\n" for price in prices)

    _, found = checked(priced(range(10)), priced([-90, 5.5, 110]), is_regression=True)
    assert found.label_edges[[0, -1]].tolist() == [-90, 110]
    # The ten are within one range; of the three, each is in one of its own.
    assert found.train_counts.tolist() == [0] * 9 + [10] + [0] * 10
    assert np.flatnonzero(found.test_counts).tolist() == [0, 9, 19]


def test_the_largest_class_is_the_one_with_most_to_learn_from():
    rows = "".join(f"one {i},a\nother {i},b\nthird {i},c\n" for i in range(9))
    other = "".join(f"new {i},c\n" for i in range(9))
    _, found = checked(rows + "once more,b\n", other)
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
    keep = np.array([*range(0, 23, 3), 1, 4, 7, 2])  # 8, 3 and 1 of a class
    few = dataclasses.replace(data, train=data.train.select(keep))
    more, again = (split.oversampled(few, seed=5) for _ in range(2))
    assert np.bincount(more.train.targets).tolist() == [8, 8, 8]
    assert split.num_oversampled(np.bincount(few.train.targets)) == 24
    for seed in range(5):
        rows = split.oversampled(few, seed).train.rows
        times = np.unique(rows, return_counts=True)[1]
        assert sorted(times) == [1] * 8 + [2, 3, 3] + [8]  # 8 = 2 x 3 + 2
    assert more.validation is few.validation
    assert again.train.texts == more.train.texts
    numbers = number_data()
    assert split.oversampled(numbers, 1) is numbers
    monkeypatch.setattr(split, "MAX_OVERSAMPLED", 23)
    with pytest.raises(TrainingError, match="24"):
        split.oversampled(data, 1)


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


def test_a_wide_table_is_read_as_far_as_its_cells_allow():
    rows = "".join(f"text {i},{i % 2},,,x\n" for i in range(60))
    limits = Limits(max_cells=210)
    table = read_table(f"text,label,a,b,c\n{rows}".encode(), limits=limits)
    assert table.num_rows == 42
    (cut,) = [details for text, details in table.notes if "limit" in details]
    assert (cut["limit"], cut["row"]) == (42, 43)


def test_of_very_many_rows_some_are_measured_and_the_page_is_told(monkeypatch):
    rows = "".join(f"{'word ' * i},{'ab'[i % 2]}\n" for i in range(1, 43))
    _, whole = checked(rows)
    monkeypatch.setattr(checks, "MAX_MEASURED", 11)
    _, found = checked(rows)
    assert found.num_rows == whole.num_rows == whole.lengths.num_rows.sum() == 42
    assert found.lengths.num_rows.tolist() == [1] * 11
    assert found.notes[-1][1] == {"count": 11, "total": 42}
    assert not any("total" in details for _, details in whole.notes)
