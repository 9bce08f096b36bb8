"""What the maps of all layers are worth: a note to each, and curves over them."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.experiments.map_results import SentenceMap
from bertviz_core.figures.embedding_positions import curves_by_place_figure
from pages.ui.embeddings.points import layer_name
from pages.ui.embeddings.quality import quality_sentence
from pages.ui.export import show_figure
from pages.ui.language import in_a_row, listed, plain, t


def layer_notes(found: SentenceMap) -> tuple[str, ...]:
    """A note for the map of each layer, plain text."""
    return tuple(
        quality_sentence(
            quality,
            float(found.explained[layer]),
            found.seed,
            found.perplexity,
            found.num_steps,
            start="before" if layer and not found.are_one[layer - 1] else "pca",
            are_one=found.are_one[layer],
        )
        for layer, quality in enumerate(found.qualities)
    )


def show_layer_quality(found: SentenceMap) -> None:
    """Draws a curve of each measure over the layers, with a gap where none is.

    Args:
        found: the map.
    """
    layers = np.arange(len(found.qualities))
    nothing = float("nan")
    curves = {
        "trustworthiness": [
            q.trustworthiness if q else nothing for q in found.qualities
        ],
        "neighbours_kept": [
            q.neighbours_kept if q else nothing for q in found.qualities
        ],
        "explained": found.explained.tolist(),
    }
    named = {
        plain(f"embeddings.{name}"): np.array(values)
        for name, values in curves.items()
        if not np.isnan(values).all()
    }
    if not named:
        return
    st.subheader(t("embeddings.quality_title"), anchor=False)
    show_figure(
        curves_by_place_figure(
            [(name, layers, values) for name, values in named.items()],
            x_title=plain("embeddings.layer_axis"),
            y_title="",
            bounds=(-0.02, 1.05),
        ),
        name="embeddings_quality",
        description=in_a_row([t("embeddings.quality_described"), _where_one(found)]),
        columns={
            plain("embeddings.layer_axis"): layers.tolist(),
            **{name: values.tolist() for name, values in named.items()},
        },
    )


def _where_one(found: SentenceMap) -> str:
    names = [layer_name(layer) for layer in np.flatnonzero(found.are_one).tolist()]
    if not names:
        return ""
    return t("embeddings.quality_of_one", layers=listed(names))
