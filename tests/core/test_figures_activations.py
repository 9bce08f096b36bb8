from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from bertviz_core.analysis.activations import ACTIVATIONS, activate, differentiate
from bertviz_core.analysis.dying_neurons import train
from bertviz_core.analysis.small_networks import (
    gradient_through_layers,
    learn_two_weights,
    output_signs,
)
from bertviz_core.figures.activations import PLACES, Curve, curves_figure
from bertviz_core.figures.drawing import NUM_COLORS
from bertviz_core.figures.gelu import error_figure, largest_error_figure, normal_figure
from bertviz_core.figures.small_networks import (
    collapse_figure,
    gradients_figure,
    means_figure,
    path_figure,
)
from bertviz_core.figures.small_trainings import fit_figure, neuron_figure
from tests.core.sent_figures import figure_texts, say_only

X = np.linspace(-2, 2, 7)
LABELS = {name: f"f-{name}" for name in ACTIVATIONS}


def curve(name, read_at=0.5):
    at = np.array(read_at)
    return Curve(
        name,
        LABELS[name],
        activate(name, X),
        differentiate(name, X),
        float(activate(name, at)),
        float(differentiate(name, at)),
    )


def trainings():
    return {
        "leaky_relu": train("leaky_relu", parameter=0.1, seed=214, num_steps=29),
        "relu": train("relu", seed=214, num_steps=29, learning_rate=0.1),
    }


def all_figures(words):
    signs = {name: output_signs(name) for name in ("tanh", "relu", "elu")}
    paths = {name: learn_two_weights(name) for name in ("swish", "tanh")}
    four = dict.fromkeys(("density", "cumulative", "error_function", "gelu"), X)
    three = dict.fromkeys(("chosen", "taylor", "paper"), X)
    marks = dict.fromkeys((*three, "best"), (0.5, 0.25))
    gradients = {"relu": np.array([1, 0.5, 0.25])}
    return [
        curves_figure(X, [curve("gelu"), curve("prelu")], 0.5, words),
        normal_figure(X, four, 0.5, words, (X, X)),
        error_figure(X, three, marks, words),
        largest_error_figure(X, X, marks, words),
        gradients_figure(gradients, LABELS, words),
        means_figure(signs, LABELS, words),
        path_figure(paths, LABELS, words),
        neuron_figure(trainings(), LABELS, 3, 7, words),
        fit_figure(trainings(), LABELS, 7, words),
        collapse_figure(X, X, X, X, 3, "tanh", words),
    ]


def test_words_on_the_figures_are_those_of_the_reader():
    # The page gives "leak" to a figure of lines.
    others = {*figure_texts("activations")} - {"leak"}
    assert say_only("activations", all_figures) == others


@pytest.mark.parametrize("others", [[], ["sigmoid", "swish"], list(PLACES)])
def test_a_function_keeps_its_colour_whichever_others_are_drawn(others):
    names = list(dict.fromkeys([*others, "gelu"]))
    figure = curves_figure(X, [curve(name) for name in names], 0.5, str)
    drawn = [index for index, trace in enumerate(figure.data) if trace.name]
    assert len(drawn) == 2 * len(names)
    place = PLACES.index("gelu")
    assert figure.data[place].name == "f-gelu"
    assert figure.data[place + NUM_COLORS].name == "derivative"
    # Those of one colour differ in their dashes.
    assert sorted(PLACES) == sorted(ACTIVATIONS)
    looks = {((i % NUM_COLORS) % 6, figure.data[i].line.dash) for i in drawn}
    assert len(looks) == len(drawn)


@pytest.mark.parametrize("at", [-2.0, 0.4, 2.0])
def test_a_curve_has_its_values_and_a_mark_where_it_is_read_out(at):
    figure = curves_figure(X, [curve("elu", at)], at, str)
    values, slopes = (trace for trace in figure.data if trace.name)
    for trace, function in ((values, activate), (slopes, differentiate)):
        assert (np.diff(trace.x) >= 0).all()
        expected = function("elu", trace.x.astype(np.float64))
        np.testing.assert_allclose(trace.y, expected, atol=1e-6)
        [marked] = np.flatnonzero(trace.marker.size)
        assert trace.x[marked] == pytest.approx(at)
    assert figure.layout.shapes[0].x0 == at
    alone = curves_figure(X, [curve("elu")], 0.5, str, with_slopes=False)
    assert [trace.name for trace in alone.data if trace.name] == ["f-elu"]


def test_the_filled_area_ends_at_the_x_that_is_read_out():
    density = np.exp(-X * X)
    values = dict.fromkeys(("density", "cumulative", "error_function", "gelu"), density)
    area, line = normal_figure(X, values, 0.9, str).data[:2]
    assert area.x[-1] == pytest.approx(0.9)
    assert area.y[-1] == pytest.approx(np.interp(0.9, X, density), abs=1e-6)
    assert area.fill == "tozeroy"
    np.testing.assert_allclose(line.y, density, rtol=1e-6)


def test_each_peak_is_marked_on_its_own_curve():
    errors = {"chosen": X, "taylor": 2 * X, "paper": 3 * X}
    peaks = {"chosen": (0.3, 0.3), "taylor": (0.5, 1.0), "paper": (0.7, 2.1)}
    figure = error_figure(X, errors, peaks, str)
    assert [trace.name for trace in figure.data] == list(errors)
    for trace, (x, y) in zip(figure.data, peaks.values(), strict=True):
        [marked] = np.flatnonzero(trace.marker.size)
        assert [trace.x[marked], trace.y[marked]] == pytest.approx([x, y])


def test_small_networks_are_drawn_as_they_are():
    path = gradient_through_layers("sigmoid", 50, 0.1)
    assert path.gradients[-1] < 1e-60
    gradients = {"sigmoid": path.gradients, "relu": np.array([1.0, 0, 0])}
    drawn = {t.name: t for t in gradients_figure(gradients, LABELS, str).data if t.name}
    np.testing.assert_array_equal(drawn["f-sigmoid"].y, path.gradients)
    np.testing.assert_array_equal(drawn["f-relu"].y, [1, np.nan, np.nan])
    signs = {name: output_signs(name) for name in ("relu", "tanh")}
    figure = means_figure(signs, LABELS, str)
    [trace] = figure.data
    assert list(trace.text) == ["0.40", "0.00"]
    assert list(figure.layout.yaxis.ticktext) == ["f-relu", "f-tanh"]
    assert list(trace.error_x.array) == [one.deviation for one in signs.values()]
    learned = learn_two_weights("relu", num_steps=9)
    figure = path_figure({"relu": learned}, LABELS, str)
    [path] = [trace for trace in figure.data if trace.name]
    np.testing.assert_allclose(
        np.stack([path.x, path.y], 1), learned.weights, atol=1e-6
    )
    assert figure.layout.yaxis.scaleanchor == "x"


def test_a_dead_neuron_has_no_gradient_to_draw():
    figure = neuron_figure(trainings(), LABELS, 3, 7, str)
    drawn = [trace for trace in figure.data if trace.name]
    assert [trace.yaxis for trace in drawn] == ["y", "y", "y2", "y2"]
    leaky, relu = drawn[:2]
    assert leaky.mode == "lines"
    (place,) = np.flatnonzero(relu.marker.size)
    assert (relu.marker.symbol, relu.x[place], relu.y[place]) == ("x", 11, 0)
    leaky, relu = drawn[2:]
    assert np.isfinite(leaky.y).all()
    assert np.isnan(relu.y[11:]).all()
    assert (relu.y[:11] > 0).all()
    assert figure.layout.shapes[0].x0 == 7
    # The lower curves have the colours of the upper ones.
    places = [list(figure.data).index(trace) for trace in drawn]
    assert [place % NUM_COLORS for place in places] == [0, 1, 0, 1]
    # A network with no gradient at all is drawn too.
    dead = trainings()["relu"]
    dead = replace(dead, gradients=np.zeros_like(dead.gradients))
    go.Figure(neuron_figure({"relu": dead}, LABELS, 0, 0, str).to_dict())


def test_the_fit_is_that_of_the_step_and_its_axis_stays():
    runs = trainings()
    early, late = (fit_figure(runs, LABELS, step, str) for step in (0, 29))
    run = runs["relu"]
    np.testing.assert_allclose(early.data[1].y, run.outputs[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(late.data[2].y, run.targets, rtol=1e-5, atol=1e-6)
    assert early.layout.yaxis.range == late.layout.yaxis.range


def test_the_one_layer_is_drawn_as_circles_over_the_line():
    x = np.linspace(-3, 3, 65)
    words = figure_texts("activations").__getitem__
    stack, collapsed, _ = collapse_figure(x, 2 * x, 2 * x, x, 4, "elu", words).data
    assert collapsed.mode == "markers"
    assert 10 < len(collapsed.x) < 25
    np.testing.assert_allclose(collapsed.y, 2 * collapsed.x)
    assert stack.name == "4 linear layers"
