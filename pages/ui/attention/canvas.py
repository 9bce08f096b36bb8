"""The attention component on a page: pictures out, the visitor's selection back.

The selection is state of the session under the component's key, so that other parts
of the page may follow it. Hovering never runs the page again; choosing a head does at
once, choosing a token or a cell after a pause. The chosen head is drawn before the page
answers, from what the browser holds of all heads (`AttentionView.held`).
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.figures.attention_payload import map_payload, view_payload
from bertviz_core.figures.attention_view import SCALES, AttentionView, HeadMap
from bertviz_core.figures.component_files import component_script, component_style
from pages.ui.language import plain

# The bytes of the payload are all of the component's data.
_MOUNT = """
export default function ({ data, parentElement, setStateValue }) {
  const send = (selection) => setStateValue("selection", selection)
  return showAttention(parentElement, data, send)
}
"""

# Registered once: pages import this module, they do not run it again.
_component = st.components.v2.component(
    "bert_explorer_attention",
    html='<div\n class="attention-host"></div>',
    css=component_style("attention"),
    js=component_script("attention") + _MOUNT,
)

_WORDS = (
    *("grid_title", "grid_title_weights", "grid_alt", "map_title", "map_alt"),
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
    *(
        "cell_waits",
        "lines_count",
        "lines_count_least",
        "lines_count_waits",
        "table_of_lines",
        "table_of_heads",
        "table_of_map",
        "layer_by_head",
    ),
)

# `Look` in an address: scale, layout, threshold, added heads counted from 1.
_LINK = re.compile(
    rf"(?P<scale>{'|'.join(SCALES)})_(?P<layout>lying|standing)"
    r"_(?P<threshold>\d(\.\d{1,6})?)_(?P<heads>(\d{1,3}(-\d{1,3})*)?)",
    re.ASCII,
)


@dataclass(frozen=True)
class Selection:
    """What a visitor has chosen.

    Args:
        layer, head: from 0.
        from_token, to_token: a locked row, column or cell, as tokens of the text,
            whatever filters leave of it; `None` is every token.
        text_key: of the text that these tokens belong to, `AttentionView.text_key`.
    """

    layer: int = 0
    head: int = 0
    from_token: int | None = None
    to_token: int | None = None
    text_key: str = ""


@dataclass(frozen=True)
class Look:
    """How a visitor wants the pictures drawn.

    Args:
        scale, is_lying, threshold, heads: see `AttentionView`.
    """

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


def canvas_words() -> dict[str, str]:
    """Texts of the component in the visitor's language, for `AttentionView.words`."""
    return {
        **{name: plain(f"attention_view.{name}") for name in _WORDS},
        "list_comma": plain("app.list_comma"),
    }


def current_selection(
    key: str,
    num_layers: int,
    num_heads: int,
    num_tokens: int = 0,
    text_key: str | None = None,
) -> Selection:
    """What is chosen, before the component is drawn: the page has to fetch that head.

    A choice that another model or text has left behind is moved inside, or dropped.

    Args:
        key: of the component.
        num_layers: of the model.
        num_heads: of the model.
        num_tokens: of the text; 0 where there is none.
        text_key: of the text: tokens that were locked in another one are dropped.
            `None` keeps them.
    """
    raw = _stored(key)
    locked_in = str(raw.get("text", ""))
    is_same_text = text_key in (None, locked_in)

    def token(name: str) -> int | None:
        index = raw.get(name) if is_same_text else None
        return index if isinstance(index, int) and 0 <= index < num_tokens else None

    return Selection(
        min(max(int(raw.get("layer", 0)), 0), num_layers - 1),
        min(max(int(raw.get("head", 0)), 0), num_heads - 1),
        token("from"),
        token("to"),
        locked_in,
    )


def current_look(
    key: str, layer: int, num_heads: int, default: Look | None = None
) -> Look:
    """How the pictures are to be drawn, before they are.

    Args:
        key: of the component.
        layer: the shown one; heads that were added to another layer's lines are
            dropped.
        num_heads: of the model.
        default: where the visitor has changed nothing.
    """
    raw, default = _stored(key), default or Look()
    heads = default.heads
    if raw:
        heads = raw.get("heads") or () if raw.get("layer") == layer else ()
    scale = raw.get("scale")
    return Look(
        scale if scale in SCALES else default.scale,
        bool(raw.get("lying", default.is_lying)),
        float(raw.get("threshold", default.threshold)),
        tuple(sorted({int(head) for head in heads if 0 <= int(head) < num_heads})),
    )


def head_was_chosen(key: str) -> int:
    """When the visitor last chose a head in the component, 0 for never.

    A number that is another one after each choice, also of the head that was chosen
    already: a click on it leaves what was put together of many heads.
    """
    return int(_stored(key).get("chosenAt") or 0)


def select(key: str, selection: Selection) -> None:
    """Chooses for the visitor. Call it before the component is drawn, in a callback.

    Args:
        key: of the component.
        selection: what to show from now on.
    """
    stored = _stored(key)
    # Those that were added to the lines of another head are not this one's.
    is_same = stored.get("head") == selection.head
    added = current_look(key, selection.layer, sys.maxsize).heads if is_same else ()
    st.session_state.setdefault(key, {})["selection"] = {
        **stored,
        "heads": list(added),
        "layer": selection.layer,
        "head": selection.head,
        "from": selection.from_token,
        "to": selection.to_token,
        "text": selection.text_key,
        "turn": 0,
    }


def key_of_tokens(tokens: Sequence[str], segments: np.ndarray) -> str:
    """What tells a text from others in `Selection`.

    Another one for other tokens; short, for it travels with every choice.

    Args:
        tokens: T of them.
        segments: int `[T]`, 0 first text, 1 second.
    """
    read = repr((tuple(tokens), segments.tolist()))
    return hashlib.blake2s(read.encode(), digest_size=8).hexdigest()


def attention_canvas(
    view: AttentionView, key: str, on_change: Callable[[], None] = lambda: None
) -> Selection:
    """Draws the grid of heads, the heatmap and the lines as one component.

    Args:
        view: what to show; its layer, head and tokens should be those of
            `current_selection`.
        key: of the component, unique on the page.
        on_change: called when something was chosen, before the page runs.

    Returns:
        What is chosen now.
    """
    holds = _stored(key).get("holds")
    _mount(view_payload(view, _turn(key), holds=holds), key, on_change)
    num_layers, num_heads = view.thumbnails.shape[:2]
    num_tokens = int(max(view.token_numbers)) + 1
    return current_selection(key, num_layers, num_heads, num_tokens, view.text_key)


def head_map(
    head_map: HeadMap, key: str, on_change: Callable[[], None] = lambda: None
) -> Selection:
    """Draws one number for every head, in the look of the grid, to click on.

    Args:
        head_map: the numbers.
        key: of the component, unique on the page.
        on_change: called when another head was chosen, before the page runs.

    Returns:
        The head that is chosen now.
    """
    _mount(map_payload(head_map, _turn(key)), key, on_change)
    return current_selection(key, *head_map.values.shape)


def _mount(payload: bytes, key: str, on_change: Callable[[], None]) -> None:
    _component(data=payload, key=key, on_selection_change=on_change)


def _stored(key: str) -> dict[str, Any]:
    state = st.session_state.get(key) or {}
    return dict(state.get("selection") or {})


def _turn(key: str) -> int:
    return int(_stored(key).get("turn", 0))
