"""Rows that a model got wrong: likely label errors, to be corrected and trained on."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.engine.finetune_tasks import mend_table, report_rows
from bertviz_core.errors import BertVizError
from bertviz_core.finetune.checks import DataRow
from bertviz_core.finetune.evaluation import RegressionReport, Report
from bertviz_core.finetune.mending import Mending
from bertviz_core.finetune.outcome import RunOutcome
from bertviz_core.finetune.request import DataChoice
from bertviz_core.numbers import number_text
from pages.fine_tune.mend_rows import edit_rows
from pages.fine_tune.result_rows import share_text, show_rows
from pages.fine_tune.state import go_to, layout_of, remember
from pages.fine_tune.widgets import button
from pages.shared.answers import ask
from pages.shared.engine import client
from pages.shared.errors import shown_to_user
from pages.shared.language import plain, t
from pages.shared.visitor import owner

_MOST = 50
_PROBLEM = "ft_relabel_problem"


def show_rows_to_correct(
    outcome: RunOutcome, report: Report, order: np.ndarray, name: str
) -> None:
    """Draws rows in an order, and takes other labels for them.

    `order` are indices of the report, int `[M]`; who reads by a link sees the rows.
    """
    status = client().trainings.status(outcome.run_id)
    if not status.is_own:
        show_rows(outcome, report, order, name)
        return
    with shown_to_user(stop=False):
        if (problem := st.session_state.pop(_PROBLEM, None)) is not None:
            raise problem
    st.markdown(t("fine_tune_results.relabel_intro"))
    chosen = order[:_MOST]
    rows = _labelled(outcome, report, chosen)
    table = _table(report, rows, chosen)
    names = {key: plain(f"fine_tune_results.relabel_{key}") for key in table}
    changes = edit_rows(
        table,
        names,
        rows,
        None if isinstance(report, RegressionReport) else report.labels,
        key=f"ft_relabel_{outcome.run_id}",
        alt=plain("fine_tune_results.relabel_alt"),
    )
    counts = {"shown": len(chosen), "count": len(order)}
    st.caption(t("fine_tune_results.rows_shown", **counts))
    count = len(changes.labels) + len(changes.dropped)
    button(
        t("fine_tune_results.relabel_take", count=count),
        "ft_relabel_take",
        "model_training",
        correct,
        status.request.data,
        changes,
        disabled=not count,
        help=t("fine_tune_results.relabel_take_help"),
    )


def correct(data: DataChoice, changes: Mending) -> None:
    """Makes a corrected table and opens the training step with it. A callback."""
    columns, other = data.columns, data.validation
    source = other or data.source  # where the test rows are of
    try:
        mended = client().ask(mend_table)(source, columns.label, changes, owner())
    except BertVizError as error:
        st.session_state[_PROBLEM] = error
        return
    prefix = "validation_" if other else ""
    remember(
        run_id="",
        text=columns.text,
        label=columns.label,
        pair=columns.pair or "-",
        **{"validation" if other else "table": mended.table},
        **layout_of(mended, prefix),
    )
    go_to("train")


def _labelled(
    outcome: RunOutcome, report: Report, chosen: np.ndarray
) -> tuple[DataRow, ...]:
    """The rows with their labels as the table has them."""
    rows = ask(report_rows)(outcome.run_id, tuple(chosen.tolist()))
    labels = [
        number_text(float(target))
        if isinstance(report, RegressionReport)
        else report.labels[int(target)]
        for target in report.targets[chosen]
    ]
    return tuple(
        dataclasses.replace(row, label=label)
        for row, label in zip(rows, labels, strict=True)
    )


def _table(
    report: Report, rows: tuple[DataRow, ...], chosen: np.ndarray
) -> dict[str, list[Any]]:
    table: dict[str, list[Any]] = {
        "leave_out": [False] * len(rows),
        "row": [row.row for row in rows],
        "label": [row.label for row in rows],
    }
    if isinstance(report, RegressionReport):
        table["said"] = [number_text(float(v)) for v in report.predicted[chosen]]
    else:
        table["said"] = [report.labels[int(i)] for i in report.predicted[chosen]]
        sure = report.probabilities.max(axis=1)[chosen]
        table["sure"] = [share_text(one) for one in sure]
    table["text"] = [row.text for row in rows]
    if rows and rows[0].pair is not None:
        table["pair"] = [row.pair for row in rows]
    return table
