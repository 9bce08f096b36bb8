"""Figures and notes that several parts of the embeddings page draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import streamlit as st

from bertviz_core.analysis.nearest_words import Neighbours
from bertviz_core.experiments.word_vector_results import InPieces, NamedNeighbours
from bertviz_core.figures.embedding_positions import curves_by_place_figure
from bertviz_core.figures.masked_panels import signed_bars_figure
from bertviz_core.figures.value_map import value_map_figure
from bertviz_core.finetune.notes import excerpt
from pages.embeddings.points import mark_points
from pages.shared.code import Program
from pages.shared.export import show_figure
from pages.shared.language import plain, t

MOST_SHOWN = 40  # points in a map of cosines
MOST_IN_FILE = 500


def show_curves(
    curves: Mapping[str, np.ndarray],
    *,
    name: str,
    description: str,
    over: str = "layer_axis",
    first: int = 0,
    bounds: tuple[float, float] | None = (-1.05, 1.05),
    code: Program | None = None,
) -> None:
    """Draws named curves, float `[M]` each, `over` layers or places from `first` on."""
    x_title = plain(f"embeddings.{over}")
    titles = list(curves)
    places = np.arange(first, first + len(curves[titles[0]]))
    show_figure(
        curves_by_place_figure(
            [(title, places, values) for title, values in curves.items()],
            x_title=x_title,
            y_title="" if len(titles) > 1 else titles[0],
            bounds=bounds,
        ),
        name=name,
        description=description,
        columns={
            x_title: places.tolist(),
            **{title: values.tolist() for title, values in curves.items()},
        },
        code=code,
    )


def show_cosines(
    cosines: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    title: str,
    point: str,
    name: str,
    description: str,
    headers: Sequence[str] = (),
    code: Program | None = None,
) -> None:
    """Draws the cosines `[M, M]` of points with each other, `MOST_SHOWN` at most.

    The table has all of them, and its own headers where columns share names.
    """
    show_figure(
        value_map_figure(
            cosines[:MOST_SHOWN, :MOST_SHOWN],
            rows[:MOST_SHOWN],
            columns[:MOST_SHOWN],
            title=title,
            row_title=point,
            column_title=point,
            is_signed=False,
            digits=3,
            is_paired=True,
        ),
        name=name,
        description=description,
        columns={
            point: rows,
            **dict(zip(headers or columns, cosines.T.tolist(), strict=True)),
        },
        code=code,
    )


def say_pieces(in_pieces: Sequence[InPieces]) -> None:
    """Says which words are no entries, so that the mean of their pieces was taken."""
    for word, pieces in in_pieces:
        st.info(
            t("embeddings.in_pieces", word=word, pieces=" + ".join(pieces)),
            icon=":material/info:",
        )


def show_neighbours(
    found: NamedNeighbours, metric: str, name: str, code: Program | None = None
) -> None:
    """Draws the nearest words as bars; `metric` is what they were found by."""
    if not found.words:
        st.info(t("embeddings.nothing_left"), icon=":material/filter_alt_off:")
        return
    columns = {
        plain("embeddings.word"): found.words,
        plain("embeddings.entry"): found.found.ids.tolist(),
    }
    _show_nearest(found.words[0], columns, found.found.scores, metric, name, code)


def show_nearest_points(
    key: str,
    labels: Sequence[str],
    contexts: Sequence[str],
    at: tuple[int, int, str],
    near: Neighbours,
) -> None:
    """Names the points nearest to a chosen one as bars, and marks them on the map.

    `at` is the chosen point, the state that is shown, and what that is called; `near`
    are those by cosine, nearest first.
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
    columns = {
        # Two points may have one name, as a word that stands in two sentences.
        plain("point_map.point"): [f"{i + 1} {labels[i]}" for i in ids],
        plain("embeddings.text"): [contexts[i] for i in ids],
    }
    _show_nearest(labels[ids[0]], columns, near.scores, "cosine", f"{key}_nearest")
    mark_points(key, point, state, ids)


def _show_nearest(
    nearest: str,
    columns: Mapping[str, Sequence[object]],
    scores: np.ndarray,
    metric: str,
    name: str,
    code: Program | None = None,
) -> None:
    """Bars with the names of the first column."""
    title = plain(f"embeddings.metric_{metric}")
    names = [str(one) for one in next(iter(columns.values()))]
    show_figure(
        signed_bars_figure(names, scores, title, digits=3),
        name=name,
        description=t(
            "embeddings.neighbours_described",
            word=nearest,
            metric=title,
            score=float(scores[0]),
        ),
        columns={**columns, title: scores.tolist()},
        code=code,
    )
