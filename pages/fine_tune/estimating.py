"""What each level would need: time and memory, from two timed steps.

Visitors who ask the same of the same rows, as a class with one table does, share one
measurement: the machine would be as busy with thirty as with a training.
"""

from __future__ import annotations

import dataclasses

import streamlit as st

from bertviz_core.engine import JobStatus
from bertviz_core.engine.finetune_tasks import estimate_training
from bertviz_core.errors import BertVizError
from bertviz_core.finetune.data_check import DataCheck
from bertviz_core.finetune.request import DataChoice
from bertviz_core.finetune.run_estimate import TrainingEstimate
from bertviz_core.finetune.settings import FinetuneSettings
from pages.fine_tune.lengths import max_tokens_of
from pages.fine_tune.run_settings import timed_settings
from pages.fine_tune.state import FineTuneState, remember
from pages.fine_tune.wording import duration, memory
from pages.shared.engine import client
from pages.shared.errors import sentence
from pages.shared.jobs import await_job
from pages.shared.language import in_a_row, plain, t
from pages.shared.markdown import table

_BYTES_UNKNOWN = 0
_POLL_SECONDS = 1.0
_ASKED = "ft_estimate_asked"
# What this visitor does not want to wait for; others may.
_DECLINED = "ft_estimate_declined"

Question = tuple[str, DataChoice, FinetuneSettings]


def ask_estimate(
    state: FineTuneState, at_once: bool = False
) -> TrainingEstimate | None:
    """Draws the question for time and memory, at whatever stage it is.

    Returns:
        The answer; `None` until it is there.
    """
    question = _question_of(state)
    if question is None or state.check is None:
        return None
    if not at_once and not is_asked(state):
        _offer(t("fine_tune.estimate_start"), question, state.check)
        return None
    st.session_state[_ASKED] = question
    if st.session_state.get(_DECLINED) == question:
        _explain_end(t("app.stopped"), question, state.check)
        return None
    try:
        status = client().job(_job_of(*question))
    except BertVizError as error:  # the queue is full, or the server started again
        status = JobStatus("", "failed", error=error)
    if not status.is_finished:
        await_job(status.job_id)
        _watch(status.job_id, question)
        return None
    if status.state == "done":
        found: TrainingEstimate = status.result
        return found
    said = t("app.stopped")
    if status.error is not None:
        said = sentence(status.error.template, status.error.details)
    _explain_end(said, question, state.check)
    return None


def is_asked(state: FineTuneState) -> bool:
    """Whether this visitor has asked for the estimate of what is chosen now."""
    question = _question_of(state)
    return question is not None and bool(st.session_state.get(_ASKED) == question)


def _question_of(state: FineTuneState) -> Question | None:
    if state.check is None or state.data is None:
        return None
    return (state.model, state.data, timed_settings(state, state.check))


def _explain_end(said: str, question: Question, check: DataCheck) -> None:
    st.info(said, icon=":material/timer_off:")
    _offer(t("fine_tune.estimate_again"), question, check)


@st.cache_resource(
    max_entries=64,
    ttl=600,
    show_spinner=False,
    hash_funcs={DataChoice: repr, FinetuneSettings: repr},
)
def _job_of(model: str, data: DataChoice, settings: FinetuneSettings) -> str:
    engine = client()
    return engine.start(engine.ask(estimate_training).about(model, data, settings))


def _offer(label: str, question: Question, check: DataCheck) -> None:
    st.button(
        label,
        key="ft_estimate_start",
        icon=":material/timer:",
        on_click=_ask,
        args=(question, check),
    )


def _ask(question: Question, check: DataCheck) -> None:
    # The slider of the length is drawn without the page: it may have moved since.
    model, data, settings = question
    now = max_tokens_of(remember(), check)
    question = (model, data, dataclasses.replace(settings, max_tokens=now))
    is_again = st.session_state.get(_ASKED) == question
    st.session_state[_ASKED] = question
    st.session_state.pop(_DECLINED, None)
    # Others of a class may have asked again already.
    if is_again and _has_failed(question):
        _job_of.clear(*question)


def _has_failed(question: Question) -> bool:
    try:
        status = client().job(_job_of(*question))
    except BertVizError:
        return True
    return status.is_finished and status.state != "done"


@st.fragment(run_every=_POLL_SECONDS)
def _watch(job_id: str, question: Question) -> None:
    try:
        status = client().job(job_id)
    except BertVizError:  # the run of the whole page says why
        st.rerun()
    if status.is_finished:
        st.rerun()
    st.progress(status.fraction, t("fine_tune.estimate_runs", share=status.fraction))
    if st.button(t("app.cancel"), key="ft_estimate_cancel"):
        st.session_state[_DECLINED] = question
        st.rerun()


def show_estimate(state: FineTuneState) -> None:
    """Draws the question, then a table of the levels and the recommended one."""
    st.markdown(t("fine_tune.estimate_explained"))
    estimate = ask_estimate(state)
    if estimate is None:
        return
    rows = [
        [
            plain(f"fine_tune.level_{one.level}"),
            duration(one.run.seconds) if one.run else plain("fine_tune.not_timed"),
            memory(one.memory_bytes),
            plain(f"fine_tune.fits_{'yes' if one.fits else 'no'}"),
        ]
        for one in estimate.levels
    ]
    names = ("level", "time", "memory", "fits")
    st.markdown(table([plain(f"fine_tune.column_{name}") for name in names], rows))
    level = plain(f"fine_tune.level_{estimate.recommended}")
    st.success(
        t("fine_tune.recommended_level", level=level), icon=":material/thumb_up:"
    )
    explain_estimate(estimate)


def explain_estimate(estimate: TrainingEstimate) -> None:
    """Says what the figures rest on."""
    said = [t("fine_tune.estimate_rests_on")]
    if estimate.free_bytes != _BYTES_UNKNOWN:
        said.append(t("fine_tune.memory_free", size=memory(estimate.free_bytes)))
    if estimate.is_loaded:
        said.append(t("fine_tune.estimate_loaded"))
    st.caption(in_a_row(said))
