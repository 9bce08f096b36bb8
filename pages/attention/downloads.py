"""Taking the pictures of attention away, as they are on the screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import streamlit as st

from bertviz_core.analysis.shown_attention import AttentionOptions, show_heads
from bertviz_core.figures.attention_export import (
    attention_columns,
    attention_html,
    grid_columns,
)
from bertviz_core.figures.attention_pictures import (
    WordIds,
    attention_links,
    difference_heads,
    difference_links,
)
from bertviz_core.figures.attention_thumbnails import StrongestLinks
from bertviz_core.figures.attention_view import AttentionView
from bertviz_core.trace import Texts, TokenizedText, Trace
from pages.attention.controls import CANVAS, View
from pages.attention.matrix import words_to_merge
from pages.shared.answers import ask
from pages.shared.engine import client
from pages.shared.export import Columns, table_csv
from pages.shared.language import current_language, plain, t, text
from pages.shared.panel import download
from pages.shared.picture_files import save_kind
from pages.shared.tools import Program, show_tools

# What `attention_pictures.difference_heads` takes: twice a model and what it reads, and
# the words and filters of both.
Sides = tuple[str, Texts, str, Texts, tuple[WordIds, WordIds], AttentionOptions]
_PICTURES = ("heatmap_svg", "lines_svg", "grid_svg")
_MOST_SAVED = 128  # tokens; all heads of BERT-base make a file of 13 MB then


def offer_downloads(
    picture: AttentionView,
    model: str,
    texts: Texts,
    tokenized: TokenizedText,
    view: View,
    code: Program,
) -> None:
    """Draws the tools of what is shown; a file is made when its button is clicked."""

    def strongest() -> list[StrongestLinks]:
        """A question for each layer."""
        words = words_to_merge(tokenized, view.options)
        return [
            ask(attention_links)(model, texts, layer, view.options, words)
            for layer in range(len(picture.thumbnails))
        ]

    def every_head() -> np.ndarray:
        # Not kept: it is large, and asked for once.
        trace = client().ask(Trace.only)(model, texts, ("attention_probs",))
        attention = np.asarray(trace.attention_probs)
        return show_heads(attention, tokenized, view.options).astype(np.float32)

    # Of all of the text, however few words are shown.
    is_small = tokenized.num_tokens <= _MOST_SAVED

    def save() -> None:
        _show_pictures(CANVAS)
        _show_files(picture, "attention", texts.text, strongest, every_head, is_small)

    show_tools("attention", code, download=save)


def offer_difference(picture: AttentionView, name: str, sides: Sides) -> None:
    """Draws the tools of a difference; `sides` is what is taken away, and from what."""

    def save() -> None:
        _show_pictures(name)
        _show_files(
            *(picture, name, picture.measured.difference),
            lambda: client().ask(difference_links)(*sides),
            lambda: client().ask(difference_heads)(*sides),
            len(picture.tokens) <= _MOST_SAVED,
        )

    show_tools(name, download=save)


def _show_pictures(key: str) -> None:
    """A button for each picture of a component, whose key it is."""
    save_kind(key, "png", plain("app.picture_png"))
    for kind in _PICTURES:
        label, file = plain(f"attention.save_{kind}"), plain(f"attention.file_{kind}")
        save_kind(key, kind, label, file)


def _show_files(
    picture: AttentionView,
    name: str,
    title: str,
    links: Callable[[], Sequence[StrongestLinks]],
    every_head: Callable[[], np.ndarray],
    is_small: bool,
) -> None:
    """A button for each file, which is made when it is clicked."""
    language, has_all = current_language(), is_small and picture.measured.has_head

    def csv(columns: Columns) -> bytes:
        # Columns have names in a language; a click has no session to ask for it.
        named = {
            text(f"attention.column_{key}", language): columns[key] for key in columns
        }
        return table_csv(named)

    def all_views() -> bytes:
        # Nobody answers such a file: it holds every head, or the one that is shown.
        heads = every_head() if has_all else None
        return attention_html(picture, title, language, heads)

    files: dict[str, tuple[Callable[[], bytes], str]] = {
        "csv": (lambda: csv(attention_columns(picture)), "text/csv"),
        "grid_csv": (lambda: csv(grid_columns(picture, links())), "text/csv"),
        "html": (all_views, "text/html"),
    }
    for kind, (make, mime) in files.items():
        download(
            t(f"attention.save_{kind}"),
            make,
            plain(f"attention.file_{kind}"),
            mime,
            f"{name}_save_{kind}",
        )
    if not has_all:  # said beside the button and not only in the file
        st.caption(t("attention.html_holds_one"))
