"""Own sentences on a map of every layer, where points move from layer to layer."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from bertviz_core.analysis.labelled_lines import LabelledLines
from bertviz_core.experiments.map_results import METHODS, SentenceMap
from bertviz_core.experiments.sentence_maps import map_by_neighbours, map_by_pca
from bertviz_core.experiments.sentence_states import nearest_points, vectors_at
from bertviz_core.explorer import Explorer
from bertviz_core.figures.point_map import Colour, PointMap
from bertviz_core.snippets import embeddings as programs
from pages.embeddings.figures import show_nearest_points
from pages.embeddings.files import MapFiles, offer_files
from pages.embeddings.points import groups_colour, layer_name, map_title, point_map
from pages.embeddings.quality import (
    layer_notes,
    quality_columns,
    show_layer_quality,
)
from pages.embeddings.sentence_box import edit_sentences, say_cut
from pages.embeddings.similarity import show_similarity
from pages.embeddings.widgets import (
    DRAWING,
    choose,
    choose_neighbourhood,
    choose_seed,
)
from pages.shared.answers import ask
from pages.shared.code import show_code
from pages.shared.engine import client
from pages.shared.jobs import ask_job
from pages.shared.language import plain, t
from pages.shared.panel import panel

KEY = "embeddings_points"
READINGS = ("mean", "cls", "token")
_ALIGNMENTS = ("shared", "procrustes")


@dataclass(frozen=True)
class _Settings:
    reading: str
    method: str
    num_axes: int
    alignment: str
    seed: int
    neighbourhood: float | None = None


@panel
def explore_sentences(model: str) -> None:
    """Draws the box, the settings, the map and what it is worth."""
    st.markdown(t("embeddings.sentences_intro"))
    lines = edit_sentences(model, "topics")
    settings = _choose()
    if lines is None:
        return
    found = _ask(model, lines, settings)
    if found is None:
        return
    sentences = lines.sentences
    aligned = settings.alignment if settings.method == "pca" else "drawn"
    method = plain(f"embeddings.method_{settings.method}")
    st.caption(t(f"embeddings.layers_{aligned}", method=method))
    say_cut(model, found.num_cut, len(sentences))
    names = tuple(layer_name(i) for i in range(len(found.coordinates)))
    points = PointMap(
        labels=found.labels,
        coordinates=found.coordinates,
        colours=_colours(lines, found),
        state_names=names,
        notes=layer_notes(found),
        contexts=sentences,
        context_of=found.sentence_index,
        title=map_title("sentences", found.method, model),
    )
    chosen = point_map(points, KEY)
    state, selected = chosen.state, chosen.selected
    if selected is not None:
        near = ask(nearest_points)(model, sentences, found.reading, state, selected)
        contexts = [sentences[i] for i in found.sentence_index]
        at = (selected, state, names[state])
        show_nearest_points(KEY, found.labels, contexts, at, near)
    show_layer_quality(found)
    show_similarity(model, lines, found, chosen, names[state])
    _offer_files(model, lines, found, state)
    places = {
        "model": model,
        "sentences": sentences,
        "reading": settings.reading,
        "num_axes": settings.num_axes,
        "seed": settings.seed,
    }
    if settings.method == "pca":
        places["alignment"] = settings.alignment
        show_code(programs.SENTENCES_PCA, name=KEY, **places)
    else:
        places |= {"method": settings.method, "size": settings.neighbourhood}
        show_code(programs.SENTENCES_NEIGHBOURS, name=KEY, **places)


def _choose() -> _Settings:
    reading = _linked("reading", READINGS)
    boxes = st.columns(2)
    with boxes[0]:
        method = _linked("method", METHODS)
    with boxes[1]:
        num_axes = int(choose("num_axes", ("2", "3"), key=f"{KEY}_axes"))
    if method != "pca":
        seed, size = choose_neighbourhood(KEY, method)
        return _Settings(reading, method, num_axes, "procrustes", seed, size)
    first, second = st.columns(2)
    with first:
        alignment = _linked("alignment", _ALIGNMENTS)
    with second:
        seed = choose_seed(KEY)
    return _Settings(reading, method, num_axes, alignment, seed)


def _linked(name: str, options: tuple[str, ...]) -> str:
    return choose(name, options, key=f"{KEY}_{name}", is_explained=True)


def _ask(model: str, lines: LabelledLines, chosen: _Settings) -> SentenceMap | None:
    if chosen.method == "pca":
        return ask_job(
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
    found = ask_job(
        f"embeddings_{chosen.method}",
        t(f"embeddings.draw_{chosen.method}"),
        ask(map_by_neighbours).about(
            model,
            lines.sentences,
            chosen.reading,
            chosen.method,
            num_axes=chosen.num_axes,
            seed=chosen.seed,
            neighbourhood=chosen.neighbourhood,
        ),
        wording=DRAWING,
    )
    if found is None:
        st.caption(t("embeddings.takes_longer"))
    return found


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


def _offer_files(
    model: str, lines: LabelledLines, found: SentenceMap, state: int
) -> None:
    def collect() -> MapFiles:
        index = found.sentence_index
        table = {
            plain("point_map.point"): list(found.labels),
            plain("embeddings.text"): [lines.sentences[i] for i in index],
            plain("embeddings.group"): [lines.labels[i] for i in index],
            # -1 where a point is no single token.
            plain("embeddings.token_index"): found.position.tolist(),
            plain("embeddings.length"): found.norms[state].tolist(),
        }
        headers = ("name", "sentence", "group", "token_index", "length")
        return MapFiles(
            t("embeddings.layer_files_explained", layer=layer_name(state)),
            table,
            dict(zip(headers, table.values(), strict=True)),
            found.coordinates[state],
            quality_columns(
                found.qualities[state],
                float(found.explained[state]),
                found.seed,
                found.method,
                found.neighbourhood,
            ),
            ask(Explorer.info)(model).config.hidden_size,
            lambda: client().ask(vectors_at)(
                model, lines.sentences, found.reading, state
            ),
        )

    offer_files(KEY, collect)
