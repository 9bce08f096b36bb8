import numpy as np
import plotly.graph_objects as go
import pytest

from bertviz_core.analysis.dying_neurons import train
from bertviz_core.figures.layer_lines import lines_figure
from bertviz_core.figures.layer_strip import strip_figure
from bertviz_core.figures.masked_panels import chain_figure
from bertviz_core.figures.small_networks import NetworkWords
from bertviz_core.figures.small_trainings import neuron_figure
from bertviz_core.figures.upright_titles import set_titles_upright

LINES = {"一": np.arange(3.0)}


def lines(title):
    return lines_figure(LINES, ["1", "2", "3"], x_title="层", y_title=title)


def upright(figure):
    set_titles_upright(figure)
    go.Figure(figure.to_dict())  # plotly's own check
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
    words = NetworkWords(activity="为正的样本比例", neuron_gradient="它的梯度")
    figure = neuron_figure({"relu": training}, {"relu": "ReLU"}, 0, 1, words)
    upright(figure)
    places = {note.text: note.y for note in figure.layout.annotations}
    assert places == {
        "为正的样本比例": figure.layout.yaxis.domain[1],
        "它的梯度": figure.layout.yaxis2.domain[1],
    }


def test_titles_of_two_scales_stand_on_their_sides_and_other_notes_stay():
    steps, shares = np.arange(1, 5), np.full(4, 0.5)
    names = {"x_title": "步", "changed": "改变的词", "entropy": "熵"}
    figure = chain_figure(steps, shares, shares, 1, **names, burn_in_name="预热")
    figure = upright(figure)
    places = {note.text: (note.x, note.xanchor) for note in figure.layout.annotations}
    assert places.pop("改变的词") == (0, "left")
    assert places.pop("熵") == (1, "right")
    assert list(places) == ["预热"]
    assert not figure.layout.yaxis2.title.text


@pytest.mark.parametrize(("title", "side"), [("数值", "top"), ("value", "right")])
def test_a_chinese_title_of_a_colour_bar_stands_on_top(title, side):
    titles = {"title": title, "row_title": "", "column_title": ""}
    figure = strip_figure(np.ones((2, 3)), ["1", "2"], is_signed=True, **titles)
    assert upright(figure).data[0].colorbar.title.side == side
