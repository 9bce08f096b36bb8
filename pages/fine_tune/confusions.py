"""Which class is taken for which: the matrix, and the rows of a cell."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.figures.evaluation_matrix import MatrixWords, confusion_figure
from bertviz_core.finetune.evaluation import ClassificationReport
from bertviz_core.finetune.outcome import RunOutcome
from pages.fine_tune.result_rows import show_rows
from pages.fine_tune.text_boxes import is_of_another
from pages.shared.choices import choose_linked, choose_named
from pages.shared.export import show_figure
from pages.shared.language import plain, t

_TRUE, _SAID = "ft_eval_true", "ft_eval_said"
_CLICKED = "ft_eval_matrix"
_UNITS = ("counts", "shares")


def show_confusions(outcome: RunOutcome, report: ClassificationReport) -> None:
    """Draws the matrix; a click on a cell, or two lists, choose whose rows to show."""
    unit = choose_named("fine_tune_results.unit", _UNITS, "unit", key="ft_eval_unit")
    words = MatrixWords(
        plain("fine_tune_results.true_class"),
        plain("fine_tune_results.said_class"),
        plain("fine_tune_results.rows"),
    )
    worst = _worst(report)
    described = t("fine_tune_results.matrix_no_mistakes")
    if worst is not None:
        described = t(
            "fine_tune_results.matrix_described",
            true=report.labels[worst[0]],
            said=report.labels[worst[1]],
            count=int(report.confusion[worst]),
        )
    show_figure(
        confusion_figure(report.confusion, report.labels, unit == "shares", words),
        name=_CLICKED,
        description=described,
        columns=_columns(report),
        on_select=_take_cell,
    )
    true, said = _choose_cell(outcome.run_id, report)
    indices = report.cell(true, said)
    sure = report.probabilities.max(axis=1)[indices]
    key = "cell_right" if true == said else "cell_wrong"
    st.markdown(
        t(
            f"fine_tune_results.{key}",
            true=report.labels[true],
            said=report.labels[said],
            count=len(indices),
        )
    )
    if len(indices):
        order = np.argsort(-sure, kind="stable")
        show_rows(outcome, report, indices[order], "cell")


def _choose_cell(run: str, report: ClassificationReport) -> tuple[int, int]:
    """The cell of the two lists; at first the commonest mistake."""
    first, is_stale = _worst(report) or (0, 0), is_of_another(_CLICKED, run)
    options = [str(index) for index in range(len(report.labels))]
    boxes = st.columns(2)
    chosen = []
    for box, key, name, start in zip(
        boxes, (_TRUE, _SAID), ("true_class", "said_class"), first, strict=True
    ):
        known = {*st.session_state, *st.query_params}
        if is_stale or key not in known:
            st.session_state[key] = str(start)
        answer = choose_linked(
            box.selectbox,
            t(f"fine_tune_results.{name}"),
            options,
            key=key,
            format_func=lambda option: report.labels[int(option)],
        )
        chosen.append(int(answer))
    return chosen[0], chosen[1]


def _take_cell() -> None:
    """Puts the cell that was clicked into the two lists. A callback."""
    clicked: Any = st.session_state.get(f"{_CLICKED}_figure")
    points = clicked.selection.points if clicked else []
    if points:
        true, said = points[0]["customdata"]
        st.session_state[_TRUE], st.session_state[_SAID] = str(true), str(said)


def _worst(report: ClassificationReport) -> tuple[int, int] | None:
    """The commonest mistake; `None` where there is none."""
    wrong = report.confusion - np.diag(np.diag(report.confusion))
    if not wrong.any():
        return None
    row, column = np.unravel_index(int(wrong.argmax()), wrong.shape)
    return int(row), int(column)


def _columns(report: ClassificationReport) -> dict[str, list[Any]]:
    """The matrix as a table, true classes in the rows."""
    corner = plain("fine_tune_results.true_class")
    table: dict[str, list[Any]] = {corner: list(report.labels)}
    for index, name in enumerate(report.labels):
        column = plain("fine_tune_results.said_as", label=name)
        table[column] = report.confusion[:, index].tolist()
    return table
