"""Which column is the text, which the label, and what kind of label it is."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.finetune.column_choice import ColumnChoice
from bertviz_core.finetune.label_kind import kind_of_column
from bertviz_core.finetune.table_view import TableView
from pages.fine_tune.state import FineTuneState
from pages.fine_tune.state_widgets import choose_field
from pages.fine_tune.wording import say
from pages.shared.language import in_a_row, plain, t

_NO_PAIR = "-"


def choose_roles(state: FineTuneState, view: TableView) -> None:
    """Draws the lists of columns, with the reasons for what is guessed."""
    columns = state.columns
    text_box, pair_box, label_box, kind_box = st.columns(4)
    _choose_texts(state, view, text_box, pair_box)
    label = columns.label if columns else state.label
    choose_field(
        label_box.selectbox,
        t("fine_tune.label_column"),
        view.columns,
        label if label in view.columns else view.columns[-1],
        name="label",
        help=t("fine_tune.label_column_help"),
    )
    choose_field(
        kind_box.segmented_control,
        t("fine_tune.kind"),
        ("class", "number"),
        "number" if columns and columns.is_regression else "class",
        name="kind",
        required=True,
        say=lambda name: plain(f"fine_tune.kind_{name}"),
        help=t("fine_tune.kind_help"),
    )
    if columns is not None:
        _show_reasons(state, view, columns)


def _show_reasons(state: FineTuneState, view: TableView, columns: ColumnChoice) -> None:
    """Says why columns were guessed, and what a column of numbers is taken for."""
    said: list[str] = []
    is_guess = columns == view.guess
    if is_guess:
        said += [t("fine_tune.guessed"), *map(say, columns.reasons)]
    kind = kind_of_column(view.profiles, columns.label, view.num_rows)
    # Who chose the kind need not be told.
    if kind is not None and not state.kind and (is_guess or kind.is_open):
        said.append(say(kind.reason))
        if kind.is_open:
            other = "class" if kind.is_regression else "number"
            said.append(
                t(
                    "fine_tune.kind_change",
                    control=plain("fine_tune.kind"),
                    other=plain(f"fine_tune.kind_{other}"),
                )
            )
    if said:
        st.caption(in_a_row(said))


def _choose_texts(
    state: FineTuneState,
    view: TableView,
    text_box: DeltaGenerator,
    pair_box: DeltaGenerator,
) -> None:
    columns, names = state.columns, view.columns
    text = columns.text if columns else state.text
    choose_field(
        text_box.selectbox,
        t("fine_tune.text_column"),
        names,
        text if text in names else names[0],
        name="text",
        help=t("fine_tune.text_column_help"),
    )
    choose_field(
        pair_box.selectbox,
        t("fine_tune.pair_column"),
        (_NO_PAIR, *(name for name in names if name != _NO_PAIR)),
        (columns.pair if columns else None) or _NO_PAIR,
        name="pair",
        say=lambda name: plain("fine_tune.no_pair") if name == "-" else name,
        help=t("fine_tune.pair_column_help"),
    )
