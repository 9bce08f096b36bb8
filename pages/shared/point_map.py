"""Points to look at from all sides, in one component; what is chosen is in the link."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from bertviz_core.figures.point_map import (
    Colour,
    FirstChoice,
    PointMap,
    category_colour,
    labels_id,
    point_payload,
    points_id,
)
from pages.shared.choices import put_into_address, whole_number
from pages.shared.components import component, teller
from pages.shared.language import plain, texts_of

_component = component(
    "points",
    'showPoints(parentElement, data, (choice) => setStateValue("choice", choice))',
    "points-host",
)

_marks = teller("bert-explorer-marks")

_NAMES = ("state", "color", "search", "only", "near", "selected")


@dataclass(frozen=True)
class _Memory:
    """What a map was sent last.

    What an address says was chosen among `labels`; `first` when these `points` were
    sent.
    """

    labels: str
    points: str
    first: FirstChoice


def groups_colour(title: str, names: Sequence[str]) -> Colour:
    """Colours points by a name each, see `category_colour`."""
    return category_colour(title, names, plain("point_map.others"))


def point_map(points: PointMap, key: str) -> FirstChoice:
    """Draws a map; the address' choice goes before `first` of the points."""
    chosen = (st.session_state.get(key) or {}).get("choice")
    memory_key = f"{key}_memory"
    before: _Memory | None = st.session_state.get(memory_key)
    now = _from_address(key, points.first) if chosen is None else _checked(chosen)
    labels = labels_id(points)
    # A link that is just opened was made among the labels of now.
    made_among = labels if before is None else before.labels
    if chosen is not None:
        made_among = chosen.get("labels")
    if labels != made_among:
        # The number now belongs to another point.
        now = dataclasses.replace(now, selected=None, near=False)
    shown = points_id(points, labels)
    first = now
    if before is not None and before.points == shown and chosen is not None:
        first = before.first
    st.session_state[memory_key] = _Memory(labels, shown, first)
    words = texts_of("point_map")
    sent = dataclasses.replace(points, first=first, name=key, words=words)
    _component(data=point_payload(sent), key=key, on_choice_change=lambda: None)
    if chosen is not None or (before is not None and before.labels != labels):
        _to_address(key, now)
    num_states, num_points, _ = points.coordinates.shape
    is_there = now.selected is not None and now.selected < num_points
    return dataclasses.replace(
        now,
        state=min(now.state, num_states - 1),
        selected=now.selected if is_there else None,
    )


def mark_points(key: str, of: int, state: int, points: Sequence[int]) -> None:
    """Marks the nearest points of a selected one on a map that was drawn before.

    Nothing is marked once another point or state is chosen than `of` and `state`.
    """
    sent = {"map": key, "of": of, "state": state, "points": [int(p) for p in points]}
    _marks(data=sent, key=f"{key}_marks")


def _checked(raw: dict[str, Any]) -> FirstChoice:
    """A choice from the browser or the address, with bad values removed."""

    def number(name: str) -> int | None:
        value = raw.get(name)
        if isinstance(value, str):
            value = whole_number(value, None)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return max(0, int(value)) if is_number and value is not None else None

    return FirstChoice(
        state=number("state") or 0,
        colour=number("color") or 0,
        search=str(raw.get("search") or "")[:60],
        only=raw.get("only") in (True, "true"),
        near=raw.get("near") in (True, "true"),
        selected=number("selected"),
    )


def _from_address(key: str, default: FirstChoice) -> FirstChoice:
    said = {name: st.query_params.get(f"{key}_{name}") for name in _NAMES}
    if all(value is None for value in said.values()):
        return default
    return _checked(said)


def _to_address(key: str, now: FirstChoice) -> None:
    values = {
        "state": str(now.state),
        "color": str(now.colour) if now.colour else "",
        "search": now.search,
        "only": "true" if now.only else "",
        "near": "true" if now.near else "",
        "selected": "" if now.selected is None else str(now.selected),
    }
    put_into_address(
        {f"{key}_{name}": [value] * bool(value) for name, value in values.items()}
    )
