"""The figures of guessed words."""

import numpy as np
import pytest

from bertviz_core.analysis.sampling import count_interval
from bertviz_core.figures.bars import signed_bars_figure
from bertviz_core.figures.labels import LONGEST_LABEL, label
from bertviz_core.figures.masked_word import candidates_figure, chain_figure, percent
from bertviz_core.figures.sentence_pairs import (
    next_sentences_figure,
    two_sentences_figure,
)
from bertviz_core.figures.token_grid import COLUMNS, token_grid_figure
from tests.core.sent_figures import checked, figure_texts, numbers, say_only, shown

TOKENS = ["paris", "首都", "the", "the", "##ing"]
PROBS = np.array([0.4, 0.25, 0.15, 0.1, 0.02])
AFTER = np.array([0.6, 0.3, 0.1, 0.0, 0.0])
LOGITS = np.array([9.5, 9.0, 8.4, 8.1, 6.5])

# With the last row, of all other words.
ALL, ALL_AFTER = np.append(PROBS, 0.08), np.append(AFTER, 0.0)
COUNTS = np.array([21, 9, 6, 0, 1, 0])


def both(words=str, **more):
    """The probabilities before and after."""
    return candidates_figure(TOKENS, ALL, LOGITS, words, after=ALL_AFTER, **more)


def test_ten_words_with_draws_fit_a_laptop_beside_their_sliders():
    probs = np.full(11, 1 / 11)
    counts = np.full(11, 5)
    tokens = [str(i) for i in range(10)]
    figure = candidates_figure(
        tokens, probs, np.zeros(10), str, after=probs, counts=counts
    )
    assert figure.layout.height <= 430
    lanes = [np.asarray(one.y, float).ravel()[0] for one in figure.data]
    assert lanes == sorted(lanes)


def test_bars_carry_rank_probability_and_logit():
    figure = candidates_figure(TOKENS, PROBS, LOGITS, str)
    [bar] = figure.data
    np.testing.assert_array_equal(bar.x, PROBS)
    assert list(bar.y) == [0, 1, 2, 3, 4]
    assert bar.orientation == "h"
    assert list(bar.text) == ["40.0%", "25.0%", "15.0%", "10.0%", "2.00%"]
    assert [row[1] for row in bar.customdata] == [f"logit {x:.3f}" for x in LOGITS]
    ticks = [shown(tick) for tick in figure.layout.yaxis.ticktext]
    assert ticks == ["paris  1", "首都  2", "the  3", "the  4", "##ing  5"]
    many = candidates_figure(["w"] * 100, *[np.full(100, 0.01)] * 2, str).layout
    assert many.height > 100 * 20 > figure.layout.height
    bottom, top = figure.layout.yaxis.range
    assert top < 0 < len(TOKENS) - 1 < bottom


def test_before_and_after_share_one_axis_and_differ_without_colour():
    figure = both()
    before, after = figure.data
    assert (before.xaxis, before.yaxis) == (after.xaxis, after.yaxis)
    assert figure.layout.xaxis.range[1] > 0.6
    np.testing.assert_allclose(before.x, ALL)
    np.testing.assert_allclose(after.x, ALL_AFTER)
    assert (np.array(before.y) < np.array(after.y)).all()
    assert before.marker.pattern.shape != after.marker.pattern.shape
    assert before.marker.color is after.marker.color is None


def test_a_word_that_was_left_out_says_so_in_words_and_a_rare_one_does_not():
    _, after = both().data
    assert list(after.text) == ["60.0%", "30.0%", "10.0%", *["left_out"] * 3]
    rare = np.append(AFTER, 1e-12)
    _, after = candidates_figure(TOKENS, ALL, LOGITS, str, after=rare).data
    assert after.text[5] == "<0.01%"
    (bar,) = candidates_figure(TOKENS, ALL_AFTER, LOGITS, str).data
    assert list(bar.text[3:]) == ["0%"] * 3


@pytest.mark.parametrize(
    ("probs", "more"), [(ALL_AFTER, {"after": ALL_AFTER}), (ALL, {})]
)
def test_draws_stand_against_their_binomial_range_below_the_bars(probs, more):
    figure = candidates_figure(TOKENS, ALL, LOGITS, str, counts=COUNTS, **more)
    *bars, expected, drawn = figure.data
    np.testing.assert_allclose(drawn.x, COUNTS / 37)
    low, high = count_interval(probs, 37)
    np.testing.assert_allclose(expected.x[::3], low / 37)
    np.testing.assert_allclose(expected.x[1::3], high / 37)
    np.testing.assert_array_equal(expected.y[::3], drawn.y)
    lowest = np.max([np.array(bar.y) + bar.width / 2 for bar in bars], axis=0)
    assert (np.array(drawn.y) > lowest).all()
    # Every mark fits on the axis.
    certain = candidates_figure(
        TOKENS, ALL, LOGITS, str, counts=np.eye(6, dtype=int)[0]
    )
    for one in (figure, certain):
        *_, expected, drawn = one.data
        assert one.layout.xaxis.range[1] > max(*drawn.x, np.nanmax(expected.x))


def test_words_on_the_figures_are_those_of_the_reader():
    names = say_only("masked_word", lambda words: [both(words, counts=COUNTS)])
    assert names == {*figure_texts("masked_word")}
    figure = both(counts=COUNTS)
    drawn = ["before", "after", "expected", "drawn"]
    assert [trace.name for trace in figure.data] == drawn
    assert figure.layout.yaxis.ticktext[-1] == "others"


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        ("<b>bold</b>", "&lt;b&gt;bold&lt;/b&gt;"),
        ("a&b", "a&amp;b"),
        ("%{x}", "%\u2060{x}"),
        ("x" * 99, "x" * (LONGEST_LABEL - 1) + "…"),
        ("שלום", "שלום"),
    ],
)
def test_a_label_shows_the_token_and_never_runs_it(token, shown):
    """Isolated: a word from right to left does not turn the rank beside it."""
    assert label(token) == f"\u2068{shown}\u2069"


@pytest.mark.parametrize(
    ("probability", "said"),
    [
        (0.0, "0%"),
        (1e-9, "<0.01%"),
        (0.00006, "0.01%"),
        (0.0123, "1.23%"),
        (0.09994, "9.99%"),
        (0.09996, "10.0%"),
        (0.5, "50.0%"),
        (0.9994, "99.9%"),
        (0.99951, ">99.9%"),
        (1.0, "100%"),
    ],
)
def test_a_probability_is_never_rounded_to_certainty(probability, said):
    assert percent(probability) == said


RNG = np.random.default_rng(11)


def sentences(words, a, b, named=(), **rest):
    return checked(
        two_sentences_figure(words, a, b, named, title_a="A", title_b="B", **rest)
    )


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
    assert list(trace.text) == ["0.00", "", "1.26", "−2.00"]
    assert trace.x[1] is None


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


@pytest.mark.parametrize(
    ("longest", "columns", "size"),
    [
        ("他", 8, None),
        ("[MASK]", 7, None),
        ("married", 6, None),
        ("a" * 9, 5, None),
        ("a" * 12, 5, 9),
        ("a" * 40, 5, 9),
    ],
)
def test_long_tokens_of_a_grid_fit_into_their_cells_on_a_phone(longest, columns, size):
    tokens = ["的"] * 9 + [longest]
    figure = checked(token_grid_figure(tokens, np.ones(10), tokens, title="bits"))
    trace = figure.data[0]
    assert {len(row) for row in trace.text} == {columns}
    row, column = divmod(9, columns)
    smaller = f'<span style="font-size:{size}px">' if size else ""
    assert trace.text[row][column].startswith(smaller + label(longest))
    assert trace.text[0][0].startswith(label("的"))
    assert trace.showscale is False  # which would take a cell's width
