import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

from bertviz_core.figures.attention_lines_svg import lines_svg
from bertviz_core.figures.attention_svg import LEAST_WIDTH, heatmap_svg
from bertviz_core.figures.attention_thumbnails import strongest_links
from bertviz_core.figures.attention_view import Measure
from bertviz_core.figures.svg import FONT_SIZE, wrapped
from tests.attention_words import component_words
from tests.core.test_attention_export import curves_of, name_of, nodes_of, texts_of
from tests.core.test_attention_view import random_probs, view_of

LONG = "counterrevolutionaries"
ENGLISH = component_words("en")


def english_view(tokens, probs, **rest):
    return replace(view_of(tokens, probs, **rest), words=ENGLISH)


@pytest.mark.parametrize("draw", [heatmap_svg, lines_svg])
def test_the_margin_holds_the_longest_name_whole(draw):
    def ends(name):
        """Of the names beside the rows."""
        drawn = draw(english_view((name, "a", "b"), random_probs(1, 1, 3)))
        return {
            node.text: float(node.get("x"))
            for node in nodes_of(drawn, "text")
            if node.get("text-anchor") == "end" and not node.get("transform")
        }

    places = ends(LONG)
    # No font draws lower case letters narrower than half their size on average.
    assert places[LONG] >= 0.5 * FONT_SIZE * len(LONG)
    assert places[LONG] == places["a"] > ends("aa")["a"]


@pytest.mark.parametrize("draw", [heatmap_svg, lines_svg])
@pytest.mark.parametrize("name", ["x" * 200, "一" * 200])
@pytest.mark.parametrize("is_lying", [False, True])
def test_a_name_beyond_all_bounds_is_cut_and_named_whole(draw, name, is_lying):
    probs = random_probs(1, 1, 3)
    drawn = draw(english_view((name, "a", "b"), probs, is_lying=is_lying))
    assert float(ET.fromstring(drawn).get("width")) <= LEAST_WIDTH + 300
    texts = texts_of(drawn)
    assert name not in texts
    assert any(text.endswith("…") for text in texts)
    named = [name_of(node) for node in nodes_of(drawn, "g")]
    assert [title for title in named if title is not None] == [name] * 2


@pytest.mark.parametrize("draw", [heatmap_svg, lines_svg])
def test_long_captions_take_several_lines_and_lose_no_letter(draw):
    filters = (" ".join(["pieces put together to words"] * 5), "已合成整词" * 30)
    measure = Measure("layer 1", "length", filters, 1.0, True, False)
    drawn = draw(english_view(("a", "b"), random_probs(1, 1, 2), measure=measure))
    texts = texts_of(drawn)
    assert max(map(len, texts)) < 80
    whole = re.sub(r"\s", "", "".join(texts))
    for said in filters:
        assert re.sub(r"\s", "", said) in whole
    lowest = max(float(node.get("y")) for node in nodes_of(drawn, "text"))
    assert lowest + FONT_SIZE / 2 <= float(ET.fromstring(drawn).get("height"))
    # A word that is longer than a line is broken.
    lines = wrapped(f"one {'x' * 100} two", 200)
    assert len(lines) > 3
    assert "".join(lines).replace(" ", "") == f"one{'x' * 100}two"


def counted(view):
    (said,) = [text for text in texts_of(lines_svg(view)) if "Lines drawn" in text]
    return said


def test_the_lines_that_are_cut_off_are_counted():
    probs = np.full((1, 1, 50, 50), 0.02, np.float32)
    view = english_view(tuple("a" * 50), probs, threshold=0.01)
    assert len(curves_of(lines_svg(view))) == 1500
    assert counted(view) == "Lines drawn: 1500 of 2500"
    assert counted(replace(view, from_token=3)) == "Lines drawn: 50 of 50"
    assert counted(replace(view, from_token=3, to_token=4)) == "Lines drawn: 1 of 1"


def test_of_an_added_head_it_is_said_where_there_may_be_more_lines():
    probs = np.full((1, 2, 20, 20), 0.01, np.float32)
    probs[0, 1, :5] = 0.05  # all of a row alike: those that were not sent are, too
    probs[0, 1, 5:, :2] = 0.4
    links = strongest_links(probs[0])
    assert links.targets.shape[-1] == 8
    view = english_view(tuple("a" * 20), probs, threshold=0.04, heads=(1,))
    view = replace(view, links=links)
    said = " ".join(texts_of(lines_svg(view)))
    assert f"Lines drawn: {5 * 8 + 15 * 2} of at least {5 * 8 + 15 * 2}." in said
    assert "only the 8 strongest of each token" in said
    # What was sent of these rows is all that there is to draw.
    assert counted(replace(view, from_token=7)) == "Lines drawn: 2 of 2"
    assert counted(replace(view, threshold=0.1)) == "Lines drawn: 30 of 30"
    # Columns that every row has sent are known, others are not.
    assert counted(replace(view, to_token=1)) == "Lines drawn: 20 of 20"
    assert "of at least 0" in counted(replace(view, to_token=19))
    assert "of at least 0" in counted(replace(view, from_token=0, to_token=19))
    assert counted(replace(view, from_token=0, to_token=1)) == "Lines drawn: 1 of 1"
