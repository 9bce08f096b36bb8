"""What the model says before something was changed, and after."""

from __future__ import annotations

import streamlit as st

from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.experiments.cause_results import (
    Prediction,
    SparsePrediction,
    SwitchedPrediction,
)
from bertviz_core.explorer import Explorer
from bertviz_core.figures.effect_bars import effect_bars_figure
from bertviz_core.figures.masked_word import percent
from pages.shared.answers import ask
from pages.shared.code import Program
from pages.shared.export import show_figure
from pages.shared.language import plain, t
from pages.shared.markdown import Markdown, escape
from pages.shared.watched_answer import Watched, show_numbers


def show_before_and_after(
    found: SwitchedPrediction | SparsePrediction,
    model: str,
    watched: Watched,
    name: str,
    code: Program | None = None,
) -> None:
    """Draws a prediction twice, the difference, and the likeliest answers of both."""
    _show_watched(found.before, found.after, watched.name)
    every_name = answer_names(model, watched)
    names = [every_name[index] for index in found.answers.ids.tolist()]
    value = "table_number" if watched.is_number else "table_probability"
    told = "number" if watched.is_number else "answers"
    before, after = found.answers.values
    show_figure(
        effect_bars_figure(
            names,
            after,
            before,
            title=plain(f"attention.{value}"),
            measured_name=plain("attention.table_after"),
            estimated_name=plain("attention.table_before"),
        ),
        name=name,
        description=t(f"attention.{told}_described", count=len(names)),
        columns={
            # A row for each answer before, then for each after.
            plain("attention.table_when"): [
                plain(f"attention.table_{when}")
                for when in ("before", "after")
                for _ in names
            ],
            plain("attention.table_answer"): names * 2,
            plain("attention.table_rank"): found.answers.ranks.ravel().tolist(),
            plain(f"attention.{value}"): found.answers.values.ravel().tolist(),
        },
        code=code,
    )


def _show_watched(before: Prediction, after: Prediction, name: str) -> None:
    word = Markdown(escape(name, 40))
    if before.is_number:
        titles = (t(f"attention.{when}", word=word) for when in ("before", "after"))
        show_numbers(before, after, (*titles, t("attention.delta")))
        return
    boxes = st.columns(3)
    delta = after.probability - before.probability
    boxes[0].metric(t("attention.before", word=word), percent(before.probability))
    boxes[1].metric(t("attention.after", word=word), percent(after.probability))
    boxes[2].metric(
        t("attention.delta"),
        t("attention.points", value=100 * delta),
        t("attention.rank_from_to", before=before.rank, after=after.rank),
        delta_color="off",
        delta_arrow="off",
    )


def answer_names(model: str, watched: Watched) -> tuple[str, ...]:
    """What the answers of the target's head are called, by index."""
    if watched.target.head == "mlm":
        return ask(vocabulary)(model)
    if watched.target.head == "nsp":
        return plain("attention.is_next"), plain("attention.is_random")
    return ask(Explorer.info)(model).labels
