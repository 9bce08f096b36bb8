"""The attention component on a page: pictures out, clicks and locks back.

Hovering never runs the page again; choosing a head does at once, choosing a token or a
cell after a pause. The chosen head is drawn before the page answers, from what the
browser holds of all heads (`AttentionView.held`).

The head that a page shows lives with the page, see `controls`: what a component says
of it counts once, as a click. All it says is state of the session under its key.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.figures.attention_payload import map_payload, view_payload
from bertviz_core.figures.attention_view import SCALES, AttentionView, HeadMap
from pages.shared.components import component
from pages.shared.language import plain

Head = tuple[int, int]  # layer and head, from 0
# `Look` in an address: scale, layout, threshold, added heads counted from 1.
_LINK = re.compile(
    rf"(?P<scale>{'|'.join(SCALES)})_(?P<layout>lying|standing)"
    r"_(?P<threshold>\d(\.\d{1,6})?)_(?P<heads>(\d{1,3}(-\d{1,3})*)?)",
    re.ASCII,
)
_component = component(
    "attention",
    """showAttention(
    parentElement,
    data,
    (selection) => setStateValue("selection", selection),
    (asked) => setTriggerValue("shown", asked),
  )""",
    "attention-host",
)

_WORDS = (
    *("grid_title", "grid_title_weights", "grid_alt", "map_alt"),
    *("heat_title", "heat_alt", "lines_title", "lines_alt", "heads_shown"),
    *("head_chip", "as_table", "more_rows", "filters_are"),
    *("save_png", "png_file", "png_is_small", "png_fails"),
    *("scale", "scale_linear", "scale_log", "scale_row", "row_top"),
    *("legend_weight", "legend_difference", "legend_map", "threshold"),
    *("lay_down", "stand_up", "nothing_in_focus", "none_in_map", "only_this_is_saved"),
    *("shown_head", "shown_heads", "head_name", "unit_weight", "unit_difference"),
    *("token_in_focus", "cell_in_focus", "difference_in_focus", "map_cell"),
    *("every_token", "locked", "table_of_differences"),
    *("head", "from", "to", "share", "rank", "table_of_head", "table_of_token"),
    *("cell_waits", "lines_count", "lines_count_least", "lines_count_waits"),
    *("table_of_lines", "table_of_heads", "table_of_map", "layer_by_head"),
)


def canvas_words() -> dict[str, str]:
    """Texts of the component in the visitor's language, for `AttentionView.words`."""
    return {
        **{name: plain(f"attention_view.{name}") for name in _WORDS},
        "list_comma": plain("app.list_comma"),
    }


def attention_canvas(
    view: AttentionView,
    key: str,
    on_change: Callable[[], None] = lambda: None,
    *,
    asked: str = "",
    on_shown: Callable[[], None] = lambda: None,
) -> None:
    """Draws the grid of heads, the heatmap and the lines as one component.

    `on_change` is called when something was chosen, before the page runs. Another word
    `asked` than before has the browser say when it shows this view with its exact
    numbers, unless the visitor has gone on since; `on_shown` is called then.
    """
    holds = _stored(key).get("holds")
    payload = view_payload(view, _last_turn(key), holds=holds, asked=asked)
    _component(
        data=payload, key=key, on_selection_change=on_change, on_shown_change=on_shown
    )


def head_map(
    head_map: HeadMap, key: str, on_change: Callable[[], None] = lambda: None
) -> None:
    """Draws one number for every head, in the look of the grid, to click on.

    `on_change` is called when a head was chosen, before the page runs.
    """
    payload = map_payload(head_map, _last_turn(key))
    _component(data=payload, key=key, on_selection_change=on_change)


@dataclass(frozen=True)
class Look:
    """How a visitor wants the pictures drawn."""

    scale: str = "linear"
    is_lying: bool = False
    threshold: float = 0.05
    heads: tuple[int, ...] = ()

    def as_link(self) -> str:
        """The same in a few characters, for the address of a page."""
        heads = "-".join(str(head + 1) for head in self.heads)
        layout = "lying" if self.is_lying else "standing"
        return f"{self.scale}_{layout}_{self.threshold:g}_{heads}"

    @classmethod
    def of_link(cls, link: str) -> Look:
        """What `as_link` has written; of another text, the defaults."""
        written = _LINK.fullmatch(link)
        if written is None:
            return cls()
        heads = filter(None, written["heads"].split("-"))
        return cls(
            written["scale"],
            written["layout"] == "lying",
            min(float(written["threshold"]), 1.0),
            tuple(int(head) - 1 for head in heads),
        )


def current_look(
    key: str, shown: Head, num_heads: int, default: Look | None = None
) -> Look:
    """How the pictures are to be drawn, before they are.

    Heads that were added to the lines of another one than is shown are dropped;
    `default` is of a visitor who has changed nothing.
    """
    raw, default = _stored(key), default or Look()
    heads = default.heads
    if raw:
        heads = raw.get("heads") or () if _framed(raw) == shown else ()
    scale = raw.get("scale")
    return Look(
        scale if scale in SCALES else default.scale,
        bool(raw.get("lying", default.is_lying)),
        float(raw.get("threshold", default.threshold)),
        tuple(sorted({int(head) for head in heads if 0 <= int(head) < num_heads})),
    )


def locked_tokens(
    key: str, num_tokens: int, text_key: str
) -> tuple[int | None, int | None]:
    """Who looks and who is looked at in the locked row, column or cell.

    Tokens of the text, whatever filters leave of it; `None` is every token. Those of
    another text, see `key_of_tokens`, are locked no more.
    """
    raw = _stored(key)

    def token(name: str) -> int | None:
        index = raw.get(name) if raw.get("text") == text_key else None
        return index if isinstance(index, int) and 0 <= index < num_tokens else None

    return token("from"), token("to")


def clicked_head(key: str, num_layers: int, num_heads: int) -> Head | None:
    """The head that was clicked since `take_click`, moved inside the grid.

    Also the one that is chosen already: a click on it leaves what was put together of
    many heads. A lock or another scale comes with the head in the frame, which nobody
    chose.
    """
    raw = _stored(key)
    if raw.get("chosenAt", 0) in (0, st.session_state.get(f"{key}_taken")):
        return None
    layer, head = _framed(raw)
    return min(max(layer, 0), num_layers - 1), min(max(head, 0), num_heads - 1)


def take_click(key: str, num_layers: int, num_heads: int) -> Head | None:
    """The same; after that it counts as old."""
    clicked = clicked_head(key, num_layers, num_heads)
    if clicked is not None:
        st.session_state[f"{key}_taken"] = _stored(key)["chosenAt"]
    return clicked


def framed_head(key: str) -> Head:
    """The head in the frame of the component when it spoke last."""
    return _framed(_stored(key))


def is_speaking(key: str) -> bool:
    """Whether the component has asked for this run, not a widget of the page.

    For callbacks of widgets that follow it: what they say then is older than it.
    """
    turn = _last_turn(key)
    has_shown = bool((st.session_state.get(key) or {}).get("shown"))
    return has_shown or turn not in (0, st.session_state.get(f"{key}_heard"))


def overrule(key: str, **chosen: Any) -> None:
    """Has the page's head count, not the one in the component. For callbacks."""
    stored = {**_stored(key), **chosen, "turn": 0}
    st.session_state.setdefault(key, {})["selection"] = stored


def lock_row(key: str, token: int, text_key: str) -> None:
    """Locks the row of a token, unless one of its cells is; before it is drawn."""
    if locked_tokens(key, token + 1, text_key)[0] != token:
        overrule(key, **{"from": token, "to": None, "text": text_key})


def key_of_tokens(tokens: Sequence[str], segments: np.ndarray) -> str:
    """What tells a text from others in a component.

    Short, for it travels with every choice; `segments` has 0 for tokens of the first
    text, 1 for those of the second.
    """
    read = repr((tuple(tokens), segments.tolist()))
    return hashlib.blake2s(read.encode(), digest_size=8).hexdigest()


def _last_turn(key: str) -> int:
    """The turn of the last choice; 0 where the page has chosen since: `overrule`."""
    return int(_stored(key).get("turn", 0))


def hear(key: str) -> None:
    """Takes note of what the component has said until now, see `is_speaking`."""
    # Later runs hear the browser's own last turn again, whatever `overrule` has put.
    if turn := _last_turn(key):
        st.session_state[f"{key}_heard"] = turn


def _framed(raw: dict[str, Any]) -> Head:
    return int(raw.get("layer", 0)), int(raw.get("head", 0))


def _stored(key: str) -> dict[str, Any]:
    state = st.session_state.get(key) or {}
    return dict(state.get("selection") or {})
