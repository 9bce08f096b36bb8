"""The text of the visit as a small file: one that fits no link, or that is kept."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from bertviz_core.errors import BertVizError
from bertviz_core.mask_text import MaskedText, read_sentence, write_sentence
from pages.shared.code import tool
from pages.shared.errors import shown_to_user
from pages.shared.language import plain, t
from pages.shared.upload_box import upload_box
from pages.shared.uploads import Upload

_NAME = "sentence"
_MEGABYTES = 1
_COUNT, _ERROR = "sentence_files", "sentence_file_error"


def offer_text_file(
    masked: MaskedText, pair: str, show: Callable[[MaskedText, str], None]
) -> None:
    """Draws the button that opens both: what saves the text, and what opens a file.

    `show` puts both texts of a file into the boxes.
    """
    box = tool(_NAME, "file", t("app.sentence_file"), "folder_open")
    if not box.open:
        return
    # A new key empties the box.
    key = f"{_NAME}_upload_{st.session_state.get(_COUNT, 0)}"
    with box:
        st.download_button(
            t("app.sentence_save"),
            lambda: write_sentence(masked, pair),
            file_name=plain("app.sentence_file_name"),
            mime="application/json",
            icon=":material/download:",
            key=f"{_NAME}_save",
            help=t("app.sentence_save_help"),
            on_click="ignore",
        )
        upload_box(
            t("app.sentence_open"),
            key=key,
            limit=plain("app.sentence_limit", size=_MEGABYTES),
            refusal=plain("app.sentence_refused", size=_MEGABYTES),
            megabytes=_MEGABYTES,
            endings=["json"],
            on_change=_open,
            args=(key, show),
        )
        if error := st.session_state.pop(_ERROR, None):
            with shown_to_user(stop=False):
                raise error


def _open(key: str, show: Callable[[MaskedText, str], None]) -> None:
    if st.session_state.get(key) is None:
        return
    file = Upload(st.session_state[key])
    st.session_state[_COUNT] = st.session_state.get(_COUNT, 0) + 1
    try:
        with file.opened() as source:
            # Streamlit's route lets larger ones through; cut, they are no JSON.
            data = source.read(_MEGABYTES * 2**20)
        show(*read_sentence(data, file.name))
    except BertVizError as error:
        st.session_state[_ERROR] = error
    else:
        st.session_state[f"{_NAME}_file"] = False  # the box closes
    finally:
        file.let_go()
