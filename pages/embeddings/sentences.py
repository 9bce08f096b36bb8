"""Own sentences on a map of every layer, and the cosines of all of its points."""

from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.analysis.geometry import cosine_matrix
from bertviz_core.analysis.labelled_lines import LabelledLines
from bertviz_core.experiments.map_results import METHODS, SentenceMap
from bertviz_core.experiments.sentence_maps import map_by_neighbours, map_by_pca
from bertviz_core.experiments.sentence_states import nearest_points, vectors_at
from bertviz_core.explorer import Explorer
from bertviz_core.figures.point_map import Colour, FirstChoice, PointMap
from bertviz_core.snippets import embeddings as programs
from pages.embeddings.figures import (
    DRAWING,
    MOST_IN_FILE,
    MOST_SHOWN,
    MapFiles,
    choose_map,
    choose_neighbourhood,
    choose_seed,
    layer_name,
    layer_notes,
    map_title,
    show_cosines,
    show_layer_quality,
    show_map_tools,
    show_nearest_points,
)
from pages.embeddings.sentence_box import edit_sentences, say_cut
from pages.shared.answers import Wording, ask, ask_job
from pages.shared.choices import choose_linked, choose_named, switch_linked
from pages.shared.engine import client
from pages.shared.language import plain, t
from pages.shared.panel import panel, program
from pages.shared.point_map import groups_colour, point_map

_ALL, _FOUND, _NEAREST, _GROUP = "all", "found", "nearest", "group:"


def show_similarity(
    model: str,
    lines: LabelledLines,
    found: SentenceMap,
    chosen: FirstChoice,
    layer: str,
) -> None:
    """Draws the cosines once they are asked for."""
    if not switch_linked("embeddings.similarity"):
        return
    rows = _choose_points(model, lines, found, chosen)
    vectors = ask(vectors_at)(model, lines.sentences, found.reading, chosen.state)
    if len(rows) < 2:
        st.info(t("embeddings.too_few_to_compare"), icon=":material/info:")
        return
    kept, labels = rows[:MOST_IN_FILE], found.labels
    cosines = cosine_matrix(vectors[kept])
    shown = cosines[:MOST_SHOWN, :MOST_SHOWN]
    count = len(shown)
    others = np.where(np.eye(count, dtype=bool), -np.inf, shown)
    row, column = divmod(int(np.argmax(others)), count)
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
            file=len(kept),
        ),
    )


def _choose_points(
    model: str, lines: LabelledLines, found: SentenceMap, chosen: FirstChoice
) -> list[int]:
    """Draws which points to compare, and gives their indices."""
    groups = [lines.labels[i] for i in found.sentence_index]
    search = chosen.search.strip()
    asked = {_ALL: True, _FOUND: search, _NEAREST: chosen.selected is not None}
    names = {
        option: plain(f"embeddings.points_{option}", search=search)
        for option, is_offered in asked.items()
        if is_offered
    }
    for name in filter(None, groups):
        names[_GROUP + name] = plain("embeddings.points_group", name=name)
    wanted = choose_linked(st.selectbox, "embeddings.similarity_points", names)
    if wanted == _FOUND:  # by their name or their sentence, as on the map
        search = search.lower()
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


KEY = "embeddings_points"
READINGS = ("mean", "cls", "token")


@panel
def explore_sentences(model: str) -> None:
    """Draws the box, the settings, the map and what it is worth."""
    lines = edit_sentences(model, "topics")
    reading, method, how = _choose()
    if lines is None:
        return
    found = _ask(model, lines, reading, method, how)
    if found is None:
        return
    sentences = lines.sentences
    aligned, name = how.get("alignment", "drawn"), plain(f"embeddings.method_{method}")
    st.caption(t(f"embeddings.layers_{aligned}", method=name))
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
    is_pca = method == "pca"
    template = programs.SENTENCES_PCA if is_pca else programs.SENTENCES_NEIGHBOURS
    show_map_tools(
        KEY,
        lambda: _files(model, lines, found, state),
        program(template, model, sentences=sentences, reading=reading, **how),
    )


def _choose() -> tuple[str, str, dict[str, Any]]:
    """Draws how a map is made: reading, method, and what task and program get."""
    reading = _linked("reading", READINGS)
    method, num_axes = choose_map(KEY, METHODS)
    how: dict[str, Any] = {"num_axes": num_axes}
    if method != "pca":
        seed, size = choose_neighbourhood(KEY, method)
        how |= {"method": method, "seed": seed, "neighbourhood": size}
        return reading, method, how
    first, second = st.columns(2)
    with first:
        how["alignment"] = _linked("alignment", ("shared", "procrustes"))
    how["seed"] = choose_seed(KEY, second)
    return reading, method, how


def _linked(name: str, options: tuple[str, ...]) -> str:
    return choose_named(f"embeddings.{name}", options, key=f"{KEY}_{name}")


def _ask(
    model: str, lines: LabelledLines, reading: str, method: str, how: dict[str, Any]
) -> SentenceMap | None:
    is_pca, about = method == "pca", (model, lines.sentences, reading)
    found = ask_job(
        f"embeddings_{method}",
        f"embeddings.draw_{method}",
        ask(map_by_pca).about(*about, **how)
        if is_pca
        else ask(map_by_neighbours).about(*about, **how),
        at_once=is_pca,
        wording=Wording() if is_pca else DRAWING,
    )
    if found is None and not is_pca:
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


def _files(
    model: str, lines: LabelledLines, found: SentenceMap, state: int
) -> MapFiles:
    index = found.sentence_index
    table = {
        "point_map.point": list(found.labels),
        "embeddings.text": [lines.sentences[i] for i in index],
        "embeddings.group": [lines.labels[i] for i in index],
        # -1 where a point is no single token.
        "embeddings.token_index": found.position.tolist(),
        "embeddings.length": found.norms[state].tolist(),
    }
    headers = ("name", "sentence", "group", "token_index", "length")
    return MapFiles(
        found.at(state),
        t("embeddings.layer_files_explained", layer=layer_name(state)),
        table,
        dict(zip(headers, table.values(), strict=True)),
        ask(Explorer.info)(model).config.hidden_size,
        lambda: client().ask(vectors_at)(model, lines.sentences, found.reading, state),
    )
