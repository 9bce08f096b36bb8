"""Own sentences on a map of every layer, where points move from layer to layer."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from bertviz_core.analysis.labelled_lines import LabelledLines
from bertviz_core.experiments.map_results import SentenceMap
from bertviz_core.experiments.sentence_maps import map_by_pca, map_by_tsne
from bertviz_core.experiments.sentence_states import nearest_points, vectors_at
from bertviz_core.explorer import Explorer
from bertviz_core.figures.point_map import Colour, PointMap
from bertviz_core.snippets import embeddings as programs
from pages.ui.address import choose_linked
from pages.ui.answers import ask
from pages.ui.code import show_code
from pages.ui.embeddings.files import MapFiles, offer_files
from pages.ui.embeddings.layer_worth import layer_notes, show_layer_quality
from pages.ui.embeddings.nearest_points import show_nearest_points
from pages.ui.embeddings.points import (
    Choice,
    groups_colour,
    layer_name,
    map_title,
    map_words,
    point_map,
)
from pages.ui.embeddings.quality import quality_columns
from pages.ui.embeddings.sentence_box import edit_sentences, say_cut
from pages.ui.embeddings.settings import (
    TSNE_WORDING,
    choose_axes,
    choose_seed,
    choose_tsne,
)
from pages.ui.embeddings.similarity import show_similarity
from pages.ui.engine import client
from pages.ui.errors import shown_to_user
from pages.ui.jobs import ask_job
from pages.ui.language import plain, t

KEY = "embeddings_points"
READINGS = ("mean", "cls", "token")
_METHODS = ("pca", "tsne")
_ALIGNMENTS = ("shared", "procrustes")


@dataclass(frozen=True)
class _Settings:
    reading: str
    method: str
    num_axes: int
    alignment: str
    seed: int
    perplexity: float


@st.fragment
def explore_sentences(model: str) -> None:
    """Draws the box, the settings, the map and what it is worth.

    Args:
        model: its id.
    """
    st.markdown(t("embeddings.sentences_intro"))
    with shown_to_user():
        lines = edit_sentences(model, "topics")
        settings = _choose()
        if lines is None:
            return
        found = _ask(model, lines, settings)
        if found is None:
            return
        aligned = "tsne" if settings.method == "tsne" else settings.alignment
        st.caption(t(f"embeddings.layers_{aligned}"))
        say_cut(model, found.num_cut, len(lines.sentences))
        chosen = _show_map(model, lines, found)
        state = chosen.state
        if chosen.selected is not None:
            near = ask(nearest_points)(
                model, lines.sentences, found.reading, state, chosen.selected
            )
            show_nearest_points(
                KEY,
                found.labels,
                [lines.sentences[i] for i in found.sentence_index],
                (chosen.selected, state, layer_name(state)),
                near,
            )
        show_layer_quality(found)
        show_similarity(model, lines, found, chosen, layer_name(state))
        _offer_files(model, lines, found, state)
        _show_program(model, lines, settings)


def _choose() -> _Settings:
    reading = _linked("reading", READINGS)
    boxes = st.columns(2)
    with boxes[0]:
        method = _linked("method", _METHODS)
    with boxes[1]:
        num_axes = choose_axes(f"{KEY}_axes")
    if method == "tsne":
        seed, perplexity = choose_tsne(KEY)
        return _Settings(reading, method, num_axes, "procrustes", seed, perplexity)
    first, second = st.columns(2)
    with first:
        alignment = _linked("alignment", _ALIGNMENTS)
    with second:
        seed = choose_seed(KEY)
    return _Settings(reading, method, num_axes, alignment, seed, 30.0)


def _linked(name: str, options: tuple[str, ...]) -> str:
    return choose_linked(
        st.segmented_control,
        t(f"embeddings.{name}"),
        options,
        key=f"{KEY}_{name}",
        required=True,
        help=t(f"embeddings.{name}_help"),
        format_func=lambda option: plain(f"embeddings.{name}_{option}"),
    )


def _ask(model: str, lines: LabelledLines, chosen: _Settings) -> SentenceMap | None:
    found: SentenceMap | None
    if chosen.method == "pca":
        found = ask_job(
            "embeddings_pca",
            t("embeddings.draw_pca"),
            ask(map_by_pca).about(
                model,
                lines.sentences,
                chosen.reading,
                num_axes=chosen.num_axes,
                alignment=chosen.alignment,
                seed=chosen.seed,
            ),
            at_once=True,
        )
        return found
    found = ask_job(
        "embeddings_tsne",
        t("embeddings.draw_tsne"),
        ask(map_by_tsne).about(
            model,
            lines.sentences,
            chosen.reading,
            num_axes=chosen.num_axes,
            seed=chosen.seed,
            perplexity=chosen.perplexity,
        ),
        wording=TSNE_WORDING,
    )
    if found is None:
        st.caption(t("embeddings.tsne_takes_longer"))
    return found


def _show_map(model: str, lines: LabelledLines, found: SentenceMap) -> Choice:
    names = [layer_name(i) for i in range(len(found.coordinates))]
    points = PointMap(
        labels=found.labels,
        coordinates=found.coordinates,
        colours=_colours(lines, found),
        words=map_words(),
        state_names=tuple(names),
        notes=layer_notes(found),
        contexts=lines.sentences,
        context_of=found.sentence_index,
        title=map_title("sentences", found.method, model),
    )
    return point_map(points, KEY)


def _colours(lines: LabelledLines, found: SentenceMap) -> tuple[Colour, ...]:
    index = found.sentence_index
    made = []
    if lines.has_labels:
        none = plain("embeddings.no_group")
        groups = [lines.labels[i] or none for i in index]
        made.append(groups_colour(plain("embeddings.group"), groups))
    if found.reading == "token":
        made.append(groups_colour(plain("embeddings.token"), found.labels))
        made.append(Colour(plain("embeddings.position"), found.position + 1))
        if found.segments.any():
            sides = [plain(f"embeddings.text_{side}") for side in ("first", "second")]
            names = [sides[segment] for segment in found.segments]
            made.append(groups_colour(plain("embeddings.part_segment"), names))
    made.append(Colour(plain("embeddings.sentence_number"), index + 1))
    made.append(Colour(plain("embeddings.length"), found.norms))
    return tuple(made)


def _show_program(model: str, lines: LabelledLines, chosen: _Settings) -> None:
    places = {
        "model": model,
        "sentences": lines.sentences,
        "reading": chosen.reading,
        "num_axes": chosen.num_axes,
        "seed": chosen.seed,
    }
    if chosen.method == "pca":
        places["alignment"] = chosen.alignment
        show_code(programs.SENTENCES_PCA, name=KEY, **places)
    else:
        places["perplexity"] = chosen.perplexity
        show_code(programs.SENTENCES_TSNE, name=KEY, **places)


def _offer_files(
    model: str, lines: LabelledLines, found: SentenceMap, state: int
) -> None:
    def collect() -> MapFiles:
        columns = {
            "name": list(found.labels),
            "sentence": [lines.sentences[i] for i in found.sentence_index],
            "group": [lines.labels[i] for i in found.sentence_index],
            # -1 where a point is no single token.
            "token_index": found.position.tolist(),
            "length": found.norms[state].tolist(),
        }
        headers = (
            plain("point_map.point"),
            plain("embeddings.text"),
            plain("embeddings.group"),
            plain("embeddings.token_index"),
            plain("embeddings.length"),
        )
        return MapFiles(
            t("embeddings.layer_files_explained", layer=layer_name(state)),
            dict(zip(headers, columns.values(), strict=True)),
            columns,
            found.coordinates[state],
            quality_columns(
                found.qualities[state],
                float(found.explained[state]),
                found.seed,
                found.perplexity,
            ),
            ask(Explorer.info)(model).config.hidden_size,
            lambda: client().ask(vectors_at)(
                model, lines.sentences, found.reading, state
            ),
        )

    offer_files(KEY, collect)
