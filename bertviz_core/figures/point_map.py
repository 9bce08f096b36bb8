"""What the map of points is sent: where points lie, small enough for 30,000 of them.

S states (layers, or a single one), M points, k axes. Coordinates travel as whole
numbers of 16 bits: 30,522 points on 2 axes take 122 kB, on 3 axes 183 kB. Numbers that
points are coloured by are read out, too, and travel as they are: a whole number in two
bytes, any other in four.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bertviz_core.figures.payload import pack
from bertviz_core.trace import FrozenArrays

_STEPS = 65_535  # of a coordinate
_MOST_CATEGORIES = 256


@dataclass(frozen=True)
class Colour(FrozenArrays):
    """One way to colour the points.

    Raises:
        ValueError: a number that is not finite.
    """

    title: str  # what the colour stands for
    # int [M], an index into `names`; or float [M], or [S, M] where each state has its
    # own, shown on a scale from the lowest to the highest. A point is told its number:
    # exact where it is whole and below 2^24, else with the digits of float32.
    values: np.ndarray
    names: tuple[str, ...] = ()  # of categories; none for numbers

    def __post_init__(self) -> None:
        super().__post_init__()
        if not np.isfinite(self.values).all():
            raise ValueError("`values` must be finite.")


@dataclass(frozen=True)
class FirstChoice:
    """What is chosen when the map appears."""

    state: int = 0  # which state is shown, from 0
    colour: int = 0  # which of the colours, from 0
    search: str = ""  # text that points are looked for by
    only: bool = False  # whether points that do not match are left out
    # Whether all but the selected point and its nearest are left out.
    near: bool = False
    selected: int | None = None  # a point, or `None`


@dataclass(frozen=True)
class PointMap(FrozenArrays):
    """Points to look at from all sides."""

    labels: tuple[str, ...]  # M names
    coordinates: np.ndarray  # float [S, M, k], k 2 or 3
    colours: tuple[Colour, ...]  # at least one
    # Texts of the interface; `locales/…/point_map.json`.
    words: Mapping[str, str] = field(default_factory=dict)
    state_names: tuple[str, ...] = ("",)  # S names
    # S sentences that are always shown with a state: what it is worth.
    notes: tuple[str, ...] = ("",)
    # Texts that points belong to, as the sentence of a token.
    contexts: tuple[str, ...] = ()
    # int [M], index into `contexts`; `None` for none.
    context_of: np.ndarray | None = None
    first: FirstChoice = field(default_factory=FirstChoice)  # what is chosen at first
    title: str = ""  # what is drawn, of which model and how: for saved pictures
    name: str = ""  # of the files of saved pictures, without an ending


def labels_id(points: PointMap) -> str:
    """The same for the same names in the same order, wherever they lie."""
    names = "\0".join(points.labels).encode("utf-8", "surrogatepass")
    return hashlib.sha256(names).hexdigest()[:16]


def points_id(points: PointMap, labels: str) -> str:
    """The same for the same points, whatever is chosen, and the same `labels_id`."""
    digest = hashlib.sha256(labels.encode())
    digest.update(f"{points.coordinates.shape}".encode())
    digest.update(np.ascontiguousarray(points.coordinates).data)
    return digest.hexdigest()[:16]


def point_payload(points: PointMap) -> bytes:
    """Writes what the component reads.

    The same points give the same `id`: the component then keeps what the visitor has
    zoomed to.
    """
    num_states, num_points, num_axes = points.coordinates.shape
    origin, unit = _frame(points.coordinates)
    steps = np.rint((points.coordinates - origin) / unit).astype(np.uint16)
    parts = {"coordinates": steps}
    colours: list[dict[str, Any]] = []
    for index, colour in enumerate(points.colours):
        header, values = _values(colour)
        colours.append(header)
        parts[f"color{index}"] = values
    if points.context_of is not None:
        parts["contextOf"] = points.context_of.astype(np.uint16)
    labels = labels_id(points)
    header = {
        "id": points_id(points, labels),
        "labelsId": labels,
        "title": points.title,
        "name": points.name,
        "labels": points.labels,
        "numStates": num_states,
        "numPoints": num_points,
        "numAxes": num_axes,
        "stateNames": points.state_names,
        "notes": points.notes,
        "contexts": points.contexts,
        "colors": colours,
        "words": dict(points.words),
        "origin": origin.tolist(),
        "unit": unit,
        "first": _first_choice(points),
    }
    return pack(header, parts)


def _first_choice(points: PointMap) -> dict[str, Any]:
    """What is chosen at first, moved inside the map."""
    first, (num_states, num_points, _) = points.first, points.coordinates.shape
    is_there = first.selected is not None and 0 <= first.selected < num_points
    return {
        "state": min(max(first.state, 0), num_states - 1),
        "color": min(max(first.colour, 0), len(points.colours) - 1),
        "search": first.search,
        "only": first.only,
        "near": first.near,
        "selected": first.selected if is_there else None,
    }


def category_colour(title: str, names: Sequence[str], others: str) -> Colour:
    """Colours points by a name each; the commonest name comes first.

    Of more than 256 different ones, all but the 255 commonest share the last colour,
    which is called as `others` says.
    """
    known, inverse, counts = np.unique(
        np.asarray(names, dtype=object).astype(str),
        return_inverse=True,
        return_counts=True,
    )
    order = np.argsort(-counts, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    values = np.minimum(place[inverse], _MOST_CATEGORIES - 1)
    kept = [str(known[i]) for i in order[:_MOST_CATEGORIES]]
    if len(order) > _MOST_CATEGORIES:
        kept[-1] = others
    return Colour(title, values, tuple(kept))


def _frame(coordinates: np.ndarray) -> tuple[np.ndarray, float]:
    """Lowest of each axis, and one step for all: a circle stays a circle."""
    flat = coordinates.reshape(-1, coordinates.shape[-1]).astype(np.float64)
    lowest = flat.min(axis=0)
    span = float((flat.max(axis=0) - lowest).max())
    return lowest, (span or 1.0) / _STEPS


def _values(colour: Colour) -> tuple[dict[str, Any], np.ndarray]:
    header: dict[str, Any] = {
        "title": colour.title,
        "names": list(colour.names) or None,
        "byState": colour.values.ndim == 2,
    }
    if colour.names:
        return header, colour.values.astype(np.uint8)
    sent = _as_told(colour.values)
    return header | {"low": float(sent.min()), "high": float(sent.max())}, sent


def _as_told(values: np.ndarray) -> np.ndarray:
    is_short = values.dtype.kind in "iu" and values.min() >= 0 and values.max() < 2**16
    return values.astype(np.uint16 if is_short else np.float32)
