"""One word in different sentences: do its vectors part by meaning, layer by layer?"""

from __future__ import annotations

import math

import numpy as np
import streamlit as st

from bertviz_core.analysis.geometry import are_alike
from bertviz_core.analysis.labelled_lines import LabelledLines
from bertviz_core.analysis.layer_maps import layer_maps
from bertviz_core.analysis.map_quality import MapQuality, map_quality
from bertviz_core.analysis.nearest_words import WordTable
from bertviz_core.experiments.embedding_results import WordSenses
from bertviz_core.experiments.sentence_states import word_senses
from bertviz_core.figures.embedding_positions import curves_by_place_figure
from bertviz_core.figures.point_map import FirstChoice, PointMap
from bertviz_core.figures.value_map import value_map_figure
from bertviz_core.snippets import embeddings as programs
from pages.ui.answers import ask
from pages.ui.code import show_code
from pages.ui.embeddings.files import MapFiles, offer_files
from pages.ui.embeddings.nearest_points import show_nearest_points
from pages.ui.embeddings.points import (
    groups_colour,
    layer_name,
    map_title,
    map_words,
    point_map,
)
from pages.ui.embeddings.quality import quality_columns, quality_sentence
from pages.ui.embeddings.sentence_box import edit_sentences, say_cut
from pages.ui.embeddings.similarity import MOST_IN_FILE, MOST_SHOWN
from pages.ui.embeddings.word_boxes import type_word
from pages.ui.errors import shown_to_user
from pages.ui.export import show_figure
from pages.ui.jobs import ask_job
from pages.ui.language import in_a_row, plain, t
from pages.ui.models import language_of

KEY = "embeddings_senses_map"
_WORD = {"en": "bank", "zh": "苹果"}
_FEWEST_ON_MAP = 3
_MOST_NEIGHBOURS = 10


@st.fragment
def explore_senses(model: str) -> None:
    """Draws the word, its sentences, the curves, the map and the cosines.

    Args:
        model: its id.
    """
    st.markdown(t("embeddings.senses_intro"))
    with shown_to_user():
        word = type_word("sense_word", language_of(model), _WORD)
        lines = edit_sentences(model, "senses")
        if lines is None:
            return
        if not word:
            st.info(t("embeddings.no_word"), icon=":material/edit:")
            return
        found: WordSenses | None = ask_job(
            "embeddings_senses",
            t("embeddings.follow_word"),
            ask(word_senses).about(
                model, lines.sentences, word, lines.labels, cut=True
            ),
            at_once=True,
        )
        if found is None:
            return
        say_cut(model, found.num_cut, len(lines.sentences))
        _show_curves(found)
        state = _show_map(model, lines, found)
        _show_cosines(found, state)
        show_code(
            programs.SENSES,
            name="embeddings_senses",
            model=model,
            sentences=lines.sentences,
            word=word,
            senses=lines.labels,
        )


def _show_curves(found: WordSenses) -> None:
    layers = np.arange(len(found.separations))
    columns = {
        "within": [one.within_cosine for one in found.separations],
        "between": [one.between_cosine for one in found.separations],
        "score": [one.score for one in found.separations],
    }
    named = {
        plain(f"embeddings.sense_{name}"): np.array(values, np.float64)
        for name, values in columns.items()
        if None not in values
    }
    if not named:
        is_alone = len(found.senses) == 1
        told = t("embeddings.one_occurrence") if is_alone else _described(found)
        st.info(told, icon=":material/info:")
        return
    show_figure(
        curves_by_place_figure(
            [(name, layers, values) for name, values in named.items()],
            x_title=plain("embeddings.layer_axis"),
            y_title="",
            bounds=(min(-0.05, *(values.min() for values in named.values())), 1.05),
        ),
        name="embeddings_sense_curves",
        description=_described(found),
        columns={
            plain("embeddings.layer_axis"): layers.tolist(),
            **{name: values.tolist() for name, values in named.items()},
        },
    )


def _described(found: WordSenses) -> str:
    told = _compared(found)
    unnamed = found.senses.count("")
    if unnamed == 0:
        return told
    return in_a_row([told, t("embeddings.senses_unnamed", count=unnamed)])


def _compared(found: WordSenses) -> str:
    last = found.separations[-1]
    if last.within_cosine is None or last.between_cosine is None:
        return t("embeddings.senses_not_compared", count=len(found.senses))
    if last.score is None or last.largest_share is None:
        return t(
            "embeddings.senses_not_scored",
            within=last.within_cosine,
            between=last.between_cosine,
        )
    scores = [one.score for one in found.separations if one.score is not None]
    best = int(np.argmax(scores))
    return t(
        "embeddings.senses_described",
        count=last.num_scored,
        score=last.score,
        base=last.largest_share,
        within=last.within_cosine,
        between=last.between_cosine,
        best=scores[best],
        layer=layer_name(best),
    )


def _show_map(model: str, lines: LabelledLines, found: WordSenses) -> int:
    num_points = found.states.shape[1]
    if num_points < _FEWEST_ON_MAP:
        st.info(t("embeddings.few_occurrences"), icon=":material/info:")
        return len(found.states) - 1
    maps = layer_maps(found.states, 2, "procrustes")
    none = plain("embeddings.no_group")
    qualities = [
        _quality(vectors, places)
        for vectors, places in zip(found.states, maps.coordinates, strict=True)
    ]
    shares = [
        math.nan if quality is None else float(share)
        for quality, share in zip(qualities, maps.explained, strict=True)
    ]
    groups = [sense or none for sense in found.senses]
    points = PointMap(
        labels=tuple(lines.sentences[i] for i in found.sentence_index),
        coordinates=maps.coordinates,
        colours=(groups_colour(plain("embeddings.sense"), groups),),
        words=map_words(),
        first=FirstChoice(state=len(found.states) - 1),
        state_names=tuple(layer_name(i) for i in range(len(maps.explained))),
        notes=tuple(
            quality_sentence(quality, share, seed=0, are_one=quality is None)
            for quality, share in zip(qualities, shares, strict=True)
        ),
        title=f"{map_title('senses', 'pca', model)} · {found.word}",
    )
    chosen = point_map(points, KEY)
    state = chosen.state
    if chosen.selected is not None:
        _show_nearest(found, points.labels, chosen.selected, state)
    worth = quality_columns(qualities[state], shares[state], seed=0)
    _offer_files(found, points, state, worth)
    return state


def _show_nearest(
    found: WordSenses, labels: tuple[str, ...], selected: int, state: int
) -> None:
    vectors = found.states[state]
    others = np.arange(len(vectors)) != selected
    near = WordTable(vectors).nearest(
        vectors[selected], _MOST_NEIGHBOURS, allowed=others
    )
    at = (selected, state, layer_name(state))
    show_nearest_points(KEY, labels, labels, at, near)


def _offer_files(
    found: WordSenses, points: PointMap, state: int, worth: dict[str, object]
) -> None:
    def collect() -> MapFiles:
        columns = {
            "sentence": list(points.labels),
            "sense": list(found.senses),
            "first_token_index": found.spans[:, 0].tolist(),
        }
        headers = (
            plain("embeddings.text"),
            plain("embeddings.sense"),
            plain("embeddings.first_token_index"),
        )
        return MapFiles(
            t("embeddings.layer_files_explained", layer=layer_name(state)),
            dict(zip(headers, columns.values(), strict=True)),
            columns,
            points.coordinates[state],
            worth,
            found.states.shape[2],
            lambda: found.states[state],
        )

    offer_files(KEY, collect)


def _quality(vectors: np.ndarray, places: np.ndarray) -> MapQuality | None:
    if are_alike(vectors):  # the word on the same place of every sentence
        return None
    neighbours = min(_MOST_NEIGHBOURS, (len(vectors) - 1) // 2)
    return map_quality(vectors, places, neighbours)


def _show_cosines(found: WordSenses, state: int) -> None:
    order = np.argsort(np.array(found.senses, object).astype(str), kind="stable")
    order = order[:MOST_IN_FILE]
    cosines = found.cosines[state][np.ix_(order, order)]
    names = [
        f"{found.senses[i]} {int(found.sentence_index[i]) + 1}".strip() for i in order
    ]
    count = min(len(order), MOST_SHOWN)
    title = plain("embeddings.sense_cosines", layer=layer_name(state))
    occurrence = plain("embeddings.occurrence")
    show_figure(
        value_map_figure(
            cosines[:count, :count],
            names[:count],
            names[:count],
            title=title,
            row_title=occurrence,
            column_title=occurrence,
            is_signed=False,
            digits=3,
            is_paired=True,
        ),
        name="embeddings_sense_cosines",
        description=t(
            "embeddings.sense_cosines_described",
            layer=layer_name(state),
            count=count,
            all=len(found.senses),
            file=len(names),
        ),
        columns={
            occurrence: names,
            **{f"{i + 1} {n}": cosines[:, i].tolist() for i, n in enumerate(names)},
        },
    )
