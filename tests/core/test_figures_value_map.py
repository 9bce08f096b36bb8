import json

import numpy as np
import pytest

from bertviz_core.figures.value_map import value_map_figure
from tests.core.sent_figures import as_sent

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
    with pytest.raises(ValueError, match="3 x 5"):
        drawn(values[:, :4])


def test_the_five_strongest_cells_say_their_number(values):
    texts = np.array(drawn(values)["data"][0]["text"])
    written = np.abs(values[texts != ""])
    assert len(written) == 5
    assert written.min() >= np.abs(values[texts == ""]).max()


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
    [(["word"] * 11, None), (["word"] * 12, -90), (list("今天") * 30, 0)],
)
def test_labels_lie_side_by_side_where_they_fit(names, angle):
    axis = columns_of(names)["xaxis"]
    assert axis.get("tickangle") == angle
    # Plotly lays them side by side itself, unless the screen is a phone's.
    assert ("autotickangles" in axis) == (angle is None)
    assert [shown(text) for text in axis["ticktext"]] == names


def test_beside_others_a_map_has_a_third_of_the_room_for_its_names():
    names = ["[CLS]", *"今天天气很好", "[SEP]"]
    wide, narrow = columns_of(names), columns_of(names, top=1.0)
    assert [shown(text) for text in wide["xaxis"]["ticktext"]] == names
    assert shown(narrow["xaxis"]["ticktext"][0]) == "[<br>C<br>L<br>S<br>]"
    assert columns_of(["word"] * 4, top=1.0)["xaxis"]["tickangle"] == -90


@pytest.mark.parametrize(("title", "is_higher"), [("from", False), ("从", True)])
def test_the_scale_above_a_map_leaves_room_for_a_chinese_title(title, is_higher):
    spec = drawn(np.ones((1, 1)), ["one"], ["a"], row_title=title, top=1.0)
    assert (spec["data"][0]["colorbar"]["y"] > 1) == is_higher
