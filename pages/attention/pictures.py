"""The three linked pictures of attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.analysis.shown_attention import MASK, SPECIAL, Places
from bertviz_core.figures.attention_pictures import all_heads, attention_links
from bertviz_core.figures.attention_view import AttentionView
from bertviz_core.snippets import attention as programs
from bertviz_core.trace import Texts, TokenizedText
from pages.attention.canvas import attention_canvas, canvas_words
from pages.attention.controls import CANVAS, METHODS, View
from pages.attention.downloads import offer_downloads
from pages.attention.matrix import measure_of, shown_attention, words_to_merge
from pages.attention.selection import (
    Look,
    current_look,
    current_selection,
    key_of_tokens,
)
from pages.shared.answers import ask
from pages.shared.choices import follow_default, write_linked
from pages.shared.code import Program, offer_code, program
from pages.shared.language import t

_LOOK = "attention_drawn"
_KINDS = {MASK: "mask", SPECIAL: "special"}
_PROGRAMS = {
    "head": programs.HEAD,
    "layer": programs.LAYER,
    "chosen": programs.CHOSEN,
    "mean": programs.MEAN,
    "max": programs.MAX,
    "rollout": programs.ROLLOUT,
    "norms": programs.NORMS,
    "value_zeroing": programs.VALUE_ZEROING,
}


def show_pictures(
    model: str,
    texts: Texts,
    tokenized: TokenizedText,
    view: View,
    asked: str,
    on_shown: Callable[[], None],
) -> bool:
    """Draws the grid of heads, the heatmap and the lines, and their program.

    For `asked` and `on_shown` see `attention_canvas`.

    Returns:
        Whether there is a picture; else a sentence says that nothing is left, or long
        work is on its way.
    """
    shown = shown_attention("pictures", model, texts, tokenized, view)
    if shown is None:
        return False
    if not len(shown.places):
        st.info(t("attention.nothing_to_show"), icon=":material/visibility_off:")
        return False
    words = words_to_merge(tokenized, view.options)
    thumbnails, held = ask(all_heads)(model, texts, view.options, words)
    num_heads = thumbnails.shape[1]
    look = _linked_look(view.layer, num_heads)
    links = None
    if view.method == "head":  # single heads alone have lines to compare
        links = ask(attention_links)(model, texts, view.layer, view.options, words)
    picture = picture_of(
        CANVAS,
        shown.places,
        shown.values,
        thumbnails,
        key_of(tokenized),
        look,
        layer=view.layer,
        head=view.head,
        links=links,
        measure=measure_of(view, shown.values),
        heads=look.heads if links is not None else (),
        held=held,
    )
    attention_canvas(picture, CANVAS, asked=asked, on_shown=on_shown)
    with st.container(horizontal=True):
        offer_downloads(picture, model, texts, tokenized, view)
        offer_code("attention_view", _program(model, texts, view))
    if shown.left_out > 0:
        st.caption(t("attention.left_out", share=shown.left_out))
    return True


def picture_of(
    key: str,
    places: Places,
    values: np.ndarray,
    thumbnails: np.ndarray,
    text_key: str,
    look: Look,
    **more: Any,
) -> AttentionView:
    """Places and values as a component draws them, with what is locked in it.

    Args:
        key: of the component.
        places: P of them.
        values: float `[P, P]`, rows look.
        thumbnails: uint8 `[L, N, h, w]`.
        text_key: see `Selection`.
        look: how it is to be drawn.
        more: what else `AttentionView` takes.
    """
    num_tokens = int((places.first_tokens + places.num_tokens).max())
    num_layers, num_heads = thumbnails.shape[:2]
    chosen = current_selection(key, num_layers, num_heads, num_tokens, text_key)
    from_place, to_place = (
        None if token is None else places.place_of(token)
        for token in (chosen.from_token, chosen.to_token)
    )
    return AttentionView(
        tokens=places.labels,
        kinds=tuple(_KINDS.get(kind, "word") for kind in places.kinds),
        segments=places.segments,
        thumbnails=thumbnails,
        matrix=values.astype("float32"),
        words=canvas_words(),
        from_token=from_place,
        to_token=to_place,
        scale=look.scale,
        threshold=look.threshold,
        is_lying=look.is_lying,
        groups=places.groups,
        first_tokens=places.first_tokens,
        text_key=text_key,
        **more,
    )


def _program(model: str, texts: Texts, view: View) -> Program:
    """How the matrix is made; filters are left out."""
    asks_layer, asks_head = METHODS[view.method]
    values: dict[str, Any] = {"text": texts.text, "pair": texts.pair}
    values |= {"layer": view.layer} if asks_layer else {}
    values |= {"head": view.head} if asks_head else {}
    values |= {"heads": view.heads} if view.method == "chosen" else {}
    return program(_PROGRAMS[view.method], model=model, **values)


def _linked_look(layer: int, num_heads: int) -> Look:
    """How the pictures are to be drawn; the link to the page brings it back."""
    default = Look().as_link()
    before = Look.of_link(follow_default(_LOOK, default))
    look = current_look(CANVAS, layer, num_heads, before)
    st.session_state[_LOOK] = look.as_link()
    write_linked(_LOOK, look.as_link(), default)
    return look


def key_of(tokenized: TokenizedText) -> str:
    """What tells a text from others in `Selection`."""
    return key_of_tokens(tokenized.tokens, tokenized.token_type_ids)
