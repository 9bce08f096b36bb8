import json

import numpy as np
import pytest

from bertviz_core.figures.class_bars import MAX_BARS, class_bars_figure
from bertviz_core.figures.evaluation_matrix import MAX_WRITTEN, confusion_figure
from bertviz_core.figures.evaluation_numbers import predicted_figure, residuals_figure
from bertviz_core.figures.evaluation_scores import (
    Dots,
    calibration_figure,
    coverage_figure,
    hover_text,
    intervals_figure,
)
from tests.core.sent_figures import as_sent, numbers

LABELS = ("<b>ham</b>", "spam", "a name that is far too long for any axis")
CONFUSION = np.array([[5, 2, 0], [0, 7, 1], [0, 0, 0]])


def test_each_cell_has_its_count_and_says_which_it_is():
    spec = as_sent(confusion_figure(CONFUSION, LABELS))
    heat, marks = spec["data"]
    np.testing.assert_allclose(heat["z"], CONFUSION)
    assert marks["text"] == [str(count) for count in CONFUSION.ravel()]
    assert marks["customdata"][5] == [1, 2]
    assert (marks["y"][5], marks["x"][5]) == (1, 2)
    assert marks["hovertext"][5].endswith("rows: 1")
    assert spec["layout"]["yaxis"]["range"] == [2.5, -0.5]  # the first class on top
    # Names of classes are shown letter for letter.
    assert "&lt;b&gt;ham" in spec["layout"]["xaxis"]["ticktext"][0]
    assert "<b>" not in json.dumps(spec)
    with pytest.raises(ValueError, match="3 x 3"):
        confusion_figure(CONFUSION[:2], LABELS)
    # Text under the pointer is short and fills no place.
    assert hover_text("<a>") == "&lt;a&gt;"
    assert "%{" not in hover_text("%{x}")
    assert len(hover_text("x" * 500)) < 100
    # Many classes have a scale in the place of numbers.
    names = list(map(str, range(MAX_WRITTEN + 1)))
    many = confusion_figure(np.eye(len(names), dtype=int), names)
    heat, marks = as_sent(many)["data"]
    assert heat["showscale"]
    assert (marks["mode"], len(marks["customdata"])) == ("markers", len(names) ** 2)


def test_shares_are_of_the_true_class_and_empty_where_it_has_no_row():
    spec = as_sent(confusion_figure(CONFUSION, LABELS, as_shares=True))
    heat, marks = spec["data"]
    np.testing.assert_allclose(heat["z"][0], [5 / 7, 2 / 7, 0])
    assert heat["z"][2] == [None] * 3
    assert marks["text"][:3] == ["71.4%", "28.6%", "0%"]
    assert marks["text"][6:] == [""] * 3


def test_whiskers_reach_the_ends_of_the_intervals():
    intervals = np.array([[0.2, 0.9], [0.0, 1.0], [0.4, 0.45]])
    dots = Dots("recall", np.array([0.5, np.nan, 0.4]), intervals, ("a", "b", "c"))
    trace = as_sent(intervals_figure(("x", "y", "z"), [dots]))["data"][0]
    np.testing.assert_allclose(numbers(trace["x"]), [0.5, 0.4])  # NaN has no dot
    np.testing.assert_allclose(numbers(trace["y"]), [0, 2])
    np.testing.assert_allclose(numbers(trace["error_x"]["array"]), [0.4, 0.05])
    np.testing.assert_allclose(numbers(trace["error_x"]["arrayminus"]), [0.3, 0])
    assert [text[-1] for text in trace["hovertext"]] == ["a", "c"]
    # Two kinds differ in symbol and place.
    other = Dots("other", *[np.full(3, 0.5), np.full((3, 2), 0.5)], "abc")
    first, second = as_sent(intervals_figure(("x", "y", "z"), [dots, other]))["data"]
    assert first["marker"]["symbol"] != second["marker"]["symbol"]
    assert (numbers(first["y"]) < numbers(second["y"])[[0, 2]]).all()
    with pytest.raises(ValueError, match="2 values"):
        intervals_figure(("x", "y"), [other])


def test_an_empty_bin_has_no_point_and_a_full_one_is_larger():
    counts = np.array([0, 2, 50])
    sure, right = np.array([np.nan, 0.4, 0.9]), np.array([np.nan, 0.5, 0.7])
    line, bins = as_sent(calibration_figure(counts, sure, right))["data"]
    np.testing.assert_allclose(numbers(bins["x"]), [0.4, 0.9])
    np.testing.assert_allclose(numbers(bins["y"]), [0.5, 0.7])
    sizes = numbers(bins["marker"]["size"])
    assert sizes[0] < sizes[1]
    assert line["x"] == line["y"] == [0, 1]


def test_coverage_and_accuracy_are_two_lines_with_the_choice_marked():
    limits = np.array([0.0, 0.5, 1.0])
    shares = np.array([1.0, 0.4, 0.0])
    right = np.array([0.7, 0.9, np.nan])
    spec = as_sent(coverage_figure(limits, shares, right, 0.35))
    first, second = spec["data"]
    assert first["y"] == [1.0, 0.4, 0.0]
    assert second["y"] == [0.7, 0.9, None]
    assert first["line"]["dash"] != second["line"]["dash"]
    # A row of certainty 0.5 is answered at 0.5: the step must not come before.
    assert first["line"]["shape"] == second["line"]["shape"] == "vh"
    assert spec["layout"]["shapes"][0]["x0"] == 0.35


def test_predicted_numbers_stand_over_true_ones():
    targets, said = np.array([1.0, 5.0, 9.0]), np.array([2.0, -4.0, 9.0])
    spec = as_sent(predicted_figure(targets, said, ("a", "<i>b</i>", "c")))
    line, points = spec["data"]
    np.testing.assert_allclose(numbers(points["x"]), targets)
    np.testing.assert_allclose(numbers(points["y"]), said)
    assert line["x"] == [-4, 9]
    assert "<i>" not in json.dumps(spec)


def test_every_residual_is_counted_once():
    residuals = np.random.default_rng(1).normal(size=93)
    bars = as_sent(residuals_figure(residuals))["data"][0]
    assert numbers(bars["y"]).sum() == 93
    assert as_sent(residuals_figure(np.zeros(1)))["data"][0]["y"]


def test_the_likeliest_class_stands_on_top_and_the_rest_is_left_out():
    size = MAX_BARS + 5
    shares = np.random.default_rng(2).dirichlet(np.ones(size))
    names = [f"class {index}" for index in range(size)]
    bars = as_sent(class_bars_figure(names, shares, "p"))["data"][0]
    np.testing.assert_allclose(numbers(bars["x"]), np.sort(shares)[::-1][:MAX_BARS])
    assert f"class {shares.argmax()}" in bars["hovertext"][0]
    with pytest.raises(ValueError, match="probabilities"):
        class_bars_figure(names[1:], shares, "p")
