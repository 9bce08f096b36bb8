import numpy as np
import plotly.graph_objects as go
import pytest

from bertviz_core.figures.masked_panels import (
    chain_figure,
    ranks_figure,
    signed_bars_figure,
    words_map_figure,
)
from bertviz_core.figures.sentence_pairs import (
    next_sentences_figure,
    two_sentences_figure,
)
from bertviz_core.figures.token_grid import COLUMNS, token_grid_figure
from tests.core.sent_figures import numbers

RNG = np.random.default_rng(11)


def checked(figure):
    """The figure again, with plotly's checks of every value."""
    return go.Figure(figure.to_dict())


def sentences(words, a, b, named=(), **rest):
    return checked(
        two_sentences_figure(words, a, b, named, title_a="A", title_b="B", **rest)
    )


def words_map(probs):
    words = [["<b>", "considerable", "c"], ["d", "e", "f"]]
    titles = {"row_title": "layer", "column_title": "token", "probability": "p"}
    return words_map_figure(words, probs, ["2", "1"], ["x", "y", "z"], **titles)


def test_a_map_of_words_writes_each_word_and_cuts_long_ones():
    probs = RNG.random((2, 3))
    trace = checked(words_map(probs)).data[0]
    np.testing.assert_allclose(np.array(trace.z, float), probs)
    assert "&lt;b&gt;" in trace.text[0][0]
    assert "conside…" in trace.text[0][1]
    assert "considerable" in trace.customdata[0][1]
    with pytest.raises(ValueError, match="2 x 3"):
        words_map(RNG.random((3, 2)))


def test_rank_one_is_on_top():
    ranks = {"cat": np.array([700, 3, 1])}
    figure = checked(ranks_figure(ranks, ["in", "1", "2"], x_title="", y_title=""))
    low, high = figure.layout.yaxis.range
    assert low > np.log10(700) > 0 > high
    np.testing.assert_allclose(numbers(figure.data[0].y), [700, 3, 1])


@pytest.mark.parametrize(("burn_in", "end"), [(3, 3.5), (90, 7.5)])
def test_burn_in_is_shaded_up_to_its_last_step(burn_in, end):
    steps = np.arange(1, 8)
    names = {"x_title": "", "changed": "c", "entropy": "e", "burn_in_name": "b"}
    rates, bits = RNG.random(7), RNG.random(7)
    figure = checked(chain_figure(steps, rates, bits, burn_in, **names))
    assert figure.layout.shapes[0].x1 == end
    np.testing.assert_allclose(numbers(figure.data[1].y), bits, rtol=1e-6)
    assert not chain_figure(steps, rates, bits, 0, **names).layout.shapes


def test_bars_have_no_signed_zero_and_nothing_where_nothing_is_known():
    values = np.array([-0.001, np.nan, 1.256, -2.0])
    trace = checked(signed_bars_figure(list("abca"), values, "v")).data[0]
    assert list(trace.text) == ["0.00", "", "1.26", "-2.00"]
    assert trace.x[1] is None
    with pytest.raises(ValueError, match="values"):
        signed_bars_figure(["a"], values, "v")


def test_words_stand_at_their_two_probabilities():
    a, b = np.log([0.5, 0.2, 0.1]), np.log([0.4, 0.3, 0.05])
    equal, points = sentences(["x", "y", "z"], a, b, [1]).data
    np.testing.assert_allclose(numbers(points.x), [0.5, 0.2, 0.1])
    np.testing.assert_allclose(numbers(points.y), [0.4, 0.3, 0.05])
    assert [bool(text) for text in points.text] == [False, True, False]
    np.testing.assert_allclose(numbers(equal.x), numbers(equal.y))


def test_every_other_word_is_counted_in_a_square_behind_the_points():
    a, b = np.log([0.5, 0.2]), np.log([0.4, 0.3])
    rest = (RNG.uniform(-30, -9, 701), RNG.uniform(-25, -8, 701))
    given = {"rest": rest, "rest_name": "words"}
    near = sentences(["x", "y"], a, b, **given)
    assert near.layout.xaxis.range[0] > np.log10(0.05)
    figure = sentences(["x", "y"], a, b, **given, shows_rest=True)
    squares = figure.data[0]
    counts = np.array(squares.customdata)
    edges = (np.array(squares.y), np.array(squares.x))
    expected = np.histogram2d(*np.exp(rest[::-1]), edges)[0]
    np.testing.assert_array_equal(counts, expected)
    assert counts.sum() == 701
    row, column = np.argwhere(counts)[0]
    assert squares.z[row][column] == pytest.approx(np.log10(counts[row, column]))
    row, column = np.argwhere(counts == 0)[0]
    assert squares.z[row][column] is None
    assert 10 ** figure.layout.xaxis.range[0] < np.exp(np.min(rest))


def test_words_at_one_place_stand_on_different_sides_of_it():
    a = np.log(np.array([0.1, 0.1, 0.1, 0.1, 0.1, 1e-6]))
    points = sentences(list("uvwxyz"), a, a, range(6)).data[-1]
    written = [i for i, text in enumerate(points.text) if text]
    assert written == [0, 1, 2, 3, 5]
    assert len({points.textposition[i] for i in range(4)}) == 4


def test_a_pair_on_the_wrong_side_is_a_cross():
    probs = np.array([0.9, 0.5, 0.2])
    rows = [
        ("true", probs, ["<b>", "%{x}", "c" * 500], True),
        ("shuffled", probs[:2], ["d", "e"], False),
        ("unknown", probs[2:], ["f"], None),
    ]
    true, shuffled, unknown = checked(next_sentences_figure(rows, title="p")).data
    assert list(unknown.marker.symbol) == ["circle"]
    assert numbers(unknown.y).tolist() == [2.0]
    assert list(true.marker.symbol) == ["circle", "x", "x"]
    assert list(shuffled.marker.symbol) == ["x", "circle"]
    np.testing.assert_allclose(numbers(true.x), probs)
    assert true.customdata[0] == "&lt;b&gt;"
    assert "%{" not in true.customdata[1]
    assert len(true.customdata[2]) < 200
    assert (np.abs(numbers(shuffled.y) - 1) < 0.5).all()


def test_a_grid_keeps_the_order_of_reading_and_says_no_number_for_a_mask():
    num_tokens = COLUMNS + 3
    values = np.arange(num_tokens, dtype=float)
    values[4] = np.nan
    tokens = [f"t{i}" for i in range(num_tokens)]
    trace = checked(token_grid_figure(tokens, values, tokens, title="bits")).data[0]
    assert trace.z[1][2] == num_tokens - 1
    assert trace.z[1][3] is None
    assert "4.0" not in trace.text[0][4]
    assert "t4" in trace.text[0][4]
    with pytest.raises(ValueError, match="hints"):
        token_grid_figure(tokens, values, tokens[1:], title="bits")
