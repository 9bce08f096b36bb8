"""Metrics held against numbers computed by hand, and against scikit-learn's."""

import json
import math

import numpy as np
import pytest
from sklearn import metrics
from sklearn.linear_model import LogisticRegression

from bertviz_core.finetune import baselines
from bertviz_core.finetune.baselines import count_words, simplest
from bertviz_core.finetune.evaluation import evaluate_classes, evaluate_numbers
from bertviz_core.finetune.examples import Examples, TrainingData
from bertviz_core.finetune.scores import (
    calibrate,
    macro_f1,
    probabilities_of,
    r_squared,
    wilson_interval,
)
from tests.core.finetune_samples import number_data, random_data

LABELS = ("ham", "spam", "news", "never")
#                    0    0    0    1    1    2    0
TARGETS = np.array([0, 0, 0, 1, 1, 2, 0], "int32")
PREDICTED = [0, 0, 1, 1, 0, 2, 0]
SURE = [0.9, 0.6, 0.8, 0.7, 0.95, 0.55, 0.65]


def report():
    probabilities = np.empty((7, 4))
    for row, (label, sure) in enumerate(zip(PREDICTED, SURE, strict=True)):
        probabilities[row] = (1 - sure) / 3
        probabilities[row, label] = sure
    return evaluate_classes(LABELS, TARGETS, probabilities, np.arange(10, 17))


def test_scores_by_hand():
    found = report()
    # The truth in its rows.
    expected = [[3, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]
    assert found.confusion.tolist() == expected
    assert found.accuracy == pytest.approx(5 / 7)
    for scores in (found.precision, found.recall, found.f1):
        np.testing.assert_allclose(scores, [3 / 4, 1 / 2, 1, math.nan])
    assert found.macro_f1 == pytest.approx((3 / 4 + 1 / 2 + 1) / 3)
    # A class that is never predicted: 2 and 2, all called 0.
    assert macro_f1(np.array([2, 2]), np.array([0, 0]), 3) == 0.0
    assert found.rows[found.cell(0, 0)].tolist() == [10, 11, 16]
    assert found.rows[found.cell(1, 0)].tolist() == [14]
    assert found.cell(2, 0).tolist() == []
    # Wrong rows, the surest first.
    assert found.confidently_wrong(9).tolist() == [4, 2]
    assert found.confidently_wrong(1).tolist() == [4]
    raw = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert raw["classes"][3]["precision"] is None
    assert raw["classes"][0]["rows"] == 4
    assert raw["confusion"][1] == [1, 1, 0, 0]


def test_scores_are_those_of_scikit_learn():
    rng = np.random.default_rng(5)
    targets = rng.integers(0, 5, 83)
    probabilities = probabilities_of(rng.normal(size=(83, 5)))
    found = evaluate_classes(tuple("abcde"), targets, probabilities, np.arange(83))
    predicted = probabilities.argmax(axis=1)
    theirs = metrics.precision_recall_fscore_support(targets, predicted)[:3]
    for scores, expected in zip(
        (found.precision, found.recall, found.f1), theirs, strict=True
    ):
        np.testing.assert_allclose(scores, expected)
    assert found.macro_f1 == pytest.approx(theirs[2].mean())
    expected = metrics.confusion_matrix(targets, predicted)
    assert found.confusion.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("right", "total", "low", "high"),
    [
        # Newcombe 1998, table I, method 3 (Wilson's score without correction).
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_intervals_are_those_of_the_literature(right, total, low, high):
    np.testing.assert_allclose(wilson_interval(right, total), [low, high], atol=5e-5)


def test_no_row_says_nothing():
    assert wilson_interval(np.array([0, 3]), np.array([0, 3]))[0].tolist() == [0, 1]
    assert report().recall_intervals[3].tolist() == [0, 1]


def test_calibration_by_hand():
    confidence = np.array([0.31, 0.39, 0.5, 0.95, 1.0])
    is_right = np.array([True, False, True, True, False])
    found = calibrate(confidence, is_right, 10)
    assert found.counts.tolist() == [0, 0, 0, 2, 1, 0, 0, 0, 0, 2]
    np.testing.assert_allclose(found.confidence[[3, 4, 9]], [0.35, 0.5, 0.975])
    np.testing.assert_allclose(found.accuracy[[3, 4, 9]], [0.5, 1.0, 0.5])
    expected = (2 * 0.15 + 1 * 0.5 + 2 * 0.475) / 5
    assert found.error == pytest.approx(expected)
    assert math.isnan(found.accuracy[0])


def test_softmax_survives_large_logits():
    found = probabilities_of(
        np.array([[1000.0, 1000.0, -1000.0], [0.0, math.log(3), 0]])
    )
    np.testing.assert_allclose(found, [[0.5, 0.5, 0.0], [0.2, 0.6, 0.2]])


def test_numbers_by_hand():
    targets = np.array([1.0, 2.0, 6.0], "float32")
    found = evaluate_numbers("stars", targets, np.array([2.0, 2.0, 3.0]), np.arange(3))
    assert found.residuals.tolist() == [1.0, 0.0, -3.0]
    assert found.mae == pytest.approx(4 / 3)
    assert found.rmse == pytest.approx(math.sqrt(10 / 3))
    assert found.r2 == pytest.approx(1 - 10 / 14)
    assert found.largest_residuals(2).tolist() == [2, 0]


def test_always_saying_the_mean_explains_nothing():
    targets, same = np.array([3.0, 5.0, 10.0]), np.full(4, 2.0)
    assert r_squared(targets, np.full(3, 6.0)) == 0.0
    assert r_squared(targets, targets) == r_squared(same, same) == 1.0
    assert r_squared(same, np.full(4, 2.5)) == 0.0


def test_the_majority_is_right_as_often_as_its_class_occurs_and_words_tell_all():
    data = random_data(23, 13)
    majority, tfidf = simplest(data), counted(data)
    assert (majority.name, tfidf.name) == ("majority", "tfidf")
    # 23 rows in turn: classes 0 and 1 have eight each, the first wins.
    assert set(majority.report.predicted) == {0}
    assert majority.report.accuracy == pytest.approx(5 / 13)
    assert counted(random_data(61, 29)).report.accuracy == 1.0
    mean, tfidf = simplest(number_data(61, 29)), counted(number_data(61, 29))
    assert mean.report.predicted[0] == pytest.approx(500 + 30 * 60 / 61)
    assert mean.report.r2 < 0.01
    assert tfidf.report.r2 > 0.8


def test_chinese_is_cut_into_characters():
    def part(num_rows):
        texts = tuple(
            ("这间房间很好，我们住得舒服", "房间太差了，我们不会再来")[row % 2]
            + "啊" * row
            for row in range(num_rows)
        )
        targets = np.arange(num_rows, dtype="int32") % 2
        return Examples(texts, None, targets, np.arange(num_rows))

    tfidf = counted(TrainingData(part(17), part(7), ("好", "差")))
    assert tfidf.report.accuracy == 1.0


def test_texts_without_a_word_leave_the_majority():
    texts = ("!!!", "???", "...", ";;;")
    part = Examples(texts, None, np.array([0, 1, 0, 0], "int32"), np.arange(4))
    data = TrainingData(part, part, ("a", "b"))
    assert simplest(data).name == "majority"
    assert count_words(data) == (None, "")


def test_words_are_counted_in_pieces_to_the_same_end(monkeypatch):
    data = random_data(61, 29)
    at_once = counted(data).report.probabilities
    monkeypatch.setattr(baselines, "_ITERATIONS_AT_ONCE", 2)
    told = []
    in_pieces, _ = count_words(data, told.append)
    assert len(told) > 3
    assert told == sorted(told)
    np.testing.assert_allclose(in_pieces.report.probabilities, at_once, atol=1e-3)


def test_features_times_classes_have_a_bound(monkeypatch):
    seen, fit = [], LogisticRegression.fit

    def spy(self, x, y):
        seen.append(x.shape[1])
        return fit(self, x, y)

    monkeypatch.setattr(LogisticRegression, "fit", spy)
    data = random_data(61, 29)
    counted(data)
    assert seen[0] > 11
    whole = baselines.counting_bytes(data)
    monkeypatch.setattr(baselines, "_MAX_COEFFICIENTS", 35)
    counted(data)
    assert seen[-1] == 11  # 35 for three classes
    assert baselines.counting_bytes(data) == 11 * 3 * 200 < whole


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_stop_is_heard_while_texts_are_read_and_between_the_steps(count):
    asked = []

    def should_stop():
        asked.append(0)
        return len(asked) > count

    found = count_words(random_data(61, 29), should_stop=should_stop)
    assert found == (None, "stopped")
    assert len(asked) == count + 1


@pytest.mark.parametrize(
    ("kind", "reason"), [(MemoryError, "memory"), (FloatingPointError, "failed")]
)
def test_counting_that_fails_is_left_out_and_what_the_caller_raises_is_raised(
    monkeypatch, kind, reason
):
    def fail(*_):
        raise kind

    with pytest.raises(kind):
        count_words(random_data(), fail)
    monkeypatch.setattr(LogisticRegression, "fit", fail)
    assert count_words(random_data()) == (None, reason)


def counted(data):
    found, reason = count_words(data)
    assert reason == ""
    return found
