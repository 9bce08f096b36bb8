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
from bertviz_core.figures.attention_export import (
    attention_columns,
    attention_html,
    heatmap_svg,
    lines_svg,
)
from bertviz_core.figures.attention_view import AttentionView, StrongestLinks
from bertviz_core.trace import TokenizedText
from pages.ui.attention.answers import (
    all_attention,
    attention_links,
    attention_matrix,
    attention_thumbnails,
    may_zero,
)
from pages.ui.attention.canvas import (
    attention_canvas,
    canvas_words,
    current_selection,
)
from pages.ui.attention.controls import CANVAS, View
from pages.ui.attention.texts import Texts
from pages.ui.export import table_csv
from pages.ui.language import current_language, plain, t

_DRAWN_FROM = 0.05  # lines of less weight would hide the others
_MOST_SAVED = 128  # tokens; all heads of BERT-base are 9 MB then
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
    if view.method == "value_zeroing" and not may_zero(model, tokenized):
        st.info(t("attention.too_long_to_zero"), icon=":material/timer:")
        return None
    matrix = attention_matrix(
        model, texts, view.method, view.layer, view.head, view.heads
    )
    shown = show_attention(matrix, tokenized, view.options)
    if not len(shown.places):
        st.info(t("attention.nothing_to_show"), icon=":material/visibility_off:")
        return None
    thumbnails = attention_thumbnails(model, texts)
    num_layers, num_heads = thumbnails.shape[:2]
    chosen = current_selection(CANVAS, num_layers, num_heads, len(shown.places))
    picture = AttentionView(
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
    )
    attention_canvas(picture, CANVAS)
    _offer_downloads(picture, model, texts, is_whole=picture.links is not None)
    if shown.left_out > 0:
        st.caption(t("attention.left_out", share=shown.left_out))
    return shown


def _offer_downloads(
    picture: AttentionView, model: str, texts: Texts, is_whole: bool
) -> None:
    """Files of what is shown; each is made when its button is clicked."""

    def all_views() -> bytes:
        """Every head, where all of them together are a few megabytes."""
        attention = None
        if is_whole and len(picture.tokens) <= _MOST_SAVED:
            attention = all_attention(model, texts)
        return attention_html(picture, texts.text, language, attention)

    language = current_language()
    downloads = st.popover(
        t("app.download"),
        icon=":material/download:",
        key="attention_downloads",
        on_change="rerun",
    )
    if not downloads.open:
        return
    files = {
        "heatmap_svg": (lambda: heatmap_svg(picture).encode(), "image/svg+xml"),
        "lines_svg": (lambda: lines_svg(picture).encode(), "image/svg+xml"),
        "csv": (lambda: table_csv(attention_columns(picture)), "text/csv"),
        "html": (all_views, "text/html"),
    }
    with downloads:
        for name, (make, mime) in files.items():
            st.download_button(
                t(f"attention.save_{name}"),
                make,
                file_name=plain(f"attention.file_{name}"),
                mime=mime,
                key=f"attention_save_{name}",
                on_click="ignore",
            )


def _links(model: str, texts: Texts, view: View) -> StrongestLinks | None:
    """Lines of several heads, where tokens and weights are the model's own."""
    if view.method != "head" or view.options != AttentionOptions():
        return None
    return attention_links(model, texts, view.layer)
