import numpy as np
import pytest

from bertviz_core.figures.embedding_input import strips_figure
from bertviz_core.figures.embedding_positions import (
    chain_figure,
    curves_by_place_figure,
    matrix_figure,
)
from tests.core.sent_figures import as_sent, numbers

NAMES = ("word", "<b>place</b>", "sum", "norm%{x}")


@pytest.fixture
def vectors():
    return np.random.default_rng(3).normal(size=(4, 11))


def test_strips_of_one_scale_stand_together(vectors):
    vectors[3] *= 50
    spec = as_sent(strips_figure(vectors, NAMES, 3, x_title="dimension", marked=5))
    together, alone = spec["data"]
    np.testing.assert_allclose(numbers(together["z"]), vectors[:3], rtol=1e-6)
    np.testing.assert_allclose(numbers(alone["z"]), vectors[3:], rtol=1e-6)
    assert together["zmax"] == pytest.approx(np.abs(vectors[:3]).max())
    assert together["zmin"] == -together["zmax"]
    assert alone["zmax"] == pytest.approx(np.abs(vectors[3]).max())
    assert spec["layout"]["shapes"][0]["x0"] == 5.5  # the sixth column
    assert (together["x0"], alone["x0"]) == (1, 1)
    upper = spec["layout"]["yaxis"]["domain"]
    lower = spec["layout"]["yaxis2"]["domain"]
    assert upper[1] == 1
    assert lower[1] < upper[0]
    assert lower[0] == pytest.approx(0, abs=1e-9)
    assert "&lt;b&gt;place" in spec["layout"]["yaxis"]["ticktext"][1]
    assert (
        "shapes" not in as_sent(strips_figure(vectors, NAMES, 3, x_title=""))["layout"]
    )
    with pytest.raises(ValueError, match="Received"):
        strips_figure(vectors, NAMES[:2], 1, x_title="")


def test_the_matrix_has_every_cosine_and_marks_a_row():
    cosines = np.random.default_rng(2).uniform(-1, 1, (6, 6))
    spec = as_sent(matrix_figure(cosines, title="position", read_at=4))
    np.testing.assert_allclose(numbers(spec["data"][0]["z"]), cosines, rtol=1e-6)
    assert (spec["data"][0]["zmin"], spec["data"][0]["zmax"]) == (-1, 1)
    assert spec["layout"]["yaxis"]["autorange"] == "reversed"
    assert spec["layout"]["shapes"][0]["y0"] == 5
    assert (spec["data"][0]["x0"], spec["data"][0]["y0"]) == (1, 1)
    with pytest.raises(ValueError, match=r"\[P, P\]"):
        matrix_figure(cosines[:5], title="position")


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


def test_curves_differ_by_their_dash():
    x = np.arange(5)
    curves = [(str(i), x, x * 0.1 * i) for i in range(3)]
    spec = as_sent(
        curves_by_place_figure(curves, x_title="layer", y_title="", bounds=(0, 1))
    )
    assert [trace["name"] for trace in spec["data"]] == ["0", "1", "2"]
    assert len({trace["line"]["dash"] for trace in spec["data"]}) == 3
    np.testing.assert_allclose(numbers(spec["data"][2]["y"]), x * 0.2, rtol=1e-6)
    assert spec["layout"]["yaxis"]["range"] == [0, 1]
    alone = as_sent(curves_by_place_figure(curves[:1], x_title="", y_title=""))
    assert not alone["layout"]["showlegend"]
