"""How a file was read: encoding, separator, header, and its first rows."""

from __future__ import annotations

import streamlit as st

from bertviz_core.finetune.table_encoding import ENCODINGS
from bertviz_core.finetune.table_layout import SEPARATORS
from bertviz_core.finetune.table_view import TableView
from pages.ui.fine_tune.fields import choose_field
from pages.ui.fine_tune.state import FineTuneState
from pages.ui.fine_tune.wording import show_notes
from pages.ui.language import plain, t

_SEPARATOR_NAMES = dict(zip(SEPARATORS, ("comma", "semicolon", "tab"), strict=True))


def show_preview(view: TableView) -> None:
    """Draws the first rows, with the numbers that a spreadsheet program gives them.

    Args:
        view: the table.
    """
    st.caption(
        t(
            "fine_tune.preview_explained",
            shown=len(view.preview),
            count=view.num_rows,
            columns=len(view.columns),
        )
    )
    numbers = plain("fine_tune.row_number")
    while numbers in view.columns:
        numbers += " "
    cells: dict[str, list[int] | list[str]] = {numbers: list(view.preview_rows)}
    for index, name in enumerate(view.columns):
        cells[name] = [row[index] for row in view.preview]
    st.dataframe(cells, hide_index=True, alt=plain("fine_tune.preview_alt"))


def show_layout(state: FineTuneState) -> None:
    """Draws what was detected, and the means to correct it.

    Args:
        state: its `view` may be `None`, where the file could not be read.
    """
    view = state.view
    label = t("fine_tune.layout_title") if view is None else _summary(view)
    with st.expander(label, expanded=view is None, icon=":material/tune:"):
        st.markdown(t("fine_tune.layout_explained"))
        boxes = st.columns(3)
        choose_field(
            boxes[0].selectbox,
            t("fine_tune.encoding"),
            ("", *ENCODINGS),
            state.encoding,
            name="encoding",
            say=_encoding_name,
            help=t("fine_tune.encoding_help"),
        )
        choose_field(
            boxes[1].selectbox,
            t("fine_tune.separator"),
            ("", *SEPARATORS),
            state.separator,
            name="separator",
            say=_separator_name,
            help=t("fine_tune.separator_help"),
        )
        choose_field(
            boxes[2].selectbox,
            t("fine_tune.header"),
            ("", "yes", "no"),
            state.header,
            name="header",
            say=lambda name: plain(f"fine_tune.header_{name or 'auto'}"),
            help=t("fine_tune.header_help"),
        )
        if view is not None:
            show_notes(view.notes)


def _summary(view: TableView) -> str:
    return t(
        "fine_tune.layout_found",
        encoding=view.encoding,
        separator=_separator_name(view.separator),
        header=plain(f"fine_tune.header_found_{'yes' if view.has_header else 'no'}"),
    )


def _encoding_name(encoding: str) -> str:
    return encoding or plain("fine_tune.detect")


def _separator_name(separator: str) -> str:
    name = _SEPARATOR_NAMES.get(separator)
    return plain(f"fine_tune.separator_{name}") if name else plain("fine_tune.detect")
