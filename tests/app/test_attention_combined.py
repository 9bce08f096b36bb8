"""All heads put together in several ways, beside each other."""

import dataclasses
import json

import numpy as np
import pytest

from bertviz_core.analysis.correlation import spearman
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.experiments.attention_matrix import attention_matrix
from bertviz_core.figures.color_scales import SHARES
from bertviz_core.trace import Texts
from pages.attention import combined
from pages.attention.combined import WAYS
from pages.shared.engine import client
from tests.app.test_attention import maps, open_page, said

TEXT = "the dog [MASK] the cat"


def matrices() -> list[np.ndarray]:
    return [
        client().ask(attention_matrix)(DEFAULT_MODEL, Texts(TEXT), way, 5, 0)
        for way in WAYS
    ]


def open_combined(**query):
    return open_page(
        attention_text=TEXT,
        attention_panel="combine",
        model=DEFAULT_MODEL,
        **query,
    )


def test_three_ways_stand_beside_each_other_with_their_agreement():
    app = open_combined(attention_layer="3")  # rollout is of the last one
    assert not app.exception
    wanted = matrices()
    for drawn, matrix in zip(maps(app), wanted, strict=True):
        assert drawn == pytest.approx(matrix, abs=1e-4)
    agreements = [float(metric.value) for metric in app.metric]
    pairs = [(0, 1), (0, 2), (1, 2)]
    assert agreements == [
        pytest.approx(spearman(wanted[a], wanted[b]), abs=0.006) for a, b in pairs
    ]


def colours(app):
    specs = [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]
    return [spec["data"][0] for spec in specs]


@pytest.mark.parametrize("is_beyond", [False, True])
def test_equal_colours_are_equal_numbers_in_all_three(monkeypatch, is_beyond):
    """To 1; words that are put together may bring a maximum beyond it."""
    if is_beyond:
        drawn = combined.shown_attention

        def doubled(place, *asked):
            shown = drawn(place, *asked)
            if place != "combine_max":
                return shown
            scaled = 2 * shown.values / shown.values.max()
            return dataclasses.replace(shown, values=scaled)

        monkeypatch.setattr(combined, "shown_attention", doubled)
    app = open_combined()
    traces, top = colours(app), 2 if is_beyond else 1
    assert [(one["zmin"], one["zmax"]) for one in traces] == [(0, top)] * 3
    names = [one["colorbar"]["title"]["text"] for one in traces]
    ways = ("mean", "maximum", "rollout")
    assert names == [f"<b>{way}</b> · weight" for way in ways]
    for trace in traces:
        places, colors = zip(*trace["colorscale"], strict=True)
        assert colors == SHARES
        assert np.sqrt(places) == pytest.approx(np.linspace(0, 1, len(SHARES)))
    assert f"weight from 0 to {top}, by its square root" in said(app)


def test_filters_count_and_nothing_left_is_a_sentence():
    few = maps(open_combined(attention_hide_special="true"))
    assert [len(matrix) for matrix in few] == [5, 5, 5]


def test_a_long_text_is_drawn_in_part_and_says_so():
    app = open_page(attention_text="word " * 60, attention_panel="combine")
    assert [matrix.shape for matrix in maps(app)] == [(40, 40)] * 3
    assert "first 40 tokens" in said(app)
