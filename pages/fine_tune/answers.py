"""What is true of this run of the page: the table, its rows, the training."""

from __future__ import annotations

from dataclasses import replace

from bertviz_core.engine.finetune_tasks import check_data, read_table
from bertviz_core.errors import BertVizError
from bertviz_core.finetune.columns import ColumnChoice, TableView, kind_of_column
from pages.fine_tune.state import FineTuneState
from pages.shared.answers import ask
from pages.shared.engine import client
from pages.shared.page_head import model_at_work


def look(state: FineTuneState) -> FineTuneState:
    """Finds out what can be done: the table, its columns, its rows, or the problem."""
    if state.source is None:
        return state
    try:
        with model_at_work():
            view = ask(read_table)(state.source)
            state = replace(state, view=view)
            state = replace(state, columns=choose_columns(view, state))
            if state.data is not None:
                state = replace(state, check=ask(check_data)(state.model, state.data))
    except BertVizError as error:
        return replace(state, problem=error)
    return state


def look_at_run(state: FineTuneState) -> FineTuneState:
    """Finds out how far the training is, or the problem."""
    if not state.run_id:
        return state
    try:
        return replace(state, status=client().trainings.status(state.run_id))
    except BertVizError as error:
        return replace(state, run_problem=error)


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
