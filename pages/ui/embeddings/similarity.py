"""The cosine of every point with every other, in the full space of one layer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from bertviz_core.analysis.geometry import cosine_matrix
from bertviz_core.analysis.labelled_lines import LabelledLines
from bertviz_core.experiments.map_results import SentenceMap
from bertviz_core.experiments.sentence_states import nearest_points, vectors_at
from bertviz_core.figures.value_map import value_map_figure
from pages.ui.address import choose_linked
from pages.ui.answers import ask
from pages.ui.embeddings.points import Choice
from pages.ui.export import show_figure
from pages.ui.language import plain, t

MOST_SHOWN = 40
MOST_IN_FILE = 500
_POINTS = "embeddings_similarity_points"
_ALL, _FOUND, _NEAREST, _GROUP = "all", "found", "nearest", "group:"


def show_similarity(
    model: str, lines: LabelledLines, found: SentenceMap, chosen: Choice, layer: str
) -> None:
    """Draws the cosines once they are asked for.

    Args:
        model: its id.
        lines: the sentences.
        found: their map.
        chosen: on the map: the layer, and which points may be asked for.
        layer: its name.
    """
    is_wanted = st.toggle(
        t("embeddings.similarity"),
        key="embeddings_similarity",
        help=t("embeddings.similarity_help"),
        bind="query-params",
    )
    if not is_wanted:
        return
    rows = _choose_points(model, lines, found, chosen)
    vectors = ask(vectors_at)(model, lines.sentences, found.reading, chosen.state)
    if len(rows) > 1:
        _draw(vectors[rows[:MOST_IN_FILE]], rows, found.labels, layer)
    else:
        st.info(t("embeddings.too_few_to_compare"), icon=":material/info:")


def _choose_points(
    model: str, lines: LabelledLines, found: SentenceMap, chosen: Choice
) -> list[int]:
    """Draws which points to compare, and gives their indices."""
    groups = [lines.labels[i] for i in found.sentence_index]
    options = [_ALL]
    if chosen.search.strip():
        options.append(_FOUND)
    if chosen.selected is not None:
        options.append(_NEAREST)
    options += [_GROUP + name for name in dict.fromkeys(groups) if name]
    wanted = choose_linked(
        st.selectbox,
        t("embeddings.similarity_points"),
        options,
        key=_POINTS,
        format_func=lambda name: _name_of(name, chosen.search),
    )
    everything = range(len(groups))
    if wanted == _FOUND:
        return _matching(found.labels, lines, found.sentence_index, chosen.search)
    if wanted == _NEAREST and chosen.selected is not None:
        near = ask(nearest_points)(
            model, lines.sentences, found.reading, chosen.state, chosen.selected
        )
        return [chosen.selected, *near.ids.tolist()]
    if wanted == _ALL:
        return list(everything)
    return [i for i in everything if _GROUP + groups[i] == wanted]


def _name_of(option: str, search: str) -> str:
    if option.startswith(_GROUP):
        return plain("embeddings.points_group", name=option.removeprefix(_GROUP))
    return plain(f"embeddings.points_{option}", search=search.strip())


def _matching(
    labels: Sequence[str], lines: LabelledLines, index: np.ndarray, search: str
) -> list[int]:
    """Points that the map finds: by their name or their sentence."""
    wanted = search.strip().lower()
    return [
        point
        for point, sentence in enumerate(index.tolist())
        if wanted in labels[point].lower()
        or wanted in lines.sentences[sentence].lower()
    ]


def _draw(
    vectors: np.ndarray, rows: Sequence[int], labels: Sequence[str], layer: str
) -> None:
    count = min(len(rows), MOST_SHOWN)
    cosines = cosine_matrix(vectors)
    names = [f"{i + 1} {labels[i]}" for i in rows[: len(vectors)]]
    numbers = [str(i + 1) for i in rows[: len(vectors)]]
    shown = cosines[:count, :count]
    others = np.where(np.eye(count, dtype=bool), -np.inf, shown)
    row, column = divmod(int(np.argmax(others)), count)
    point = plain("point_map.point")
    show_figure(
        value_map_figure(
            shown,
            names[:count],
            numbers[:count],
            title=plain("embeddings.similarity_title", layer=layer),
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
            all=len(rows),
            layer=layer,
            first=labels[rows[row]],
            second=labels[rows[column]],
            value=float(shown[row, column]),
            file=len(vectors),
        ),
        columns={
            point: names,
            **{n: cosines[:, i].tolist() for i, n in enumerate(numbers)},
        },
    )
