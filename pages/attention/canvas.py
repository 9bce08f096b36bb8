"""The attention component, pictures out and clicks back, and the choices above it.

Hovering never runs the page again; choosing a head does at once, choosing a token or a
cell after a pause. The chosen head is drawn before the page answers, from what the
browser holds of all heads (`AttentionView.held`). All that a component says is state of
the session under its key.

The head that the page is about lives in the two boxes, which the address repeats: what
a visitor, a link or the way back has chosen. Empty, they leave it to `telling_head`,
and it follows text and model. Nothing else on the page remembers a head: what a
component says of it counts once, as a click.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.analysis.head_profiles import telling_head
from bertviz_core.analysis.shown_attention import AttentionOptions
from bertviz_core.experiments.attention_matrix import named_heads
from bertviz_core.explorer import Explorer
from bertviz_core.figures.attention_payload import map_payload, view_payload
from bertviz_core.figures.attention_view import SCALES, AttentionView, HeadMap
from pages.shared.answers import ask
from pages.shared.choices import (
    choose_named,
    choose_number,
    choose_several,
    put_into_address,
    switch_linked,
)
from pages.shared.components import component
from pages.shared.language import plain, t, texts_of
from pages.shared.own_text import HEAD, Reading

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


def canvas_words() -> dict[str, str]:
    """Texts of the component in the visitor's language, for `AttentionView.words`."""
    return texts_of("attention_view") | {"list_comma": plain("app.list_comma")}


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


def head_map(head_map: HeadMap, key: str, on_change: Callable[[], None]) -> None:
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
    def of_link(cls, link: str) -> Self:
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


def choose_view(read: Reading, below: DeltaGenerator) -> View:
    """Draws the choices; with two texts, also which of them look.

    What explains the method is drawn on `below`, as the pictures come first.
    """
    if (clicked := take_click(CANVAS, *grid_of(read.model))) is not None:
        _show_head(clicked)
    first, *boxes, last = st.columns([3, 2, 2, 2], vertical_alignment="bottom")
    method = choose_named("attention.method", list(METHODS), widget=first.selectbox)
    layer, head = _choose_head(boxes, read, method)
    below.caption(t(f"attention.method_{method}_explained"))
    heads = choose_heads(read.model, "attention_heads") if method == "chosen" else ()
    with last.popover(t("attention.filters"), icon=":material/filter_alt:"):
        options = _choose_options(read.texts.pair is not None, method)
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
    first = [f"{layer + 1}·{head + 1}" for layer, head in default]
    with st.container(height=_WALL_HEIGHT if len(places) > _WALL else "content"):
        chosen = choose_several(label, places, first, key=key)
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


def _choose_head(boxes: list[Any], read: Reading, method: str) -> Head:
    """Draws the two boxes and, below, why a head opens that nobody has chosen."""
    grid = grid_of(read.model)
    # What a visitor, a link or the way back has chosen, if there is such a head.
    numbers = [st.session_state.get(key) for key in HEAD]
    layer, head = ((number or 1) - 1 for number in numbers)  # a link may hold one half
    is_there = any(numbers) and 0 <= layer < grid[0] and 0 <= head < grid[1]
    chosen = (layer, head) if is_there else None
    telling = None if chosen else telling_head(ask(named_heads)(*read.asked))
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
        st.caption(t(f"attention.opens_{name}", **places, **share))
    return shown


def _lead_pictures(key: str, shown: Head) -> None:
    """A box changed: the other one and the pictures follow; cleared, both leave it."""
    if is_speaking(CANVAS):
        # A second click, before the boxes in the browser had heard of the first.
        _fill(_framed(_stored(CANVAS)))
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
            name: switch_linked(f"attention.{name}")
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
        cuts = ("nothing", "weight", "mass")
        cut = choose_named("attention.cut_off", cuts, widget=st.selectbox, width=220)
        if cut == "weight":
            is_length = is_a_length(method, chosen["renormalise"])
            cut = "least_share" if is_length else "least_weight"
        if cut != "nothing":
            low, usual = (0.05, 0.9) if cut == "mass" else (0.0, 0.05)
            chosen[cut] = choose_number(
                st.slider, f"attention.{cut}", low, 1.0, usual, step=0.01, width=220
            )
    return AttentionOptions(**chosen)
