"""Metrics, intervals and chances, held against numbers by hand and loops."""

import csv
import io
import itertools
import json
import math

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier

from bertviz_core.training.finetune import baselines
from bertviz_core.training.finetune.baselines import count_words, simplest
from bertviz_core.training.finetune.dataset import Examples, TrainingData
from bertviz_core.training.finetune.evaluation import (
    calibrate,
    compare_errors,
    compare_macro_f1,
    compare_right,
    coverage_at,
    evaluate_classes,
    evaluate_numbers,
    macro_f1,
    macro_f1_interval,
    mean_interval,
    r_squared,
    wilson_interval,
)
from bertviz_core.training.finetune.row_prediction import PredictedTable
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
    assert found.recall_intervals[3].tolist() == [0, 1]  # no row says nothing
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


@pytest.mark.parametrize(
    ("right", "total", "low", "high"),
    [
        # Newcombe 1998, table I, method 3 (Wilson's score without correction).
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (0, 0, 0.0, 1.0),
    ],
)
def test_intervals_are_those_of_the_literature(right, total, low, high):
    np.testing.assert_allclose(wilson_interval(right, total), [low, high], atol=5e-5)
    if total:
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
    assert tfidf.chosen["folds"] == 3
    assert tfidf.chosen["alpha"] in baselines._PENALTIES


def test_chinese_is_cut_into_characters():
    def part(num_rows):
        texts = tuple(
            ("这间房间很好，我们住得舒服", "房间太差了，我们不会再来")[row % 2]
            + "啊" * row
            for row in range(num_rows)
        )
        targets = np.arange(num_rows, dtype="int32") % 2
        return Examples(texts, None, targets, np.arange(num_rows))

    tfidf = counted(TrainingData(part(17), part(7), part(7), ("好", "差")))
    assert tfidf.report.accuracy == 1.0


def test_texts_without_a_word_leave_the_majority():
    texts = ("!!!", "???", "...", ";;;")
    part = Examples(texts, None, np.array([0, 1, 0, 0], "int32"), np.arange(4))
    data = TrainingData(part, part, part, ("a", "b"))
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
    train, test = noisy(200, 1), noisy(100, 2)
    data = TrainingData(train, noisy(50, 3), test, ("a", "b", "c"))
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
    assert len(found.report.targets) == 100
    # Other rows to test on, or to choose by, change nothing about it.
    other = TrainingData(train, noisy(9, 4), noisy(20, 5), ("a", "b", "c"))
    again = count_words(other, metric)
    assert again.chosen == found.chosen


def test_too_few_rows_for_folds_take_a_default():
    part = random_data(6, 4).train  # two of each class
    found = count_words(TrainingData(part, part, part, ("a", "b", "c")), "accuracy")
    assert found.chosen == {"C": 10.0, "class_weight": None, "folds": 0}
    # Copies of a text are one text.
    copied = part.select(np.repeat(np.arange(6), 5))
    found = count_words(TrainingData(copied, part, part, ("a", "b", "c")), "accuracy")
    assert found.chosen["folds"] == 0
    # One class of three that is rare is left out of the search, and learned all the
    # same.
    rare = random_data(61, 29).train.select(
        np.array([*range(0, 60, 3), 1, *range(2, 60, 3)])
    )
    found = count_words(TrainingData(rare, part, part, ("a", "b", "c")), "accuracy")
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


NUM_CLASSES = 3
NUM_DRAWS = 300


def rows(count, seed, share_right=0.7):
    rng = np.random.default_rng(seed)
    targets = rng.choice(NUM_CLASSES, count, p=[0.7, 0.2, 0.1])
    said = rng.integers(NUM_CLASSES, size=count)
    return targets, np.where(rng.random(count) < share_right, targets, said)


def interval(targets, said, texts=None):
    texts = np.arange(len(targets)) if texts is None else texts
    return macro_f1_interval(np.array(targets), np.array(said), NUM_CLASSES, texts)


@pytest.mark.parametrize("copies", [1, 4])
def test_the_interval_of_macro_f1_is_that_of_texts_drawn_one_by_one(copies):
    targets, said = (np.repeat(part, copies) for part in rows(400, 3))
    texts = np.arange(len(targets)) // copies
    rng = np.random.default_rng(9)
    drawn = []
    for _ in range(NUM_DRAWS):
        chosen = rng.integers(400, size=400)
        every = np.concatenate([chosen * copies + copy for copy in range(copies)])
        drawn.append(f1_score(targets[every], said[every], average="macro"))
    found = interval(targets, said, texts)
    # The ends of some hundred draws, each known to about two hundredths.
    np.testing.assert_allclose(found, np.percentile(drawn, (2.5, 97.5)), atol=0.03)
    if copies > 1:  # as if each copy were another text: half as wide
        apart = np.diff(interval(targets, said))
        assert apart == pytest.approx(np.diff(found) / 2, rel=0.15)


@pytest.mark.parametrize(
    ("counts", "low"), [((4, 4), 0.8), ((95, 5), 0.87), ((1000, 800), 0.998)]
)
def test_rows_that_are_all_right_leave_as_much_doubt_as_there_are_rows(counts, low):
    targets = np.repeat([0, 1], counts)
    found = interval(targets, targets)
    assert found[0] == pytest.approx(low, abs=0.03)
    assert found[0] < found[1] == 1
    one_wrong = targets.copy()
    one_wrong[0] = 1
    assert interval(targets, one_wrong)[0] < found[0]
    # Of one class, it is what Wilson's interval says of its share.
    ends = interval(np.zeros(9, int), np.zeros(9, int))
    share = wilson_interval(9, 9)
    np.testing.assert_allclose(ends, 2 * share / (1 + share))


def test_the_same_rows_give_the_same_and_equals_are_equal_by_chance():
    targets, said = rows(60, 6)
    texts = np.arange(60)
    assert compare_macro_f1(targets, said, said, texts).chance == 1
    assert compare_errors(targets, targets, texts).chance == 1
    first, second = (interval(targets, said) for _ in range(2))
    assert first.tolist() == second.tolist()


def test_the_interval_of_a_share_is_nearly_that_of_wilson():
    is_right = np.arange(400) % 4 == 0
    found = mean_interval(is_right.astype(float), np.arange(400))
    np.testing.assert_allclose(found, wilson_interval(100, 400), atol=0.015)
    copied = mean_interval(np.repeat(is_right, 3).astype(float), np.arange(1200) // 3)
    np.testing.assert_allclose(copied, found, atol=0.015)


def test_a_few_texts_say_nothing_of_where_a_mean_lies():
    errors = np.array([0.1, 0.3, 0.2, 0.5, 0.4, 0.4])
    assert np.isnan(mean_interval(errors, np.array([0, 1, 2, 3, 3, 3]))).all()
    low, high = mean_interval(errors, np.array([0, 1, 2, 3, 4, 4]))
    assert low < errors.mean() < high


def test_the_chance_is_that_of_all_ways_to_swap():
    targets = np.array([0, 0, 1, 1, 2, 2, 0, 1])
    first = np.array([0, 0, 1, 1, 2, 2, 1, 1])
    second = np.array([0, 1, 1, 0, 2, 0, 0, 0])
    found = macro_f1(targets, first) - macro_f1(targets, second)
    for texts in (np.arange(8), np.array([0, 0, 1, 1, 2, 3, 4, 5])):
        far = []
        for swap in itertools.product((False, True), repeat=int(texts.max()) + 1):
            swaps = np.array(swap)[texts]
            one, other = np.where(swaps, second, first), np.where(swaps, first, second)
            gap = macro_f1(targets, one) - macro_f1(targets, other)
            far.append(abs(gap) >= abs(found) - 1e-12)
        chance = compare_macro_f1(targets, first, second, texts).chance
        assert chance == pytest.approx(np.mean(far), abs=1e-9)


def test_a_large_difference_is_no_chance_in_either_direction():
    targets, said = rows(100, 7, share_right=0.9)
    always = np.zeros_like(targets)
    for pair in ((said, always), (always, said)):
        assert compare_macro_f1(targets, *pair, np.arange(100)).chance < 0.02


def test_errors_that_are_smaller_row_by_row_are_no_chance():
    rng = np.random.default_rng(8)
    errors = rng.exponential(10, 40)
    assert compare_errors(errors, errors + 1, np.arange(40)).chance < 0.02
    # Two texts, each twenty times: no more than two that agree.
    copied = compare_errors(errors, errors + 1, np.arange(40) // 20)
    assert copied.chance == 0.5
    gaps = np.array([3.0, -1.0, 2.0, 2.0, -0.5])
    ways = np.array(list(itertools.product((-1, 1), repeat=5)))
    exact = np.mean(np.abs((ways * gaps).mean(axis=1)) >= gaps.mean() - 1e-12)
    found = compare_errors(gaps, np.zeros(5), np.arange(5))
    assert found.chance == pytest.approx(exact, abs=1e-9)


def right(only_first, only_second, both=3, neither=2, copies=1):
    targets = np.zeros(only_first + only_second + both + neither, int)
    first = np.ones_like(targets)
    second = np.ones_like(targets)
    first[: only_first + both] = 0
    second[:both] = 0
    second[only_first + both : only_first + both + only_second] = 0
    texts = np.repeat(np.arange(len(targets)), copies)
    parts = (np.repeat(part, copies) for part in (targets, first, second))
    return compare_right(*parts, texts)


@pytest.mark.parametrize("copies", [1, 3])
def test_rows_that_one_alone_got_right_are_counted(copies):
    found = right(5, 1, copies=copies)
    assert (found.only_first, found.only_second) == (5 * copies, copies)
    # Two tails of six coins, (1 + 6) / 64 each: one for a text, not for a copy.
    assert found.chance == pytest.approx(2 * 7 / 64)
    assert right(0, 0).chance == right(4, 4).chance == 1


CONFIDENCE = np.array([0.5, 0.9, 0.7, 0.9, 0.6])
RIGHT = np.array([False, True, False, False, True])


def test_a_threshold_answers_rows_that_are_at_least_so_sure():
    thresholds = np.array([0.0, 0.5, 0.6, 0.7, 0.9, 0.95])
    found = coverage_at(CONFIDENCE, RIGHT, thresholds, np.arange(5))
    np.testing.assert_allclose(found.coverage, [1, 1, 4 / 5, 3 / 5, 2 / 5, 0])
    np.testing.assert_allclose(
        found.accuracy, [2 / 5, 2 / 5, 2 / 4, 1 / 3, 1 / 2, np.nan]
    )
    np.testing.assert_allclose(found.intervals[2], wilson_interval(2, 4))
    np.testing.assert_allclose(found.intervals[5], [0, 1])
    # Texts that stand three times count once.
    texts = np.arange(15) // 3
    copied = (np.repeat(part, 3) for part in (CONFIDENCE, RIGHT))
    again = coverage_at(*copied, thresholds, texts)
    np.testing.assert_allclose(again.coverage, found.coverage)
    np.testing.assert_allclose(again.intervals, found.intervals)


def written(*arguments):
    file = io.StringIO(newline="")
    PredictedTable(*arguments).write_csv(file)
    return list(csv.reader(io.StringIO(file.getvalue(), newline="")))


def test_a_prediction_file_keeps_the_table_and_adds_class_and_probabilities():
    cells = np.array([["a,b", "x\ny"], ["红", "2"], ["", ""]], object)
    outputs = np.array([[0.25, 0.75], [0.5, 0.5], [np.nan, np.nan]])
    assert written(("text", "p(no)"), cells, ("no", "yes"), outputs, 0) == [
        ["text", "p(no)", "predicted", "p(no) (2)", "p(yes)"],
        ["a,b", "x\ny", "yes", "0.250000", "0.750000"],
        ["红", "2", "no", "0.500000", "0.500000"],
        ["", "", "", "", ""],
    ]


def test_numbers_are_written_whole():
    cells = np.array([["a"], ["b"], ["c"]], object)
    outputs = np.array([[-2.5], [1234567], [0.1]], "float32")
    found = written(("t",), cells, ("price",), outputs, True)
    expected = [["t", "predicted"], ["a", "-2.5"], ["b", "1234567"], ["c", "0.1"]]
    assert found == expected
