"""Figures of masked-word prediction: what stands where, in any script."""

import numpy as np
import plotly.graph_objects as go
import pytest

from bertviz_core.analysis.sampling import count_interval
from bertviz_core.figures.labels import LONGEST_LABEL, label
from bertviz_core.figures.masked_word import (
    FigureWords,
    candidates_figure,
    distribution_figure,
    draws_figure,
    percent,
)

TOKENS = ["paris", "首都", "the", "the", "##ing"]
PROBS = np.array([0.4, 0.25, 0.15, 0.1, 0.02])
AFTER = np.array([0.6, 0.3, 0.1, 0.0, 0.0])
LOGITS = np.array([9.5, 9.0, 8.4, 8.1, 6.5])

CHINESE = FigureWords(
    probability="概率",
    share="占比",
    logit="logit",
    before="之前",
    after="之后",
    left_out="已去掉",
    drawn="抽到",
    expected="预期",
    others="其他词",
)


def visible(text):
    return text.replace("\u2068", "").replace("\u2069", "")


def test_bars_carry_rank_probability_and_logit():
    figure = candidates_figure(TOKENS, PROBS, LOGITS)
    [bar] = figure.data
    np.testing.assert_array_equal(bar.x, PROBS)
    assert list(bar.text) == ["40.0%", "25.0%", "15.0%", "10.0%", "2.00%"]
    assert [row[1] for row in bar.customdata] == LOGITS.tolist()
    ticks = [visible(tick) for tick in figure.layout.yaxis.ticktext]
    assert ticks == ["paris  1", "首都  2", "the  3", "the  4", "##ing  5"]


@pytest.mark.parametrize(
    "figure",
    [
        candidates_figure(TOKENS, PROBS, LOGITS),
        distribution_figure(TOKENS, PROBS, AFTER),
        draws_figure(TOKENS, np.array([6, 3, 1, 0, 0]), AFTER, 10),
    ],
)
def test_plotly_knows_every_name_and_value(figure):
    go.Figure(figure.to_dict())


def test_equal_words_keep_their_own_rows():
    bar = candidates_figure(TOKENS, PROBS, LOGITS).data[0]
    assert list(bar.y) == [0, 1, 2, 3, 4]


def test_rank_one_is_at_the_top():
    bottom, top = candidates_figure(TOKENS, PROBS, LOGITS).layout.yaxis.range
    assert top < 0 < len(TOKENS) - 1 < bottom


def test_words_stand_upright():
    figure = candidates_figure(TOKENS, PROBS, LOGITS)
    assert figure.data[0].orientation == "h"
    assert figure.layout.yaxis.tickangle in (None, 0)


def test_a_hundred_rows_get_room_for_a_hundred_lines():
    tokens = [f"w{rank}" for rank in range(100)]
    values = np.linspace(0.02, 0.001, 100)
    height = candidates_figure(tokens, values, values).layout.height
    assert height > 100 * 20
    assert candidates_figure(tokens[:7], values[:7], values[:7]).layout.height < height


def test_before_and_after_share_one_axis():
    figure = distribution_figure(TOKENS, PROBS, AFTER)
    before, after = figure.data
    assert before.xaxis == after.xaxis
    assert before.yaxis == after.yaxis
    assert figure.layout.xaxis.range[1] > 0.6
    np.testing.assert_allclose(before.x[:5], PROBS)
    np.testing.assert_allclose(after.x[:5], AFTER)


def test_before_and_after_differ_without_colour():
    before, after = distribution_figure(TOKENS, PROBS, AFTER).data
    assert before.marker.pattern.shape != after.marker.pattern.shape
    assert before.marker.color is None
    assert after.marker.color is None


def test_the_last_row_takes_what_is_left_of_one():
    figure = distribution_figure(TOKENS, PROBS, AFTER)
    before, after = figure.data
    assert before.x[5] == pytest.approx(0.08)
    assert after.x[5] == 0
    assert figure.layout.yaxis.ticktext[5] == "all other words"
    assert sum(before.x) == pytest.approx(1)


def test_a_word_that_was_left_out_says_so_in_words():
    _, after = distribution_figure(TOKENS, PROBS, AFTER, CHINESE).data
    assert list(after.text) == ["60.0%", "30.0%", "10.0%", "已去掉", "已去掉", "已去掉"]


def test_draws_stand_against_their_binomial_range():
    counts = np.array([21, 9, 3, 0, 1])
    drawn, expected = draws_figure(TOKENS, counts, AFTER + 0.0, 37).data
    np.testing.assert_allclose(drawn.x, np.array([21, 9, 3, 0, 1, 3]) / 37)
    assert list(drawn.text) == ["21", "9", "3", "0", "1", "3"]
    np.testing.assert_allclose(expected.x, [*AFTER, 0])
    low, high = count_interval(np.append(AFTER, 0.0), 37)
    np.testing.assert_allclose(expected.x + expected.error_x.array, high / 37)
    np.testing.assert_allclose(
        expected.x - expected.error_x.arrayminus, low / 37, atol=1e-12
    )
    assert (expected.error_x.arrayminus >= -1e-12).all()


def test_every_mark_fits_on_the_axis():
    figure = draws_figure(TOKENS, np.array([1, 0, 0, 0, 0]), PROBS, 1)
    drawn, expected = figure.data
    right = figure.layout.xaxis.range[1]
    assert right > max(drawn.x)
    assert right > max(expected.x + expected.error_x.array)


def test_words_on_the_figures_are_those_of_the_reader():
    figures = [
        candidates_figure(TOKENS, PROBS, LOGITS, CHINESE),
        distribution_figure(TOKENS, PROBS, AFTER, CHINESE),
        draws_figure(TOKENS, np.array([5, 3, 1, 0, 0]), AFTER, 11, CHINESE),
    ]
    for figure in figures:
        figure.layout.template = None
        said = figure.to_json()
        for name, english in vars(FigureWords()).items():
            assert name == "logit" or english not in said
    assert [trace.name for trace in figures[1].data] == ["之前", "之后"]
    assert [trace.name for trace in figures[2].data] == ["抽到", "预期"]
    assert figures[2].layout.xaxis.title.text == "占比"
    assert figures[1].layout.yaxis.ticktext[-1] == "其他词"


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
    assert visible(label(token)) == shown


def test_a_right_to_left_word_is_isolated_from_the_rank():
    assert label("שלום") == "\u2068שלום\u2069"


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


@pytest.mark.parametrize("draw", [candidates_figure, distribution_figure])
def test_rows_of_unequal_length_are_refused(draw):
    with pytest.raises(ValueError, match=r"\(4,\)"):
        draw(TOKENS, PROBS, LOGITS[:4])
    with pytest.raises(ValueError, match="one"):
        draw([], np.zeros(0), np.zeros(0))
    with pytest.raises(ValueError, match=r"\(3,\)"):
        draws_figure(TOKENS, np.array([1, 2, 3]), PROBS, 11)
