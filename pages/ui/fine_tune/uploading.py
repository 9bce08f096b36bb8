"""The box for a visitor's table, and what to say of a file that is none."""

from __future__ import annotations

import streamlit as st

from bertviz_core.errors import BertVizError
from bertviz_core.finetune.table_limits import DEFAULT_LIMITS
from pages.ui.engine import client
from pages.ui.errors import shown_to_user
from pages.ui.language import t

_OWN = "ft_own_tables"
MAX_MEGABYTES = DEFAULT_LIMITS.max_bytes // 1_000_000


def upload_table(place: str, label: str) -> tuple[str, str] | None:
    """Draws a box for a file; an accepted one is stored, and the box is empty again.

    The box takes files of any kind: its own refusals are in English, ours in the
    reader's language. What is too large it refuses itself, before it is sent.

    Args:
        place: on the page; unique.
        label: of the box.

    Returns:
        Handle and name of the file that came in this run; `None` without one.
    """
    # A new key empties the box, and with it the memory that holds the file.
    uploads, problem = f"ft_{place}_uploads", f"ft_{place}_refused"
    count = st.session_state.get(uploads, 0)
    file = st.file_uploader(
        label, key=f"ft_{place}_{count}", max_upload_size=MAX_MEGABYTES
    )
    if file is None:
        _say_refused(problem)
        return None
    with shown_to_user(stop=False), st.spinner(t("fine_tune.storing")):
        st.session_state[uploads] = count + 1
        try:
            table = client().keep_table(file)
            st.session_state[_OWN] = (*st.session_state.get(_OWN, ()), table)
            return table, file.name
        except BertVizError as error:
            st.session_state[problem] = error
            st.rerun()
    return None


def forget_own(table: str) -> None:
    """Removes a table, unless it came by a link: then it is somebody else's as well."""
    if table in st.session_state.get(_OWN, ()):
        client().forget_table(table)


def _say_refused(problem: str) -> None:
    refused = st.session_state.pop(problem, None)
    with shown_to_user(stop=False):
        if refused is not None:
            raise refused
