"""Step 1: a table, how it is read, and which column is what."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import streamlit as st

from bertviz_core.engine.finetune_tasks import read_table
from bertviz_core.errors import BertVizError, DatasetError, ValidationFileError
from bertviz_core.finetune.data_check import DataCheck
from bertviz_core.finetune.notes import Note
from bertviz_core.finetune.request import SAMPLES, TableSource
from pages.fine_tune.column_roles import choose_roles
from pages.fine_tune.layout import show_layout, show_preview
from pages.fine_tune.leases import REFUSED
from pages.fine_tune.state import (
    FineTuneState,
    choose_table,
    layout_of,
    remember,
)
from pages.fine_tune.steps import offer_step
from pages.fine_tune.uploading import (
    MAX_MEGABYTES,
    forget_own,
    note_refused,
    upload_table,
)
from pages.fine_tune.wording import lease, say, show_notes, show_warnings
from pages.shared.answers import ask
from pages.shared.errors import shown_to_user
from pages.shared.language import plain, t
from pages.shared.models import choose, known_models, language_of

_BEFORE = "ft_table_before"
_MOST_OFFERED = 3  # models


def show(state: FineTuneState) -> None:
    """Draws this step."""
    st.header(t("fine_tune.data_title"), anchor=False)
    st.markdown(t("fine_tune.data_intro"))
    _offer_tables(state)
    if state.source is None:
        st.info(t("fine_tune.no_table"), icon=":material/table:")
        return
    st.subheader(t("fine_tune.chosen_table", name=table_name(state)), anchor=False)
    if state.view is None:
        if isinstance(state.problem, DatasetError):  # else it may be as good as ever
            note_refused(state.table, is_refused=True)
        _show_problem(state)
        show_layout(state.source, None, "field", take=_take_layout)
        _offer_before()
        return
    # It may have been read wrongly before.
    note_refused(state.table, is_refused=False)
    show_preview(state.view)
    show_layout(state.source, state.view, "field", take=_take_layout)
    st.subheader(t("fine_tune.columns_title"), anchor=False)
    choose_roles(state, state.view)
    _choose_validation(state)
    _show_problem(state)
    if state.check is not None:
        st.success(
            t(
                "fine_tune.data_ready",
                count=state.check.num_rows,
                train=state.check.num_train,
                validation=state.check.num_validation,
            ),
            icon=":material/check_circle:",
        )
        show_left_out(state, state.check)
        _offer_other_model(state.model, state.check)
        offer_step("check", "data")


def table_name(state: FineTuneState) -> str:
    """What to call the table of the state."""
    for language, table in SAMPLES.items():
        if table == state.table:
            return plain(f"fine_tune.sample_{language}")
    return state.name or plain("fine_tune.your_table")


def validation_name(state: FineTuneState) -> str:
    """What to call the table to judge by."""
    return state.validation_name or plain("fine_tune.your_table")


def show_left_out(state: FineTuneState, check: DataCheck) -> None:
    """Draws which rows were left out and why, table by table."""
    _show_told(check.notes, check.warnings)
    if check.validation_notes:
        name = validation_name(state)
        st.markdown(t("fine_tune.left_out_of_validation", name=name))
        _show_told(check.validation_notes, check.warnings)


def _show_told(notes: Sequence[Note], warnings: Sequence[Note]) -> None:
    show_warnings([note for note in notes if note in warnings])
    show_notes([note for note in notes if note not in warnings])


def _offer_tables(state: FineTuneState) -> None:
    own, samples = st.columns(2, border=True)
    with samples:
        st.markdown(t("fine_tune.samples_explained"))
        for language, table in SAMPLES.items():
            is_chosen = table == state.table
            st.button(
                t(f"fine_tune.take_sample_{language}"),
                key=f"ft_sample_{language}",
                icon=":material/check:" if is_chosen else ":material/table:",
                help=t(f"fine_tune.sample_{language}_help"),
                on_click=_choose,
                args=(table, ""),
                width="stretch",
            )
    with own:
        said = t("fine_tune.upload_explained", limit=MAX_MEGABYTES, time=lease())
        st.markdown(said)
        found = upload_table("table", t("fine_tune.upload"))
    if found is not None:
        _choose(*found)
        st.rerun()


def _choose(table: str, name: str) -> None:
    before = remember()
    if before.validation and before.validation != before.table:
        # The way back leads to the table alone.
        forget_own(before.validation)
    if before.table and before.table in st.session_state.get(REFUSED, ()):
        # Nobody will come back to it, so it need not lie here until its lease ends.
        forget_own(before.table)
    elif before.table and before.table != table:
        st.session_state[_BEFORE] = (before.table, before.name)
    choose_table(table, name)


def _choose_validation(state: FineTuneState) -> None:
    title, source = t("fine_tune.validation_title"), state.validation_source
    if source is not None:
        with st.container(border=True):
            st.markdown(f"**{title}**")
            _show_validation(state, source)
        return
    with st.expander(title):
        st.markdown(t("fine_tune.validation_explained"))
        found = upload_table("validation", t("fine_tune.validation_upload"))
        if found is not None:
            remember(validation=found[0], validation_name=found[1])
            st.rerun()


def _show_validation(state: FineTuneState, source: TableSource) -> None:
    st.markdown(t("fine_tune.validation_chosen", name=validation_name(state)))
    view = None
    # Why it cannot be read is the problem that the page shows anyway.
    try:
        view = ask(read_table)(source)
        note_refused(source.table, is_refused=False)
        show_preview(view)
    except DatasetError:
        note_refused(source.table, is_refused=True)
    except BertVizError:
        pass  # it may be as good as ever
    show_layout(
        source,
        view,
        "validation_file",
        take=functools.partial(_take_layout, prefix="validation_"),
        headers=("yes", "no"),
    )
    st.button(
        t("fine_tune.validation_remove"),
        key="ft_validation_remove",
        icon=":material/close:",
        on_click=_drop_validation,
        args=(state.validation,),
    )


def _offer_other_model(model: str, check: DataCheck) -> None:
    """Says that the model cannot read the texts, and which models might."""
    finding = check.finding("unknown")
    if finding is None or finding.severity != "warning":
        return
    st.warning(say(finding.message), icon=":material/translate:")
    entries = known_models()
    language = language_of(model)
    others = [key for key, entry in entries.items() if entry.language != language]
    if not others:
        st.caption(t("fine_tune.no_other_model"))
        return
    with st.container(horizontal=True):
        for number, other in enumerate(others[:_MOST_OFFERED]):
            st.button(
                t("app.use_default", model=other),
                key=f"ft_model_{number}",
                icon=":material/swap_horiz:",
                on_click=choose,
                args=(other,),
            )


def _take_layout(source: TableSource, prefix: str = "") -> None:
    remember(**layout_of(source, prefix))


def _drop_validation(table: str) -> None:
    # Nobody will come back to it, so it need not lie here until its lease ends.
    forget_own(table)
    nothing = layout_of(TableSource(""), "validation_")
    remember(validation="", validation_name="", **nothing)


def _show_problem(state: FineTuneState) -> None:
    if isinstance(state.problem, ValidationFileError):
        name = validation_name(state)
        st.markdown(t("fine_tune.problem_of_validation", name=name))
    with shown_to_user(stop=False):
        if state.problem is not None:
            raise state.problem


def _offer_before() -> None:
    before = st.session_state.get(_BEFORE)
    if before is None:
        return
    st.button(
        t("fine_tune.back_to_table"),
        key="ft_table_back",
        icon=":material/undo:",
        on_click=_choose,
        args=before,
    )
