"""What the engine said of a table before, and what is true of this run of the page."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import streamlit as st

from bertviz_core.engine import finetune_tasks
from bertviz_core.errors import BertVizError
from bertviz_core.finetune.column_choice import ColumnChoice
from bertviz_core.finetune.data_check import DataCheck, DataRow
from bertviz_core.finetune.label_kind import kind_of_column
from bertviz_core.finetune.request import DataChoice, TableSource
from bertviz_core.finetune.settings import FinetuneSettings
from bertviz_core.finetune.table_view import TableView
from pages.ui.engine import client, note_answer
from pages.ui.fine_tune.state import FineTuneState
from pages.ui.page_head import model_at_work

# The engine keeps a table while somebody asks for it: ask now and then.
TTL_SECONDS = 600
HASHED: dict[str | type[Any], Callable[[Any], Any]] = {
    TableSource: repr,
    DataChoice: repr,
    FinetuneSettings: repr,
}


@st.cache_resource(
    max_entries=32, ttl=TTL_SECONDS, show_spinner=False, hash_funcs=HASHED
)
def read_table(source: TableSource) -> TableView:
    """Reads a table and describes it.

    Raises:
        DatasetError: it is gone, or no table; the sentence says where.
    """
    return client().ask(finetune_tasks.read_table)(source)


@st.cache_resource(
    max_entries=32, ttl=TTL_SECONDS, show_spinner=False, hash_funcs=HASHED
)
def check_data(model: str, data: DataChoice) -> DataCheck:
    """Runs all checks of the rows that were chosen.

    Raises:
        DatasetError: these columns cannot be trained on; the sentence says why.
    """
    found = client().ask(finetune_tasks.check_data)(model, data)
    note_answer()
    return found


@st.cache_resource(
    max_entries=64, ttl=TTL_SECONDS, show_spinner=False, hash_funcs=HASHED
)
def data_rows(data: DataChoice, rows: tuple[int, ...]) -> tuple[DataRow, ...]:
    """Shows rows of a table by their numbers."""
    return client().ask(finetune_tasks.data_rows)(data, rows)


def look(state: FineTuneState) -> FineTuneState:
    """Finds out what can be done: the table, its columns, its rows.

    Returns:
        The same with `view`, `columns` and `check`, or with the problem.
    """
    if state.source is None:
        return state
    try:
        with model_at_work():
            view = read_table(state.source)
            state = dataclasses.replace(state, view=view)
            state = dataclasses.replace(state, columns=choose_columns(view, state))
            if state.data is not None:
                check = check_data(state.model, state.data)
                state = dataclasses.replace(state, check=check)
    except BertVizError as error:
        return dataclasses.replace(state, problem=error)
    return state


def look_at_run(state: FineTuneState) -> FineTuneState:
    """Finds out how far the training is.

    Returns:
        The same with `status`, or with the problem.
    """
    if not state.run_id:
        return state
    try:
        return dataclasses.replace(state, status=client().training(state.run_id))
    except BertVizError as error:
        return dataclasses.replace(state, run_problem=error)


def choose_columns(view: TableView, state: FineTuneState) -> ColumnChoice:
    """The columns that the visitor chose, and the guess for the others.

    Raises:
        DatasetError: there is no guess, and no choice that would do without.
    """
    text, label = (
        name if name in view.columns else "" for name in (state.text, state.label)
    )
    guess = view.guess
    if guess is None:
        if view.guess_problem is not None and not (text and label):
            raise view.guess_problem
        guess = ColumnChoice(text, label)
    text, label = text or guess.text, label or guess.label
    pair = guess.pair if guess.pair not in (text, label) else None
    if state.pair:
        pair = state.pair if state.pair in view.columns else None
    kind = kind_of_column(view.profiles, label, view.num_rows)
    is_regression = kind is not None and kind.is_regression
    if state.kind:
        is_regression = state.kind == "number"
    return ColumnChoice(text, label, pair, is_regression, guess.reasons)
