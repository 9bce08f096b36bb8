"""Rows of a table: read whole, mended before a training, corrected after one."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.engine.finetune_tasks import mend_table, report_rows
from bertviz_core.errors import BertVizError
from bertviz_core.numbers import number_text
from bertviz_core.training.finetune.checks import DataRow, Finding
from bertviz_core.training.finetune.evaluation import RegressionReport, Report
from bertviz_core.training.finetune.request import DataChoice, RunOutcome, TableSource
from bertviz_core.training.finetune.visitor_tables import (
    PAGE_ROWS,
    Mending,
    Wanted,
    rows_to_mend,
    table_path,
    tables_before,
)
from pages.fine_tune.state import FineTuneState, fields_of, go_to, remember, table_name
from pages.fine_tune.widgets import share_text, text_columns
from pages.shared.answers import ask
from pages.shared.choices import choose_here
from pages.shared.engine import client
from pages.shared.errors import show_error, shown_to_user
from pages.shared.export import show_table
from pages.shared.file_download import file_link
from pages.shared.language import plain, t, title_of
from pages.shared.panel import button
from pages.shared.visitor import hold, owner


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
    show_error(st.session_state.pop(_PROBLEM, None))
    st.markdown(t("results.relabel_intro"))
    rows, said, caption = _rows_of(outcome, report, order)
    changes = edit_rows(
        rows,
        None if isinstance(report, RegressionReport) else report.labels,
        said,
        key=f"ft_relabel_{outcome.run_id}",
        alt=plain("results.relabel_alt"),
    )
    st.caption(caption)
    offer_changes(
        "results.relabel_take",
        "ft_relabel_take",
        "model_training",
        correct,
        status.request.data,
        changes,
        help=t("results.relabel_take_help"),
    )


def show_rows(
    outcome: RunOutcome, report: Report, indices: np.ndarray, name: str
) -> None:
    """Draws rows in the given order, with their texts.

    `indices` are those of the report, int `[M]`.
    """
    rows, said, caption = _rows_of(outcome, report, indices)
    is_number = isinstance(report, RegressionReport)
    columns = {
        "results.row": [row.row for row in rows],
        **text_columns(rows),
        f"results.true_{'number' if is_number else 'class'}": [
            float(row.label) if is_number else row.label for row in rows
        ],
        **said,
    }
    show_table(columns, caption, f"ft_eval_{name}", caption)


def _rows_of(
    outcome: RunOutcome, report: Report, indices: np.ndarray
) -> tuple[tuple[DataRow, ...], dict[str, list[Any]], str]:
    """The first rows of some, columns of what the model said of them, how many.

    `indices` are those of the report, int `[M]`; columns are by the keys of their
    titles.
    """
    shown = indices[:_MOST_ROWS]
    rows = ask(report_rows)(outcome.run_id, tuple(shown.tolist()))
    said: dict[str, list[Any]]
    if isinstance(report, RegressionReport):
        numbers = {"said_number": report.predicted, "residual": report.residuals}
        said = {
            name: [float(number_text(value)) for value in values[shown]]
            for name, values in numbers.items()
        }
    else:
        sure = report.probabilities.max(axis=1)[shown]
        said = {
            "said_class": [report.labels[int(i)] for i in report.predicted[shown]],
            "sure": [share_text(one) for one in sure],
        }
    columns = {f"results.{name}": cells for name, cells in said.items()}
    counts = {"shown": len(rows), "count": len(indices)}
    return rows, columns, t("results.rows_shown", **counts)


def correct(data: DataChoice, changes: Mending) -> None:
    """Makes a corrected table and opens the training step with it. A callback."""
    columns, other = data.columns, data.validation
    source = other or data.source  # where the test rows are of
    mended = _mended(source, columns.label, changes)
    if mended is None:
        return
    prefix = "validation_" if other else ""
    remember(run_id="", **fields_of(mended, columns, prefix))
    go_to("train")


def _mended(source: TableSource, column: str, changes: Mending) -> TableSource | None:
    """The table with changes; `None` where it cannot be, and the page says why."""
    try:
        return client().ask(mend_table)(source, column, changes, owner())
    except BertVizError as error:
        st.session_state[_PROBLEM] = error
        return None


# Keys of the session: what could not be mended; whether the panel is open; its rows.
_PROBLEM, _IS_OPEN = "ft_mend_problem", "ft_mend_is_open"
_SHOWN, _PAGE = "ft_mend_shown", "ft_mend_page"
# Columns that can be changed, by the keys of their titles.
LEAVE_OUT, LABEL = "results.leave_out", "results.label"
_MOST_ROWS = 50  # that a model was tested on


def show_mending(state: FineTuneState) -> None:
    """Draws the table to be mended; for a choice of columns that exist."""
    panel = st.expander(
        t("fine_tune.mend_title"),
        # A panel whose name is in another language is another one.
        expanded=st.session_state.get(_IS_OPEN, False),
        icon=":material/edit:",
        key="ft_mend",
        on_change="rerun",
    )
    st.session_state[_IS_OPEN] = panel.open
    before = tables_before(state.table)
    hold("fine_tune_mending", [source.table for source in before])
    show_error(st.session_state.pop(_PROBLEM, None))
    if panel.open:
        with panel, shown_to_user(stop=False):
            _show_rows(state)
    if before:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(t("fine_tune.mended", count=len(before)))
            label = t("fine_tune.mend_undo")
            button(label, "ft_mend_undo", "undo", _take, state, before[0])
            file_link(
                "fine_tune.mend_download",
                table_path(state.table),
                "mended.csv",
                "ft_mend_download",
                "download",
            )


def _show_rows(state: FineTuneState) -> None:
    columns, source = state.columns, state.source
    if columns is None or source is None:
        return
    st.markdown(t("fine_tune.mend_explained"))
    labels = ask(rows_to_mend)(source, columns, Wanted(rows=())).labels
    rows_box, page_box = st.columns([3, 1])
    with rows_box:
        wanted = _choose_rows(state.check.findings if state.check else (), labels)
    found = ask(rows_to_mend)(source, columns, wanted)
    pages = math.ceil(found.num_rows / PAGE_ROWS)
    if pages > 1:
        label = t("fine_tune.mend_page", count=pages)
        page_box.number_input(label, 1, pages, key=_PAGE)
    if not found.rows:
        st.info(t("fine_tune.mend_nothing"), icon=":material/check:")
    else:
        changes = edit_rows(
            found.rows,
            None if columns.is_regression else found.labels,
            key=f"ft_mend_{state.table}_{hash(wanted)}",
            alt=plain("fine_tune.mend_alt"),
        )
        button_of = ("fine_tune.mend_take", "ft_mend_take", "check")
        offer_changes(*button_of, _mend, state, changes)
        # One text whole, as cells are cut.
        texts = {row.row: row for row in found.rows}
        chosen = st.selectbox(
            t("fine_tune.mend_read"),
            list(texts),
            index=None,
            key="ft_mend_read",
            placeholder=plain("fine_tune.mend_choose"),
        )
        if chosen is not None:
            with st.container(border=True):
                row = texts[chosen]
                st.text("\n\n".join(filter(None, (row.text, row.pair))))
    _rename_label(state, labels)


def _choose_rows(findings: tuple[Finding, ...], labels: tuple[str, ...]) -> Wanted:
    """Draws which rows to show: all, those of a finding, or those with a label."""
    shown = {
        "all": (plain("fine_tune.mend_all"), Wanted()),
        "left_out": (plain("fine_tune.mend_left_out"), Wanted(is_left_out=True)),
    }
    for number, finding in enumerate(findings):
        if finding.rows:
            _, places = finding.message
            name = plain(f"fine_tune.mend_of_{finding.kind}", **places)
            shown[f"finding {number}"] = (name, Wanted(rows=finding.rows))
    for label in labels:
        said = label or plain("fine_tune.mend_none")
        name = plain("fine_tune.mend_of_label", label=said)
        shown[f"label {label}"] = (name, Wanted(label=label))
    chosen = choose_here(
        st.selectbox,
        "fine_tune.mend_rows",
        list(shown),
        key=_SHOWN,
        format_func=lambda key: shown[key][0],
        on_change=st.session_state.pop,
        args=(_PAGE, None),
    )
    page = int(st.session_state.get(_PAGE, 1)) - 1
    return dataclasses.replace(shown[chosen][1], page=page)


def offer_changes(
    label: str,
    key: str,
    icon: str,
    act: Callable[..., None],
    target: DataChoice | FineTuneState,
    changes: Mending,
    **options: Any,
) -> None:
    """Draws the button that applies changes; its label says how many there are."""
    count = len(changes.labels) + len(changes.dropped)
    label = t(label, count=count)
    button(label, key, icon, act, target, changes, disabled=not count, **options)


def edit_rows(
    rows: tuple[DataRow, ...],
    labels: Sequence[str] | None,
    more: Mapping[str, list[Any]] | None = None,
    *,
    key: str,
    alt: str,
) -> Mending:
    """Draws rows that can get another label, or be left out; returns what was changed.

    `labels` is `None` where one is a number to be typed; `more` are columns by the keys
    of their titles.
    """
    table: dict[str, list[Any]] = {
        LEAVE_OUT: [False] * len(rows),
        "results.row": [row.row for row in rows],
        LABEL: [row.label for row in rows],
        **(more or {}),
        **text_columns(rows),
    }
    kinds = st.column_config
    config: dict[str, Any] = {name: title_of(name) for name in table}
    config[LEAVE_OUT] = kinds.CheckboxColumn(config[LEAVE_OUT])
    config[LABEL] = (
        kinds.TextColumn(config[LABEL])
        if labels is None
        else kinds.SelectboxColumn(config[LABEL], options=labels)
    )
    st.data_editor(
        table,
        key=key,
        hide_index=True,
        disabled=[name for name in table if name not in (LEAVE_OUT, LABEL)],
        column_config=config,
        alt=alt,
    )
    return mending_of(st.session_state[key]["edited_rows"], rows)


def mending_of(
    edited: Mapping[int, Mapping[str, Any]], rows: tuple[DataRow, ...]
) -> Mending:
    """What was changed in the rows that are shown.

    `edited` has new cells by column, by place of the row.
    """
    labels, dropped = [], []
    for place, cells in sorted(edited.items()):
        row = rows[place]
        label = str(cells.get(LABEL) or "").strip()
        if cells.get(LEAVE_OUT):
            dropped.append(row.row)
        elif LABEL in cells and label != row.label:
            labels.append((row.row, label))
    return Mending(labels=tuple(labels), dropped=tuple(dropped))


def _rename_label(state: FineTuneState, labels: tuple[str, ...]) -> None:
    """Draws the means to write a label otherwise in all rows, as another's."""
    names = [label for label in labels if label]
    old_box, new_box = st.columns(2)
    old = old_box.selectbox(
        t("fine_tune.mend_rename"),
        names,
        index=None,
        key="ft_mend_old",
        placeholder=plain("fine_tune.mend_choose"),
    )
    new = new_box.selectbox(
        t("fine_tune.mend_rename_to"),
        [name for name in names if name != old],
        index=None,
        key="ft_mend_new",
        accept_new_options=True,
        placeholder=plain("fine_tune.mend_choose_or_type"),
        help=t("fine_tune.mend_rename_help"),
    )
    changes = Mending(renamed=((str(old), str(new).strip()),))
    button(
        t("fine_tune.mend_rename_all"),
        "ft_mend_rename",
        "merge",
        _mend,
        state,
        changes,
        disabled=not (old and new and str(new).strip()),
    )


def _mend(state: FineTuneState, changes: Mending) -> None:
    """Callback: the page is drawn of the mended table."""
    columns, source = state.columns, state.source
    if columns is None or source is None:
        return
    mended = _mended(source, columns.label, changes)
    if mended is None:
        return
    for key in ("ft_mend_old", "ft_mend_new"):
        st.session_state.pop(key, None)
    _take(state, mended)


def _take(state: FineTuneState, source: TableSource) -> None:
    """Callback: goes on with another state of the same table."""
    remember(name=table_name(state), **fields_of(source, state.columns))
