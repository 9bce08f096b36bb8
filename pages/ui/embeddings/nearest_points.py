"""What lies nearest to a chosen point of one's own sentences, in the full space."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from bertviz_core.analysis.nearest_words import Neighbours
from bertviz_core.figures.masked_panels import signed_bars_figure
from bertviz_core.finetune.notes import excerpt
from pages.ui.embeddings.points import mark_points
from pages.ui.export import show_figure
from pages.ui.language import plain, t


def show_nearest_points(
    key: str,
    labels: Sequence[str],
    contexts: Sequence[str],
    at: tuple[int, int, str],
    near: Neighbours,
) -> None:
    """Names the nearest points as bars, and marks them on the map.

    Args:
        key: of the map.
        labels: of all its points.
        contexts: the sentence of each point.
        at: the chosen point, the state that is shown, and what that is called.
        near: by cosine, nearest first.
    """
    point, state, layer = at
    if not len(near.ids):
        return
    st.subheader(
        t("embeddings.nearest_points", point=excerpt(labels[point]), layer=layer),
        anchor=False,
    )
    st.caption(t("embeddings.nearest_explained"))
    ids = near.ids.tolist()
    # Two points may have one name, as a word that stands in two sentences.
    names = [f"{i + 1} {labels[i]}" for i in ids]
    title = plain("embeddings.metric_cosine")
    show_figure(
        signed_bars_figure(names, near.scores, title, digits=3),
        name=f"{key}_nearest",
        description=t(
            "embeddings.neighbours_described",
            word=labels[ids[0]],
            metric=title,
            score=float(near.scores[0]),
        ),
        columns={
            plain("point_map.point"): names,
            plain("embeddings.text"): [contexts[i] for i in ids],
            title: near.scores.tolist(),
        },
    )
    mark_points(key, point, state, ids)
