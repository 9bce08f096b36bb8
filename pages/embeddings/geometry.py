"""Facts of geometry, measured: anisotropy, lengths, dimensions that stand out."""

from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.experiments.map_results import LayerFacts
from bertviz_core.experiments.sentence_maps import layer_facts
from bertviz_core.figures.bars import signed_bars_figure
from bertviz_core.snippets import embeddings as programs
from pages.embeddings.figures import choose_seed, layer_name
from pages.embeddings.sentence_box import edit_sentences, say_cut
from pages.shared.answers import ask, ask_job
from pages.shared.choices import choose_linked, choose_number
from pages.shared.export import show_curves, show_figure, show_table
from pages.shared.language import in_a_row, listed, plain, t
from pages.shared.panel import Program, panel, program

_NUM_DIMENSIONS = 12


@panel
def explore_geometry(model: str) -> None:
    """Draws the sentences, and what was measured on them."""
    lines = edit_sentences(model, "topics")
    boxes = st.columns(2)
    num_deviations = choose_number(
        boxes[0].slider, "embeddings.deviations", 2.0, 6.0, 3.0, step=0.5
    )
    seed = choose_seed("embeddings_geometry", boxes[1])
    if lines is None:
        return
    sentences = lines.sentences
    how: dict[str, Any] = {"num_deviations": num_deviations, "seed": seed}
    question = ask(layer_facts).about(model, sentences, "token", **how)
    place = "embeddings_geometry"
    found = ask_job(place, "embeddings.measure", question, at_once=True)
    if found is None:
        return
    say_cut(model, found.num_cut, found.num_sentences)
    _show_anisotropy(found)
    _show_lengths(found)
    code = program(programs.GEOMETRY, model, sentences=sentences, **how)
    _show_outliers(found, code)


def _show_anisotropy(found: LayerFacts) -> None:
    st.subheader(t("embeddings.anisotropy_title"), anchor=False)
    layer = int(np.argmax(found.mean_cosines))
    show_curves(
        {
            "embeddings.mean_cosine": found.mean_cosines,
            "embeddings.mean_cosine_without": found.mean_cosines_without,
            "embeddings.lower_quartile": found.pair_quartiles[:, 0],
            "embeddings.upper_quartile": found.pair_quartiles[:, 2],
        },
        "embeddings.layer_axis",
        name="embeddings_anisotropy",
        description=t(
            "embeddings.anisotropy_described",
            layer=layer_name(layer),
            value=float(found.mean_cosines[layer]),
            without=float(found.mean_cosines_without[layer]),
            tokens=found.num_tokens,
            sentences=found.num_sentences,
            pairs=found.num_pairs,
            seed=found.seed,
        ),
        bounds=(min(-0.05, float(found.pair_quartiles.min())), 1.05),
    )


def _show_lengths(found: LayerFacts) -> None:
    st.subheader(t("embeddings.lengths_title"), anchor=False)
    places = {"first": float(found.mean_norms[0]), "last": float(found.mean_norms[-1])}
    show_curves(
        {
            "embeddings.mean_length": found.mean_norms,
            "embeddings.length_5": found.norm_ranges[:, 0],
            "embeddings.length_95": found.norm_ranges[:, 1],
            "embeddings.mean_length_without": found.mean_norms_without,
        },
        "embeddings.layer_axis",
        name="embeddings_lengths",
        description=t("embeddings.lengths_described", **places),
    )


def _show_outliers(found: LayerFacts, code: Program) -> None:
    st.subheader(t("embeddings.outliers_title"), anchor=False)
    names = [layer_name(i) for i in range(len(found.outliers))]
    columns = {
        "embeddings.layer_axis": names,
        "embeddings.outlier_dimensions": [
            listed(str(index + 1) for index in dimensions) or "–"
            for dimensions in found.outliers
        ],
        "embeddings.mean_cosine": found.mean_cosines,
        "embeddings.mean_cosine_without": found.mean_cosines_without,
        "embeddings.same_neighbours": found.neighbours_kept,
    }
    places = {"deviations": found.num_deviations, "size": found.scores.shape[1]}
    said = [t("embeddings.outliers_explained", **places, k=found.num_neighbours)]
    if (checked := found.num_checked) < found.num_tokens:
        drawn = {"checked": checked, "count": found.num_tokens, "seed": found.seed}
        said.append(t("embeddings.outliers_some_checked", **drawn))
    told = t("embeddings.outliers_title")
    show_table(columns, told, "embeddings_outliers", in_a_row(said))
    layers = {str(layer): name for layer, name in enumerate(names)}
    label, key = "embeddings.layer_axis", "embeddings_geometry_layer"
    shown = choose_linked(st.selectbox, label, layers, [*layers][-1], key=key)
    _show_dimensions(found, int(shown), code)


def _show_dimensions(found: LayerFacts, layer: int, code: Program) -> None:
    parts = found.contributions[layer]
    order = np.argsort(-np.abs(parts), kind="stable")[:_NUM_DIMENSIONS]
    title = plain("embeddings.part_of_cosine")
    show_figure(
        signed_bars_figure(
            [str(index + 1) for index in order], parts[order], title, digits=4
        ),
        name="embeddings_dimensions",
        description=t(
            "embeddings.dimensions_described",
            layer=layer_name(layer),
            count=len(order),
            part=float(parts[order].sum()),
            total=float(found.mean_cosines[layer]),
        ),
        columns={
            "embeddings.dimension": (order + 1),
            title: parts[order],
            "embeddings.deviation": found.scores[layer][order],
        },
        code=code,
    )
