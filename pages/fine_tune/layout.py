"""How a file was read: encoding, separator, header, and its first rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from bertviz_core.finetune.request import TableSource
from bertviz_core.finetune.table_encoding import ENCODINGS
from bertviz_core.finetune.table_layout import SEPARATORS
from bertviz_core.finetune.table_view import TableView
from pages.fine_tune.state import HEADERS, header_word
from pages.fine_tune.wording import show_notes, show_warnings
from pages.shared.language import plain, t

_SEPARATOR_NAMES = dict(zip(SEPARATORS, ("comma", "semicolon", "tab"), strict=True))


def show_preview(view: TableView) -> None:
    """Draws the first rows, with the numbers that a spreadsheet program gives them."""
    st.caption(
        t(
            "fine_tune.preview_explained",
            shown=len(view.preview),
            count=view.num_rows,
            columns=len(view.columns),
        )
    )
    numbers = plain("fine_tune.row_number")
    show_warnings(view.warnings)
    while numbers in view.columns:
        numbers += " "
    cells: dict[str, list[int] | list[str]] = {numbers: list(view.preview_rows)}
    for index, name in enumerate(view.columns):
        cells[name] = [row[index] for row in view.preview]
    st.dataframe(cells, hide_index=True, alt=plain("fine_tune.preview_alt"))


def show_layout(
    source: TableSource,
    view: TableView | None,
    place: str,
    take: Callable[[TableSource], object],
    headers: Sequence[str] = tuple(HEADERS),
) -> None:
    """Draws what was detected, and the means to correct it.

    `view` is `None` where nothing could be read; `take` gets the corrected source.
    """
    label = t("fine_tune.layout_title") if view is None else _summary(view)
    now = {
        "encoding": source.encoding or "",
        "separator": source.separator or "",
        "header": header_word(source),
    }
    options = {
        "encoding": ("", *ENCODINGS),
        "separator": ("", *SEPARATORS),
        "header": headers,
    }
    says = {
        "encoding": _encoding_name,
        "separator": _separator_name,
        "header": lambda name: plain(f"fine_tune.header_{name or 'auto'}"),
    }
    with st.expander(label, expanded=view is None, icon=":material/tune:"):
        st.markdown(t("fine_tune.layout_explained"))
        for box, name in zip(st.columns(len(now)), now, strict=True):
            key = _key(place, name)
            st.session_state[key] = now[name]
            # Named now: the language belongs to this run.
            names = {option: says[name](option) for option in options[name]}
            box.selectbox(
                t(f"fine_tune.{name}"),
                options[name],
                key=key,
                format_func=names.__getitem__,
                on_change=_take,
                args=(source, place, take),
                help=t(f"fine_tune.{name}_help"),
            )
        if view is not None:
            show_notes([note for note in view.notes if note not in view.warnings])


def _key(place: str, name: str) -> str:
    return f"ft_{place}_{name}"


def _take(
    source: TableSource, place: str, take: Callable[[TableSource], object]
) -> None:
    chosen = {
        name: st.session_state[_key(place, name)]
        for name in ("encoding", "separator", "header")
    }
    take(
        TableSource(
            source.table,
            encoding=chosen["encoding"] or None,
            separator=chosen["separator"] or None,
            has_header=HEADERS[chosen["header"]],
        )
    )


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
