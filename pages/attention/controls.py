"""Which attention is shown, and how: the widgets above the pictures."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from bertviz_core.analysis.shown_attention import AttentionOptions
from bertviz_core.config import BertConfig
from bertviz_core.explorer import Explorer
from pages.attention.selection import (
    current_selection,
    head_was_chosen,
    is_speaking,
    select,
)
from pages.shared.answers import ask
from pages.shared.choices import choose_linked
from pages.shared.language import plain, t

CANVAS = "attention_canvas"
LAYER, HEAD = "attention_layer", "attention_head"
MOST_TOKENS = 512
_METHOD = "attention_method"
_LEFT_OUT = "attention_cut_off"

# Every way to make one matrix, and whether it asks for a layer and for a head.
METHODS = {
    "head": (True, True),
    "layer": (True, False),
    "chosen": (False, False),
    "mean": (False, False),
    "max": (False, False),
    "rollout": (True, False),
    "norms": (True, False),
    "value_zeroing": (True, False),
}
# The choice of a head in the pictures that the widgets have followed already.
_SEEN_CHOICE = "attention_seen_choice"
_WALL, _WALL_HEIGHT = 64, 240  # buttons; more get a box that scrolls, in pixels
_SEGMENTS = {"both": None, "first": 0, "second": 1}


@dataclass(frozen=True)
class View:
    """What the reader asked for.

    Args:
        method: one of `METHODS`.
        layer, head: from 0.
        options: filters.
        heads: (layer, head) pairs from 0 that are put together by "chosen".
    """

    method: str
    layer: int
    head: int
    options: AttentionOptions
    heads: tuple[tuple[int, int], ...] = ()


def is_a_length(method: str, renormalise: bool) -> bool:
    """Whether the numbers are lengths of vectors, which do not end at 1.

    Rows that are divided by their sums hold shares.
    """
    return method == "norms" and not renormalise


def choose_view(model: str, has_pair: bool) -> View:
    """Draws the choices; with two texts, also which of them look."""
    config = ask(Explorer.info)(model).config
    grid = (config.num_hidden_layers, config.num_attention_heads)
    _follow_pictures(*grid)
    first, *boxes = st.columns([2, 1, 1])
    method = choose_linked(
        first.selectbox,
        t("attention.method"),
        list(METHODS),
        key=_METHOD,
        format_func=lambda name: plain(f"attention.method_{name}"),
        help=t("attention.method_help"),
    )
    layer, head = (
        (
            box.selectbox(
                t(f"attention.choose_{key.removeprefix('attention_')}"),
                range(1, size + 1),
                key=key,
                disabled=not is_asked,
                on_change=_lead_pictures,
                bind="query-params",
            )
            or 1
        )
        - 1
        for box, key, size, is_asked in zip(
            boxes, (LAYER, HEAD), grid, METHODS[method], strict=True
        )
    )
    st.caption(t(f"attention.method_{method}_explained"))
    heads = choose_heads(config, "attention_heads") if method == "chosen" else ()
    options = _choose_options(has_pair, method)
    return View(method, layer, head, options, heads or ((layer, head),))


def view_clicked(model: str, view: View) -> View | None:
    """The view with the head that was chosen in the pictures since it was drawn.

    Returns:
        `None` where a click left what was put together of many heads: other choices
        are drawn for a single one.
    """
    if not _is_click_new():
        return view
    if view.method != "head":
        return None
    config = ask(Explorer.info)(model).config
    grid = (config.num_hidden_layers, config.num_attention_heads)
    now = current_selection(CANVAS, *grid)
    heads = ((now.layer, now.head),)
    return replace(view, layer=now.layer, head=now.head, heads=heads)


def choose_heads(
    config: BertConfig, key: str, default: tuple[tuple[int, int], ...] = ()
) -> tuple[tuple[int, int], ...]:
    """Draws a choice of any number of heads, each as "layer·head".

    Args:
        config: of the model.
        key: of the widget, "attention_…"; its label and help have texts of that name.
        default: (layer, head) pairs from 0.

    Returns:
        (layer, head) pairs from 0.
    """
    layers, heads = config.num_hidden_layers, config.num_attention_heads
    name = key.removeprefix("attention_")
    places = [f"{i + 1}·{j + 1}" for i in range(layers) for j in range(heads)]
    with st.container(height=_WALL_HEIGHT if len(places) > _WALL else "content"):
        chosen = st.pills(
            t(f"attention.{name}"),
            places,
            selection_mode="multi",
            default=[f"{layer + 1}·{head + 1}" for layer, head in default],
            key=key,
            help=t(f"attention.{name}_help"),
            bind="query-params",
        )
    pairs = (place.split("·") for place in chosen)
    return tuple((int(layer) - 1, int(head) - 1) for layer, head in pairs)


def select_head(layer: int, head: int) -> None:
    """Makes a head the chosen one, both numbers from 0. For callbacks."""
    st.session_state[LAYER] = layer + 1
    st.session_state[HEAD] = head + 1
    st.session_state[_METHOD] = "head"
    _lead_pictures()


def _lead_pictures() -> None:
    """The widgets changed: the pictures follow, and keep their locked token."""
    if is_speaking(CANVAS):
        # A second click, before the widgets in the browser had heard of the first.
        now = current_selection(CANVAS, sys.maxsize, sys.maxsize)
        st.session_state[LAYER], st.session_state[HEAD] = now.layer + 1, now.head + 1
        return
    layer, head = st.session_state[LAYER] - 1, st.session_state[HEAD] - 1
    before = current_selection(CANVAS, 1, 1, MOST_TOKENS)
    select(CANVAS, replace(before, layer=layer, head=head))


def _follow_pictures(num_layers: int, num_heads: int) -> None:
    """A click in the pictures changed the head: the widgets follow."""
    for key, size in ((LAYER, num_layers), (HEAD, num_heads)):
        if st.session_state.get(key, 1) > size:  # of a larger model
            st.session_state[key] = 1
    if not _is_click_new():
        return
    now = current_selection(CANVAS, num_layers, num_heads)
    st.session_state[LAYER] = now.layer + 1
    st.session_state[HEAD] = now.head + 1
    st.session_state[_METHOD] = "head"
    st.session_state[_SEEN_CHOICE] = head_was_chosen(CANVAS)


def _is_click_new() -> bool:
    # A lock or a new scale comes with the head in the frame, which nobody chose.
    chosen_at = head_was_chosen(CANVAS)
    return chosen_at not in (0, st.session_state.get(_SEEN_CHOICE))


def _choose_options(has_pair: bool, method: str) -> AttentionOptions:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen: dict[str, Any] = {
            name: st.toggle(
                t(f"attention.{name}"),
                key=f"attention_{name}",
                help=t(f"attention.{name}_help"),
                bind="query-params",
            )
            for name in ("merge_words", "hide_special", "renormalise")
        }
        for name in ("from_segment", "to_segment") if has_pair else ():
            segment = choose_linked(
                st.selectbox,
                t(f"attention.{name}"),
                list(_SEGMENTS),
                key=f"attention_{name}",
                format_func=lambda key: plain(f"attention.segment_{key}"),
                width=160,
            )
            chosen[name] = _SEGMENTS[segment]
        cut = choose_linked(
            st.selectbox,
            t("attention.cut_off"),
            ("nothing", "weight", "mass"),
            key=_LEFT_OUT,
            format_func=lambda name: plain(f"attention.cut_off_{name}"),
            width=220,
        )
        if cut == "weight":
            is_length = is_a_length(method, chosen["renormalise"])
            cut = "least_share" if is_length else "least_weight"
        if cut != "nothing":
            low, usual = (0.05, 0.9) if cut == "mass" else (0.0, 0.05)
            chosen[cut] = st.slider(
                t(f"attention.{cut}"),
                low,
                1.0,
                usual,
                0.01,
                key=f"attention_{cut}",
                help=t(f"attention.{cut}_help"),
                bind="query-params",
                width=220,
            )
    return AttentionOptions(**chosen)
