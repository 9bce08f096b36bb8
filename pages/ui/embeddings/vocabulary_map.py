"""The whole vocabulary on a map: found, coloured, and taken away."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.analysis.wordlists import MAIN_KINDS, is_empty, main_kinds
from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.experiments.map_results import VocabularyMap
from bertviz_core.experiments.vocabulary_maps import (
    draw_vocabulary_map,
    exported_vectors,
    vocabulary_map,
)
from bertviz_core.experiments.word_vectors import nearest_words, word_norms
from bertviz_core.explorer import Explorer
from bertviz_core.figures.point_map import Colour, PointMap
from bertviz_core.snippets import embeddings as programs
from pages.ui.address import choose_linked
from pages.ui.answers import ask
from pages.ui.code import show_code
from pages.ui.embeddings.files import MapFiles, offer_files
from pages.ui.embeddings.points import (
    Choice,
    map_title,
    map_words,
    mark_points,
    point_map,
)
from pages.ui.embeddings.quality import quality_columns, quality_sentence
from pages.ui.embeddings.settings import (
    TSNE_WORDING,
    choose_axes,
    choose_seed,
    choose_tsne,
)
from pages.ui.embeddings.word_boxes import show_neighbours
from pages.ui.engine import client
from pages.ui.errors import shown_to_user
from pages.ui.jobs import ask_job
from pages.ui.language import plain, t

KEY = "embeddings_map"
_NUM_NEIGHBOURS = 10
_METHODS = ("tsne", "pca")


@st.cache_data(max_entries=4, show_spinner=False)
def _entries(model: str) -> tuple[tuple[str, ...], np.ndarray]:
    """Every row of the embeddings: its name and its main kind."""
    tokens = ask(vocabulary)(model)
    return tokens, main_kinds(tokens)


@st.fragment
def explore_vocabulary(model: str) -> None:
    """Draws the map, the neighbours of what is chosen on it, and the files.

    Args:
        model: its id.
    """
    st.markdown(t("embeddings.map_intro"))
    with shown_to_user():
        boxes = st.columns(2)
        with boxes[0]:
            method = choose_linked(
                st.segmented_control,
                t("embeddings.method"),
                _METHODS,
                key="embeddings_map_method",
                required=True,
                help=t("embeddings.method_help"),
                format_func=lambda name: plain(f"embeddings.method_{name}"),
            )
        with boxes[1]:
            num_axes = choose_axes("embeddings_map_axes")
        tokens, kinds = _entries(model)
        norms = ask(word_norms)(model)
        found, seed = None, 0
        if method == "tsne":
            found = _tsne(model, num_axes)
        else:
            seed = choose_seed(KEY)
        if found is None:
            found = ask(vocabulary_map)(model, num_axes, "pca", seed)
        if found is None:
            return
        chosen = _show(model, kinds, norms, found)
        if chosen.selected is not None:
            _show_nearest(model, tokens, chosen.selected)
        _offer_files(model, norms, found, chosen)
        _show_program(model, num_axes, found)


def _tsne(model: str, num_axes: int) -> VocabularyMap | None:
    """The stored map, or one that is drawn on demand; `None` until then."""
    stored = ask(vocabulary_map)(model, num_axes, "tsne")
    if stored is not None:
        with st.expander(t("embeddings.draw_anew")):
            seed, perplexity = choose_tsne("embeddings_map")
            if (seed, perplexity) == (stored.seed, stored.perplexity):
                st.caption(t("embeddings.is_drawn_so"))
                return stored
            made = _draw(model, num_axes, seed, perplexity)
        return made or stored
    st.info(t("embeddings.no_stored_map"), icon=":material/hourglass_empty:")
    seed, perplexity = choose_tsne("embeddings_map")
    return _draw(model, num_axes, seed, perplexity)


def _draw(
    model: str, num_axes: int, seed: int, perplexity: float
) -> VocabularyMap | None:
    found: VocabularyMap | None = ask_job(
        "embeddings_map",
        t("embeddings.draw_tsne"),
        ask(draw_vocabulary_map).about(
            model, num_axes=num_axes, seed=seed, perplexity=perplexity
        ),
        wording=TSNE_WORDING,
    )
    return found


def _show(
    model: str,
    kinds: np.ndarray,
    norms: np.ndarray,
    found: VocabularyMap,
) -> Choice:
    tokens, _ = _entries(model)
    present = np.unique(kinds)
    place = np.searchsorted(present, kinds)
    colours = (
        Colour(
            plain("embeddings.kind"),
            place,
            tuple(plain(f"embeddings.kind_{MAIN_KINDS[i]}") for i in present),
        ),
        Colour(plain("embeddings.length"), norms),
        Colour(plain("embeddings.entry_number"), np.arange(len(tokens))),
    )
    note = quality_sentence(
        found.quality, found.explained, found.seed, found.perplexity, found.num_steps
    )
    return point_map(
        PointMap(
            labels=tokens,
            coordinates=found.coordinates[None],
            colours=colours,
            words=map_words(),
            notes=(note,),
            title=map_title("map", found.method, model),
        ),
        KEY,
    )


def _show_nearest(model: str, tokens: tuple[str, ...], selected: int) -> None:
    word = tokens[selected]
    if is_empty(word):
        st.info(t("embeddings.row_without_word"), icon=":material/info:")
        return
    st.subheader(t("embeddings.nearest_to", word=word), anchor=False)
    st.caption(t("embeddings.nearest_explained"))
    found = ask(nearest_words)(model, word, _NUM_NEIGHBOURS, "cosine", ())
    show_neighbours(found.neighbours, "cosine", "embeddings_map_neighbours")
    mark_points(KEY, selected, 0, found.neighbours.found.ids.tolist())


def _show_program(model: str, num_axes: int, found: VocabularyMap) -> None:
    if found.method == "pca":
        show_code(
            programs.VOCABULARY_PCA,
            name=KEY,
            model=model,
            num_axes=num_axes,
            seed=found.seed,
        )
        return
    show_code(
        programs.VOCABULARY_TSNE,
        name=KEY,
        model=model,
        num_axes=num_axes,
        seed=found.seed,
        perplexity=found.perplexity,
    )


def _offer_files(
    model: str, norms: np.ndarray, found: VocabularyMap, chosen: Choice
) -> None:
    def collect() -> MapFiles:
        tokens, kinds = _entries(model)
        wanted = chosen.search.strip().lower()
        rows = tuple(i for i, token in enumerate(tokens) if wanted in token.lower())
        names = {kind: plain(f"embeddings.kind_{kind}") for kind in MAIN_KINDS}
        kind_of = [MAIN_KINDS[kinds[i]] for i in rows]
        words, lengths = [tokens[i] for i in rows], norms[list(rows)].tolist()
        return MapFiles(
            t("embeddings.files_explained", count=len(rows)),
            {
                plain("embeddings.word"): words,
                plain("embeddings.kind"): [names[kind] for kind in kind_of],
                plain("embeddings.length"): lengths,
            },
            {"word": words, "kind": kind_of, "length": lengths},
            found.coordinates[list(rows)],
            quality_columns(
                found.quality, found.explained, found.seed, found.perplexity
            ),
            ask(Explorer.info)(model).config.hidden_size,
            lambda: client().ask(exported_vectors)(model, rows),
        )

    offer_files(KEY, collect)
