"""The whole vocabulary on a map: found, coloured, and taken away."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import streamlit as st

from bertviz_core.analysis.wordlists import MAIN_KINDS, is_empty, main_kinds
from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.experiments.map_results import DrawnMap
from bertviz_core.experiments.vocabulary_maps import (
    draw_vocabulary_map,
    exported_vectors,
    vocabulary_map,
)
from bertviz_core.experiments.word_vectors import nearest_words, word_norms
from bertviz_core.explorer import Explorer
from bertviz_core.figures.point_map import Colour, PointMap
from bertviz_core.snippets import embeddings as programs
from pages.embeddings.figures import (
    map_title,
    quality_sentence,
    show_files,
    show_neighbours,
)
from pages.embeddings.widgets import DRAWING, choose_neighbourhood, choose_seed
from pages.shared.answers import ask
from pages.shared.choices import choose_named
from pages.shared.engine import client
from pages.shared.jobs import ask_job
from pages.shared.language import plain, t
from pages.shared.panel import panel
from pages.shared.point_map import Choice, mark_points, point_map
from pages.shared.tools import program, show_tools

KEY = "embeddings_map"
_NUM_NEIGHBOURS = 10
_METHODS = ("tsne", "umap", "pca")


@st.cache_data(max_entries=4, show_spinner=False)
def _entries(model: str) -> tuple[tuple[str, ...], np.ndarray]:
    """Every row of the embeddings: its name and its main kind."""
    tokens = ask(vocabulary)(model)
    return tokens, main_kinds(tokens)


@panel
def explore_vocabulary(model: str) -> None:
    """Draws the map, the neighbours of what is chosen on it, and the files."""
    st.markdown(t("embeddings.map_intro"))
    boxes = st.columns(2)
    with boxes[0]:
        method = choose_named("embeddings.method", _METHODS, key=f"{KEY}_method")
    with boxes[1]:
        num_axes = int(
            choose_named("embeddings.num_axes", ("2", "3"), key=f"{KEY}_axes")
        )
    norms = ask(word_norms)(model)
    found, seed = None, 0
    if method != "pca":
        found = _drawn(model, method, num_axes)
    else:
        seed = choose_seed(KEY)
    if found is None:
        found = ask(vocabulary_map)(model, num_axes, "pca", seed)
    if found is None:
        return
    chosen = _show(model, norms, found)
    if chosen.selected is not None:
        _show_nearest(model, chosen.selected)
    places: dict[str, object] = {"num_axes": num_axes, "seed": found.seed}
    template = programs.VOCABULARY_PCA
    if found.method != "pca":
        places |= {"method": found.method, "size": found.neighbourhood}
        template = programs.VOCABULARY_NEIGHBOURS
    show_tools(
        KEY,
        program(template, model, **places),
        download=lambda: _show_files(model, norms, found, chosen),
    )


def _drawn(model: str, method: str, num_axes: int) -> DrawnMap | None:
    """The stored map, or one that is drawn on demand; `None` until then."""
    stored = ask(vocabulary_map)(model, num_axes, method)
    if stored is None:
        name = plain(f"embeddings.method_{method}")
        told = t("embeddings.no_stored_map", method=name)
        st.info(told, icon=":material/hourglass_empty:")
        return _draw(model, method, num_axes, *choose_neighbourhood(KEY, method))
    with st.expander(t("embeddings.draw_anew")):
        seed, size = choose_neighbourhood(KEY, method)
        if (seed, size) == (stored.seed, stored.neighbourhood):
            st.caption(t("embeddings.is_drawn_so"))
            return stored
        return _draw(model, method, num_axes, seed, size) or stored


def _draw(
    model: str, method: str, num_axes: int, seed: int, size: float
) -> DrawnMap | None:
    return ask_job(
        KEY,
        f"embeddings.draw_{method}",
        ask(draw_vocabulary_map).about(
            model, method, num_axes=num_axes, seed=seed, neighbourhood=size
        ),
        wording=DRAWING,
    )


def _show(model: str, norms: np.ndarray, found: DrawnMap) -> Choice:
    tokens, kinds = _entries(model)
    present = np.unique(kinds)
    colours = (
        Colour(
            plain("embeddings.kind"),
            np.searchsorted(present, kinds),
            tuple(plain(f"embeddings.kind_{MAIN_KINDS[i]}") for i in present),
        ),
        Colour(plain("embeddings.length"), norms),
        Colour(plain("embeddings.entry_number"), np.arange(len(tokens))),
    )
    points = PointMap(
        labels=tokens,
        coordinates=found.coordinates[None],
        colours=colours,
        notes=(quality_sentence(found),),
        title=map_title("map", found.method, model),
    )
    return point_map(points, KEY)


def _show_nearest(model: str, selected: int) -> None:
    word = _entries(model)[0][selected]
    if is_empty(word):
        st.info(t("embeddings.row_without_word"), icon=":material/info:")
        return
    st.subheader(t("embeddings.nearest_to", word=word), anchor=False)
    st.caption(t("embeddings.nearest_explained"))
    found = ask(nearest_words)(model, word, _NUM_NEIGHBOURS, "cosine", ())
    show_neighbours(found.neighbours, "cosine", "embeddings_map_neighbours")
    mark_points(KEY, selected, 0, found.neighbours.found.ids.tolist())


def _show_files(model: str, norms: np.ndarray, found: DrawnMap, chosen: Choice) -> None:
    tokens, kinds = _entries(model)
    wanted = chosen.search.strip().lower()
    rows = tuple(i for i, token in enumerate(tokens) if wanted in token.lower())
    kind_of = [MAIN_KINDS[kinds[i]] for i in rows]
    words, lengths = [tokens[i] for i in rows], norms[list(rows)].tolist()
    show_files(
        KEY,
        replace(found, coordinates=found.coordinates[list(rows)]),
        t("embeddings.files_explained", count=len(rows)),
        {
            "embeddings.word": words,
            "embeddings.kind": [plain(f"embeddings.kind_{kind}") for kind in kind_of],
            "embeddings.length": lengths,
        },
        {"word": words, "kind": kind_of, "length": lengths},
        ask(Explorer.info)(model).config.hidden_size,
        lambda: client().ask(exported_vectors)(model, rows),
    )
