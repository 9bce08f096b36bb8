"""The three linked pictures of attention."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from bertviz_core.analysis.shown_attention import (
    MASK,
    SPECIAL,
    Places,
    ShownAttention,
)
from bertviz_core.figures.attention_pictures import all_heads, attention_links
from bertviz_core.figures.attention_view import AttentionView
from bertviz_core.trace import TokenizedText
from pages.ui.answers import ask
from pages.ui.attention.canvas import attention_canvas, canvas_words
from pages.ui.attention.controls import CANVAS, View
from pages.ui.attention.downloads import offer_downloads
from pages.ui.attention.matrix import shown_attention, words_to_merge
from pages.ui.attention.measure import measure_of
from pages.ui.attention.selection import (
    Look,
    current_look,
    current_selection,
    key_of_tokens,
)
from pages.ui.language import t
from pages.ui.linked import follow_default, write_linked
from pages.ui.text_pair import Texts

_LOOK = "attention_drawn"
_KINDS = {MASK: "mask", SPECIAL: "special"}


def show_pictures(
    model: str,
    texts: Texts,
    tokenized: TokenizedText,
    view: View,
    asked: str,
    on_shown: Callable[[], None],
) -> ShownAttention | None:
    """Draws the grid of heads, the heatmap and the lines.

    Args:
        model: its id.
        texts: what it reads.
        tokenized: the same, in tokens.
        view: what the reader asked for.
        asked: see `attention_canvas`.
        on_shown: see `attention_canvas`.

    Returns:
        What is shown; `None`, with a sentence on the page, if nothing is left, or while
        long work is on its way.
    """
    shown = shown_attention("pictures", model, texts, tokenized, view)
    if shown is None:
        return None
    if not len(shown.places):
        st.info(t("attention.nothing_to_show"), icon=":material/visibility_off:")
        return None
    picture = _picture(model, texts, tokenized, view, shown)
    attention_canvas(picture, CANVAS, asked=asked, on_shown=on_shown)
    offer_downloads(picture, model, texts, tokenized, view)
    if shown.left_out > 0:
        st.caption(t("attention.left_out", share=shown.left_out))
    return shown


def _picture(
    model: str,
    texts: Texts,
    tokenized: TokenizedText,
    view: View,
    shown: ShownAttention,
) -> AttentionView:
    words = words_to_merge(tokenized, view.options)
    thumbnails, held = ask(all_heads)(model, texts, view.options, words)
    num_layers, num_heads = thumbnails.shape[:2]
    places, text_key = shown.places, key_of(tokenized)
    chosen = current_selection(
        CANVAS, num_layers, num_heads, tokenized.num_tokens, text_key
    )
    look = _linked_look(view.layer, num_heads)
    links = None
    if view.method == "head":  # single heads alone have lines to compare
        links = ask(attention_links)(model, texts, view.layer, view.options, words)
    return AttentionView(
        tokens=places.labels,
        kinds=kinds_of(places),
        segments=places.segments,
        thumbnails=thumbnails,
        matrix=shown.values.astype("float32"),
        words=canvas_words(),
        layer=view.layer,
        head=view.head,
        links=links,
        from_token=_place_of(places, chosen.from_token),
        to_token=_place_of(places, chosen.to_token),
        scale=look.scale,
        threshold=look.threshold,
        is_lying=look.is_lying,
        measure=measure_of(view, shown.values),
        heads=look.heads if links is not None else (),
        groups=places.groups,
        first_tokens=places.first_tokens,
        text_key=text_key,
        held=held,
    )


def kinds_of(places: Places) -> tuple[str, ...]:
    """What carries a sign, for `AttentionView.kinds`."""
    return tuple(_KINDS.get(kind, "word") for kind in places.kinds)


def _linked_look(layer: int, num_heads: int) -> Look:
    """How the pictures are to be drawn; the link to the page brings it back."""
    default = Look().as_link()
    before = Look.of_link(follow_default(_LOOK, default))
    look = current_look(CANVAS, layer, num_heads, before)
    st.session_state[_LOOK] = look.as_link()
    write_linked(_LOOK, look.as_link(), default)
    return look


def _place_of(places: Places, token: int | None) -> int | None:
    return None if token is None else places.place_of(token)


def key_of(tokenized: TokenizedText) -> str:
    """What tells a text from others in `canvas.Selection`."""
    return key_of_tokens(tokenized.tokens, tokenized.token_type_ids)
