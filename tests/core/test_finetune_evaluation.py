"""Metrics held against numbers computed by hand, and against scikit-learn's."""

import json
import math

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import binomtest
from sklearn import metrics
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier

from bertviz_core.finetune import baselines
from bertviz_core.finetune.baselines import count_words, simplest
from bertviz_core.finetune.dataset import Examples, TrainingData
from bertviz_core.finetune.evaluation import evaluate_classes, evaluate_numbers
from bertviz_core.finetune.metrics import (
    calibrate,
    macro_f1,
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
    assert macro_f1(np.array([2, 2]), np.array([0, 0])) == 0.0
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
    probabilities = softmax(rng.normal(size=(83, 5)), axis=1)
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
    theirs = binomtest(right, total).proportion_ci(method="wilson")
    np.testing.assert_allclose(wilson_interval(right, total), theirs)


def test_a_text_that_stands_twice_counts_once_in_every_interval():
    once = report()
    texts = np.repeat(np.arange(7), 3)
    twice = evaluate_classes(
        LABELS,
        np.repeat(TARGETS, 3),
        np.repeat(once.probabilities, 3, axis=0),
        np.arange(21),
        texts,
    )
    assert twice.accuracy == once.accuracy
    for name in ("accuracy_interval", "precision_intervals", "recall_intervals"):
        np.testing.assert_allclose(getattr(twice, name), getattr(once, name))
    np.testing.assert_allclose(twice.macro_f1_interval, once.macro_f1_interval)
    assert twice.to_dict()["different_texts"] == 7


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
    assert count_words(data, "accuracy") is None


def noisy(num_rows, seed, names=("a", "b", "c"), flip=0.2):
    """Texts of many words, a tenth of which lean to a class; some labels are wrong."""
    rng = np.random.default_rng(seed)
    targets = rng.choice(len(names), num_rows, p=[0.7, 0.2, 0.1][: len(names)])
    words = [[f"w{i}" for i in rng.zipf(1.3, 30) % 900] for _ in targets]
    for row, target in zip(words, targets, strict=True):
        row[:3] = [f"k{target}{i}" for i in rng.integers(0, 40, 3)]
    texts = tuple(" ".join(row) for row in words)
    wrong = rng.integers(0, len(names), num_rows)
    said = np.where(rng.random(num_rows) < flip, wrong, targets).astype("int32")
    return Examples(texts, None, said, np.arange(num_rows))


@pytest.mark.parametrize("metric", ["accuracy", "macro_f1"])
def test_word_counts_are_tuned_on_the_training_rows_alone(metric):
    train, test = noisy(400, 1), noisy(300, 2)
    data = TrainingData(train, noisy(50, 3), ("a", "b", "c"), test=test)
    found = count_words(data, metric)
    # The same search by scikit-learn's own hand.
    vectors = baselines._vectorizer(data).fit_transform(train.joined)
    grid = {
        "estimator__class_weight": [None, "balanced"],
        "estimator__C": list(baselines._INVERSE_PENALTIES),
    }
    model = LogisticRegression(solver="liblinear", dual=True, random_state=0)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    scoring = {"accuracy": "accuracy", "macro_f1": "f1_macro"}[metric]
    search = GridSearchCV(OneVsRestClassifier(model), grid, scoring=scoring, cv=folds)
    best = search.fit(vectors, train.targets).best_params_
    expected = {name.removeprefix("estimator__"): best[name] for name in best}
    assert found.chosen == expected | {"folds": 3}
    assert len(found.report.targets) == 300
    # Other rows to test on, or to choose by, change nothing about it.
    other = TrainingData(train, noisy(9, 4), ("a", "b", "c"), test=noisy(20, 5))
    again = count_words(other, metric)
    assert again.chosen == found.chosen
    assert count_words(data, metric).report.accuracy == found.report.accuracy


def test_numbers_get_the_penalty_that_suits_them():
    train = noisy(200, 1, flip=0.0)
    numbers = (100 * train.targets).astype("float32")
    part = Examples(train.texts, None, numbers, train.rows)
    data = TrainingData(part, part, ("price",), is_regression=True)
    found = count_words(data, "r2")
    assert found.chosen["folds"] == 3
    assert found.chosen["alpha"] in baselines._PENALTIES
    assert found.report.r2 > 0.5


def test_too_few_rows_for_folds_take_a_default():
    part = random_data(6, 4).train  # two of each class
    found = count_words(TrainingData(part, part, ("a", "b", "c")), "accuracy")
    assert found.chosen == {"C": 10.0, "class_weight": None, "folds": 0}
    # Copies of a text are one text.
    copied = part.select(np.repeat(np.arange(6), 5))
    found = count_words(TrainingData(copied, part, ("a", "b", "c")), "accuracy")
    assert found.chosen["folds"] == 0
    # One class of three that is rare is left out of the search, and learned all the
    # same.
    rare = random_data(61, 29).train.select(
        np.array([*range(0, 60, 3), 1, *range(2, 60, 3)])
    )
    found = count_words(TrainingData(rare, part, ("a", "b", "c")), "accuracy")
    assert found.chosen["folds"] == 3
    assert found.report.probabilities.shape == (6, 3)
    assert (found.report.probabilities[:, 1] > 0).all()


def test_features_times_classes_have_a_bound(monkeypatch):
    data = random_data(61, 29)
    monkeypatch.setattr(baselines, "_MAX_COEFFICIENTS", 35)
    assert baselines._vectorizer(data).max_features == 11  # 35 for three classes
    assert counted(data).report.accuracy > 0.5


def test_how_far_it_is_is_told_and_what_the_caller_raises_is_raised(monkeypatch):
    told = []
    count_words(random_data(), "accuracy", told.append)
    assert told == sorted(told)
    assert (told[0], told[-1], len(told)) == (0, 1, 12)

    def fail(*_):
        raise MemoryError

    with pytest.raises(MemoryError):
        count_words(random_data(), "accuracy", fail)


@pytest.mark.parametrize("kind", [MemoryError, FloatingPointError])
def test_counting_that_fails_is_left_out(monkeypatch, kind):
    def fail(*_, **__):
        raise kind

    monkeypatch.setattr(baselines, "_tuned", fail)
    assert count_words(random_data(), "accuracy") is None


def counted(data):
    return count_words(data, "r2" if data.is_regression else "accuracy")
