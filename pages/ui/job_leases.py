"""Work that a visitor waits for goes on while any page of the app is open.

The engine stops a job that no page has asked for in a while. The page that shows one
asks all the time; here the others do so for it.
"""

from __future__ import annotations

import streamlit as st

from bertviz_core.engine.jobs import LEASE_SECONDS
from bertviz_core.errors import BertVizError
from pages.ui.engine import client

# Key of the session: ids of jobs that it has not seen the end of.
_AWAITED = "jobs_awaited"
# A lease survives some times that went wrong.
RENEW_SECONDS = LEASE_SECONDS / 5


def await_job(job_id: str) -> None:
    """Remembers a job that this session waits for."""
    st.session_state.setdefault(_AWAITED, set()).add(job_id)


def keep_jobs() -> None:
    """Asks now and then for the jobs of this session.

    Nothing happens in one that waits for none.
    """
    if st.session_state.get(_AWAITED):
        st.fragment(_ask, run_every=RENEW_SECONDS)()


def _ask() -> None:
    awaited: set[str] = st.session_state[_AWAITED]
    awaited.difference_update([job_id for job_id in awaited if _has_ended(job_id)])


def _has_ended(job_id: str) -> bool:
    try:
        return client().job(job_id).is_finished
    except BertVizError:  # forgotten by now, or the server has started again
        return True
