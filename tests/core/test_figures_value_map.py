"""Maps of values show every number, and say the strongest in writing."""

import json

import numpy as np
import plotly.graph_objects as go
import pytest

from bertviz_core.figures.value_map import value_map_figure

ROWS, COLUMNS = ("one", "two", "<b>three</b>"), ("a", "b", "c", "d", "e%{x}")


def drawn(values, is_signed=True):
    figure = value_map_figure(
        values,
        ROWS,
        COLUMNS,
        title="change",
        row_title="layer",
        column_title="head",
        is_signed=is_signed,
    )
    return json.loads(figure.to_json())


@pytest.fixture
def values():
    return np.random.default_rng(5).normal(size=(3, 5))


def test_every_value_stands_in_its_row_and_column(values):
    spec = drawn(values)
    np.testing.assert_allclose(spec["data"][0]["z"], values)
    assert spec["layout"]["yaxis"]["range"] == [2.5, -0.5]  # the first row on top


def test_plotly_accepts_all_of_it(values):
    go.Figure(drawn(values))


def test_a_signed_scale_has_zero_in_the_middle(values):
    trace = drawn(values)["data"][0]
    assert trace["zmax"] == np.abs(values).max() == -trace["zmin"]


def test_an_unsigned_scale_begins_at_zero(values):
    trace = drawn(np.abs(values), is_signed=False)["data"][0]
    assert (trace["zmin"], trace["zmax"]) == (0.0, np.abs(values).max())


def test_the_five_strongest_cells_say_their_number(values):
    texts = np.array(drawn(values)["data"][0]["text"])
    written = np.abs(values[texts != ""])
    assert len(written) == 5
    assert written.min() >= np.abs(values[texts == ""]).max()


def paired(count):
    vectors = np.random.default_rng(7).normal(size=(count, 4))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = vectors @ vectors.T
    names = [str(i) for i in range(count)]
    figure = value_map_figure(
        cosines,
        names,
        names,
        title="cosine",
        row_title="point",
        column_title="point",
        is_signed=False,
        is_paired=True,
    )
    return cosines, np.array(json.loads(figure.to_json())["data"][0]["text"])


def test_few_pairs_all_say_their_number():
    cosines, texts = paired(12)
    assert (texts != "").all()
    assert texts[3, 5] == f"{cosines[3, 5]:.2g}"


def test_of_many_pairs_the_nearest_say_theirs_and_nothing_itself():
    cosines, texts = paired(13)
    rows, columns = np.nonzero(texts != "")
    assert len(rows) == 5
    assert (rows < columns).all()
    others = np.sort(np.abs(cosines[np.triu_indices(13, 1)]))
    assert np.abs(cosines[rows, columns]).min() >= others[-5]


def test_a_cell_without_a_value_stays_empty(values):
    values[1, 2] = np.nan
    trace = drawn(values)["data"][0]
    assert trace["z"][1][2] is None
    assert trace["text"][1][2] == ""


def test_labels_are_shown_letter_for_letter(values):
    spec = drawn(values)
    assert "&lt;b&gt;" in spec["layout"]["yaxis"]["ticktext"][2]
    assert "%{x}" not in json.dumps(spec["data"][0]["customdata"])


def test_labels_that_do_not_fit_are_refused(values):
    with pytest.raises(ValueError, match="3 x 5"):
        drawn(values[:, :4])


def one_row(names, row_title="layer", **rest):
    return value_map_figure(
        np.ones((1, len(names))),
        ["one"],
        names,
        title="change",
        row_title=row_title,
        column_title="token",
        is_signed=False,
        **rest,
    )


def columns_of(names, **rest):
    return json.loads(one_row(names, **rest).to_json())["layout"]


def shown(text):
    """Without the signs that keep the reading direction."""
    return text.replace("\u2068", "").replace("\u2069", "")


def test_chinese_stands_upright_also_where_labels_do_not_fit_side_by_side():
    names = ["[CLS]", *"今天天气很好我们去公园玩" * 4, "北京/上海", "[SEP]"]
    layout = columns_of(names)
    assert layout["xaxis"]["tickangle"] == 0
    texts = [shown(text) for text in layout["xaxis"]["ticktext"]]
    assert texts[1:3] == ["今", "天"]
    assert texts[-2] == "北<br>京<br>/<br>上<br>海"
    assert layout["height"] > columns_of(names[1:40])["height"]


@pytest.mark.parametrize(
    ("names", "angle"),
    [(["word"] * 11, 0), (["word"] * 12, -90), (list("今天") * 30, 0)],
)
def test_labels_lie_side_by_side_where_they_fit(names, angle):
    axis = columns_of(names)["xaxis"]
    assert axis["tickangle"] == angle
    assert [shown(text) for text in axis["ticktext"]] == names


def test_beside_others_a_map_has_a_third_of_the_room_for_its_names():
    names = ["[CLS]", *"今天天气很好", "[SEP]"]
    wide, narrow = columns_of(names), columns_of(names, top=1.0)
    assert [shown(text) for text in wide["xaxis"]["ticktext"]] == names
    assert shown(narrow["xaxis"]["ticktext"][0]) == "[<br>C<br>L<br>S<br>]"
    assert columns_of(["word"] * 4, top=1.0)["xaxis"]["tickangle"] == -90


def test_the_scale_above_a_map_leaves_room_for_a_chinese_title_of_the_rows():
    places = {
        title: one_row(["a"], row_title=title, top=1.0).data[0].colorbar.y
        for title in ("from", "从")
    }
    assert places["from"] == 1
    assert places["从"] > 1
