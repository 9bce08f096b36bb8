"""Fetching a model from the Hugging Face hub, with progress and a button to stop."""

from __future__ import annotations

import streamlit as st

from bertviz_core.engine.model_tasks import download_model
from bertviz_core.trace import ModelEntry
from pages.shared.answers import ask, forget_models
from pages.shared.jobs import Wording, ask_job, forget_job
from pages.shared.language import t

_PLACE = "download"


def offer_download(name: str) -> ModelEntry | None:
    """Draws a download: a button first, then how far it is, then how it ended.

    `name` may end in "@revision"; the id of the model that is returned holds the
    commit.
    """
    entry: ModelEntry | None = ask_job(
        _PLACE,
        t("app.download_model"),
        ask(download_model).about(name),
        wording=Wording(
            before=lambda: st.info(
                t("app.not_here_yet", model=name), icon=":material/cloud_download:"
            ),
            working=lambda share: t("app.downloading", name=name, share=share),
            stopped=lambda: t("app.cancelled"),
        ),
    )
    if entry is not None:
        forget_job(_PLACE)
        forget_models()
    return entry
