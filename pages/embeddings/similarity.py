"""The cosine of every point with every other, in the full space of one layer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from bertviz_core.analysis.geometry import cosine_matrix
from bertviz_core.analysis.labelled_lines import LabelledLines
from bertviz_core.experiments.map_results import SentenceMap
from bertviz_core.experiments.sentence_states import nearest_points, vectors_at
from pages.embeddings.figures import MOST_IN_FILE, MOST_SHOWN, show_cosines
from pages.embeddings.points import Choice
from pages.shared.answers import ask
from pages.shared.choices import choose_linked, switch_linked
from pages.shared.language import plain, t

_POINTS = "embeddings_similarity_points"
_ALL, _FOUND, _NEAREST, _GROUP = "all", "found", "nearest", "group:"


def show_similarity(
    model: str, lines: LabelledLines, found: SentenceMap, chosen: Choice, layer: str
) -> None:
    """Draws the cosines once they are asked for."""
    if not switch_linked("embeddings.similarity", key="embeddings_similarity"):
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
    if wanted == _FOUND:  # by their name or their sentence, as on the map
        search = chosen.search.strip().lower()
        contexts = (lines.sentences[i] for i in found.sentence_index)
        told = zip(found.labels, contexts, strict=True)
        return [
            point
            for point, texts in enumerate(told)
            if any(search in text.lower() for text in texts)
        ]
    if wanted == _NEAREST and chosen.selected is not None:
        near = ask(nearest_points)(
            model, lines.sentences, found.reading, chosen.state, chosen.selected
        )
        return [chosen.selected, *near.ids.tolist()]
    return [i for i, name in enumerate(groups) if wanted in (_ALL, _GROUP + name)]


def _name_of(option: str, search: str) -> str:
    if option.startswith(_GROUP):
        return plain("embeddings.points_group", name=option.removeprefix(_GROUP))
    return plain(f"embeddings.points_{option}", search=search.strip())


def _draw(
    vectors: np.ndarray, rows: Sequence[int], labels: Sequence[str], layer: str
) -> None:
    cosines = cosine_matrix(vectors)
    shown = cosines[:MOST_SHOWN, :MOST_SHOWN]
    count = len(shown)
    others = np.where(np.eye(count, dtype=bool), -np.inf, shown)
    row, column = divmod(int(np.argmax(others)), count)
    kept = rows[: len(vectors)]
    show_cosines(
        cosines,
        [f"{i + 1} {labels[i]}" for i in kept],
        [str(i + 1) for i in kept],
        title=plain("embeddings.similarity_title", layer=layer),
        point=plain("point_map.point"),
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
    )
