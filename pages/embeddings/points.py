"""The map of points on a page: sends the points, receives the visitor's choice.

The choice is part of the address. What the component is sent stays the same while the
visitor chooses, so that the points travel once. Where the points move, the choice
stays; where they have other names, no point is chosen any more.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from bertviz_core.figures.component_files import component_script, component_style
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
from pages.shared.language import plain
from pages.shared.models import known_models

# The bytes of the payload are all of the component's data.
_MOUNT = """
export default function ({ data, parentElement, setStateValue }) {
  return showPoints(parentElement, data, (choice) => setStateValue("choice", choice))
}
"""

# Tells the map of that name which points to mark, without sending the points again.
_MARK = """
export default function ({ data }) {
  window.bertExplorerMarks = { ...window.bertExplorerMarks, [data.map]: data }
  window.dispatchEvent(new CustomEvent("bert-explorer-marks", { detail: data }))
}
"""

# Registered once: pages import this module, they do not run it again.
_component = st.components.v2.component(
    "bert_explorer_points",
    html='<div\n class="points-host"></div>',
    css=component_style("points"),
    js=component_script("points") + _MOUNT,
)

_marks = st.components.v2.component("bert_explorer_point_marks", js=_MARK)

_WORDS = (
    *("search", "search_hint", "color", "only", "play", "stop", "nearer", "further"),
    *("reset", "save_png", "save_svg", "as_table", "alt", "legend", "nothing"),
    *("matches", "point", "shown", "axes_flat", "axes_space", "near", "far"),
)
_NAMES = ("state", "color", "search", "only", "near", "selected")


@dataclass(frozen=True)
class Choice:
    """What a visitor has chosen on a map."""

    state: int
    search: str
    selected: int | None


@dataclass(frozen=True)
class _Memory:
    """What a map was sent last.

    What an address says was chosen among `labels`; `first` when these `points` were
    sent.
    """

    labels: str
    points: str
    first: FirstChoice


def layer_name(index: int) -> str:
    """What a layer is called; 0 is what enters the first."""
    if index == 0:
        return plain("embeddings.layer_0")
    return plain("embeddings.layer", number=index)


def map_title(panel: str, method: str, model: str) -> str:
    """What stands below a saved picture: the part, the method, the model.

    The id is left out if it opens a visitor's own model.
    """
    entry = known_models().get(model)
    own = plain("embeddings.own_model")
    name = entry.title if entry else own if ":" in model else model
    panel = plain(f"embeddings.panel_{panel}")
    return " · ".join((panel, plain(f"embeddings.method_{method}"), name))


def groups_colour(title: str, names: Sequence[str]) -> Colour:
    """Colours points by a name each, see `category_colour`."""
    return category_colour(title, names, plain("point_map.others"))


def point_map(
    points: PointMap, key: str, on_choice: Callable[[], None] = lambda: None
) -> Choice:
    """Draws a map.

    What the address says is chosen goes before `first` of the points. `on_choice` is
    called before the page runs after another choice.
    """
    chosen = (st.session_state.get(key) or {}).get("choice")
    memory_key = f"{key}_memory"
    before: _Memory | None = st.session_state.get(memory_key)
    now = _from_address(key, points.first) if chosen is None else _checked(chosen)
    labels = labels_id(points)
    if labels != _labels_of(chosen, before, labels):
        # The number now belongs to another point.
        now = dataclasses.replace(now, selected=None, near=False)
    shown = points_id(points, labels)
    first = now
    if before is not None and before.points == shown and chosen is not None:
        first = before.first
    st.session_state[memory_key] = _Memory(labels, shown, first)
    words = {name: plain(f"point_map.{name}") for name in _WORDS}
    sent = dataclasses.replace(points, first=first, name=key, words=words)
    _component(data=point_payload(sent), key=key, on_choice_change=on_choice)
    if chosen is not None or (before is not None and before.labels != labels):
        _to_address(key, now)
    num_states, num_points, _ = points.coordinates.shape
    is_there = now.selected is not None and now.selected < num_points
    return Choice(
        min(now.state, num_states - 1), now.search, now.selected if is_there else None
    )


def mark_points(key: str, of: int, state: int, points: Sequence[int]) -> None:
    """Marks the nearest points of a selected one on a map that was drawn before.

    Nothing is marked once another point or state is chosen than `of` and `state`.
    """
    sent = {"map": key, "of": of, "state": state, "points": [int(p) for p in points]}
    _marks(data=sent, key=f"{key}_marks")


def _labels_of(
    chosen: dict[str, Any] | None, before: _Memory | None, labels: str
) -> object:
    """The labels that a choice was made among; those of now for a link just opened."""
    if chosen is not None:
        return chosen.get("labels")
    return labels if before is None else before.labels


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
