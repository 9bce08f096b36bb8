"""A visitor's table: the box for its file, how it was read, and its first rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from bertviz_core.errors import BertVizError
from bertviz_core.training.finetune.columns import TableView
from bertviz_core.training.finetune.request import SAMPLES, TableSource
from bertviz_core.training.finetune.table import DEFAULT_LIMITS, SEPARATORS
from bertviz_core.training.finetune.table_encoding import ENCODINGS
from bertviz_core.training.finetune.visitor_tables import keep_table
from pages.fine_tune.state import HEADERS, FineTuneState, layout_of, source_of
from pages.fine_tune.widgets import draw_field, show_notes, show_warnings
from pages.shared.errors import shown_to_user
from pages.shared.language import plain, t
from pages.shared.upload_box import upload_box
from pages.shared.uploads import largest_megabytes
from pages.shared.visitor import owner

MAX_MEGABYTES = DEFAULT_LIMITS.max_bytes // 1_000_000
# What the box lets through, so that the refusal is ours.
BOX_MEGABYTES = 300
_SEPARATOR_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}


def upload_table(place: str, label: str) -> tuple[str, str] | None:
    """Draws a box for a file; an accepted one is stored, and the box is empty again.

    The box takes files of any kind, and more of them than we do: our refusals know
    more than its own. Only what is beyond that it refuses itself, before it is sent.

    Returns handle and name of the file that came in this run; `None` without one.
    """
    # A new key empties the box.
    uploads, problem = f"ft_{place}_uploads", f"ft_{place}_refused"
    count = st.session_state.get(uploads, 0)
    most = min(BOX_MEGABYTES, largest_megabytes())
    file = upload_box(
        label,
        key=f"ft_{place}_{count}",
        limit=plain("fine_tune.upload_limit", limit=MAX_MEGABYTES),
        refusal=plain("fine_tune.upload_refused", box=most, limit=MAX_MEGABYTES),
        megabytes=most,
    )
    with shown_to_user(stop=False):
        if file is None:
            refused = st.session_state.pop(problem, None)
            if refused is not None:
                raise refused
            return None
        with st.spinner(t("fine_tune.storing")):
            st.session_state[uploads] = count + 1
            try:
                with file.opened() as source:
                    table = keep_table(source, owner())
            except BertVizError as error:
                st.session_state[problem] = error
                st.rerun()
            finally:
                file.let_go()
        return table, file.name
    return None


def table_name(state: FineTuneState) -> str:
    """What to call the table of the state."""
    for language, table in SAMPLES.items():
        if table == state.table:
            return plain(f"fine_tune.sample_{language}")
    return state.name or plain("fine_tune.your_table")


def show_preview(view: TableView) -> None:
    """Draws the first rows, with the numbers that a spreadsheet program gives them."""
    counts = {"shown": len(view.preview), "count": view.num_rows}
    columns = len(view.columns)
    st.caption(t("fine_tune.preview_explained", **counts, columns=columns))
    show_warnings(view.warnings)
    numbers = plain("fine_tune.row_number")
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
    label = t("fine_tune.layout_title")
    if view is not None:
        has_header = "yes" if view.has_header else "no"
        header = plain(f"fine_tune.header_found_{has_header}")
        label = t("fine_tune.layout_found_other", header=header)
        if view.encoding:
            label = t(
                "fine_tune.layout_found",
                encoding=view.encoding,
                separator=_separator_name(view.separator),
                header=header,
            )
    choices: dict[str, tuple[Sequence[str], Callable[[str], str]]] = {
        "encoding": (("", *ENCODINGS), lambda e: e or plain("fine_tune.detect")),
        "separator": (("", *SEPARATORS), _separator_name),
        "header": (headers, lambda word: plain(f"fine_tune.header_{word or 'auto'}")),
    }
    if view is not None and not view.encoding:  # it is no text
        choices = {"header": choices["header"]}
    keys = {name: f"ft_{place}_{name}" for name in choices}
    now = layout_of(source)

    def corrected() -> None:
        chosen = {name: st.session_state[key] for name, key in keys.items()}
        take(source_of(source.table, **now | chosen))

    with st.expander(label, expanded=view is None, icon=":material/tune:"):
        st.markdown(t("fine_tune.layout_explained"))
        for box, (name, (options, say)) in zip(
            st.columns(len(choices)), choices.items(), strict=True
        ):
            draw_field(
                box.selectbox,
                f"fine_tune.{name}",
                now[name],
                options,
                key=keys[name],
                take=corrected,
                say=say,
            )
        if view is not None:
            show_notes([note for note in view.notes if note not in view.warnings])


def _separator_name(separator: str) -> str:
    name = _SEPARATOR_NAMES.get(separator)
    return plain(f"fine_tune.separator_{name}") if name else plain("fine_tune.detect")
