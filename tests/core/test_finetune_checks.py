"""What the checks say, against counts made by hand; and the sample sets."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

from bertviz_core.finetune.checks import (
    check_classes,
    check_dataset,
    check_lengths,
    check_unknown,
)
from bertviz_core.finetune.columns import guess_columns
from bertviz_core.finetune.dataset import make_dataset
from bertviz_core.finetune.findings import MAX_EXAMPLES
from bertviz_core.finetune.lengths import measure_lengths
from bertviz_core.finetune.notes import in_english
from bertviz_core.finetune.table import read_table
from bertviz_core.finetune.text_checks import (
    check_giveaways,
    check_label_words,
    check_same_texts,
    check_spelling,
)
from bertviz_core.tokenizer import BertTokenizer
from bertviz_core.trace import SPECIAL_TOKENS
from tests.core.finetune_samples import dataset_of

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


def test_shares_are_counted_at_any_maximum(measured):
    lengths = measured[1]
    assert [lengths.share_cut(m) for m in (2, 4, 6, 7)] == [1.0, 0.6, 0.2, 0.0]
    assert lengths.share_tokens_cut(5) == pytest.approx(3 / 25)
    assert [lengths.percentile(p) for p in (0, 50, 95)] == [3, 5, 7]
    assert lengths.share_unknown == pytest.approx(2 / 15)


def test_the_default_length_comes_from_the_data(tokenizer):
    def default(sizes, positions=512):
        texts = ["it " * size for size in sizes]
        dataset = dataset_of(texts, [0] * len(sizes))
        return measure_lengths(dataset, tokenizer).default_max_tokens(positions)

    assert default([6] * 20) == 8
    assert default([7] * 20) == 16
    assert default([6] * 95 + [200] * 5) == 8
    assert default([6] * 94 + [200] * 6) == 208
    assert default([600] * 20) == 512


def test_what_a_length_cuts_off_is_found_with_the_longest_rows_first(measured):
    found = check_lengths(*measured, max_tokens=4, limit=9)
    assert found.severity == "warning"
    assert found.numbers["share_cut"] == 0.6
    assert found.rows == (4, 3, 5)
    assert "60.0 % of the texts" in in_english(found.message)
    assert "Raise the maximum length" in in_english(found.remedy)
    # What to do depends on what the model reads.
    at_limit = check_lengths(*measured, max_tokens=4, limit=4)
    assert "no more than 4 tokens" in in_english(at_limit.remedy)
    assert check_lengths(*measured, max_tokens=7).severity == "good"
    found = check_unknown(*measured)
    assert (found.severity, found.rows) == ("warning", (5,))
    assert found.numbers["share_unknown"] == pytest.approx(2 / 15)


def test_copies_and_contradictions_are_told_apart():
    texts = ["x", "y", "X ", "z", "y", "y"]
    findings = check_same_texts(dataset_of(texts, [0, 1, 0, 2, 1, 2]))
    copies = only(findings, "duplicates")
    assert (copies.numbers["num_copies"], copies.numbers["share"]) == (3, 0.5)
    assert copies.rows == (2, 4, 3, 6, 7)
    opposed = only(findings, "contradictions")
    assert (opposed.severity, opposed.rows) == ("warning", (3, 6, 7))
    assert opposed.numbers["num_texts"] == 1
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
    return dataset_of(texts, labels, tuple("ab"[: len(marks)]))


@pytest.mark.parametrize(
    ("marks", "tokens"),
    [
        (("[POSITIVE]", "[NEGATIVE]"), {"[ positive", "[ negative"}),
        (("", "!!"), {"! !"}),
        (
            (
                "【好评】这本书很厚",
                "【差评】这本书很厚",
            ),
            {"【好", "【差"},
        ),
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
            assert item.numbers["share"] == pytest.approx(share, abs=0.05)
            label = dataset.label_names.index(item.message[1]["label"])
            assert {(row - 2) % 2 for row in item.rows} == {label}
            assert len(item.rows) == 20


def test_what_often_goes_with_a_class_is_no_giveaway():
    rng = np.random.default_rng(4)
    # Half of a class, four times of five, or with a fifth of the others.
    assert check_giveaways(marked(400, ("good", "bad"), share=0.5)) == []
    texts = [f"{'fine' if rng.random() < 0.9 - 0.7 * (i % 2) else 'so'} {i}"
             for i in range(400)]  # fmt: skip
    assert check_giveaways(dataset_of(texts, np.arange(400) % 2, ("a", "b"))) == []
    # Of ten texts nothing is known; copies of a text are one text.
    few = marked(20, ("[A]", "[B]"))
    assert check_giveaways(few) == []
    assert check_giveaways(few.select(np.repeat(np.arange(20), 20))) == []
    assert check_giveaways(dataset_of(["a", "b"] * 50, [1.5, 2.5] * 50, ())) == []
    assert check_giveaways(dataset_of([" "] * 40, [0, 1] * 20, ("a", "b"))) == []


@pytest.mark.parametrize("language", ["library_en", "reviews_zh"])
def test_the_sample_tables_give_nothing_away(language):
    table = read_table(SAMPLES / f"{language}.csv")
    dataset = make_dataset(table, guess_columns(table))
    assert check_giveaways(dataset) == []


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
    assert found.numbers["ratio"] == pytest.approx(counts[0] / counts[2])
    assert found.numbers["majority_share"] == pytest.approx(counts[0] / sum(counts))
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
    assert found.numbers["share"] == 0.7
    half = dataset_of(texts[:1] + ["rain"] * 9, labels, names)
    assert check_label_words(half) == []


def test_all_checks_run_with_warnings_first_and_few_examples(measured):
    dataset, lengths = measured
    findings = check_dataset(dataset, lengths, max_tokens=6)
    order = [finding.severity for finding in findings]
    assert order == sorted(order, key=("warning", "notice", "good").index)
    kinds = {finding.kind for finding in findings}
    assert kinds == {"balance", "rare", "duplicates", "unknown", "lengths"}
    same = dataset_of(["same"] * 90, [0, 1, 2] * 30)
    assert all(len(found.rows) <= MAX_EXAMPLES for found in check_dataset(same))


def test_classes_that_differ_only_in_spelling_are_found():
    names = ("Good", "bad", "good", "very good", "VeryGood")
    found = check_spelling(dataset_of("vwxyz", range(5), names))[0]
    assert "Good / good; very good / VeryGood" in in_english(found.message)
    assert found.rows == (4, 6)
    assert check_spelling(dataset_of("xy", [0, 1], ("good", "bad"))) == []


def test_numbers_are_checked_without_classes(tokenizer):
    dataset = dataset_of(["it", "it", "now"], [0.5, 2.5, 1.0], ())
    findings = check_dataset(dataset, measure_lengths(dataset, tokenizer))
    kinds = {finding.kind for finding in findings}
    assert kinds == {"duplicates", "contradictions", "unknown"}


@pytest.mark.parametrize(
    ("name", "num_classes", "gram"), [("library_en", 4, 4), ("reviews_zh", 3, 2)]
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
