"""Which attention is shown, and how: the widgets above the pictures.

The head that the page is about lives in the two boxes, which the address repeats: what
a visitor, a link or the way back has chosen. Empty, they leave it to `telling_head`,
and it follows text and model. Nothing else on the page remembers a head.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.analysis.head_profiles import telling_head
from bertviz_core.analysis.shown_attention import AttentionOptions
from bertviz_core.experiments.attention_matrix import named_heads
from bertviz_core.explorer import Explorer
from bertviz_core.trace import Texts
from pages.attention.canvas import (
    Head,
    clicked_head,
    framed_head,
    is_speaking,
    overrule,
    take_click,
)
from pages.shared.answers import ask
from pages.shared.choices import (
    choose_named,
    choose_number,
    choose_several,
    put_into_address,
    switch_linked,
)
from pages.shared.language import help_of, t
from pages.shared.own_text import HEAD

CANVAS = "attention_canvas"
_METHOD = "attention_method"

# Every way to make one matrix, and whether it asks for a layer and for a head.
METHODS = {
    "head": (True, True),
    "layer": (True, False),
    "chosen": (False, False),
    "mean": (False, False),
    "max": (False, False),
    "rollout": (True, False),
    "flow": (True, False),
    "norms": (True, False),
    "value_zeroing": (True, False),
}
_WALL, _WALL_HEIGHT = 64, 240  # buttons; more get a box that scrolls, in pixels
_SEGMENTS = {"both": None, "first": 0, "second": 1}


@dataclass(frozen=True)
class View:
    """What the reader asked for; layers and heads from 0.

    `method` is one of `METHODS`, `heads` are those that "chosen" puts together.
    """

    method: str
    layer: int
    head: int
    options: AttentionOptions
    heads: tuple[Head, ...] = ()


def is_a_length(method: str, renormalise: bool) -> bool:
    """Whether the numbers are lengths of vectors, which do not end at 1."""
    # Rows that are divided by their sums hold shares.
    return method == "norms" and not renormalise


def choose_view(model: str, texts: Texts, below: DeltaGenerator) -> View:
    """Draws the choices; with two texts, also which of them look.

    What explains them is drawn on `below`, as the pictures come first.
    """
    if (clicked := take_click(CANVAS, *grid_of(model))) is not None:
        _show_head(clicked)
    first, *boxes, last = st.columns([3, 2, 2, 2], vertical_alignment="bottom")
    method = choose_named("attention.method", list(METHODS), widget=first.selectbox)
    layer, head = _choose_head(boxes, model, texts, method, below)
    below.caption(t(f"attention.method_{method}_explained"))
    heads = choose_heads(model, "attention_heads") if method == "chosen" else ()
    with last.popover(t("attention.filters"), icon=":material/filter_alt:"):
        options = _choose_options(texts.pair is not None, method)
    return View(method, layer, head, options, heads or ((layer, head),))


def view_clicked(model: str, view: View) -> View | None:
    """The view with the head that was clicked in the pictures since it was drawn.

    `None` where a click left what was put together: a single head has other choices.
    """
    clicked = clicked_head(CANVAS, *grid_of(model))
    if clicked is None or view.method != "head":
        return view if clicked is None else None
    layer, head = clicked
    return replace(view, layer=layer, head=head, heads=(clicked,))


def choose_heads(
    model: str, key: str, default: tuple[Head, ...] = ()
) -> tuple[Head, ...]:
    """Draws a choice of any number of heads, each as "layer·head".

    The label and the help of the widget are the texts of its key.
    """
    layers, heads = grid_of(model)
    label = key.replace("_", ".", 1)
    places = [f"{i + 1}·{j + 1}" for i in range(layers) for j in range(heads)]
    with st.container(height=_WALL_HEIGHT if len(places) > _WALL else "content"):
        chosen = choose_several(
            t(label),
            places,
            [f"{layer + 1}·{head + 1}" for layer, head in default],
            key=key,
            help=help_of(label),
        )
    pairs = (place.split("·") for place in chosen)
    return tuple((int(layer) - 1, int(head) - 1) for layer, head in pairs)


def select_head(layer: int, head: int) -> None:
    """Makes a head the chosen one, both numbers from 0. For callbacks."""
    _show_head((layer, head))
    overrule(CANVAS)


def grid_of(model: str) -> tuple[int, int]:
    """How many layers a model has, and how many heads in each."""
    config = ask(Explorer.info)(model).config
    return config.num_hidden_layers, config.num_attention_heads


def _show_head(head: Head) -> None:
    _fill(head)
    st.session_state[_METHOD] = "head"


def _fill(head: Head | None) -> None:
    for key, index in zip(HEAD, head or (None, None), strict=True):
        st.session_state[key] = None if index is None else index + 1


def _choose_head(
    boxes: list[Any], model: str, texts: Texts, method: str, below: DeltaGenerator
) -> Head:
    """Draws the two boxes, and why a head opens that nobody has chosen."""
    grid = grid_of(model)
    chosen = _chosen_head(grid)
    telling = None if chosen else telling_head(ask(named_heads)(model, texts))
    shown = chosen or ((telling.layer, telling.head) if telling else (0, 0))
    _fill(chosen)
    for box, key, size, index, is_asked in zip(
        boxes, HEAD, grid, shown, METHODS[method], strict=True
    ):
        box.selectbox(
            t(f"attention.choose_{key.removeprefix('attention_')}"),
            range(1, size + 1),
            index=None,
            key=key,
            placeholder=t("attention.opened", number=index + 1),
            disabled=not is_asked,
            on_change=_lead_pictures,
            args=(key, shown),
            persist_state="session",
        )
    written = ([str(index + 1)] if chosen else [] for index in shown)
    put_into_address(dict(zip(HEAD, written, strict=True)))
    if method == "head" and chosen is None:
        name = "none" if telling is None else telling.name.replace(" ", "_")
        places = {"layer": shown[0] + 1, "head": shown[1] + 1}
        share = {} if telling is None else {"share": telling.score}
        below.caption(t(f"attention.opens_{name}", **places, **share))
    return shown


def _chosen_head(grid: tuple[int, int]) -> Head | None:
    """What a visitor, a link or the way back has chosen, if there is such a head."""
    numbers = [st.session_state.get(key) for key in HEAD]
    layer, head = ((number or 1) - 1 for number in numbers)  # a link may hold one half
    is_there = 0 <= layer < grid[0] and 0 <= head < grid[1]
    return (layer, head) if any(numbers) and is_there else None


def _lead_pictures(key: str, shown: Head) -> None:
    """A box changed: the other one and the pictures follow; cleared, both leave it."""
    if is_speaking(CANVAS):
        # A second click, before the boxes in the browser had heard of the first.
        _fill(framed_head(CANVAS))
        return
    numbers = [st.session_state[one] for one in HEAD]
    layer, head = (
        index if number is None else number - 1
        for number, index in zip(numbers, shown, strict=True)
    )
    _fill(None if st.session_state[key] is None else (layer, head))
    overrule(CANVAS)


def _choose_options(has_pair: bool, method: str) -> AttentionOptions:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen: dict[str, Any] = {
            name: switch_linked(f"attention.{name}", key=f"attention_{name}")
            for name in ("merge_words", "hide_special", "renormalise")
        }
        for name in ("from_segment", "to_segment") if has_pair else ():
            segment = choose_named(
                f"attention.{name}",
                list(_SEGMENTS),
                "segment",
                widget=st.selectbox,
                width=160,
            )
            chosen[name] = _SEGMENTS[segment]
        cut = choose_named(
            "attention.cut_off",
            ("nothing", "weight", "mass"),
            widget=st.selectbox,
            width=220,
        )
        if cut == "weight":
            is_length = is_a_length(method, chosen["renormalise"])
            cut = "least_share" if is_length else "least_weight"
        if cut != "nothing":
            low, usual = (0.05, 0.9) if cut == "mass" else (0.0, 0.05)
            label = f"attention.{cut}"
            chosen[cut] = choose_number(
                *(st.slider, t(label), low, 1.0, usual),
                key=f"attention_{cut}",
                step=0.01,
                help=help_of(label),
                width=220,
            )
    return AttentionOptions(**chosen)
