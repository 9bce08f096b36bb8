"""The quality of a map, in a sentence that goes with it and into its files."""

from __future__ import annotations

import math

import numpy as np
import streamlit as st

from bertviz_core.analysis.map_quality import MapQuality
from bertviz_core.experiments.map_results import SentenceMap
from pages.embeddings.figures import show_curves
from pages.embeddings.points import layer_name
from pages.embeddings.widgets import SIZES
from pages.shared.language import in_a_row, listed, plain, t


def quality_sentence(
    quality: MapQuality | None,
    explained: float | None,
    seed: int,
    method: str = "pca",
    neighbourhood: float | None = None,
    num_steps: int | None = None,
    start: str = "pca",
    are_one: bool = False,
) -> str:
    """Plain text: the share of variance, the neighbours kept, the seed.

    `quality` is `None` where there are too few points or `are_one`: they differ by
    rounding alone. `start` is "pca" or "before", the map of the layer before.
    """
    if are_one:
        return plain("embeddings.note_are_one")
    parts = []
    if method != "pca":
        parts += [
            plain(
                f"embeddings.note_{method}",
                size=neighbourhood,
                steps=num_steps,
                seed=seed,
            ),
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
                seed=seed,
            )
        )
        if is_whole and method == "pca":
            parts.append(plain("embeddings.note_no_chance"))
    return in_a_row(parts)


def quality_columns(
    quality: MapQuality | None,
    explained: float | None,
    seed: int,
    method: str = "pca",
    neighbourhood: float | None = None,
) -> dict[str, object]:
    """The same for the columns of a table, alike in every row; see there."""
    columns: dict[str, object] = {
        plain("embeddings.method"): plain(f"embeddings.method_{method}"),
        plain("embeddings.seed"): seed,
    }
    if method != "pca":
        columns[plain(f"embeddings.{SIZES[method]}")] = neighbourhood
    if explained is not None and not math.isnan(explained):
        columns[plain("embeddings.explained")] = explained
    if quality is not None:
        kept = plain("embeddings.neighbours_kept_of", k=quality.num_neighbours)
        columns[plain("embeddings.trustworthiness")] = quality.trustworthiness
        columns[kept] = quality.neighbours_kept
        columns[plain("embeddings.points_checked")] = quality.num_checked
    return columns


def layer_notes(found: SentenceMap) -> tuple[str, ...]:
    """A note for the map of each layer, plain text."""
    return tuple(
        quality_sentence(
            quality,
            float(found.explained[layer]),
            found.seed,
            found.method,
            found.neighbourhood,
            found.num_steps,
            start="before" if layer and not found.are_one[layer - 1] else "pca",
            are_one=found.are_one[layer],
        )
        for layer, quality in enumerate(found.qualities)
    )


def show_layer_quality(found: SentenceMap) -> None:
    """Draws a curve of each measure over the layers, with a gap where none is."""
    curves = {
        plain(f"embeddings.{name}"): np.array(
            [getattr(quality, name, math.nan) for quality in found.qualities]
        )
        for name in ("trustworthiness", "neighbours_kept")
    }
    curves[plain("embeddings.explained")] = found.explained
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
        name="embeddings_quality",
        description=in_a_row(told),
        bounds=(-0.02, 1.05),
    )
