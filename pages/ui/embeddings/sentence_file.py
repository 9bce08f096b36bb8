"""Sentences from a file: a table with a text column, or a sentence a line."""

from __future__ import annotations

import streamlit as st

from bertviz_core.analysis.labelled_lines import join_lines
from bertviz_core.errors import BertVizError
from bertviz_core.finetune.columns import guess_columns
from bertviz_core.finetune.table import read_table
from pages.ui.errors import shown_to_user
from pages.ui.language import t

_MEGABYTES = 5
_ENDINGS = ["csv", "tsv", "txt"]


def offer_file(key: str, limit: int) -> None:
    """Draws the uploader; what is taken replaces the text of the box.

    Args:
        key: of the box.
        limit: sentences that are taken, from the top; the rest is told.
    """
    upload, taken_key = f"{key}_upload", f"{key}_taken"
    with st.popover(t("embeddings.from_file"), icon=":material/upload_file:"):
        st.file_uploader(
            t("embeddings.file"),
            type=_ENDINGS,
            key=upload,
            max_upload_size=_MEGABYTES,
            help=t("embeddings.file_help", limit=limit),
            on_change=_take,
            args=(key, upload, taken_key, limit),
        )
    taken = st.session_state.get(taken_key)
    if isinstance(taken, BertVizError):
        with shown_to_user(stop=False):
            raise taken
    elif taken is not None:
        st.caption(t("embeddings.file_taken", count=taken[0], all=taken[1]))


def _take(key: str, upload: str, taken_key: str, limit: int) -> None:
    file = st.session_state.get(upload)
    if file is None:
        st.session_state.pop(taken_key, None)
        return
    try:
        text, count = sentences_of(file.name, file.getvalue(), limit)
    except BertVizError as error:
        st.session_state[taken_key] = error
        return
    st.session_state[taken_key] = (min(count, limit), count)
    st.session_state[key] = text


def sentences_of(name: str, data: bytes, limit: int) -> tuple[str, int]:
    """Reads a file as text for the box.

    Args:
        name: of the file; ".txt" is a sentence a line.
        data: what is in it.
        limit: sentences that are taken.

    Returns:
        The text, and how many sentences the file has.

    Raises:
        DatasetError: it is no such table.
    """
    if name.lower().endswith(".txt"):
        table = read_table(data, separator="\t", has_header=False)
        lines = [" ".join(row) for row in table.rows]
        return "\n".join(lines[:limit]), len(lines)
    table = read_table(data)
    if len(table.columns) == 1:
        texts = table.column(table.columns[0]).tolist()
        return join_lines(texts[:limit], [""] * len(texts[:limit])), len(texts)
    choice = guess_columns(table)
    texts = table.column(choice.text).tolist()[:limit]
    labels = table.column(choice.label).tolist()[:limit]
    return join_lines(texts, labels), table.num_rows
