"""The model on a whole file: choose it, choose its texts, take the answers away."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from bertviz_core.engine.finetune_tasks import read_table
from bertviz_core.engine.finetuned_tasks import predict_table
from bertviz_core.finetune.columns import TableView
from bertviz_core.finetune.outcome import RunOutcome
from bertviz_core.finetune.request import TableSource
from bertviz_core.finetune.row_prediction import TablePredictions
from bertviz_core.finetune.visitor_tables import forget_table
from pages.fine_tune.result_rows import share_text
from pages.fine_tune.table_files import show_layout, upload_table
from pages.fine_tune.widgets import named, show_table
from pages.fine_tune.wording import show_warnings
from pages.shared.answers import ask
from pages.shared.errors import shown_to_user
from pages.shared.file_download import file_link
from pages.shared.jobs import ask_job
from pages.shared.language import plain, t
from pages.shared.visitor import hold, owner

# Keys of the session: handle and name of the table, and how it is laid out.
TRY_TABLE, _SOURCE = "ft_try_table", "ft_try_table_source"


@dataclass(frozen=True)
class Classifier:
    """A model that says something of a text.

    `max_tokens` is 0 for what its own files say. The columns are those of the table
    that it learned from, "" where none is known; `outcome` is that of its training, if
    here.
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
    hold(TRY_TABLE, [found[0]])
    st.session_state.pop(_SOURCE, None)
    if before is not None:
        forget_table(before[0], owner())
    st.rerun()


def _read(source: TableSource) -> TableView | None:
    """Reads the file, says what is lost of it, and lets it be read differently."""
    view = None
    with shown_to_user(stop=False):
        view = ask(read_table)(source)
        show_warnings(view.warnings)

    def take(changed: TableSource) -> None:
        st.session_state[_SOURCE] = changed

    show_layout(source, view, "try_table", take)
    return view


def _choose_columns(view: TableView, classifier: Classifier) -> tuple[str, str | None]:
    """The text and, where two are read, the second; at first those that it learned."""
    names, guess = list(view.columns), view.guess
    first = guess.text if guess is not None else _longest(view)
    if classifier.text_column in names:
        first = classifier.text_column
    others = [name for name in names if name != first] or names
    wanted = (classifier.pair_column, guess.pair if guess is not None else None)
    second = next((name for name in wanted if name in others), others[0])
    starts = {"text": first} | ({"pair": second} if classifier.has_pairs else {})
    chosen = [
        box.selectbox(
            t(f"fine_tune_results.{name}_column"),
            names,
            index=names.index(start),
            key=f"{TRY_TABLE}_{name}",
        )
        or start
        for box, (name, start) in zip(st.columns(2), starts.items(), strict=False)
    ]
    rows = [dict(zip(names, row, strict=True)) for row in view.preview[:3]]
    st.dataframe(rows, hide_index=True, alt=plain("fine_tune_results.first_rows"))
    return chosen[0], chosen[1] if classifier.has_pairs else None


def _longest(view: TableView) -> str:
    """The column with the longest cells in the preview."""
    sizes = {
        name: sum(len(str(row[index])) for row in view.preview)
        for index, name in enumerate(view.columns)
    }
    return max(sizes, key=sizes.__getitem__)


def _show_predictions(found: TablePredictions, name: str) -> None:
    count = found.num_rows - found.num_empty
    counts = {"empty": found.num_empty, "cut": found.num_cut}
    said = t("fine_tune_results.table_done", count=count, **counts)
    st.success(said, icon=":material/check_circle:")
    stem = Path(name).stem[:60] or "table"
    file_link(
        t("fine_tune_results.download_predictions"),
        Path(found.path),
        name=plain("fine_tune_results.predictions_file", name=stem),
        key=f"{TRY_TABLE}_download",
        icon=":material/download:",
        help=t("fine_tune_results.safe_cells"),
    )
    file_link(
        t("fine_tune_results.download_exact"),
        Path(found.path).with_suffix(".jsonl"),
        name=plain("fine_tune_results.exact_file", name=stem),
        key=f"{TRY_TABLE}_exact",
        icon=":material/data_object:",
        help=t("fine_tune_results.exact_help"),
    )
    first = {
        "fine_tune_results.row": [row.row for row in found.first],
        "fine_tune_results.text": [row.text for row in found.first],
    }
    values = [row.value for row in found.first]
    if found.is_regression:
        first["fine_tune_results.said_number"] = values
    else:
        first["fine_tune_results.said_class"] = [row.label for row in found.first]
        first["fine_tune_results.sure"] = [share_text(value) for value in values]
        counted = {
            "fine_tune_results.class": found.labels,
            "fine_tune_results.rows": found.counts,
        }
        alt = t("fine_tune_results.class_counts")
        st.dataframe(named(counted), hide_index=True, alt=alt)
    said = t("fine_tune_results.first_predictions", count=len(found.first))
    show_table(first, said)
