"""Taking the pictures of attention away, as they are on the screen."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.analysis.shown_attention import show_attention
from bertviz_core.figures.attention_export import (
    attention_columns,
    attention_html,
    grid_columns,
)
from bertviz_core.figures.attention_grid_svg import grid_svg
from bertviz_core.figures.attention_svg import heatmap_svg, lines_svg
from bertviz_core.figures.attention_view import AttentionView
from bertviz_core.trace import TokenizedText
from pages.ui.attention.answers import all_attention, attention_links
from pages.ui.attention.controls import View
from pages.ui.export import table_csv
from pages.ui.language import current_language, plain, t
from pages.ui.text_pair import Texts

_MOST_SAVED = 128  # tokens; all heads of BERT-base are 9 MB then


def offer_downloads(
    picture: AttentionView,
    model: str,
    texts: Texts,
    tokenized: TokenizedText,
    view: View,
) -> None:
    """Draws the files of what is shown; each is made when its button is clicked.

    Args:
        picture: what is on the screen.
        model: its id.
        texts: what it reads.
        tokenized: the same, in tokens.
        view: what the reader asked for.
    """

    def all_views() -> bytes:
        heads = every_head(picture, model, texts, tokenized, view)
        return attention_html(picture, texts.text, language, heads)

    def strongest() -> bytes:
        """A question for each layer."""
        layers = range(len(picture.thumbnails))
        words = tuple(tokenized.word_ids.tolist())
        links = [attention_links(model, texts, i, view.options, words) for i in layers]
        return table_csv(grid_columns(picture, links))

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
        "grid_svg": (lambda: grid_svg(picture).encode(), "image/svg+xml"),
        "csv": (lambda: table_csv(attention_columns(picture)), "text/csv"),
        "grid_csv": (strongest, "text/csv"),
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


def every_head(
    picture: AttentionView,
    model: str,
    texts: Texts,
    tokenized: TokenizedText,
    view: View,
) -> np.ndarray | None:
    """Every head as it is shown, for a file that nobody answers.

    Args:
        picture: what is on the screen.
        model: its id.
        texts: what it reads.
        tokenized: the same, in tokens.
        view: what the reader asked for.

    Returns:
        float32 `[L, N, S, S]`; `None` where many heads were put together, or where all
        would be more than a few megabytes.
    """
    if not picture.measured.has_head or len(picture.tokens) > _MOST_SAVED:
        return None
    attention = all_attention(model, texts)
    if attention is None:
        return None
    heads = [
        [show_attention(head, tokenized, view.options).values for head in layer]
        for layer in attention
    ]
    return np.array(heads, np.float32)
