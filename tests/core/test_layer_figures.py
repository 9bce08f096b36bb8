import numpy as np
import plotly.graph_objects as go
import pytest

from bertviz_core.analysis.layer_norm import layer_norm_steps
from bertviz_core.figures.effect_bars import effect_bars_figure
from bertviz_core.figures.labels import label
from bertviz_core.figures.layer_diagram import DiagramWords, layer_boxes, layer_diagram
from bertviz_core.figures.layer_lines import lines_figure, norm_formulas
from bertviz_core.figures.layer_strip import (
    color_limit,
    fold,
    named_bars_figure,
    strip_figure,
)

RNG = np.random.default_rng(3)
WORDS = {"title": "value", "row_title": "head", "column_title": "dimension"}


def checked(figure):
    """Plotly's own check of every name and value, which the app leaves out."""
    go.Figure(figure.to_dict())
    return figure


@pytest.mark.parametrize(
    ("is_signed", "limit"), [(True, None), (False, None), (True, 2)]
)
def test_a_strip_shows_every_number(is_signed, limit):
    values = RNG.normal(size=(3, 7)) if is_signed else RNG.random((3, 7))
    given = {"is_signed": is_signed, "limit": limit, **WORDS}
    trace = checked(strip_figure(values, ["Norm", "b", "Norm"], **given)).data[0]
    np.testing.assert_allclose(trace.z, values, rtol=1e-6)
    assert list(trace.x) == [1, 2, 3, 4, 5, 6, 7]
    assert trace.zmin == (-trace.zmax if is_signed else 0)
    assert limit is None or trace.zmax == limit
    # Rows of one name stay two rows.
    assert trace.y[2] != trace.y[0] == trace.y[2].rstrip("\u2060")


@pytest.mark.parametrize(("count", "every"), [(40, 1), (41, 2), (512, 13)])
def test_many_columns_have_a_name_for_every_few_and_all_under_the_pointer(count, every):
    names = [f"<b>{index + 1} on" for index in range(count)]
    figure = strip_figure(np.ones((1, count)), ["1"], names, is_signed=False, **WORDS)
    labels = [label(name) for name in names]
    assert "<" not in labels[0]
    assert list(figure.layout.xaxis.ticktext) == labels[::every]
    assert list(figure.layout.xaxis.tickvals)[1] == 1 + every
    assert list(checked(figure).data[0].customdata[0]) == labels


@pytest.mark.parametrize(
    ("size", "rows", "last"), [(5, 1, (1, 5)), (512, 1, (1, 512)), (700, 3, (513, 700))]
)
def test_a_long_vector_is_folded_and_nothing_is_lost(size, rows, last):
    values = RNG.normal(size=size)
    folded, ends = fold(values)
    assert len(folded) == len(ends) == rows
    assert ends[-1] == last
    np.testing.assert_array_equal(folded.ravel()[:size], values)
    assert np.isnan(folded.ravel()[size:]).all()
    starts = [first for first, _ in ends]
    names = [str(first) for first in starts]
    figure = strip_figure(folded, names, is_signed=True, starts=starts, **WORDS)
    assert checked(figure).data[0].customdata[-1][0] == last[0]


def test_colours_end_where_all_but_a_hundredth_of_the_numbers_lie():
    limit = color_limit(np.concatenate([np.linspace(-1, 1, 500), [90.0, -80.0]]))
    assert 0.98 < limit <= 1
    # Among few numbers each counts, and masked scores do not.
    assert color_limit(np.array([0.5, -7.0])) == 7
    assert color_limit(np.array([0.5, -9999.0])) == 0.5
    assert color_limit(np.array([-9999.0])) == color_limit(np.zeros(4)) == 1


def test_bars_carry_their_numbers_in_the_given_order():
    values = np.array([3.25, -1.5])
    figure = named_bars_figure(["$x$", "b"], values, title="logit")
    trace = checked(figure).data[0]
    assert list(trace.x) == [3.25, -1.5]
    assert list(trace.text) == ["3.25", "-1.5"]
    assert list(figure.layout.yaxis.ticktext) == [label("$x$"), label("b")]


def test_no_diamond_lies_on_a_bar_or_its_number():
    size = np.linspace(-1, 1, 5)
    figure = effect_bars_figure(
        list("abcde"), size, size / 2, title="", measured_name="m", estimated_name="e"
    )
    bars, diamonds = figure.data
    ends = np.array(bars.y) + bars.offset + bars.width
    assert (np.array(diamonds.y) > ends).all()


def test_lines_differ_by_dash_and_symbol_and_not_by_colour_alone():
    lines = {str(index): RNG.random(4) for index in range(5)}
    figure = lines_figure(lines, list("abcd"), x_title="layer", y_title="length")
    drawn = checked(figure).data
    assert len({(t.line.dash, t.marker.symbol) for t in drawn}) == 5
    for trace, values in zip(drawn, lines.values(), strict=True):
        np.testing.assert_allclose(trace.y, values, rtol=1e-6)


@pytest.mark.parametrize(
    "lines", [{}, {"a": np.ones(3)}, dict.fromkeys("abcdef", np.ones(2))]
)
def test_what_does_not_fit_is_refused(lines):
    with pytest.raises(ValueError, match="line"):
        lines_figure(lines, ["a", "b"], x_title="", y_title="")
    with pytest.raises(ValueError, match="2 x 3"):
        strip_figure(np.ones((2, 4)), ["a", "b"], ["x"] * 3, is_signed=True, **WORDS)
    for names, values in ((["a"], np.ones(2)), ([], np.ones(0))):
        with pytest.raises(ValueError, match="entries"):
            named_bars_figure(names, values, title="")


@pytest.mark.parametrize(
    ("pre_norm", "parts"), [(False, "A + N F + N"), (True, "N A + N F +")]
)
def test_a_drawing_names_its_parts_from_top_to_bottom(pre_norm, parts):
    words = DiagramWords("A", "F", "N", "in", "out")
    notes = checked(layer_diagram(pre_norm, words)).layout.annotations
    said = sorted((note for note in notes if note.text), key=lambda note: -note.y)
    assert [note.text for note in said] == ["in", *parts.split(), "out"]
    # An arrow of the stream leads from each part on it to the next.
    upright = [n for n in notes if n.showarrow and n.x == n.ax and n.x < 0.5]
    on_stream = [box.kind for box in layer_boxes(pre_norm) if box.is_on_stream]
    assert on_stream == ["sum", "sum"] if pre_norm else ["sum", "norm"] * 2
    assert len(upright) == len(on_stream) + 1


def test_the_formulas_hold_the_numbers_of_the_norm():
    vector = np.array([1.0, 4.0, -2.0])
    found = layer_norm_steps(vector, np.full(3, 2.0), np.full(3, -0.5), 0.25)
    mean, variance, normed, output = norm_formulas(found, 2.0, -0.5, index=1)
    assert "1.0000" in mean
    assert "6.0000" in variance
    assert r"\frac{4.0000 - 1.0000}{2.5000} = 1.2000" in normed
    assert r"2.0000 \cdot 1.2000 + (-0.5000) = 1.9000" in output
    for formula in (mean, variance, normed, output):
        assert formula.count("{") == formula.count("}")
