"""The three linked pictures of attention, and taking them away."""

from __future__ import annotations

import streamlit as st

from bertviz_core.analysis.shown_attention import (
    MASK,
    SPECIAL,
    AttentionOptions,
    ShownAttention,
    show_attention,
)
from bertviz_core.figures.attention_view import AttentionView, StrongestLinks
from bertviz_core.trace import TokenizedText
from pages.ui.attention.answers import (
    attention_links,
    attention_matrix,
    attention_thumbnails,
)
from pages.ui.attention.canvas import (
    attention_canvas,
    canvas_words,
    current_selection,
)
from pages.ui.attention.controls import CANVAS, View
from pages.ui.attention.texts import Texts
from pages.ui.language import t

_DRAWN_FROM = 0.05  # lines of less weight would hide the others
_KINDS = {MASK: "mask", SPECIAL: "special"}


def show_pictures(
    model: str, texts: Texts, tokenized: TokenizedText, view: View
) -> ShownAttention | None:
    """Draws the grid of heads, the heatmap and the lines.

    Args:
        model: its id.
        texts: what it reads.
        tokenized: the same, in tokens.
        view: what the reader asked for.

    Returns:
        What is shown; `None`, with a sentence on the page, if nothing is left.
    """
    matrix = attention_matrix(model, texts, view.method, view.layer, view.head)
    shown = show_attention(matrix, tokenized, view.options)
    if not len(shown.places):
        st.info(t("attention.nothing_to_show"), icon=":material/visibility_off:")
        return None
    thumbnails = attention_thumbnails(model, texts)
    num_layers, num_heads = thumbnails.shape[:2]
    chosen = current_selection(CANVAS, num_layers, num_heads, len(shown.places))
    attention_canvas(
        AttentionView(
            tokens=shown.places.labels,
            kinds=tuple(_KINDS.get(kind, "word") for kind in shown.places.kinds),
            segments=shown.places.segments,
            thumbnails=thumbnails,
            matrix=shown.values.astype("float32"),
            words=canvas_words(),
            layer=view.layer,
            head=view.head,
            links=_links(model, texts, view),
            from_token=chosen.from_token,
            to_token=chosen.to_token,
            threshold=max(_DRAWN_FROM, view.options.least_weight),
        ),
        CANVAS,
    )
    if shown.left_out > 0:
        st.caption(t("attention.left_out", share=shown.left_out))
    return shown


def _links(model: str, texts: Texts, view: View) -> StrongestLinks | None:
    """Lines of several heads, where tokens and weights are the model's own."""
    if view.method != "head" or view.options != AttentionOptions():
        return None
    return attention_links(model, texts, view.layer)
