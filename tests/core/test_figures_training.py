"""The figures around fine-tuning: the table, its way, its scores, before and after."""

import json

import numpy as np
import pytest

from bertviz_core.analysis.smoothing import running_mean, spread_out
from bertviz_core.figures.evaluation_matrix import MAX_WRITTEN, confusion_figure
from bertviz_core.figures.evaluation_scores import (
    Dots,
    calibration_figure,
    coverage_figure,
    intervals_figure,
    predicted_figure,
)
from bertviz_core.figures.finetune_data import (
    MAX_BARS,
    balance_figure,
    lengths_figure,
    numbers_figure,
)
from bertviz_core.figures.finetune_progress import (
    MAX_POINTS,
    loss_figure,
    metric_figure,
    schedule_figure,
)
from tests.core.sent_figures import as_sent, figure_texts, numbers, say_only

TEXT_LENGTHS = np.random.default_rng(3).integers(4, 300, size=211)
EDGES = np.array([0.0, 2.0, 4.0])
PARTS = [np.array([5, 3]), np.array([2, 1]), np.array([1, 4])]
LOSSES = np.random.default_rng(4).random(1307)


def counted(lengths):
    return np.unique(lengths, return_counts=True)


def all_figures(words):
    rates = np.linspace(0.0, 3e-5, 41)
    epochs = np.array([0.5, 0.75, 0.625])
    return [
        balance_figure(["a", "b"], PARTS, words),
        lengths_figure(*counted(TEXT_LENGTHS), 37, 128, words),
        numbers_figure(EDGES, PARTS, "stars", words),
        schedule_figure(rates, 11, words, 7),
        loss_figure(np.arange(1, 5), LOSSES[:4], np.array([4]), epochs[:1], words),
        metric_figure(epochs, 2, "zzmetric", words),
    ]


def test_words_on_the_figures_are_those_of_the_reader():
    assert say_only("fine_tune", all_figures)


def test_a_class_has_its_rows_of_all_parts_in_one_bar():
    names = ["<b>x</b>", "y", "z"]
    parts = [np.array([7, 5, 0]), np.array([2, 1, 4]), np.array([3, 0, 2])]
    drawn = balance_figure(names, parts, str)
    assert [list(bar.x) for bar in drawn.data] == [part.tolist() for part in parts]
    assert drawn.layout.barmode == "stack"
    assert drawn.layout.xaxis.range[1] >= 12
    assert len({bar.marker.pattern.shape for bar in drawn.data}) == 3
    # A small table has no validation rows, and no word about them.
    two = balance_figure(names, [parts[0], np.zeros(3, int), parts[2]], str)
    assert [bar.name for bar in two.data] == ["train", "test"]
    assert "<b>" not in drawn.to_json().replace("\\u003c", "<")


@pytest.mark.parametrize("max_tokens", [3, 37, 512])
@pytest.mark.parametrize("longest_shown", [2, 64, 1000])
def test_bars_hold_every_text_once_and_the_cut_ones_apart(max_tokens, longest_shown):
    lengths = TEXT_LENGTHS
    drawn = lengths_figure(*counted(lengths), max_tokens, longest_shown, str).data
    whole, cut = (numbers(trace.y) for trace in drawn)
    assert whole.sum() == (lengths <= max_tokens).sum()
    assert cut.sum() == (lengths > max_tokens).sum()
    middles, width = numbers(drawn[0].x), drawn[0].width / 0.94
    assert len(middles) == len(whole) == len(cut) <= MAX_BARS
    for middle, count in zip(middles[:-1], (whole + cut)[:-1], strict=True):
        assert count == (np.abs(lengths - middle) < width / 2).sum()


@pytest.mark.parametrize(("longest_shown", "has_rest"), [(64, True), (299, False)])
def test_longer_texts_share_the_last_bar_and_it_says_so(longest_shown, has_rest):
    words = figure_texts("fine_tune").__getitem__
    lengths = counted([5, 7, 64, 299])
    drawn = lengths_figure(*lengths, 8, longest_shown, words)
    # Else a grey that is too pale to read.
    assert drawn.layout.annotations[0].font.color is None
    assert drawn.data[0].customdata[-1].endswith("or more") == has_rest
    # The cut is a line between the last whole length and the next.
    (cut,) = drawn.layout.shapes
    assert cut.x0 == cut.x1 == 8.5
    one = lengths_figure(*counted([9] * 6), 16, longest_shown, words).data[0]
    assert (list(one.x), list(one.y)) == ([9], [6])


def test_numbers_to_predict_stand_between_their_bounds():
    drawn = numbers_figure(EDGES, PARTS, "s", str).data
    assert [list(bar.x) for bar in drawn] == [[1.0, 3.0]] * 3
    assert [list(bar.y) for bar in drawn] == [part.tolist() for part in PARTS]
    assert drawn[0].customdata[1] == "2 – 4"


def test_the_schedule_is_drawn_as_it_is_used_with_the_step_that_is_done():
    rates = np.random.default_rng(6).random(29)
    curve, mark = schedule_figure(rates, 10, str, 7).data
    np.testing.assert_allclose(curve.y, rates, rtol=1e-6)
    assert curve.x[0] == 1
    assert (mark.x[0], mark.y[0]) == (7, rates[6])
    assert len(schedule_figure(rates, 10, str).data) == 1
    borders = [shape.x0 for shape in schedule_figure(rates, 10, str).layout.shapes]
    assert borders == [10.5, 20.5]


def test_long_curves_are_thinned_but_keep_their_ends_and_their_mean():
    steps = np.arange(1, len(LOSSES) + 1)
    # Without rows to check by, nothing says that there were any.
    raw, smooth = loss_figure(steps, LOSSES, steps[:1], np.array([np.nan]), str).data
    assert len(raw.x) == len(smooth.x) == MAX_POINTS
    assert (raw.x[0], raw.x[-1]) == (1, len(LOSSES))
    # The mean is of all steps, not of those that are drawn.
    assert smooth.y[-1] == pytest.approx(running_mean(LOSSES)[-1])


def test_a_running_mean_is_the_weighted_mean_of_what_came_before():
    values, weights = LOSSES[:7], 0.9 ** np.arange(7)[::-1]
    expected = [np.average(values[: i + 1], weights=weights[6 - i :]) for i in range(7)]
    np.testing.assert_allclose(running_mean(values), expected)


@pytest.mark.parametrize("num_values", [1, 2, 13, 600, 601, 5000])
def test_points_are_spread_without_repeats_from_the_first_to_the_last(num_values):
    chosen = spread_out(num_values, MAX_POINTS)
    assert len(chosen) == min(num_values, MAX_POINTS)
    assert chosen[0] == 0
    assert chosen[-1] == num_values - 1
    assert (np.diff(chosen) > 0).all()


@pytest.mark.parametrize(("num_epochs", "mode"), [(3, "lines+markers"), (99, "lines")])
def test_many_epochs_are_a_line_that_their_points_do_not_hide(num_epochs, mode):
    values = np.linspace(0.5, 0.75, num_epochs)
    line, best = metric_figure(values, num_epochs, "accuracy", str).data
    assert line.mode == mode
    assert (best.x[0], best.y[0], best.marker.symbol) == (num_epochs, 0.75, "star")
    steps = np.arange(num_epochs)
    assert loss_figure(steps, values, steps, values, str).data[2].mode == mode


LABELS = ("<b>ham</b>", "spam", "a name that is far too long for any axis")
CONFUSION = np.array([[5, 2, 0], [0, 7, 1], [0, 0, 0]])


def test_each_cell_has_its_count_and_says_which_it_is():
    spec = as_sent(confusion_figure(CONFUSION, LABELS, str))
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
    # Many classes have a scale in the place of numbers.
    names = list(map(str, range(MAX_WRITTEN + 1)))
    many = confusion_figure(np.eye(len(names), dtype=int), names, str)
    heat, marks = as_sent(many)["data"]
    assert heat["showscale"]
    assert (marks["mode"], len(marks["customdata"])) == ("markers", len(names) ** 2)


def test_shares_are_of_the_true_class_and_empty_where_it_has_no_row():
    spec = as_sent(confusion_figure(CONFUSION, LABELS, str, as_shares=True))
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


def test_an_empty_bin_has_no_point_and_a_full_one_is_larger():
    counts = np.array([0, 2, 50])
    sure, right = np.array([np.nan, 0.4, 0.9]), np.array([np.nan, 0.5, 0.7])
    line, bins = as_sent(calibration_figure(counts, sure, right, str))["data"]
    np.testing.assert_allclose(numbers(bins["x"]), [0.4, 0.9])
    np.testing.assert_allclose(numbers(bins["y"]), [0.5, 0.7])
    sizes = numbers(bins["marker"]["size"])
    assert sizes[0] < sizes[1]
    assert line["x"] == line["y"] == [0, 1]


def test_coverage_and_accuracy_are_two_lines_with_the_choice_marked():
    limits = np.array([0.0, 0.5, 1.0])
    shares = np.array([1.0, 0.4, 0.0])
    right = np.array([0.7, 0.9, np.nan])
    spec = as_sent(coverage_figure(limits, shares, right, 0.35, str))
    first, second = spec["data"]
    assert first["y"] == [1.0, 0.4, 0.0]
    assert second["y"] == [0.7, 0.9, None]
    assert first["line"]["dash"] != second["line"]["dash"]
    # A row of certainty 0.5 is answered at 0.5: the step must not come before.
    assert first["line"]["shape"] == second["line"]["shape"] == "vh"
    assert spec["layout"]["shapes"][0]["x0"] == 0.35


def test_predicted_numbers_stand_over_true_ones():
    targets, said = np.array([1.0, 5.0, 9.0]), np.array([2.0, -4.0, 9.0])
    titles = {"x_title": "true", "y_title": "predicted"}
    hints = ("a", "<i>b</i>", "c")
    spec = as_sent(predicted_figure(targets, said, hints, **titles))
    line, points = spec["data"]
    np.testing.assert_allclose(numbers(points["x"]), targets)
    np.testing.assert_allclose(numbers(points["y"]), said)
    assert line["x"] == [-4, 9]
    assert "<i>" not in json.dumps(spec)
