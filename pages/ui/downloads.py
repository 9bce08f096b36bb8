"""Fetching a model from the Hugging Face hub, with progress and a way to stop."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from bertviz_core.engine import JobStatus
from bertviz_core.errors import BertVizError
from pages.ui.answers import forget_models
from pages.ui.engine import client
from pages.ui.errors import shown_to_user
from pages.ui.language import t

_RUNNING = "download_running"
_ENDED = "download_ended"
_POLL_SECONDS = 1.0


@dataclass(frozen=True)
class _Download:
    name: str
    job_id: str


def offer_download(name: str) -> None:
    """Draws a download: a button first, then how far it is, then how it ended.

    A finished download starts the page again, with the model at hand.

    Args:
        name: on the hub, with an optional "@revision".
    """
    running: _Download | None = st.session_state.get(_RUNNING)
    if running is not None and running.name == name:
        _watch(running)
        return
    ended: JobStatus | None = st.session_state.pop(_ENDED, None)
    if ended is not None and ended.state == "cancelled":
        st.info(t("app.cancelled"), icon=":material/cancel:")
    with shown_to_user(stop=False):
        if ended is not None and ended.error is not None:
            raise ended.error
    st.info(t("app.not_here_yet", model=name), icon=":material/cloud_download:")
    if st.button(t("app.download_model"), key="download_start"):
        with shown_to_user():
            job_id = client().start("download_model", name=name)
        st.session_state[_RUNNING] = _Download(name, job_id)
        st.rerun()


@st.fragment(run_every=_POLL_SECONDS)
def _watch(download: _Download) -> None:
    # The session keeps the id alone: the job goes on when this page is closed.
    with shown_to_user():
        status = _status(download)
        if status.is_finished:
            forget_models()
            del st.session_state[_RUNNING]
            st.session_state[_ENDED] = status
            st.rerun()
        st.progress(
            status.fraction,
            t("app.downloading", name=download.name, share=status.fraction),
        )
        if st.button(t("app.cancel"), key="download_cancel"):
            client().cancel(download.job_id)


def _status(download: _Download) -> JobStatus:
    try:
        return client().job(download.job_id)
    except BertVizError as error:  # the server has started again since
        return JobStatus(download.job_id, "failed", error=error)
