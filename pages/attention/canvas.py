"""The attention component on a page: pictures out, the visitor's selection back.

Hovering never runs the page again; choosing a head does at once, choosing a token or a
cell after a pause. The chosen head is drawn before the page answers, from what the
browser holds of all heads (`AttentionView.held`). See `selection` for what comes back.
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from bertviz_core.figures.attention_payload import map_payload, view_payload
from bertviz_core.figures.attention_view import AttentionView, HeadMap
from bertviz_core.figures.component_files import component_script, component_style
from pages.attention.selection import (
    Selection,
    current_selection,
    held_by_browser,
    last_turn,
)
from pages.shared.language import plain

# The bytes of the payload are all of the component's data.
_MOUNT = """
export default function ({ data, parentElement, setStateValue, setTriggerValue }) {
  const send = (selection) => setStateValue("selection", selection)
  const sayShown = (asked) => setTriggerValue("shown", asked)
  return showAttention(parentElement, data, send, sayShown)
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
) -> Selection:
    """Draws the grid of heads, the heatmap and the lines as one component.

    Args:
        view: what to show; its layer, head and tokens should be those of
            `current_selection`.
        key: of the component, unique on the page.
        on_change: called when something was chosen, before the page runs.
        asked: another word than before asks the browser to say when it shows this
            view with its exact numbers, unless the visitor has gone on since.
        on_shown: called when it says so, before the page runs.

    Returns:
        What is chosen now.
    """
    holds = held_by_browser(key)
    payload = view_payload(view, last_turn(key), holds=holds, asked=asked)
    _component(
        data=payload, key=key, on_selection_change=on_change, on_shown_change=on_shown
    )
    num_layers, num_heads = view.thumbnails.shape[:2]
    num_tokens = int(max(view.token_numbers)) + 1
    return current_selection(key, num_layers, num_heads, num_tokens, view.text_key)


def head_map(
    head_map: HeadMap, key: str, on_change: Callable[[], None] = lambda: None
) -> Selection:
    """Draws one number for every head, in the look of the grid, to click on.

    Returns:
        The head that is chosen now; `on_change` is called before the page runs.
    """
    payload = map_payload(head_map, last_turn(key))
    _component(data=payload, key=key, on_selection_change=on_change)
    return current_selection(key, *head_map.values.shape)
