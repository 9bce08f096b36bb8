"""The map of all heads against all heads."""

import json

import numpy as np
import plotly.graph_objects as go
import pytest

from bertviz_core.figures.head_likeness import head_likeness_figure


def drawn(size):
    values = np.random.default_rng(1).random((size, size))
    names = [f"1·{number + 1}" for number in range(size)]
    figure = head_likeness_figure(values, names, title="distance", side_title="head")
    return values, names, figure.to_json()


def test_every_distance_stands_in_its_place():
    values, names, text = drawn(5)
    trace = json.loads(text)["data"][0]
    np.testing.assert_allclose(trace["z"], values, atol=5e-4)
    assert trace["x"] == trace["y"] == names
    go.Figure(json.loads(text))
    with pytest.raises(ValueError, match="2 x 2"):
        head_likeness_figure(np.ones((2, 3)), ["a", "b"], title="", side_title="")


def test_many_heads_have_fewer_labels_and_stay_small():
    _, names, text = drawn(144)
    ticks = json.loads(text)["layout"]["xaxis"]["tickvals"]
    assert ticks == names[::4]
    assert len(text) < 200_000
