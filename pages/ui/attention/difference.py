"""The pictures of what one attention has more than another, token by token."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st

from bertviz_core.analysis.shown_attention import Places
from bertviz_core.figures.attention_view import AttentionView, Measure
from bertviz_core.trace import FrozenArrays
from pages.ui.attention.canvas import attention_canvas, canvas_words
from pages.ui.attention.downloads import Sides, offer_difference
from pages.ui.attention.pictures import kinds_of
from pages.ui.attention.selection import (
    current_look,
    current_selection,
    head_was_chosen,
    key_of_tokens,
)
from pages.ui.language import plain


@dataclass(frozen=True)
class Difference(FrozenArrays):
    """One attention less another.

    Args:
        values: float `[P, P]`, rows look.
        places: what each row, and each column, stands for.
        thumbnails: uint8 `[L, N, h, w]`, of the differences of all heads.
        sides: the one that is taken away, and the one that it is taken from, as
            `attention_pictures.difference_heads` takes them.
        measure: what a value is.
        layer, head: the shown head, from 0.
    """

    values: np.ndarray
    places: Places
    thumbnails: np.ndarray
    sides: Sides
    measure: Measure
    layer: int
    head: int


def show_difference(
    found: Difference,
    *,
    name: str,
    describe: Callable[[str, str, float], str],
    on_head: Callable[[int, int], None],
) -> None:
    """Draws the grid of heads, the heatmap and the lines of a difference.

    Args:
        found: what to show.
        name: of the files, and of the widgets; unique on the page.
        describe: what to say of the largest difference: from which token, to which,
            and how large.
        on_head: called with the layer and the head that were chosen in the grid, from
            0, before the page runs.
    """
    picture = _picture(found, name)

    def follow() -> None:
        # A lock or another scale comes with the head in the frame, which nobody chose.
        chosen_at, seen = head_was_chosen(name), f"{name}_seen_choice"
        if chosen_at and chosen_at != st.session_state.get(seen):
            st.session_state[seen] = chosen_at
            chosen = current_selection(name, *found.thumbnails.shape[:2])
            on_head(chosen.layer, chosen.head)

    attention_canvas(picture, name, follow)
    row, column = np.unravel_index(
        int(np.abs(found.values).argmax()), found.values.shape
    )
    labels = found.places.labels
    st.caption(describe(labels[row], labels[column], float(found.values[row, column])))
    offer_difference(picture, name, found.sides)


def difference_measure(measure: Measure, title: str) -> Measure:
    """Names a difference by what it is the difference of.

    Args:
        measure: of one side.
        title: which side is taken from which.
    """
    return replace(
        measure,
        name=f"{title} · {measure.name}",
        difference=title,
        unit=plain("attention_view.unit_difference", unit=measure.unit),
    )


def _picture(found: Difference, key: str) -> AttentionView:
    places = found.places
    num_layers, num_heads = found.thumbnails.shape[:2]
    text_key = key_of_tokens(places.labels, places.segments)
    num_tokens = int(places.first_tokens.max()) + 1
    chosen = current_selection(key, num_layers, num_heads, num_tokens, text_key)
    look = current_look(key, found.layer, num_heads)
    locked = [
        None if token is None else places.place_of(token)
        for token in (chosen.from_token, chosen.to_token)
    ]
    return AttentionView(
        tokens=places.labels,
        kinds=kinds_of(places),
        segments=places.segments,
        thumbnails=found.thumbnails,
        matrix=found.values.astype("float32"),
        words=canvas_words(),
        # The other model may be a smaller one, where many heads were put together.
        layer=min(found.layer, num_layers - 1),
        head=min(found.head, num_heads - 1),
        from_token=locked[0],
        to_token=locked[1],
        scale=look.scale,
        threshold=look.threshold,
        is_difference=True,
        is_lying=look.is_lying,
        measure=found.measure,
        groups=places.groups,
        first_tokens=places.first_tokens,
        text_key=text_key,
    )
