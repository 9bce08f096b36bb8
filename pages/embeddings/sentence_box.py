"""The box of sentences that several parts of the page read, and files for it."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from bertviz_core.analysis.labelled_lines import (
    LabelledLines,
    read_lines,
    take_lines,
    without_pair,
)
from bertviz_core.errors import BertVizError
from bertviz_core.experiments.map_results import MAX_SENTENCES
from bertviz_core.explorer import Explorer
from bertviz_core.sentences import bundled_text
from bertviz_core.training.finetune.columns import guess_columns
from bertviz_core.training.finetune.notes import Note
from bertviz_core.training.finetune.request import SAMPLES
from bertviz_core.training.finetune.table import Limits, Table, read_table
from bertviz_core.training.finetune.table_encoding import find_encoding
from bertviz_core.training.finetune.visitor_tables import table_path
from pages.embeddings.figures import choose_seed
from pages.fine_tune.state import chosen_state
from pages.fine_tune.widgets import show_notes
from pages.shared.answers import ask
from pages.shared.choices import choose_here, type_linked
from pages.shared.errors import show_error
from pages.shared.language import LANGUAGES, plain, t
from pages.shared.models import language_of, say_if_unread
from pages.shared.panel import button
from pages.shared.uploads import Upload, upload_box

_DATASETS = Path(__file__).parents[2] / "assets" / "datasets"
MOST_CHARACTERS = 60_000  # of the box
_MEGABYTES = 5
_ENDINGS = ["csv", "tsv", "txt"]
# A table stays in the memory of the visit as long as one can choose from it.
_LIMITS = Limits(max_bytes=_MEGABYTES * 2**20, max_rows=20_000)
_NO_GROUP = ""
# With more values than the map has markers, a column names rows, not groups.
_MOST_GUESSED_GROUPS = 36

FileRows = Table | LabelledLines
_Read = tuple[FileRows, tuple[Note, ...]]


def offer_file(key: str) -> None:
    """Draws the uploader and its choices; what is taken replaces the box's text."""
    with st.popover(t("embeddings.from_file"), icon=":material/upload_file:"):
        upload_box(
            t("embeddings.file"),
            key=f"{key}_upload",
            limit=plain("embeddings.upload_limit", limit=_MEGABYTES),
            refusal=plain("embeddings.upload_refused", limit=_MEGABYTES),
            megabytes=_MEGABYTES,
            endings=_ENDINGS,
            help=t("embeddings.file_help", limit=MAX_SENTENCES),
            on_change=_open_upload,
            args=(key,),
        )
        with st.container(horizontal=True):
            for name in SAMPLES:
                path = _DATASETS / f"{name}.csv"
                button(
                    f"fine_tune.sample_{name}",
                    f"{key}_sample_{name}",
                    "table",
                    _open,
                    key,
                    functools.partial(_read_table, path),
                )
            _offer_trained_on(key)
        _show_choices(key)
    _say_taken(key)


def _offer_trained_on(key: str) -> None:
    """The visitor's own table of the fine-tuning page, where there is one."""
    state = chosen_state()
    source = state.source
    if source is None or source.table in SAMPLES.values():
        return

    def read() -> _Read:
        return _read_table(
            table_path(source.table),
            encoding=source.encoding,
            separator=source.separator,
            has_header=source.has_header,
        )

    button(
        t("embeddings.take_trained_on", name=state.name),
        f"{key}_trained_on",
        "model_training",
        _open,
        key,
        read,
        help=t("embeddings.take_trained_on_help"),
    )


def _show_choices(key: str) -> None:
    found: FileRows | None = st.session_state.get(f"{key}_rows")
    if found is None:
        return
    again: dict[str, Any] = {"on_change": _take, "args": (key,)}
    show_notes(st.session_state.get(f"{key}_notes", ()))
    if isinstance(found, Table):
        for name, options in (
            ("text_column", found.columns),
            ("group_column", (_NO_GROUP, *found.columns)),
        ):
            choose_here(
                st.selectbox,
                f"embeddings.{name}",
                options,
                key=f"{key}_{name}",
                format_func=lambda column: column or plain("embeddings.no_group"),
                **again,
            )
    num_rows = found.num_rows if isinstance(found, Table) else len(found.sentences)
    if num_rows <= MAX_SENTENCES:
        return
    way = choose_here(
        st.segmented_control,
        "embeddings.rows_taken",
        ("drawn", "first"),
        key=f"{key}_way",
        required=True,
        format_func=lambda way: plain(f"embeddings.rows_{way}"),
        **again,
    )
    if way == "drawn":
        choose_seed(f"{key}_file", **again)


def _say_taken(key: str) -> None:
    taken = st.session_state.get(f"{key}_taken")
    if isinstance(taken, BertVizError):
        show_error(taken)
    elif taken is not None and st.session_state.get(key) == taken.text:
        told = t("embeddings.file_taken", count=taken.num_taken, all=taken.num_all)
        if taken.is_full:
            full = t("embeddings.file_full", limit=MOST_CHARACTERS)
            st.warning(f"{told} {full}", icon=":material/content_cut:")
        else:
            st.caption(told)


def _open_upload(key: str) -> None:
    file = st.session_state.get(f"{key}_upload")
    if file is None:
        _forget(key)
    else:
        with Upload(file).opened() as source:
            data = source.read()
        _open(key, lambda: read_file(file.name, data))


def _open(key: str, read: Callable[[], _Read]) -> None:
    """Reads a file, guesses its columns and takes what fits."""
    _forget(key)
    state = st.session_state
    try:
        found, state[f"{key}_notes"] = read()
    except BertVizError as error:
        state[f"{key}_taken"] = error
        return
    state[f"{key}_rows"] = found
    if isinstance(found, Table):
        state[f"{key}_text_column"], state[f"{key}_group_column"] = _guess_roles(found)
    state[f"{key}_way"] = "drawn"
    _take(key)


def _forget(key: str) -> None:
    for name in ("rows", "notes", "taken", "text_column", "group_column", "way"):
        st.session_state.pop(f"{key}_{name}", None)


def _take(key: str) -> None:
    """Puts sentences of the file into the box, by what is chosen now."""
    state = st.session_state
    found: FileRows = state[f"{key}_rows"]
    if isinstance(found, Table):
        texts = map(without_pair, found.column(state[f"{key}_text_column"]).tolist())
        group = state[f"{key}_group_column"]
        groups = found.column(group).tolist() if group else [""] * found.num_rows
        found = LabelledLines(tuple(texts), tuple(groups))
    is_drawn = state[f"{key}_way"] == "drawn"
    seed = int(state.get(f"{key}_file_seed") or 0) if is_drawn else None
    taken = take_lines(found, MAX_SENTENCES, MOST_CHARACTERS, seed)
    state[f"{key}_taken"] = taken
    state[key] = taken.text


def _read_table(source: bytes | Path, **options: Any) -> _Read:
    table = read_table(source, limits=_LIMITS, **options)
    return table, table.notes


def read_file(name: str, data: bytes) -> _Read:
    """Reads a table, or lines as a user would type them into the box.

    Raises:
        DatasetError: it is no text, or no such table.

    A name that ends in ".txt" is that of a sentence a line. Returns the rows, and what
    was guessed or left out.
    """
    if not name.lower().endswith(".txt"):
        return _read_table(data)
    codec, notes = find_encoding(data, None)
    return read_lines(data.decode(codec)), notes


def _guess_roles(table: Table) -> tuple[str, str]:
    """The columns of the text and of the group; "" for no group."""
    try:
        choice = guess_columns(table)
    except BertVizError:  # one column, or nothing that looks like a text
        return table.columns[0], _NO_GROUP
    num_groups = len(set(table.column(choice.label).tolist()))
    is_group = num_groups <= min(_MOST_GUESSED_GROUPS, max(2, table.num_rows // 2))
    return choice.text, choice.label if is_group else _NO_GROUP


def edit_sentences(model: str, name: str) -> LabelledLines | None:
    """Draws the box, whose text is part of the address as long as it fits.

    `None` while there are no sentences, or too many.
    """
    key = f"embeddings_{name}"
    language = language_of(model)
    examples = {one: bundled_text(name, one) for one in LANGUAGES}
    text = type_linked(
        st.text_area,
        f"embeddings.{name}_box",
        examples[language],
        key=key,
        is_main=True,
        max_chars=MOST_CHARACTERS,
        height=180,
        help=t("embeddings.box_help"),
    )
    lines = read_lines(text)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(t("embeddings.sentences_counted", count=len(lines.sentences)))
        button(
            "embeddings.sentences_reset",
            f"{key}_reset",
            "restart_alt",
            _reset,
            key,
            examples[language],
            type="tertiary",
        )
        offer_file(key)
    if not lines.sentences:
        st.info(t("embeddings.no_sentences"), icon=":material/edit:")
        return None
    if (count := len(lines.sentences)) > MAX_SENTENCES:
        told = t("embeddings.too_many_sentences", count=count, limit=MAX_SENTENCES)
        st.warning(told, icon=":material/format_list_numbered:")
        return None
    read = ask(Explorer.tokenize)(model, " ".join(lines.sentences), cut=True)
    say_if_unread(model, read)
    return lines


def say_cut(model: str, num_cut: int, num_sentences: int) -> None:
    """Warns where the model could not read sentences to their end."""
    if not num_cut:
        return
    limit = ask(Explorer.info)(model).config.max_position_embeddings
    counts = {"count": num_cut, "all": num_sentences, "limit": limit}
    st.warning(t("embeddings.sentences_cut", **counts), icon=":material/content_cut:")


def _reset(key: str, example: str) -> None:
    st.session_state.pop(f"{key}_taken", None)  # the note about a file
    st.session_state[key] = example
