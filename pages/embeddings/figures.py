"""What several parts of the page choose and draw: maps, their worth, their files."""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.analysis.nearest_words import METRICS, Neighbours
from bertviz_core.analysis.projector_files import metadata_tsv, vectors_tsv
from bertviz_core.analysis.wordlists import KINDS
from bertviz_core.experiments.map_results import (
    MAX_EXPORTED_NUMBERS,
    NEIGHBOURHOODS,
    DrawnMap,
    SentenceMap,
)
from bertviz_core.experiments.word_vector_results import InPieces
from bertviz_core.figures.bars import signed_bars_figure
from bertviz_core.training.finetune.notes import excerpt
from pages.shared.answers import Wording
from pages.shared.choices import (
    choose_named,
    choose_number,
    choose_several,
    type_linked,
)
from pages.shared.components import save_drawn
from pages.shared.export import show_curves, show_figure, show_map
from pages.shared.language import in_a_row, listed, plain, t
from pages.shared.models import known_models
from pages.shared.panel import Program, download, show_number_tools
from pages.shared.point_map import mark_points


def layer_name(index: int) -> str:
    """What a layer is called; 0 is what enters the first."""
    if index == 0:
        return plain("embeddings.layer_0")
    return plain("embeddings.layer", number=index)


def map_title(panel: str, method: str, model: str) -> str:
    """What stands below a saved picture: the part, the method, the model.

    The id is left out if it opens a visitor's own model.
    """
    entry = known_models().get(model)
    own = plain("embeddings.own_model")
    name = entry.title if entry else own if ":" in model else model
    panel = plain(f"embeddings.panel_{panel}")
    return " · ".join((panel, plain(f"embeddings.method_{method}"), name))


# As text.
_BYTES_A_NUMBER = 12
# As the projector's own documents name them.
_VECTORS, _METADATA = "vectors.tsv", "metadata.tsv"


@dataclass(frozen=True)
class MapFiles:
    """What the M points of a map are in numbers.

    `explained` is Markdown; `table` has a column of values for the points in the words
    of the reader, `metadata` the same for the projector, whose files are alike in all
    languages, the name of a point first; `vectors`, `[M, size]`, are of the full space.
    """

    found: DrawnMap
    explained: str
    table: Mapping[str, Sequence[object]]
    metadata: Mapping[str, Sequence[object]]
    size: int
    vectors: Callable[[], np.ndarray]

    def columns(self) -> dict[str, Any]:
        """A row for each point: what it is, where it lies, what the map is worth."""
        places = self.found.coordinates
        axes = {
            plain("embeddings.axis_column", number=number): axis
            for number, axis in enumerate(places.T.tolist(), start=1)
        }
        worth = quality_columns(self.found).items()
        return {
            **self.table,
            **axes,
            **{name: [value] * len(places) for name, value in worth},
        }


def show_map_tools(
    key: str, make: Callable[[], MapFiles], code: Program | None = None
) -> None:
    """Draws the tools of a map; its numbers are made when somebody wants them."""
    make = functools.cache(make)  # the table's file and the others are of one making
    show_number_tools(
        key,
        lambda: make().columns(),
        t("point_map.as_table"),
        code,
        lambda: _show_files(key, make()),
    )


def _show_files(key: str, made: MapFiles) -> None:
    """Draws the buttons for other files; those of the projector are large."""
    count, size = len(made.found.coordinates), made.size
    save_drawn(key)
    st.caption(made.explained)
    if count > (limit := MAX_EXPORTED_NUMBERS // size):
        told = t("embeddings.too_many_for_file", limit=limit, count=count)
        st.info(told, icon=":material/info:")
        return
    if not count:
        st.info(t("embeddings.nothing_left"), icon=":material/filter_alt_off:")
        return
    download(
        t("embeddings.vectors_tsv", size=count * size * _BYTES_A_NUMBER / 1e6),
        lambda: vectors_tsv(made.vectors()).encode("utf-8"),
        _VECTORS,
        "text/tab-separated-values",
        f"{key}_vectors",
    )
    download(
        "embeddings.metadata_tsv",
        lambda: metadata_tsv(made.metadata).encode("utf-8"),
        _METADATA,
        "text/tab-separated-values",
        f"{key}_metadata",
    )


def quality_sentence(found: DrawnMap, start: str = "pca", are_one: bool = False) -> str:
    """Plain text: the share of variance, the neighbours kept, the seed.

    `start` is "pca" or "before", the map of the layer before; `are_one` says that
    points differ by rounding alone.
    """
    if are_one:
        return plain("embeddings.note_are_one")
    parts, quality, explained = [], found.quality, found.explained
    if found.method != "pca":
        places = {"size": found.neighbourhood, "steps": found.num_steps}
        parts += [
            plain(f"embeddings.note_{found.method}", seed=found.seed, **places),
            plain(f"embeddings.note_seed_{start}"),
        ]
    if explained is not None and not math.isnan(explained):
        parts.append(plain("embeddings.note_explained", share=explained))
    if quality is None:
        parts.append(plain("embeddings.note_no_quality"))
    else:
        parts.append(
            plain(
                "embeddings.note_quality",
                trust=quality.trustworthiness,
                kept=quality.neighbours_kept,
                k=quality.num_neighbours,
            )
        )
        is_whole = quality.num_checked == quality.num_points
        parts.append(
            plain("embeddings.note_all_checked", count=quality.num_points)
            if is_whole
            else plain(
                "embeddings.note_some_checked",
                checked=quality.num_checked,
                count=quality.num_points,
                seed=found.seed,
            )
        )
        if is_whole and found.method == "pca":
            parts.append(plain("embeddings.note_no_chance"))
    return in_a_row(parts)


def quality_columns(found: DrawnMap) -> dict[str, object]:
    """The same for the columns of a table, alike in every row; see there."""
    quality, explained = found.quality, found.explained
    columns: dict[str, object] = {
        "embeddings.method": plain(f"embeddings.method_{found.method}"),
        "embeddings.seed": found.seed,
    }
    if found.method != "pca":
        columns[f"embeddings.{SIZES[found.method]}"] = found.neighbourhood
    if explained is not None and not math.isnan(explained):
        columns["embeddings.explained"] = explained
    if quality is not None:
        kept = plain("embeddings.neighbours_kept_of", k=quality.num_neighbours)
        columns["embeddings.trustworthiness"] = quality.trustworthiness
        columns[kept] = quality.neighbours_kept
        columns["embeddings.points_checked"] = quality.num_checked
    return columns


def layer_notes(found: SentenceMap) -> tuple[str, ...]:
    """A note for the map of each layer, plain text."""
    return tuple(
        quality_sentence(
            found.at(layer),
            start="before" if layer and not found.are_one[layer - 1] else "pca",
            are_one=are_one,
        )
        for layer, are_one in enumerate(found.are_one)
    )


def show_layer_quality(found: SentenceMap) -> None:
    """Draws a curve of each measure over the layers, with a gap where none is."""
    curves = {
        f"embeddings.{name}": np.array(
            [getattr(quality, name, math.nan) for quality in found.qualities]
        )
        for name in ("trustworthiness", "neighbours_kept")
    }
    curves["embeddings.explained"] = found.explained
    known = {name: c for name, c in curves.items() if not np.isnan(c).all()}
    if not known:
        return
    st.subheader(t("embeddings.quality_title"), anchor=False)
    told = [t("embeddings.quality_described")]
    ones = [layer_name(layer) for layer in np.flatnonzero(found.are_one).tolist()]
    if ones:
        told.append(t("embeddings.quality_of_one", layers=listed(ones)))
    show_curves(
        known,
        "embeddings.layer_axis",
        name="embeddings_quality",
        description=in_a_row(told),
        bounds=(-0.02, 1.05),
    )


MOST_SHOWN = 40  # points in a map of cosines
MOST_IN_FILE = 500


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
    show_map(
        name,
        cosines,
        rows,
        columns,
        (title, point, point),
        description,
        most=MOST_SHOWN,
        table={point: rows, **dict(zip(headers or columns, cosines.T, strict=True))},
        code=code,
        digits=3,
        is_paired=True,
    )


def say_pieces(in_pieces: Sequence[InPieces]) -> None:
    """Says which words are no entries, so that the mean of their pieces was taken."""
    for word, pieces in in_pieces:
        said = t("embeddings.in_pieces", word=word, pieces=" + ".join(pieces))
        st.info(said, icon=":material/info:")


def show_neighbours(
    found: Neighbours, metric: str, name: str, code: Program | None = None
) -> None:
    """Draws the nearest words as bars; `metric` is what they were found by."""
    if not found.words:
        st.info(t("embeddings.nothing_left"), icon=":material/filter_alt_off:")
        return
    columns = {"embeddings.word": found.words, "embeddings.entry": found.ids}
    _show_nearest(found.words[0], columns, found.scores, metric, name, code)


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
    title = t("embeddings.nearest_points", point=excerpt(labels[point]), layer=layer)
    st.subheader(title, anchor=False)
    st.caption(t("embeddings.nearest_explained"))
    ids = near.ids.tolist()
    columns = {
        # Two points may have one name, as a word that stands in two sentences.
        "point_map.point": [f"{i + 1} {labels[i]}" for i in ids],
        "embeddings.text": [contexts[i] for i in ids],
    }
    _show_nearest(labels[ids[0]], columns, near.scores, "cosine", f"{key}_nearest")
    mark_points(key, point, state, ids)


def _show_nearest(
    nearest: str,
    columns: Mapping[str, Any],
    scores: np.ndarray,
    metric: str,
    name: str,
    code: Program | None = None,
) -> None:
    """Bars with the names of the first column."""
    title = plain(f"embeddings.metric_{metric}")
    names = [str(one) for one in next(iter(columns.values()))]
    places = {"word": nearest, "metric": title, "score": float(scores[0])}
    show_figure(
        signed_bars_figure(names, scores, title, digits=3),
        name=name,
        description=t("embeddings.neighbours_described", **places),
        columns={**columns, title: scores.tolist()},
        code=code,
    )


# A row without a word is never an answer, so it is no choice either.
LEFT_OUT = tuple(kind for kind in KINDS if kind != "empty")
# The library cannot be interrupted within a stage, see `tsne_map`.
DRAWING = Wording(stopped=lambda: t("embeddings.drawing_stopped"))
# What the methods themselves call the size of a neighbourhood.
SIZES = {"tsne": "perplexity", "umap": "n_neighbors"}


def choose_place(name: str, most: int, default: int = 1) -> int:
    """Draws the choice of a whole number, counted from 1."""
    first = min(default, most)
    return choose_number(st.number_input, f"embeddings.{name}", 1, most, first)


def type_word(
    name: str, language: str, examples: dict[str, str], most: int = 60, box: Any = st
) -> str:
    """Draws a box for words."""
    return type_linked(
        box.text_input, f"embeddings.{name}", examples[language], max_chars=most
    )


def choose_comparison() -> tuple[str, int, tuple[str, ...]]:
    """Draws how words are compared: metric, how many to name, what to leave out."""
    first, second = st.columns([3, 1])
    metric = choose_named("embeddings.metric", METRICS, widget=first.segmented_control)
    count = choose_number(second.number_input, "embeddings.count", 1, 100, 10)
    return metric, count, choose_left_out()


def choose_left_out() -> tuple[str, ...]:
    """Draws which kinds of entries are no answer; some of `KINDS`, in their order."""
    return choose_several(
        "embeddings.left_out",
        LEFT_OUT,
        ("piece", "unused", "special"),
        format_func=lambda kind: plain(f"embeddings.kind_{kind}"),
    )


def choose_map(key: str, methods: Sequence[str]) -> tuple[str, int]:
    """Draws how a map is made, and whether it has 2 or 3 axes."""
    first, second = (box.segmented_control for box in st.columns(2))
    label, named = "embeddings.method", f"{key}_method"
    method = choose_named(label, methods, key=named, widget=first)
    label, named = "embeddings.num_axes", f"{key}_axes"
    return method, int(choose_named(label, ("2", "3"), key=named, widget=second))


def choose_neighbourhood(key: str, method: str) -> tuple[int, float]:
    """Draws the seed and the size of a neighbourhood, of one of `NEIGHBOURHOODS`."""
    first, second = st.columns(2)
    size = choose_number(
        *(first.slider, f"embeddings.{SIZES[method]}"),
        *(5.0, 60.0, NEIGHBOURHOODS[method]),
        key=f"{key}_{SIZES[method]}",
        step=5.0,
        format="%g",
    )
    return choose_seed(key, second), size


def choose_seed(key: str, box: Any = st, **arguments: Any) -> int:
    """Draws the seed, from which all that is drawn at random follows."""
    of = (box.number_input, "embeddings.seed", 0, 9999, 0)
    return choose_number(*of, key=f"{key}_seed", **arguments)
