"""The cosine of every point with every other, in the full space of one layer."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.analysis.geometry import cosine_matrix
from bertviz_core.analysis.labelled_lines import LabelledLines
from bertviz_core.experiments.map_results import SentenceMap
from bertviz_core.figures.value_map import value_map_figure
from pages.ui.embeddings.answers import sentence_vectors
from pages.ui.export import show_figure
from pages.ui.language import plain, t

_MOST_SHOWN = 40


def show_similarity(
    model: str, lines: LabelledLines, found: SentenceMap, state: int, layer: str
) -> None:
    """Draws the cosines once they are asked for.

    Args:
        model: its id.
        lines: the sentences.
        found: their map.
        state: the layer that is shown, from 0.
        layer: its name.
    """
    is_wanted = st.toggle(
        t("embeddings.similarity"),
        key="embeddings_similarity",
        help=t("embeddings.similarity_help"),
        bind="query-params",
    )
    if is_wanted:
        vectors = sentence_vectors(model, lines.sentences, found.reading, state)
        _draw(vectors, found.labels, layer)


def _draw(vectors: np.ndarray, labels: tuple[str, ...], layer: str) -> None:
    count = min(len(vectors), _MOST_SHOWN)
    cosines = cosine_matrix(vectors[:count])
    names = [f"{i + 1} {name}" for i, name in enumerate(labels[:count])]
    others = np.where(np.eye(count, dtype=bool), -np.inf, cosines)
    row, column = np.unravel_index(int(np.argmax(others)), others.shape)
    point = plain("point_map.point")
    show_figure(
        value_map_figure(
            cosines,
            names,
            [str(i + 1) for i in range(count)],
            title=plain("embeddings.sense_cosines", layer=layer),
            row_title=point,
            column_title=point,
            is_signed=False,
            digits=3,
            is_paired=True,
        ),
        name="embeddings_similarity_map",
        description=t(
            "embeddings.similarity_described",
            count=count,
            all=len(vectors),
            layer=layer,
            first=labels[row],
            second=labels[column],
            value=float(cosines[row, column]),
        ),
        columns={
            point: names,
            **{str(i + 1): cosines[:, i].tolist() for i in range(count)},
        },
    )
