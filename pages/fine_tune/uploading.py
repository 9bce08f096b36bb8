"""The box for a visitor's table, and what to say of a file that is none."""

from __future__ import annotations

import streamlit as st

from bertviz_core.errors import BertVizError
from bertviz_core.finetune.table_limits import DEFAULT_LIMITS
from pages.fine_tune.leases import OWN, REFUSED, is_own_refused
from pages.shared.engine import client
from pages.shared.errors import shown_to_user
from pages.shared.language import plain, t
from pages.shared.upload_box import let_go, upload_box

MAX_MEGABYTES = DEFAULT_LIMITS.max_bytes // 1_000_000
# What the box lets through, so that the refusal is ours. It holds a file in memory.
BOX_MEGABYTES = 300


def upload_table(place: str, label: str) -> tuple[str, str] | None:
    """Draws a box for a file; an accepted one is stored, and the box is empty again.

    The box takes files of any kind, and more of them than we do: our refusals know
    more than its own. Only what is beyond that it refuses itself, before it is sent.

    Returns:
        Handle and name of the file that came in this run; `None` without one.
    """
    # A new key empties the box.
    uploads, problem = f"ft_{place}_uploads", f"ft_{place}_refused"
    count = st.session_state.get(uploads, 0)
    file = upload_box(
        label,
        key=f"ft_{place}_{count}",
        limit=plain("fine_tune.upload_limit", limit=MAX_MEGABYTES),
        refusal=plain(
            "fine_tune.upload_refused", box=BOX_MEGABYTES, limit=MAX_MEGABYTES
        ),
        megabytes=BOX_MEGABYTES,
    )
    if file is None:
        _say_refused(problem)
        return None
    with shown_to_user(stop=False), st.spinner(t("fine_tune.storing")):
        st.session_state[uploads] = count + 1
        try:
            table = client().keep_table(file)
        except BertVizError as error:
            st.session_state[problem] = error
            st.rerun()
        finally:
            let_go(file)
        st.session_state[OWN] = (*st.session_state.get(OWN, ()), table)
        return table, file.name
    return None


def forget_own(table: str) -> None:
    """Removes a table, unless it came by a link: then it is somebody else's as well."""
    if table in st.session_state.get(OWN, ()):
        client().forget_table(table)


def note_refused(table: str, is_refused: bool) -> None:
    """Remembers whether a table could be read; one that could not is kept briefly.

    Its file is still needed to read it in another encoding or with another separator.
    """
    before = frozenset(st.session_state.get(REFUSED, ()))
    st.session_state[REFUSED] = before | {table} if is_refused else before - {table}
    if is_own_refused(table):
        client().keep_table_briefly(table)
    elif not is_refused and table in before:
        # What this page remembers of it asks no engine.
        client().renew_table(table)


def _say_refused(problem: str) -> None:
    refused = st.session_state.pop(problem, None)
    with shown_to_user(stop=False):
        if refused is not None:
            raise refused
