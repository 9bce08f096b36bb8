"""Step 1: a table, how it is read, and which column is what."""

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from bertviz_core.errors import BertVizError, ValidationFileError
from bertviz_core.explorer import Explorer
from bertviz_core.training.finetune.checks import DataCheck
from bertviz_core.training.finetune.columns import (
    ColumnChoice,
    TableView,
    kind_of_column,
    view_table,
)
from bertviz_core.training.finetune.notes import Note
from bertviz_core.training.finetune.request import SAMPLES, TableSource
from bertviz_core.training.finetune.table import DEFAULT_LIMITS, SEPARATORS
from bertviz_core.training.finetune.table_encoding import ENCODINGS
from bertviz_core.training.finetune.visitor_tables import forget_table, keep_table
from pages.fine_tune.mend_rows import show_mending
from pages.fine_tune.state import (
    HEADERS,
    NO_PAIR,
    FineTuneState,
    choose_table,
    fields_of,
    offer_step,
    remember,
    source_of,
    table_name,
)
from pages.fine_tune.widgets import draw_field, lease, say, show_notes, show_warnings
from pages.shared.answers import ask
from pages.shared.errors import show_error, shown_to_user
from pages.shared.language import in_a_row, plain, t
from pages.shared.models import choose, is_read, known_models, language_of
from pages.shared.page_head import model_at_work
from pages.shared.panel import button
from pages.shared.uploads import largest_megabytes, upload_box
from pages.shared.visitor import owner

_BEFORE = "ft_table_before"
_MOST_OFFERED = 3  # models
_MAX_MEGABYTES = DEFAULT_LIMITS.max_bytes // 1_000_000
# What the box lets through, so that the refusal is ours.
_BOX_MEGABYTES = 300
_SEPARATOR_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}


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
        _show_problem(state)
        show_layout(state.source, None, "field", take=_take_layout)
        if before := st.session_state.get(_BEFORE):
            label = "fine_tune.back_to_table"
            button(label, "ft_table_back", "undo", _choose, *before)
        return
    show_preview(state.view)
    show_layout(state.source, state.view, "field", take=_take_layout)
    st.subheader(t("fine_tune.columns_title"), anchor=False)
    _choose_roles(state, state.view)
    _choose_validation(state)
    _show_problem(state)
    if state.columns is not None and state.check is None:
        show_mending(state)
    if (check := state.check) is not None:
        counts = {"train": check.num_train, "test": check.num_test}
        counts |= {"count": check.num_rows, "validation": check.num_validation}
        said = t("fine_tune.data_ready", **counts)
        st.success(said, icon=":material/check_circle:")
        show_left_out(state, check)
        _offer_other_model(state, check)
        offer_step("check", "data")


def _validation_name(state: FineTuneState) -> str:
    return state.validation_name or plain("fine_tune.your_table")


def show_left_out(state: FineTuneState, check: DataCheck) -> None:
    """Draws which rows were left out and why, table by table."""

    def tell(notes: Sequence[Note]) -> None:
        show_warnings([note for note in notes if note in check.warnings])
        show_notes([note for note in notes if note not in check.warnings])

    tell(check.notes)
    if check.validation_notes:
        name = _validation_name(state)
        st.markdown(t("fine_tune.left_out_of_validation", name=name))
        tell(check.validation_notes)


def choose_field(*drawn: Any, name: str, **arguments: Any) -> None:
    """Draws a field of `FineTuneState`; what is entered is in that of the next run.

    The other arguments are those of `draw_field`.
    """
    key = f"ft_field_{name}"
    draw_field(*drawn, key=key, take=_take_field, args=(name,), **arguments)


def _take_field(name: str) -> None:
    changes = {name: st.session_state[f"ft_field_{name}"]}
    if name == "label":
        # What one column is taken for says nothing of another.
        changes["kind"] = ""
    remember(**changes)


def _offer_tables(state: FineTuneState) -> None:
    own, samples = st.columns(2, border=True)
    with samples:
        st.markdown(t("fine_tune.samples_explained"))
        for name, table in SAMPLES.items():
            button(
                f"fine_tune.sample_{name}",
                f"ft_sample_{name}",
                "check" if table == state.table else "table",
                _choose,
                table,
                "",
                width="stretch",
            )
    with own:
        said = t("fine_tune.upload_explained", limit=_MAX_MEGABYTES, time=lease())
        st.markdown(said)
        found = upload_table("table", t("fine_tune.upload"))
    if found is not None:
        _choose(*found)
        st.rerun()


def _choose(table: str, name: str) -> None:
    before = remember()
    if before.validation and before.validation != before.table:
        # The way back leads to the table alone.
        forget_table(before.validation, owner())
    if before.table and before.table != table:
        st.session_state[_BEFORE] = (before.table, before.name)
    choose_table(table, name)


def _choose_roles(state: FineTuneState, view: TableView) -> None:
    columns, names = state.columns, view.columns
    text = columns.text if columns else state.text
    label = columns.label if columns else state.label
    held = {
        "text": text if text in names else names[0],
        "pair": (columns.pair if columns else None) or NO_PAIR,
        "label": label if label in names else names[-1],
    }
    boxes = st.columns(4)
    for box, name in zip(boxes, held, strict=False):
        others = tuple(column for column in names if column != NO_PAIR)
        choose_field(
            box.selectbox,
            f"fine_tune.{name}_column",
            held[name],
            (NO_PAIR, *others) if name == "pair" else names,
            name=name,
            say=_no_pair if name == "pair" else str,
        )
    choose_field(
        boxes[3].segmented_control,
        "fine_tune.kind",
        "number" if columns and columns.is_regression else "class",
        ("class", "number"),
        name="kind",
        required=True,
        say=lambda kind: plain(f"fine_tune.kind_{kind}"),
    )
    if columns is not None:
        _show_reasons(state, view, columns)


def _no_pair(column: str) -> str:
    return plain("fine_tune.no_pair") if column == NO_PAIR else column


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
            name = "class" if kind.is_regression else "number"
            names = {"control": plain("fine_tune.kind")}
            names["other"] = plain(f"fine_tune.kind_{name}")
            said.append(t("fine_tune.kind_change", **names))
    if said:
        st.caption(in_a_row(said))


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
    st.markdown(t("fine_tune.validation_chosen", name=_validation_name(state)))
    view = None
    # Why it cannot be read is the problem that the page shows anyway.
    with contextlib.suppress(BertVizError):
        view = ask(view_table)(source)
        show_preview(view)
    take = functools.partial(_take_layout, prefix="validation_")
    show_layout(source, view, "validation_file", take, headers=("yes", "no"))
    label = t("fine_tune.validation_remove")
    button(label, "ft_validation_remove", "close", _drop_validation, state.validation)


def _take_layout(source: TableSource, prefix: str = "") -> None:
    remember(**fields_of(source, prefix=prefix))


def _drop_validation(table: str) -> None:
    forget_table(table, owner())
    nothing = fields_of(TableSource(""), prefix="validation_")
    remember(validation_name="", **nothing)


def _show_problem(state: FineTuneState) -> None:
    if isinstance(state.problem, ValidationFileError):
        name = _validation_name(state)
        st.markdown(t("fine_tune.problem_of_validation", name=name))
    show_error(state.problem)


def _offer_other_model(state: FineTuneState, check: DataCheck) -> None:
    """Says that the model cannot read the texts, and which models can."""
    finding = check.finding("unknown")
    if finding is None or finding.severity != "warning":
        return
    st.warning(say(finding.message), icon=":material/translate:")
    language = language_of(state.model)
    entries = known_models().items()
    others = [key for key, entry in entries if entry.language != language]
    able = [key for key in others[:_MOST_OFFERED] if _can_read(key, state)]
    if not able:
        st.caption(t("fine_tune.no_other_model"))
        return
    with st.container(horizontal=True):
        for number, other in enumerate(able):
            label = t("app.use_default", model=other)
            button(label, f"ft_model_{number}", "swap_horiz", choose, other)


def _can_read(model: str, state: FineTuneState) -> bool:
    """Whether a model reads the first rows; not if it cannot be opened."""
    if (view := state.view) is None or state.columns is None:
        return False
    place = view.columns.index(state.columns.text)
    text = " ".join(row[place] for row in view.preview)
    with contextlib.suppress(BertVizError), model_at_work():
        return is_read(model, ask(Explorer.tokenize)(model, text, cut=True))
    return False


def upload_table(place: str, label: str) -> tuple[str, str] | None:
    """Draws a box for a file; an accepted one is stored, and the box is empty again.

    The box takes files of any kind, and more of them than we do: our refusals know
    more than its own. Only what is beyond that it refuses itself, before it is sent.

    Returns handle and name of the file that came in this run; `None` without one.
    """
    # A new key empties the box.
    uploads, problem = f"ft_{place}_uploads", f"ft_{place}_refused"
    count = st.session_state.get(uploads, 0)
    most = min(_BOX_MEGABYTES, largest_megabytes())
    file = upload_box(
        label,
        key=f"ft_{place}_{count}",
        limit=plain("fine_tune.upload_limit", limit=_MAX_MEGABYTES),
        refusal=plain("fine_tune.upload_refused", box=most, limit=_MAX_MEGABYTES),
        megabytes=most,
    )
    if file is None:
        show_error(st.session_state.pop(problem, None))
        return None
    with shown_to_user(stop=False), st.spinner(t("fine_tune.storing")):
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


def show_preview(view: TableView) -> None:
    """Draws the first rows, with their numbers: see `row_numbers` of `Table`."""
    counts = {"shown": len(view.preview), "count": view.num_rows}
    columns = len(view.columns)
    shown = t("fine_tune.preview_explained", **counts, columns=columns)
    numbered = t(f"fine_tune.numbered_{'csv' if view.separator else 'file'}")
    st.caption(in_a_row([shown, numbered]))
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
        if view.separator:
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
    if view is not None and not view.separator:  # no CSV; JSON may have an encoding
        del choices["separator"]
        if not view.encoding:
            del choices["encoding"]
    keys = {name: f"ft_{place}_{name}" for name in choices}
    now = fields_of(source)

    def corrected() -> None:
        chosen = {name: st.session_state[key] for name, key in keys.items()}
        take(source_of(**now | chosen))

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
