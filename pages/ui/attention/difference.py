"""The picture of what one attention has more than another, token by token."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import streamlit as st

from bertviz_core.figures.value_map import value_map_figure
from pages.ui.export import show_figure
from pages.ui.language import plain, t

_MOST_SHOWN = 64  # tokens on a side of the picture


def show_difference(
    values: np.ndarray,
    names: Sequence[str],
    *,
    name: str,
    title: str,
    describe: Callable[[str, str, float], str],
) -> None:
    """Draws the beginning as a picture; what is said and what is in the file is of all.

    Args:
        values: float `[Q, K]`, one attention less another.
        names: of the tokens, on both sides.
        name: of the figure's files.
        title: what a value is.
        describe: what to say of the largest difference: from which token, to which,
            and how large.
    """
    most = np.unravel_index(int(np.abs(values).argmax()), values.shape)
    shown = list(names[:_MOST_SHOWN])
    row_title, column_title = plain("attention.from_token"), plain("attention.to_token")
    show_figure(
        value_map_figure(
            values[:_MOST_SHOWN, :_MOST_SHOWN],
            shown,
            shown,
            title=title,
            row_title=row_title,
            column_title=column_title,
            is_signed=True,
        ),
        name=name,
        description=describe(
            names[int(most[0])], names[int(most[1])], float(values[most])
        ),
        columns={
            row_title: [a for a in names for _ in names],
            column_title: [b for _ in names for b in names],
            title: values.ravel().tolist(),
        },
    )
    if len(names) > len(shown):
        st.caption(t("attention.difference_cut", count=len(shown), total=len(names)))
