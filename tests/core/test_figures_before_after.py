import numpy as np

from bertviz_core.figures.before_after import (
    MAX_CLASSES,
    class_points_figure,
    layer_scores_figure,
    moved_figure,
    number_points_figure,
)
from tests.core.sent_figures import as_sent, numbers

SCORES = np.array([[0.25, 0.5, np.nan, 0.75], [0.5, 0.625, 0.75, 1.0]])
LIMITS = np.array([[-3.0, 5.0], [-2.0, 2.0]])


def test_scores_of_both_models_stand_at_their_layers():
    spread = np.stack([SCORES - 0.125, SCORES + 0.25], axis=-1)
    spec = as_sent(layer_scores_figure(SCORES, spread, 0.4, "accuracy"))
    before, after = spec["data"]
    assert before["y"] == [0.25, 0.5, None, 0.75]
    assert after["y"] == SCORES[1].tolist()
    np.testing.assert_allclose(numbers(after["x"]), np.arange(4), atol=0.1)
    np.testing.assert_allclose(numbers(after["error_y"]["array"]), 0.25)
    np.testing.assert_allclose(numbers(after["error_y"]["arrayminus"]), 0.125)
    assert before["line"]["dash"] != after["line"]["dash"]
    assert spec["layout"]["shapes"][0]["y0"] == 0.4
    assert spec["layout"]["xaxis"]["ticktext"] == ["embeddings", "1", "2", "3"]


def test_scores_without_intervals_or_a_level_have_neither():
    nothing = np.full((*SCORES.shape, 2), np.nan)
    spec = as_sent(layer_scores_figure(SCORES, nothing, None, "R²"))
    assert not any(trace["error_y"]["visible"] for trace in spec["data"])
    assert "shapes" not in spec["layout"]
    level = as_sent(layer_scores_figure(SCORES, nothing, 0.0, "x"))
    assert level["layout"]["shapes"][0]["y1"] == 0


def test_each_layer_has_its_bar_and_a_missing_one_no_number():
    shares = np.array([0.0, 0.0123, np.nan, 0.4])
    bars = as_sent(moved_figure(("a", "b", "<c>", "d"), shares))["data"][0]
    np.testing.assert_allclose(numbers(bars["x"]), [0, 0.0123, 0, 0.4])
    assert bars["text"] == ["0%", "1.23%", "", "40.0%"]
    assert as_sent(moved_figure(("a",), np.zeros(1)))["data"]


def test_every_row_is_a_point_of_its_class():
    rng = np.random.default_rng(3)
    targets, points = rng.integers(0, 3, 31), rng.normal(size=(31, 2))
    hints = [f"row {index} <x>" for index in range(31)]
    labels = ("one", "two", "three")
    spec = as_sent(class_points_figure(points, LIMITS, targets, labels, hints))
    for index, trace in enumerate(spec["data"]):
        chosen = targets == index
        np.testing.assert_allclose(numbers(trace["x"]), points[chosen, 0])
        np.testing.assert_allclose(numbers(trace["y"]), points[chosen, 1])
        first = int(np.flatnonzero(chosen)[0])
        assert trace["hovertext"][0] == f"row {first} &lt;x&gt;"
    symbols = {trace["marker"]["symbol"] for trace in spec["data"]}
    assert len(symbols) == 3
    low, high = spec["layout"]["xaxis"]["range"]
    assert low < -3
    assert high > 5


def test_rare_classes_are_drawn_as_one_where_there_are_too_many():
    size = MAX_CLASSES + 4
    targets = np.repeat(np.arange(size), np.arange(size) + 1)
    points = np.zeros((len(targets), 2))
    labels = [f"class {index}" for index in range(size)]
    spec = as_sent(class_points_figure(points, LIMITS, targets, labels, labels * 99))
    counts = [len(trace["hovertext"]) for trace in spec["data"]]
    assert len(counts) == MAX_CLASSES
    assert sum(counts) == len(targets)
    assert counts[-1] == 1 + 2 + 3 + 4 + 5  # the five rarest


def test_numbers_are_shades_with_a_scale():
    points = np.random.default_rng(4).normal(size=(5, 2))
    targets = np.array([3.0, 1.0, 4.0, 1.5, 9.0])
    trace = as_sent(number_points_figure(points, LIMITS, targets, "abcde"))["data"][0]
    np.testing.assert_allclose(numbers(trace["marker"]["color"]), targets)
    assert trace["hovertext"][3] == "d<br>1.5"
