"""Figures of arrays, in the browser and from plotly; and the formulas beside them."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from bertviz_core.analysis.dying_neurons import train
from bertviz_core.analysis.layer_norm import layer_norm_steps
from bertviz_core.experiments.attention_results import PairArithmetic
from bertviz_core.figures.bars import histogram_figure, named_bars_figure
from bertviz_core.figures.color_scales import DIVERGING, SEQUENTIAL
from bertviz_core.figures.embedding_positions import chain_figure
from bertviz_core.figures.labels import label
from bertviz_core.figures.layer_diagram import layer_boxes, layer_diagram
from bertviz_core.figures.layer_strip import color_limit, fold, strip_figure
from bertviz_core.figures.lines import lines_figure
from bertviz_core.figures.number_formulas import attention_formulas, norm_formulas
from bertviz_core.figures.number_pictures import (
    NamedBars,
    NumberStrips,
    TitledPicture,
    pictures_payload,
)
from bertviz_core.figures.small_trainings import neuron_figure
from bertviz_core.figures.square_map import square_map_figure
from bertviz_core.figures.upright_titles import set_titles_upright
from bertviz_core.figures.value_map import value_map_figure
from tests.core.sent_figures import as_sent, checked, numbers, shown
from tests.payloads import unpacked

RNG = np.random.default_rng(3)
WORDS = {"title": "value", "row_title": "head", "column_title": "dimension"}


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


def test_columns_of_a_strip_have_names_also_under_the_pointer():
    names = [f"<b>{index + 1} on" for index in range(512)]
    figure = strip_figure(np.ones((1, 512)), ["1"], names, is_signed=False, **WORDS)
    labels = [label(name) for name in names]
    assert "<" not in labels[0]
    spec = as_sent(figure)
    assert named(spec["layout"]["xaxis"]) == list(map(shown, labels))
    assert numbers(spec["data"][0]["x"]).tolist() == list(range(512))
    assert list(checked(figure).data[0].customdata[0]) == labels


def test_chinese_below_a_strip_stands_upright_and_there_is_room_for_it():
    names = [f"{index + 1} 今" for index in range(14)]
    figures = [
        strip_figure(np.ones((2, 14)), "ab", columns, is_signed=True, **WORDS)
        for columns in (None, names)
    ]
    plain, upright = (as_sent(figure)["layout"] for figure in figures)
    assert named(upright["xaxis"])[13] == "14<br>今"
    assert upright["height"] > plain["height"]


def test_a_scale_without_a_name_takes_no_room_for_one():
    titles = WORDS | {"row_title": ""}
    for figure in (
        strip_figure(np.ones((2, 3)), ["1", "2"], is_signed=True, **titles),
        named_bars_figure(["a"], np.ones(1), title="logit"),
    ):
        assert figure.layout.yaxis.title.text is None


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
    assert list(trace.text) == ["3.25", "−1.5"]
    assert list(figure.layout.yaxis.ticktext) == [label("$x$"), label("b")]
    shares = np.array([0.0, 0.0123, np.nan, 0.4])
    figure = named_bars_figure(list("abcd"), shares, title="share", are_shares=True)
    trace = checked(figure).data[0]
    assert list(trace.text) == ["0%", "1.23%", "", "40.0%"]
    assert trace.x[2] is None
    assert list(figure.layout.xaxis.range) == [0, pytest.approx(0.5)]
    assert figure.layout.xaxis.tickvals is None
    figure = named_bars_figure("a", np.array([0.9]), title="", are_shares=True)
    assert max(figure.layout.xaxis.tickvals) == 1 < figure.layout.xaxis.range[1]
    assert list(figure.layout.xaxis.ticktext)[::5] == ["0%", "100%"]
    assert named_bars_figure("a", np.zeros(1), title="").layout.xaxis.range[1] > 0


def test_lines_differ_by_dash_and_symbol_and_not_by_colour_alone():
    lines = {f"<{index}": RNG.random(4) for index in range(6)}
    titles = {"x_title": "layer", "y_title": "length"}
    figure = checked(lines_figure(lines, list("abcd"), **titles, bounds=(0, 1)))
    assert len({trace.line.dash for trace in figure.data}) == 6
    assert len({trace.marker.symbol for trace in figure.data[:5]}) == 5
    assert figure.layout.yaxis.range == (0, 1)
    for trace, (name, values) in zip(figure.data, lines.items(), strict=True):
        np.testing.assert_allclose(trace.y, values, rtol=1e-6)
        assert trace.name == name.replace("<", "&lt;")
    names = [label(name) for name in "abcd"]
    assert list(figure.layout.xaxis.ticktext) == names


@pytest.mark.parametrize(
    ("count", "mode", "step"),
    [(5, "lines+markers", 1), (32, "lines+markers", None), (33, "lines", None)],
)
def test_a_line_over_numbers_stands_where_they_are(count, mode, step):
    lines = {"cosine": RNG.random(count)}
    places = range(3, 3 + count)
    figure = checked(lines_figure(lines, places, x_title="", y_title="cosine"))
    [trace] = figure.data
    assert list(trace.x) == list(places)
    assert (trace.mode, figure.layout.xaxis.dtick) == (mode, step)
    level = {"chance": np.full(count, 0.5)}
    (drawn,) = lines_figure(level, places, x_title="", y_title="").data
    assert drawn.mode == "lines"
    # What the one line is says the axis; else the legend does.
    assert not figure.layout.showlegend
    assert lines_figure(lines, places, x_title="", y_title="").layout.showlegend


def test_rank_one_is_on_top():
    given = {"x_title": "", "y_title": "", "are_ranks": True}
    figure = lines_figure({"cat": np.array([700, 3, 1])}, ["in", "1", "2"], **given)
    low, high = checked(figure).layout.yaxis.range
    assert low > np.log10(700) > 0 > high
    np.testing.assert_allclose(numbers(figure.data[0].y), [700, 3, 1])


def test_a_histogram_counts_every_number_once_and_marks_zero():
    titles = {"x_title": "x", "y_title": "rows"}
    counts, edges = np.histogram(RNG.normal(size=93), 20)
    made = checked(histogram_figure(counts, edges, **titles))
    assert numbers(made.data[0].y).sum() == 93
    np.testing.assert_allclose(np.sum(made.data[0].width), edges[-1] - edges[0])
    assert made.layout.shapes[0].x0 == 0
    assert not histogram_figure(counts, edges + 10, **titles).layout.shapes


def test_lines_have_whiskers_where_their_ends_are_known():
    values = {"before": np.array([0.25, 0.5, np.nan]), "after": np.array([0.5, 0.6, 1])}
    ends = {"after": np.stack([values["after"] - 0.125, [0.75, np.nan, 1.25]], axis=1)}
    titles = {"x_title": "", "y_title": "accuracy"}
    figure = checked(
        lines_figure(values, ["input", "1", "2"], **titles, intervals=ends)
    )
    before, after = figure.data
    assert before.error_y.array is None
    np.testing.assert_allclose(after.error_y.array, [0.25, 0, 0.25])
    np.testing.assert_allclose(after.error_y.arrayminus, 0.125)
    np.testing.assert_allclose(after.x, np.arange(3), atol=0.1)
    assert np.isnan(before.y[2])


@pytest.mark.parametrize(
    ("pre_norm", "parts"), [(False, "A + N F + N"), (True, "N A + N F +")]
)
def test_a_drawing_names_its_parts_from_top_to_bottom(pre_norm, parts):
    words = {"attention": "A", "feed_forward": "F", "norm": "N"} | {
        "enters": "in",
        "leaves": "out",
    }
    notes = checked(layer_diagram(pre_norm, words.__getitem__)).layout.annotations
    said = sorted((note for note in notes if note.text), key=lambda note: -note.y)
    assert [note.text for note in said] == ["in", *parts.split(), "out"]
    # An arrow of the stream leads from each part on it to the next.
    upright = [n for n in notes if n.showarrow and n.x == n.ax and n.x < 0.5]
    on_stream = [box.kind for box in layer_boxes(pre_norm) if box.is_on_stream]
    assert on_stream == ["sum", "sum"] if pre_norm else ["sum", "norm"] * 2
    assert len(upright) == len(on_stream) + 1


def test_the_formulas_hold_the_numbers_of_the_norm():
    vector = np.array([4.0, 1.0, -2.0])
    found = layer_norm_steps(vector, np.full(3, 2.0), np.full(3, -0.5), 0.25)
    mean, variance, normed, output = norm_formulas(found, 2.0, -0.5)
    assert "1.0000" in mean
    assert "6.0000" in variance
    assert r"\frac{4.0000 - 1.0000}{2.5000} = 1.2000" in normed
    assert r"2.0000 \cdot 1.2000 + (-0.5000) = 1.9000" in output
    for formula in (mean, variance, normed, output):
        assert formula.count("{") == formula.count("}")


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def sent(**drawings):
    titled = {
        name: TitledPicture(drawing, f"title of {name}", f"{name} in words", name)
        for name, drawing in drawings.items()
    }
    header, arrays = unpacked(pictures_payload(titled))
    return {**header, "arrays": arrays}


def strips(rng, is_signed, **rest):
    values = rng.normal(size=(3, 200))
    values = values if is_signed else np.abs(values)
    values[1, 7] = np.nan  # an empty cell stays empty
    return NumberStrips(
        values, ["a", "<b>", "c"], title="value", is_signed=is_signed, **rest
    )


@pytest.mark.parametrize("is_signed", [True, False])
@pytest.mark.parametrize("limit", [None, 0.25])
def test_colours_and_numbers_are_those_of_the_figure(rng, is_signed, limit):
    drawing = strips(rng, is_signed, limit=limit, column_title="dimension")
    got = sent(one=drawing)
    (trace,) = drawing.figure().data
    picture = got["pictures"]["one"]
    found = got["arrays"]["one"].reshape(3, 200)
    np.testing.assert_array_equal(found, trace.z.astype(np.float32))
    assert (picture["low"], picture["high"]) == (trace.zmin, trace.zmax)
    scale = DIVERGING if is_signed else SEQUENTIAL
    assert got["scales"][picture["scale"]] == [list(stop) for stop in scale]
    assert [tuple(stop) for stop in scale] == list(trace.colorscale)


def test_names_are_sent_as_they_are_and_shown_as_text(rng):
    columns = [f"{i} <i>" for i in range(200)]
    picture = sent(one=strips(rng, True, columns=columns))["pictures"]["one"]
    assert picture["rows"][1].strip("\u2068\u2069") == "<b>"
    assert label("<b>").strip("\u2068\u2069") == "&lt;b&gt;"
    assert picture["columns"][3].strip("\u2068\u2069") == "3 <i>"


def test_each_picture_has_its_own_numbers_words_and_kind(rng):
    bars = NamedBars(["x", "y"], np.array([0.25, -0.5]), "logit")
    got = sent(first=strips(rng, True, starts=[1, 201, 401]), second=bars)
    assert got["pictures"]["first"]["starts"] == [1, 201, 401]
    second = got["pictures"]["second"]
    said = [second[key] for key in ("kind", "title", "description", "name")]
    assert said == ["bars", "logit", "second in words", "title of second"]
    np.testing.assert_array_equal(got["arrays"]["second"], [0.25, -0.5])
    np.testing.assert_array_equal(bars.figure().data[0].x, [0.25, -0.5])


def test_the_key_tells_pictures_apart(rng):
    drawing = strips(rng, True)
    key = sent(one=drawing)["key"]
    assert sent(one=drawing)["key"] == key
    other = NumberStrips(drawing.values + 1e-3, drawing.rows)
    assert sent(one=other)["key"] != key
    assert sent(two=drawing)["key"] != key


ROWS, COLUMNS = ("one", "two", "<b>three</b>"), ("a", "b", "c", "d", "e%{x}")


def drawn(values, rows=ROWS, columns=COLUMNS, row_title="layer", **more):
    titles = {"title": "change", "row_title": row_title, "column_title": "head"}
    given = {"is_signed": False} | titles | more
    return as_sent(value_map_figure(values, rows, columns, **given))


@pytest.fixture
def values():
    return np.random.default_rng(5).normal(size=(3, 5))


def test_every_value_stands_in_its_row_and_column(values):
    values[1, 2] = np.nan
    spec = drawn(values, is_signed=True)
    trace, largest = spec["data"][0], np.nanmax(np.abs(values))
    assert (trace["z"][1][2], trace["text"][1][2]) == (None, "")
    np.testing.assert_allclose(np.array(trace["z"], float), values)
    assert spec["layout"]["yaxis"]["range"] == [2.5, -0.5]  # the first row on top
    assert trace["zmax"] == -trace["zmin"] == largest
    unsigned = drawn(np.abs(values))["data"][0]
    assert (unsigned["zmin"], unsigned["zmax"]) == (0.0, largest)
    # Labels are shown letter for letter.
    assert "&lt;b&gt;" in spec["layout"]["yaxis"]["ticktext"][2]
    assert "%{x}" not in json.dumps(trace["customdata"])


def test_a_map_of_a_single_row_leaves_room_for_the_names_of_its_columns():
    one, three = (drawn(np.ones((n, 5)), ROWS[:n]) for n in (1, 3))
    assert three["layout"]["height"] - one["layout"]["height"] < 26
    assert one["data"][0]["colorbar"]["nticks"] == 3


def test_the_five_strongest_cells_say_their_number(values):
    texts = np.array(drawn(values)["data"][0]["text"])
    written = np.abs(values[texts != ""])
    assert len(written) == 5
    assert written.min() >= np.abs(values[texts == ""]).max()


def test_a_map_of_words_writes_each_word_and_cuts_long_ones(values):
    shares = np.abs(values) / 3
    words = [["<b>", "considerable", "", "d", "e"]] * 3
    trace = drawn(shares, words=words)["data"][0]
    assert trace["text"][0] == ["&lt;b&gt;", "conside…", "", "d", "e"]
    assert trace["customdata"][0][1] == "considerable"
    assert (trace["zmin"], trace["zmax"]) == (0, 1)


@pytest.mark.parametrize("count", [12, 13])
def test_of_many_pairs_the_nearest_say_theirs_and_nothing_itself(count):
    vectors = np.random.default_rng(7).normal(size=(count, 4))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = vectors @ vectors.T
    names = [str(i) for i in range(count)]
    trace = drawn(cosines, names, names, is_paired=True)["data"][0]
    texts = np.array(trace["text"])
    rows, columns = np.nonzero(texts != "")
    if count == 12:  # few pairs all say their number
        assert (texts != "").all()
        assert texts[3, 5] == f"{cosines[3, 5]:.2g}"
        return
    assert len(rows) == 5
    assert (rows < columns).all()
    others = np.sort(np.abs(cosines[np.triu_indices(13, 1)]))
    assert np.abs(cosines[rows, columns]).min() >= others[-5]


def columns_of(names, **rest):
    return drawn(np.ones((1, len(names))), ["one"], names, **rest)["layout"]


def named(axis):
    """Of categories plotly writes as many as there is room for, on a phone too."""
    assert axis["type"] == "category"
    aliases = axis["labelalias"]
    return [shown(aliases[str(place)]) for place in range(len(aliases))]


def test_chinese_stands_upright_also_where_labels_do_not_fit_side_by_side():
    names = ["[CLS]", *"今天天气很好我们去公园玩" * 4, "公司 10", "北京/上海", "[SEP]"]
    layout = columns_of(names)
    assert layout["xaxis"]["tickangle"] == 0
    texts = named(layout["xaxis"])
    assert texts[1:3] == ["今", "天"]
    assert texts[-3] == "公<br>司<br>10"
    assert texts[-2] == "北<br>京<br>/<br>上<br>海"
    assert layout["height"] > columns_of(names[1:40])["height"]


def test_letters_among_chinese_are_turned_in_room_of_their_own():
    names = ["##ing", *"今天天气很好我们去公园玩" * 4, "5 [MASK]", "##园", "第 123"]
    layout = columns_of(names)
    texts = named(layout["xaxis"])
    room, blank = "\xa0", "<br>\xa0"
    # Like the highest, which a phone may leave out, and room for the title below.
    assert texts[0] == room + (3 + 2) * blank
    assert texts[-3:] == [f"5{3 * blank}", "##<br>园", "第<br>1<br>2<br>3"]
    *notes, title = layout["annotations"]
    turned = [(shown(n["text"]), n["textangle"], n["x"]) for n in notes]
    assert turned == [("##ing", -90, 0), ("[MASK]", -90, 49)]
    # Both below the first signs, between which they do not fit where many stand.
    assert {note["yshift"] for note in notes} == {-18 - 16}
    assert title["yshift"] == -18 - 4 * 16  # below all, where plotly lays none
    assert title["text"]
    assert "title" not in layout["xaxis"]
    few = columns_of(["##ing", *"今天天气很好我们去", "5 [MASK]"], top=1.0)
    assert [note["yshift"] for note in few["annotations"][:2]] == [-18, -18 - 16]


def test_of_turned_letters_none_meet_on_a_phone():
    *notes, _ = columns_of(["[UNK]", "今"] * 40)["annotations"]
    places = np.array([note["x"] for note in notes])
    assert np.diff(places).min() >= 5  # of 80 columns, 3 pixels each
    assert len(places) == 14


@pytest.mark.parametrize(("count", "gap"), [(24, 1), (25, 0)])
def test_no_gap_covers_narrow_columns(count, gap):
    made = drawn(np.ones((1, count)), ["one"], ["1"] * count)
    assert made["data"][0]["xgap"] == gap


@pytest.mark.parametrize(
    ("names", "angle"),
    [
        *((["word"] * 11, None), ([str(number + 1) for number in range(12)], None)),
        *((["word"] * 12, -90), (list("今天") * 30, 0)),
    ],
)
def test_labels_lie_side_by_side_where_they_fit(names, angle):
    axis = columns_of(names)["xaxis"]
    assert axis.get("tickangle") == angle
    # Plotly lays them side by side itself, unless the screen is a phone's.
    assert ("autotickangles" in axis) == (angle is None)
    assert named(axis) == names


@pytest.mark.parametrize(("count", "every"), [(32, 4), (64, 8)])
def test_of_many_numbers_as_many_are_written_as_fit_side_by_side(count, every):
    axis = columns_of([str(number + 1) for number in range(count)])["xaxis"]
    assert "tickangle" not in axis
    assert list(axis["tickvals"]) == list(range(0, count, every))
    assert shown(axis["ticktext"][1]) == str(1 + every)


def test_a_row_apart_has_its_own_scale_and_a_column_its_frame():
    vectors = RNG.normal(size=(4, 11))
    vectors[3] *= 50
    names = ("word", "<b>place</b>", "sum", "norm%{x}")
    given = {"is_signed": True, **WORDS}
    spec = as_sent(strip_figure(vectors, names, **given, apart=3, marked=5))
    together, alone = spec["data"]
    for trace, rows in ((together, slice(0, 3)), (alone, slice(3, 4))):
        drawn = numbers(trace["z"])
        np.testing.assert_allclose(drawn[rows], vectors[rows], rtol=1e-6)
        assert np.isfinite(drawn).sum() == vectors[rows].size
        assert trace["zmax"] == -trace["zmin"] == np.abs(vectors[rows]).max()
        assert trace["y"] == [label(name) for name in names]
    upper, lower = together["colorbar"], alone["colorbar"]
    assert upper["y"] - upper["len"] / 2 == lower["y"] + lower["len"] / 2 == 0.25
    assert spec["layout"]["shapes"][0]["x0"] == 5.5  # the sixth column
    assert "shapes" not in as_sent(strip_figure(vectors, names, **given))["layout"]


def test_the_matrix_has_every_cosine_and_marks_a_row():
    cosines = np.random.default_rng(2).uniform(-1, 1, (6, 6))
    titles = {"title": "cosine", "side_title": "position"}
    spec = as_sent(square_map_figure(cosines, **titles, is_signed=True, marked=4))
    np.testing.assert_allclose(numbers(spec["data"][0]["z"]), cosines, rtol=1e-6)
    assert (spec["data"][0]["zmin"], spec["data"][0]["zmax"]) == (-1, 1)
    assert spec["layout"]["yaxis"]["autorange"] == "reversed"
    assert spec["layout"]["shapes"][0]["y0"] == 5
    assert spec["data"][0]["x"] == spec["data"][0]["y"] == [1, 2, 3, 4, 5, 6]


def test_the_chain_goes_in_order_and_names_some_of_its_places():
    points = np.random.default_rng(4).normal(size=(33, 2))
    spec = as_sent(chain_figure(points, x_title="a", y_title="b", order="position"))
    trace = spec["data"][0]
    np.testing.assert_allclose(numbers(trace["x"]), points[:, 0], rtol=1e-6)
    np.testing.assert_allclose(numbers(trace["y"]), points[:, 1], rtol=1e-6)
    np.testing.assert_array_equal(numbers(trace["marker"]["color"]), range(1, 34))
    written = [text for text in trace["text"] if text]
    assert written[0] == "1"
    assert written[-1] == "33"
    assert len(written) < 12
    assert spec["layout"]["yaxis"]["scaleanchor"] == "x"


def test_every_distance_stands_in_its_place_with_names_for_a_few():
    values = np.random.default_rng(1).random((37, 37))
    names = [f"1·{number + 1}" for number in range(37)]
    titles = {"title": "distance", "side_title": "head"}
    spec = as_sent(square_map_figure(values, names, **titles))
    trace = spec["data"][0]
    np.testing.assert_allclose(numbers(trace["z"]), values, rtol=1e-6)
    assert trace["x"] == trace["y"] == names
    assert trace["reversescale"]
    assert spec["layout"]["xaxis"]["ticktext"] == names[::2]


LINES = {"一": np.arange(3.0)}


def lines(title):
    return lines_figure(LINES, ["1", "2", "3"], x_title="层", y_title=title)


def upright(figure):
    set_titles_upright(figure)
    checked(figure)
    return figure


def test_a_chinese_title_stands_above_its_axis_with_room_of_its_own():
    before, after = lines("向量的长度").layout, upright(lines("向量的长度")).layout
    assert not after.yaxis.title.text
    (note,) = after.annotations
    assert (note.text, note.showarrow, note.textangle or 0) == ("向量的长度", False, 0)
    assert (note.xref, note.yref, note.yanchor) == ("paper", "paper", "bottom")
    assert (note.x, note.y) == (0, 1)
    room = after.height - before.height
    assert room >= 20
    assert after.margin.t - before.margin.t == room
    plot = before.height  # no lower than the plot itself
    assert (after.legend.y - before.legend.y) * plot == pytest.approx(room)
    assert after.xaxis.title.text == "层"


@pytest.mark.parametrize("title", ["length of the vector", ""])
def test_another_title_stays_beside_its_axis(title):
    assert upright(lines(title)).layout == lines(title).layout


def test_each_of_two_storeys_has_its_title_above():
    training = train("relu", learning_rate=0.1, num_steps=3, seed=1)
    words = {"activity": "为正的样本比例", "neuron_gradient": "它的梯度", "step": ""}
    figure = neuron_figure({"relu": training}, {"relu": "ReLU"}, 0, 1, words.get)
    upright(figure)
    places = {note.text: note.y for note in figure.layout.annotations}
    assert places == {
        "为正的样本比例": figure.layout.yaxis.domain[1],
        "它的梯度": figure.layout.yaxis2.domain[1],
    }


@pytest.mark.parametrize(("title", "side"), [("数值", "top"), ("value", "right")])
def test_a_chinese_title_of_a_colour_bar_stands_on_top(title, side):
    titles = {"title": title, "row_title": "", "column_title": ""}
    figure = strip_figure(np.ones((2, 3)), ["1", "2"], is_signed=True, **titles)
    assert upright(figure).data[0].colorbar.title.side == side


def arithmetic(mask_terms):
    rng = np.random.default_rng(2)
    query, key, value = rng.normal(size=(3, 6))
    products = query * key
    scores = rng.normal(size=5) * 400  # powers that no float could hold
    scores[3] = products.sum() / np.sqrt(6)
    masked = scores + mask_terms
    probs = np.exp(masked - masked.max())
    probs /= probs.sum()
    return PairArithmetic(
        key_token=3,
        query=query,
        key=key,
        products=products,
        running_sums=products.cumsum(),
        scores=scores,
        mask_terms=mask_terms,
        probs=probs,
        unrounded_probs=probs,
        exposed_prob=float(probs[3]),
        value=value,
        output=2 * value,
        norm=1.25,
    )


def test_every_step_ends_in_its_number():
    found = arithmetic(np.zeros(5))
    shapes, score, _, softmax, output, brought = attention_formulas(found)
    assert r"\mathbb{R}^{5 \times 6}" in shapes
    assert score.endswith(f"= {found.score:.4f}")
    assert r"\sqrt{6}" in score
    assert softmax.endswith(f"= {found.prob:.6f}")
    assert r"^{5}" in softmax
    power, total = map(float, re.findall(r"frac\{([\d.]+)\}\{([\d.]+)\} =", softmax)[0])
    assert power / total == pytest.approx(found.prob, abs=1e-6)  # as it is shown
    lengths = [np.linalg.norm(x) for x in (found.prob * found.value, found.output)]
    shown = [float(number) for number in re.findall(r"Vert = ([\d.]+)", output)]
    assert shown == pytest.approx(lengths, abs=1e-4)
    assert brought.endswith("= 1.2500")


@pytest.mark.parametrize("shift", [-900.0, 0.0, 900.0])
def test_the_largest_score_is_taken_off_with_one_sign(shift):
    found = arithmetic(np.full(5, shift))
    largest = float((found.scores + shift).max())
    softmax = attention_formulas(found)[3]
    assert "- -" not in softmax
    taken = re.findall(r"m(?:_j)? ([-+]) ([\d.]+)\}", softmax)
    shown = [float(number) * {"-": 1, "+": -1}[sign] for sign, number in taken]
    assert shown == pytest.approx([largest, largest], abs=1e-4)


@pytest.mark.parametrize("term", [0.0, -10000.0])
def test_a_mask_is_always_a_step_of_its_own(term):
    found = arithmetic(np.full(5, term))
    step = attention_formulas(found)[2]
    assert f"{term:+.0f}" in step
    assert step.endswith(f"= {found.score + term:.4f}")
