"""What can be read off each layer, and where rows lie, before and after training."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.engine.finetune_tasks import validation_rows
from bertviz_core.engine.finetuned_tasks import compare_layers
from bertviz_core.figures.before_after import (
    ChangeWords,
    class_points_figure,
    layer_scores_figure,
    number_points_figure,
)
from bertviz_core.finetune.finetuned_results import LayerComparison
from bertviz_core.finetune.outcome import RunOutcome
from pages.shared.answers import ask
from pages.shared.choices import choose_named
from pages.shared.export import show_figure
from pages.shared.jobs import ask_job, is_short
from pages.shared.language import plain, t, words_of

READINGS = ("cls", "mean")
_USUAL_ROWS, _USUAL_TOKENS = 1200, 40  # of both models together
_BEFORE, _AFTER = 0, 1


def show_probes(outcome: RunOutcome) -> None:
    """Draws how well a linear probe does on each layer."""
    found = _ask(outcome)
    if found is None:
        return
    last = found.scores[:, -1]
    name = "probe_r2" if found.is_regression else "probe_accuracy"
    show_figure(
        layer_scores_figure(
            found.scores,
            found.score_intervals,
            None if found.is_regression else found.least,
            plain(f"fine_tune_results.{name}"),
            words_of(ChangeWords, "fine_tune_results"),
        ),
        name="ft_compare_probes",
        description=t(
            "fine_tune_results.probes_described",
            before=float(last[_BEFORE]),
            after=float(last[_AFTER]),
            fitted=found.num_fitted,
            judged=len(found.rows),
        ),
        columns=_probe_columns(found),
    )
    if not np.isnan(found.separations).all():
        _show_separations(found)


def _show_separations(found: LayerComparison) -> None:
    st.markdown(t("fine_tune_results.separation_intro"))
    ends = np.nan_to_num(found.separations[:, -1])
    show_figure(
        layer_scores_figure(
            found.separations,
            np.full((*found.separations.shape, 2), np.nan),
            found.least,
            plain("fine_tune_results.separation"),
            words_of(ChangeWords, "fine_tune_results"),
        ),
        name="ft_compare_separations",
        description=t(
            "fine_tune_results.separation_described",
            before=float(ends[_BEFORE]),
            after=float(ends[_AFTER]),
        ),
        columns=_probe_columns(found),
    )


def show_points(outcome: RunOutcome) -> None:
    """Draws the rows at one layer, before and after, on the same axes."""
    found = _ask(outcome)
    if found is None:
        return
    num_states = found.scores.shape[1]
    layer = st.select_slider(
        t("fine_tune_results.figure_layer"),
        range(num_states),
        num_states - 1,
        format_func=_state_name,
        key=f"ft_compare_layer_{num_states}",
        help=t("fine_tune_results.layer_help"),
    )
    rows = ask(validation_rows)(outcome.run_id, tuple(found.rows.tolist()))
    hints = [row.text for row in rows]
    limits = np.stack(
        [found.coordinates.min(axis=(0, 1, 2)), found.coordinates.max(axis=(0, 1, 2))],
        axis=1,
    )
    for box, turn, name in zip(
        st.columns(2), (_BEFORE, _AFTER), ("before", "after"), strict=True
    ):
        with box:
            st.markdown(f"**{t(f'fine_tune_results.figure_{name}')}**")
            _draw_points(found, turn, layer or 0, limits, hints, name)
    st.caption(t("fine_tune_results.same_axes"))


def _draw_points(
    found: LayerComparison,
    turn: int,
    layer: int,
    limits: np.ndarray,
    hints: list[str],
    name: str,
) -> None:
    points = found.coordinates[turn, layer]
    words = words_of(ChangeWords, "fine_tune_results")
    if found.is_regression:
        figure = number_points_figure(points, limits, found.targets, hints, words)
        labels = [f"{target:.6g}" for target in found.targets.tolist()]
    else:
        figure = class_points_figure(
            points, limits, found.targets, found.labels, hints, words
        )
        labels = [found.labels[int(target)] for target in found.targets]
    separation = found.separations[turn, layer]
    key = "points_described" if np.isnan(separation) else "points_separation"
    show_figure(
        figure,
        name=f"ft_compare_points_{name}",
        description=t(
            f"fine_tune_results.{key}",
            count=len(points),
            state=_state_name(layer),
            explained=float(found.explained[turn, layer]),
            separation=float(np.nan_to_num(separation)),
        ),
        columns={
            plain("fine_tune_results.text"): hints,
            plain("fine_tune_results.label"): labels,
            "x": points[:, 0].tolist(),
            "y": points[:, 1].tolist(),
        },
    )


def _ask(outcome: RunOutcome) -> LayerComparison | None:
    reading = choose_named(
        "fine_tune_results.reading", READINGS, "reading", key="ft_compare_reading"
    )
    return ask_job(
        "ft_compare_layers",
        t("fine_tune_results.compare_rows"),
        ask(compare_layers).about(outcome.run_id, reading),
        at_once=is_short(outcome.model_id, _USUAL_ROWS, _USUAL_TOKENS),
    )


def _state_name(layer: int) -> str:
    if layer == 0:
        return plain("fine_tune_results.figure_embeddings")
    return plain("fine_tune_results.layer_number", number=layer)


def _probe_columns(found: LayerComparison) -> dict[str, list[Any]]:
    states = range(found.scores.shape[1])
    columns: dict[str, list[Any]] = {
        plain("fine_tune_results.figure_layer"): [_state_name(i) for i in states]
    }
    kinds = {"probe": found.scores, "separation": found.separations}
    for turn, name in ((_BEFORE, "before"), (_AFTER, "after")):
        when = plain(f"fine_tune_results.figure_{name}")
        for kind, values in kinds.items():
            column = plain(f"fine_tune_results.{kind}_when", when=when)
            columns[column] = values[turn].tolist()
    return columns
