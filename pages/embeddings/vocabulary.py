"""The vocabulary in its full space and on a map: neighbours, analogies, a line."""

import re
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
from bertviz_core.experiments.word_axis import project_words, remove_axis
from bertviz_core.experiments.word_vector_results import WordAnalogy, WordAxis
from bertviz_core.experiments.word_vectors import (
    nearest_words,
    solve_analogy,
    word_norms,
)
from bertviz_core.explorer import Explorer
from bertviz_core.figures.bars import signed_bars_figure
from bertviz_core.figures.point_map import Colour, FirstChoice, PointMap
from bertviz_core.snippets import embeddings as programs
from pages.embeddings.figures import (
    DRAWING,
    MapFiles,
    choose_comparison,
    choose_left_out,
    choose_map,
    choose_neighbourhood,
    choose_seed,
    map_title,
    quality_sentence,
    say_pieces,
    show_map_tools,
    show_neighbours,
    type_word,
)
from pages.shared.answers import ask, ask_job
from pages.shared.choices import choose_linked, choose_named
from pages.shared.engine import client
from pages.shared.export import show_figure, show_table
from pages.shared.language import listed, plain, t
from pages.shared.models import language_of
from pages.shared.panel import Program, panel, program, show_numbers
from pages.shared.point_map import mark_points, point_map

_FIRST, _SECOND = {"en": "he", "zh": "男"}, {"en": "she", "zh": "女"}
_WORDS = {
    "en": "nurse, doctor, king, queen, teacher, soldier, mother, boss",
    "zh": "医, 护, 兵, 师, 母, 父, 王",
}
_MOST_CHARACTERS, _MOST_AT_END = 1000, 200
_BETWEEN = re.compile(r"[\s,，、;；]+")


def show_axis(model: str, language: str) -> None:
    """Draws the boxes, the words on the line, and both ends of the vocabulary."""
    boxes = zip(
        st.columns([1, 1, 3]),
        ("axis_first", "axis_second", "axis_words"),
        (_FIRST, _SECOND, _WORDS),
        (_MOST_AT_END, _MOST_AT_END, _MOST_CHARACTERS),
        strict=True,
    )
    typed = []
    for box, name, examples, most in boxes:
        words = _BETWEEN.split(type_word(name, language, examples, most, box))
        typed.append(tuple(filter(None, words)))
    st.caption(t("embeddings.axis_of_several"))
    without = choose_left_out()
    if not all(typed):
        st.info(t("embeddings.no_word"), icon=":material/edit:")
        return
    first, second, laid_out = typed
    found = ask(project_words)(model, first, second, laid_out, without)
    say_pieces(found.in_pieces)
    ends = {"first": first, "second": second}
    code = program(programs.AXIS, model, **ends, words=laid_out, without=without)
    names = (listed(found.first), listed(found.second))
    _show_line(found, *names, code)
    found_ends = found.first_end, found.second_end
    for box, word, end in zip(st.columns(2), names, found_ends, strict=True):
        said = t("embeddings.axis_end", word=word, words=listed(end.words))
        box.markdown(said if end.words else t("embeddings.nothing_left"))
    _show_removed(model, first, second, found, without)


def _show_removed(
    model: str,
    first: tuple[str, ...],
    second: tuple[str, ...],
    found: WordAxis,
    without: tuple[str, ...],
) -> None:
    names = {"first": listed(found.first), "second": listed(found.second)}
    st.subheader(t("embeddings.axis_removed", **names), anchor=False)
    st.caption(t("embeddings.axis_removed_explained"))
    label, key = "embeddings.neighbours_of", "embeddings_axis_removed"
    word = choose_linked(st.selectbox, label, found.words, key=key)
    removed = ask(remove_axis)(model, word, first, second, without=without)
    sides = {"before": removed.before, "after": removed.after}
    for box, (name, near) in zip(st.columns(2), sides.items(), strict=True):
        with box:
            st.markdown(f"**{t(f'embeddings.axis_{name}')}**")
            show_neighbours(near, "cosine", f"embeddings_axis_{name}")
    before = removed.before.words
    gone = {*before} - {*removed.after.words}
    counts = {"gone": len(gone), "count": len(before), "share": removed.share}
    st.caption(t("embeddings.axis_removed_described", word=removed.word, **counts))


def _show_line(found: WordAxis, first: str, second: str, code: Program) -> None:
    order = np.argsort(found.cosines, kind="stable")
    names = [found.words[i] for i in order]
    ends = {"first": first, "second": second}
    title = t("embeddings.axis_title", **ends)
    st.subheader(title, anchor=False)
    columns = {
        "embeddings.word": names,
        "embeddings.cosine": found.cosines[order],
        "embeddings.percentile": found.percentiles[order],
        "embeddings.place_on_line": found.positions[order],
        "embeddings.distance_from_line": found.distances[order],
    }
    show_figure(
        signed_bars_figure(
            names,
            found.cosines[order],
            plain("embeddings.axis_cosine", **ends),
            digits=3,
        ),
        name="embeddings_axis",
        description=t(
            "embeddings.axis_described", **ends, low=names[0], high=names[-1]
        ),
        columns=columns,
        code=code,
    )
    said = t("embeddings.percentile_explained", count=found.num_compared)
    show_table(columns, title, caption=said)


# Words of one entry in a vocabulary of that language.
_WORD = {"en": "river", "zh": "水"}
_BOXES = {
    "analogy_a": {"en": "king", "zh": "父"},
    "analogy_b": {"en": "man", "zh": "男"},
    "analogy_c": {"en": "woman", "zh": "女"},
    "analogy_expected": {"en": "queen", "zh": "母"},
}


@panel
def explore_words(model: str) -> None:
    """Draws one of three questions to the vocabulary."""
    views = {"neighbours": _neighbours, "analogy": _analogy, "axis": show_axis}
    views[choose_named("embeddings.words_view", list(views))](model, language_of(model))


def _neighbours(model: str, language: str) -> None:
    word = type_word("word", language, _WORD)
    metric, count, without = choose_comparison()
    if not word:
        st.info(t("embeddings.no_word"), icon=":material/edit:")
        return
    found = ask(nearest_words)(model, word, count, metric, without)
    say_pieces(found.in_pieces)
    if found.token_id is not None:
        said = {"word": found.word, "number": found.token_id, "norm": found.norm}
        rank = {"rank": found.norm_rank, "count": found.num_entries}
        st.caption(t("embeddings.entry_described", **said, **rank))
    how = {"count": count, "metric": metric, "without": without}
    code = program(programs.NEIGHBOURS, model, word=word, **how)
    show_neighbours(found.neighbours, metric, "embeddings_neighbours", code)
    st.caption(t("embeddings.compared", count=found.num_compared))


def _analogy(model: str, language: str) -> None:
    """The words nearest to a - b + c, and the rank of the expected word."""
    words = [
        type_word(name, language, examples, box=box)
        for box, (name, examples) in zip(st.columns(4), _BOXES.items(), strict=True)
    ]
    metric, count, without = choose_comparison()
    first, second, third, expected = words
    inputs = (first, second, third)
    if not all(inputs):
        st.info(t("embeddings.no_word"), icon=":material/edit:")
        return
    found = ask(solve_analogy)(model, inputs, expected, count, metric, without)
    say_pieces(found.in_pieces)
    _show_ranks(found)
    a, b, c = found.inputs
    st.subheader(t("embeddings.analogy_title", a=a, b=b, c=c), anchor=False)
    how = {"count": count, "metric": metric, "without": without}
    code = program(programs.ANALOGY, model, inputs=inputs, expected=expected, **how)
    all_words, others = st.columns(2)
    with all_words:
        st.markdown(f"**{t('embeddings.analogy_all')}**")
        show_neighbours(found.nearest, metric, "embeddings_analogy_all", code)
    with others:
        st.markdown(f"**{t('embeddings.analogy_told')}**")
        near = found.nearest_without_inputs
        show_neighbours(near, metric, "embeddings_analogy_told")
    nearest = found.nearest.words[0] if found.nearest.words else ""
    if nearest in found.inputs:
        st.info(t("embeddings.input_is_nearest", word=nearest), icon=":material/info:")


def _show_ranks(found: WordAnalogy) -> None:
    if found.rank is None:
        return
    said = {
        "embeddings.rank_honest": (found.rank, found.num_compared),
        "embeddings.rank_told": (found.rank_without_inputs, found.num_without_inputs),
    }
    numbers = {
        key: t("embeddings.rank", rank=one, count=count)
        for key, (one, count) in said.items()
        if one is not None
    }
    show_numbers(numbers, word=found.expected)


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
    method, num_axes = choose_map(KEY, _METHODS)
    norms = ask(word_norms)(model)
    is_pca = method == "pca"
    seed = choose_seed(KEY) if is_pca else 0
    found = None if is_pca else _drawn(model, method, num_axes)
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
        places |= {"method": found.method, "neighbourhood": found.neighbourhood}
        template = programs.VOCABULARY_NEIGHBOURS
    code = program(template, model, **places)
    show_map_tools(KEY, lambda: _files(model, norms, found, chosen), code)


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


def _show(model: str, norms: np.ndarray, found: DrawnMap) -> FirstChoice:
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
    mark_points(KEY, selected, 0, found.neighbours.ids.tolist())


def _files(
    model: str, norms: np.ndarray, found: DrawnMap, chosen: FirstChoice
) -> MapFiles:
    tokens, kinds = _entries(model)
    wanted = chosen.search.strip().lower()
    rows = tuple(i for i, token in enumerate(tokens) if wanted in token.lower())
    kind_of = [MAIN_KINDS[kinds[i]] for i in rows]
    words, lengths = [tokens[i] for i in rows], norms[list(rows)].tolist()
    return MapFiles(
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
