"""What a visitor chose for fine-tuning is kept while any page of the app is open.

It reads the session alone, so that other pages need not load this one.
"""

from __future__ import annotations

import streamlit as st

from bertviz_core.finetune.table_limits import lease_seconds
from pages.shared.engine import client

# Key of the session: the `FineTuneState`.
STATE = "ft_state"
# Of a table to predict: its handle, and its name.
TRY_TABLE = "ft_try_table"
# Handles of tables that this visitor brought, and of those that could not be read.
OWN, REFUSED = "ft_own_tables", "ft_refused_tables"
_RENEW_SECONDS = 300  # at most


def keep_fine_tuning() -> None:
    """Tells the engine now and then that somebody still has the app open.

    What it is not told of ends and is removed when its lease runs out. Nothing
    happens in a session that has not seen the fine-tuning page.
    """
    if STATE in st.session_state:
        # A lease survives two times that went wrong.
        seconds = min(_RENEW_SECONDS, lease_seconds() / 3)
        st.fragment(_renew, run_every=seconds)()


def _renew() -> None:
    state = st.session_state[STATE]
    if state.run_id:
        client().renew_training(state.run_id)
    to_try = st.session_state.get(TRY_TABLE) or ("",)
    for table in filter(None, (*state.tables, to_try[0])):
        if is_own_refused(table):
            client().keep_table_briefly(table)
        else:
            client().renew_table(table)


def is_own_refused(table: str) -> bool:
    """Whether a table is this visitor's and could not be read."""
    return all(table in st.session_state.get(kind, ()) for kind in (OWN, REFUSED))
