"""The pictures of what one attention has more than another, token by token."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import streamlit as st

from bertviz_core.analysis.shown_attention import Places
from bertviz_core.figures.attention_view import Measure
from pages.attention.canvas import attention_canvas
from pages.attention.downloads import Sides, offer_difference
from pages.attention.pictures import picture_of
from pages.attention.selection import (
    current_look,
    current_selection,
    head_was_chosen,
    key_of_tokens,
)
from pages.shared.language import plain


def show_difference(
    values: np.ndarray,
    places: Places,
    thumbnails: np.ndarray,
    sides: Sides,
    measure: Measure,
    *,
    layer: int,
    head: int,
    title: str,
    name: str,
    describe: Callable[[str, str, float], str],
    on_head: Callable[[int, int], None],
) -> None:
    """Draws the grid of heads, the heatmap and the lines of a difference.

    Args:
        values: float `[P, P]`, rows look.
        places: what each row, and each column, stands for.
        thumbnails: uint8 `[L, N, h, w]`, of the differences of all heads.
        sides: see `offer_difference`.
        measure: what a value of one side is.
        layer: the shown one, from 0.
        head: likewise.
        title: which side is taken from which.
        name: of the files, and of the widgets; unique on the page.
        describe: what to say of the largest difference: from which token, to which,
            and how large.
        on_head: called with the layer and the head that were chosen in the grid, from
            0, before the page runs.
    """
    num_layers, num_heads = thumbnails.shape[:2]
    picture = picture_of(
        name,
        places,
        values,
        thumbnails,
        key_of_tokens(places.labels, places.segments),
        current_look(name, layer, num_heads),
        # The other model may be a smaller one, where many heads were put together.
        layer=min(layer, num_layers - 1),
        head=min(head, num_heads - 1),
        is_difference=True,
        measure=replace(
            measure,
            name=f"{title} · {measure.name}",
            difference=title,
            unit=plain("attention_view.unit_difference", unit=measure.unit),
        ),
    )

    def follow() -> None:
        # A lock or another scale comes with the head in the frame, which nobody chose.
        chosen_at, seen = head_was_chosen(name), f"{name}_seen_choice"
        if chosen_at and chosen_at != st.session_state.get(seen):
            st.session_state[seen] = chosen_at
            chosen = current_selection(name, num_layers, num_heads)
            on_head(chosen.layer, chosen.head)

    attention_canvas(picture, name, follow)
    row, column = np.unravel_index(np.abs(values).argmax(), values.shape)
    labels = places.labels
    st.caption(describe(labels[row], labels[column], float(values[row, column])))
    offer_difference(picture, name, sides)
