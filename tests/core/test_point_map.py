import numpy as np
import pytest

from bertviz_core.figures.point_map import (
    Colour,
    FirstChoice,
    PointMap,
    category_colour,
    point_payload,
)
from tests.payloads import unpacked

STATES, POINTS, AXES = 4, 7, 3


def example(**changes):
    rng = np.random.default_rng(8)
    fields = {
        "labels": tuple(f"<b>{i}</b> 词" for i in range(POINTS)),
        "coordinates": rng.normal(0, 5, (STATES, POINTS, AXES)),
        "colours": (
            category_colour("group", ["b", "a", "b", "c", "b", "a", "b"], "other"),
            Colour("length", rng.random(POINTS) + 3),
            Colour("norm", rng.random((STATES, POINTS))),
        ),
        "words": {"search": "Find"},
        "title": "a <b>map</b>",
        "name": "embeddings_map",
        "state_names": tuple(f"layer {i}" for i in range(STATES)),
        "notes": tuple(f"note {i}" for i in range(STATES)),
        "contexts": ("one", "two"),
        "context_of": np.array([0, 1, 1, 0, 0, 1, 0]),
    }
    return PointMap(**(fields | changes))


def test_coordinates_come_back_to_half_a_step():
    points = example()
    header, arrays = unpacked(point_payload(points))
    steps = arrays["coordinates"].reshape(STATES, POINTS, AXES)
    back = np.array(header["origin"]) + header["unit"] * steps
    np.testing.assert_allclose(back, points.coordinates, atol=header["unit"] / 2 + 1e-9)
    widest = np.ptp(points.coordinates.reshape(-1, AXES), axis=0).max()
    assert header["unit"] == pytest.approx(widest / 65_535)
    # Points on one place are drawn too.
    flat = example(coordinates=np.ones((STATES, POINTS, 2)))
    header, arrays = unpacked(point_payload(flat))
    assert (arrays["coordinates"] == 0).all()
    assert header["unit"] > 0


def test_labels_and_notes_travel_as_they_are():
    points = example()
    header, arrays = unpacked(point_payload(points))
    assert tuple(header["labels"]) == points.labels
    assert tuple(header["notes"]) == points.notes
    assert tuple(header["stateNames"]) == points.state_names
    assert (header["title"], header["name"]) == ("a <b>map</b>", "embeddings_map")
    np.testing.assert_array_equal(arrays["contextOf"], points.context_of)
    sizes = (header["numStates"], header["numPoints"], header["numAxes"])
    assert sizes == (STATES, POINTS, AXES)


def test_more_names_than_fit_share_a_colour_that_is_nobodys_name():
    names = [str(i) for i in range(300)] + ["5"] * 3
    colour = category_colour("token", names, "other")
    assert len(colour.names) == 256
    assert colour.names[0] == "5"
    assert colour.names[-1] == "other"
    shown = [colour.names[value] for value in colour.values]
    assert shown.count("other") == 300 - 255
    assert all(one in (name, "other") for one, name in zip(shown, names, strict=True))
    # As many as fit all keep their own.
    assert set(category_colour("token", names[:256], "other").names) == set(names[:256])


def test_numbers_that_are_read_out_come_back_as_they_were():
    points = example()
    header, arrays = unpacked(point_payload(points))
    for index in (1, 2):
        values = points.colours[index].values
        np.testing.assert_allclose(arrays[f"color{index}"], values.ravel(), rtol=1e-7)
        ends = (header["colors"][index]["low"], header["colors"][index]["high"])
        assert ends == pytest.approx((values.min(), values.max()), rel=1e-7)
    assert header["colors"][2]["byState"]
    # Categories come commonest first.
    assert header["colors"][0]["names"] == ["b", "a", "c"]
    np.testing.assert_array_equal(arrays["color0"], [0, 1, 0, 2, 0, 1, 0])


@pytest.mark.parametrize(
    ("values", "num_bytes"),
    [
        (np.arange(1, POINTS + 1), 2),
        (np.arange(POINTS) * 2730 + 3, 2),  # ids of a vocabulary
        (np.arange(POINTS) + 65_530, 4),
        (np.arange(POINTS) - 3, 4),
        (2**24 - np.arange(POINTS), 4),
    ],
)
def test_whole_numbers_come_back_whole(values, num_bytes):
    _, arrays = unpacked(point_payload(example(colours=(Colour("id", values),))))
    np.testing.assert_array_equal(arrays["color0"], values)
    assert arrays["color0"].itemsize == num_bytes


def test_the_same_points_have_the_same_id_whatever_is_chosen():
    first, _ = unpacked(point_payload(example()))
    chosen = FirstChoice(
        state=2, colour=1, search="x", only=True, near=True, selected=3
    )
    other, _ = unpacked(point_payload(example(first=chosen)))
    moved, _ = unpacked(point_payload(example(coordinates=example().coordinates ** 3)))
    assert first["id"] == other["id"] != moved["id"]
    assert other["first"] == {
        "state": 2, "color": 1, "search": "x", "only": True, "near": True,
        "selected": 3,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        (FirstChoice(state=9), ("state", STATES - 1)),
        (FirstChoice(colour=9), ("color", 2)),
        (FirstChoice(selected=POINTS), ("selected", None)),
        (FirstChoice(selected=0), ("selected", 0)),
    ],
)
def test_a_choice_of_another_map_is_moved_inside(asked, sent):
    header, _ = unpacked(point_payload(example(first=asked)))
    assert header["first"][sent[0]] == sent[1]


def test_a_number_that_is_not_finite_is_refused():
    with pytest.raises(ValueError, match="finite"):
        Colour("length", np.array([0, np.nan]))
