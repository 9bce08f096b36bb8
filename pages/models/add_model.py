"""Bringing a model along: a zip file, a path on this machine, a hub name."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import streamlit as st

from bertviz_core.cached_files import incoming_file
from bertviz_core.engine.model_tasks import add_upload, suggested_models
from bertviz_core.errors import BertVizError, CheckpointError, reason_of
from pages.shared.answers import ask, forget_lists
from pages.shared.engine import client
from pages.shared.errors import show_error
from pages.shared.language import plain, t
from pages.shared.models import add_uploaded, choose_next, may_bring_any_model
from pages.shared.panel import button
from pages.shared.uploads import Upload, largest_megabytes, upload_box
from pages.shared.visitor import owner

if TYPE_CHECKING:
    from bertviz_core.trace import ModelEntry

_MOST_CHARACTERS = 4096  # of a path on Linux
_CHUNK_BYTES = 1 << 20
_COUNT, _REFUSED = "num_uploads", "upload_refused"
# Of the session: the name of the tab that is open, and which way that is.
_TAB, _WAY = "model_tab", "model_way"


def add_model() -> None:
    """Draws the ways to add a model, and does what is asked."""
    ways = {"upload": _from_upload}
    if may_bring_any_model():
        ways |= {"path": _from_path, "hub": _from_hub}
    names = {plain(f"models.way_{way}"): way for way in ways}
    if st.session_state.get(_TAB) not in names:  # another language: the same way
        before = st.session_state.get(_WAY, "upload")
        st.session_state[_TAB] = plain(f"models.way_{before}")
    tabs = st.tabs(list(names), key=_TAB, on_change="rerun")
    st.session_state[_WAY] = names[st.session_state[_TAB]]
    for draw, tab in zip(ways.values(), tabs, strict=True):
        with tab:
            draw()


def _from_upload() -> None:
    st.markdown(t("models.upload_explained"))
    count = st.session_state.get(_COUNT, 0)
    limit = largest_megabytes()
    file = upload_box(
        t("models.zip_file"),
        key=f"zip_{count}",
        limit=plain("models.upload_limit", limit=limit),
        refusal=plain("models.upload_refused", limit=limit),
        endings=["zip"],
    )
    if file is None:
        show_error(st.session_state.pop(_REFUSED, None))
    if file is None or not button("models.add_it", "add_upload"):
        return
    with st.spinner(t("models.unpacking")):
        # A new key empties the box, which takes the next file at once.
        st.session_state[_COUNT] = count + 1
        try:
            entry = _store(file)
        except BertVizError as error:
            st.session_state[_REFUSED] = error
            st.rerun()
        finally:
            file.let_go()
        add_uploaded(entry)
        forget_lists()
        choose_next(entry.model_id)


def _from_path() -> None:
    st.markdown(t("models.path_explained"))
    path = st.text_input(
        t("models.path"),
        placeholder=t("models.path_placeholder"),
        key="model_path",
        max_chars=_MOST_CHARACTERS,
    )
    if button("models.open_it", "add_path"):
        _choose_named(path, t("models.no_path"))


def _from_hub() -> None:
    st.markdown(t("models.hub_explained"))
    name = st.selectbox(
        t("models.hub_name"),
        [entry.model_id for entry in ask(suggested_models)()],
        index=None,
        placeholder=t("models.hub_placeholder"),
        accept_new_options=True,
        key="model_hub",
    )
    if button("models.look_for_it", "add_hub"):
        _choose_named(name, t("models.no_hub_name"))


def _choose_named(name: str | None, missing: str) -> None:
    """Chooses what was typed, or says that nothing was."""
    if name and name.strip():
        choose_next(name.strip())
    else:
        st.warning(missing, icon=":material/edit:")


def _store(file: Upload) -> ModelEntry:
    """Writes an upload to the disk and has the engine check and unpack it."""
    try:
        with incoming_file(file.name) as path:
            with file.opened() as source, path.open("wb") as target:
                shutil.copyfileobj(source, target, _CHUNK_BYTES)
            return client().ask(add_upload)(str(path), file.name, owner())
    except OSError as error:
        raise CheckpointError(
            "The uploaded file {name} cannot be stored on the server. Received: "
            "{reason}. Its disk may be full; try a smaller file.",
            name=file.name,
            reason=reason_of(error),
        ) from error
