"""The model on a whole file: choose it, choose its texts, take the answers away."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from bertviz_core.engine.finetune_tasks import read_table
from bertviz_core.engine.finetuned_tasks import predict_table
from bertviz_core.finetune.finetuned_results import TablePredictions
from bertviz_core.finetune.outcome import RunOutcome
from bertviz_core.finetune.request import TableSource
from bertviz_core.finetune.table_view import TableView
from pages.fine_tune.layout import show_layout
from pages.fine_tune.leases import TRY_TABLE
from pages.fine_tune.uploading import forget_own, upload_table
from pages.fine_tune.wording import show_warnings
from pages.shared.answers import ask
from pages.shared.errors import shown_to_user
from pages.shared.file_download import file_link
from pages.shared.jobs import ask_job
from pages.shared.language import plain, t

_SOURCE = "ft_try_table_source"


@dataclass(frozen=True)
class Classifier:
    """A model that says something of a text.

    Args:
        model_id: opens it.
        has_pairs: whether it is to read two texts at a time.
        max_tokens: what texts are cut to; 0 for what its own files say.
        text_column, pair_column: of the table that it learned from; "" where they
            are not known, or there is no second text.
        outcome: of its training, where that is still here.
    """

    model_id: str
    has_pairs: bool
    max_tokens: int = 0
    text_column: str = ""
    pair_column: str = ""
    outcome: RunOutcome | None = None


def predict_file(classifier: Classifier) -> None:
    """Draws the whole way from a file to the file with predictions."""
    st.markdown(t("fine_tune_results.table_intro"))
    with shown_to_user(stop=False):
        _upload()
        chosen: tuple[str, str] | None = st.session_state.get(TRY_TABLE)
        if chosen is None:
            return
        handle, name = chosen
        st.markdown(t("fine_tune_results.table_chosen", name=name))
        source = st.session_state.get(_SOURCE) or TableSource(handle)
        view = _read(source)
        if view is None:
            return
        text, pair = _choose_columns(view, classifier)
        found = ask_job(
            "ft_try_table",
            t("fine_tune_results.predict_all", count=view.num_rows),
            ask(predict_table).about(
                classifier.model_id,
                source=source,
                text_column=text,
                pair_column=pair,
                max_tokens=classifier.max_tokens,
            ),
        )
        if found is None:
            return
        if Path(found.path).is_file():
            _show_predictions(found, name)
        else:
            st.info(t("fine_tune_results.predictions_gone"), icon=":material/timer:")


def _upload() -> None:
    found = upload_table("try_table", t("fine_tune_results.table_upload"))
    if found is None:
        return
    before = st.session_state.get(TRY_TABLE)
    st.session_state[TRY_TABLE] = found
    st.session_state.pop(_SOURCE, None)
    if before is not None:
        forget_own(before[0])
    st.rerun()


def _read(source: TableSource) -> TableView | None:
    """Reads the file, says what is lost of it, and lets it be read differently."""
    view = None
    with shown_to_user(stop=False):
        view = ask(read_table)(source)
        show_warnings(view.warnings)
    show_layout(
        source,
        view,
        "try_table",
        take=lambda changed: st.session_state.update({_SOURCE: changed}),
    )
    return view


def _choose_columns(view: TableView, classifier: Classifier) -> tuple[str, str | None]:
    guess = view.guess.text if view.guess is not None else _longest(view)
    if classifier.text_column in view.columns:
        guess = classifier.text_column
    boxes = st.columns(2)
    text = boxes[0].selectbox(
        t("fine_tune_results.text_column"),
        view.columns,
        index=view.columns.index(guess),
        key=f"{TRY_TABLE}_text",
    )
    pair = None
    if classifier.has_pairs:
        pair = boxes[1].selectbox(
            t("fine_tune_results.pair_column"),
            view.columns,
            index=_second(view, guess, classifier.pair_column),
            key=f"{TRY_TABLE}_pair",
        )
    rows = [dict(zip(view.columns, row, strict=True)) for row in view.preview[:3]]
    st.dataframe(rows, hide_index=True, alt=plain("fine_tune_results.first_rows"))
    return text or guess, pair


def _show_predictions(found: TablePredictions, name: str) -> None:
    st.success(
        t(
            "fine_tune_results.table_done",
            count=found.num_rows - found.num_empty,
            empty=found.num_empty,
            cut=found.num_cut,
        ),
        icon=":material/check_circle:",
    )
    stem = Path(name).stem[:60] or "table"
    file_link(
        t("fine_tune_results.download_predictions"),
        Path(found.path),
        name=plain("fine_tune_results.predictions_file", name=stem),
        key=f"{TRY_TABLE}_download",
        icon=":material/download:",
        help=t("fine_tune_results.safe_cells"),
    )
    if not found.is_regression:
        columns: dict[str, list[Any]] = {
            plain("fine_tune_results.class"): list(found.labels),
            plain("fine_tune_results.rows"): found.counts.tolist(),
        }
        st.dataframe(columns, hide_index=True, alt=t("fine_tune_results.class_counts"))
    said = t("fine_tune_results.first_predictions", count=len(found.first))
    st.dataframe(_first(found), hide_index=True, alt=said)
    st.caption(said)


def _first(found: TablePredictions) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {
        plain("fine_tune_results.row"): [row.row for row in found.first],
        plain("fine_tune_results.text"): [row.text for row in found.first],
    }
    values = [row.value for row in found.first]
    if found.is_regression:
        columns[plain("fine_tune_results.said_number")] = values
        return columns
    columns[plain("fine_tune_results.said_class")] = [r.label for r in found.first]
    columns[plain("fine_tune_results.sure")] = [
        plain("fine_tune_results.share", share=value) for value in values
    ]
    return columns


def _longest(view: TableView) -> str:
    """The column with the longest cells in the preview."""
    sizes = [
        sum(len(str(row[index])) for row in view.preview)
        for index in range(len(view.columns))
    ]
    return view.columns[sizes.index(max(sizes))]


def _second(view: TableView, first: str, learnt: str | None) -> int:
    for name in (learnt, view.guess.pair if view.guess is not None else None):
        if name in view.columns and name != first:
            return view.columns.index(name)
    others = [i for i, name in enumerate(view.columns) if name != first]
    return others[0] if others else 0
