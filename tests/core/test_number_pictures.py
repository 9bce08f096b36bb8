from __future__ import annotations

import numpy as np
import pytest

from bertviz_core.figures.color_scales import DIVERGING, SEQUENTIAL
from bertviz_core.figures.labels import label
from bertviz_core.figures.number_pictures import (
    NamedBars,
    NumberStrips,
    TitledPicture,
    pictures_payload,
)
from tests.payloads import unpacked

WORDS = {"save_svg": "Save as SVG"}


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def sent(**drawings):
    titled = {
        name: TitledPicture(drawing, f"title of {name}", f"{name} in words", name)
        for name, drawing in drawings.items()
    }
    header, arrays = unpacked(pictures_payload(titled, WORDS))
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
    assert got["words"] == WORDS


def test_the_key_tells_pictures_apart(rng):
    drawing = strips(rng, True)
    key = sent(one=drawing)["key"]
    assert sent(one=drawing)["key"] == key
    other = NumberStrips(drawing.values + 1e-3, drawing.rows)
    assert sent(one=other)["key"] != key
    assert sent(two=drawing)["key"] != key
