"""Which attention is shown, and how: the widgets above the pictures."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

import streamlit as st

from bertviz_core.analysis.shown_attention import AttentionOptions
from bertviz_core.config import BertConfig
from bertviz_core.explorer import Explorer
from pages.ui.address import choose_linked
from pages.ui.answers import ask
from pages.ui.attention.selection import (
    current_selection,
    head_was_chosen,
    is_speaking,
    select,
)
from pages.ui.language import plain, t

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

    Args:
        method: one of `METHODS`.
        renormalise: each row was divided by its sum, which makes them shares.
    """
    return method == "norms" and not renormalise


def choose_view(model: str, has_pair: bool) -> View:
    """Draws the choices.

    Args:
        model: its id.
        has_pair: whether there are two texts to filter by.
    """
    config = ask(Explorer.info)(model).config
    num_layers, num_heads = _grid(model)
    _follow_pictures(num_layers, num_heads)
    boxes = st.columns([2, 1, 1])
    method = choose_linked(
        boxes[0].selectbox,
        t("attention.method"),
        list(METHODS),
        key=_METHOD,
        format_func=lambda name: plain(f"attention.method_{name}"),
        help=t("attention.method_help"),
    )
    asks_layer, asks_head = METHODS[method]
    layer = boxes[1].selectbox(
        t("attention.choose_layer"),
        range(1, num_layers + 1),
        key=LAYER,
        disabled=not asks_layer,
        on_change=_lead_pictures,
        bind="query-params",
    )
    head = boxes[2].selectbox(
        t("attention.choose_head"),
        range(1, num_heads + 1),
        key=HEAD,
        disabled=not asks_head,
        on_change=_lead_pictures,
        bind="query-params",
    )
    st.caption(t(f"attention.method_{method}_explained"))
    heads = choose_heads(config, "attention_heads") if method == "chosen" else ()
    return View(
        method,
        (layer or 1) - 1,
        (head or 1) - 1,
        _choose_options(has_pair, method),
        heads or (((layer or 1) - 1, (head or 1) - 1),),
    )


def view_clicked(model: str, view: View) -> View | None:
    """The view with the head that was chosen in the pictures since it was drawn.

    Args:
        model: its id.
        view: what `choose_view` gave.

    Returns:
        `None` where a click left what was put together of many heads: other choices
        are drawn for a single one.
    """
    if not _is_click_new():
        return view
    if view.method != "head":
        return None
    now = current_selection(CANVAS, *_grid(model))
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
    num_layers = config.num_hidden_layers
    num_heads = config.num_attention_heads
    name = key.removeprefix("attention_")
    places = [f"{i + 1}·{j + 1}" for i in range(num_layers) for j in range(num_heads)]
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
    """Makes a head the chosen one. For callbacks.

    Args:
        layer: from 0.
        head: from 0.
    """
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


def _grid(model: str) -> tuple[int, int]:
    """Layers of a model, and heads of each."""
    config = ask(Explorer.info)(model).config
    num_layers, num_heads = config.num_hidden_layers, config.num_attention_heads
    return int(str(num_layers)), int(str(num_heads))


def _choose_options(has_pair: bool, method: str) -> AttentionOptions:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        merge = _toggle("merge_words")
        hide = _toggle("hide_special")
        renormalise = _toggle("renormalise")
        segments: tuple[int | None, int | None] = (None, None)
        if has_pair:
            segments = (_segment("from_segment"), _segment("to_segment"))
        cut = choose_linked(
            st.selectbox,
            t("attention.cut_off"),
            ("nothing", "weight", "mass"),
            key=_LEFT_OUT,
            format_func=lambda name: plain(f"attention.cut_off_{name}"),
            width=220,
        )
        least = least_share = mass = None
        if cut == "weight" and is_a_length(method, renormalise):
            least_share = _slider("least_share", 0.0, 1.0, 0.05)
        elif cut == "weight":
            least = _slider("least_weight", 0.0, 1.0, 0.05)
        elif cut == "mass":
            mass = _slider("mass", 0.05, 1.0, 0.9)
    return AttentionOptions(
        merge_words=merge,
        hide_special=hide,
        renormalise=renormalise,
        from_segment=segments[0],
        to_segment=segments[1],
        least_weight=least or 0.0,
        mass=1.0 if mass is None else mass,
        least_share=least_share or 0.0,
    )


def _toggle(name: str) -> bool:
    return st.toggle(
        t(f"attention.{name}"),
        key=f"attention_{name}",
        help=t(f"attention.{name}_help"),
        bind="query-params",
    )


def _segment(name: str) -> int | None:
    chosen = choose_linked(
        st.selectbox,
        t(f"attention.{name}"),
        list(_SEGMENTS),
        key=f"attention_{name}",
        format_func=lambda key: plain(f"attention.segment_{key}"),
        width=160,
    )
    return _SEGMENTS[chosen]


def _slider(name: str, low: float, high: float, value: float) -> float:
    return st.slider(
        t(f"attention.{name}"),
        low,
        high,
        value,
        0.01,
        key=f"attention_{name}",
        help=t(f"attention.{name}_help"),
        bind="query-params",
        width=220,
    )
