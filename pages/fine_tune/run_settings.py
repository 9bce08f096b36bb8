"""What a run is asked for, and what it would need: time and memory, from two steps.

Visitors who ask the same of the same rows, as a class with one table does, share one
measurement: the machine would be as busy with thirty as with a training.
"""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Any

import streamlit as st

from bertviz_core.engine.finetune_tasks import estimate_training
from bertviz_core.engine.questions import Question
from bertviz_core.errors import BertVizError
from bertviz_core.explorer import Explorer
from bertviz_core.training.finetune.checks import DataCheck
from bertviz_core.training.finetune.estimate import TrainingEstimate
from bertviz_core.training.finetune.settings import FinetuneSettings, count_steps
from pages.fine_tune.state import FineTuneState
from pages.fine_tune.widgets import duration, memory
from pages.shared.answers import ask
from pages.shared.engine import client
from pages.shared.jobs import Wording, ask_job, has_job
from pages.shared.language import in_a_row, plain, t
from pages.shared.markdown import table
from pages.shared.visitor import owner

# Where nothing was measured and nothing chosen: it takes minutes on any machine.
FIRST_LEVEL = "head"
SHORTEST = 8  # tokens, where the model reads that many
# Settings that the time of a step depends on.
_TIMED = ("batch_size", "num_top_layers", "precision")
# Settings that are chosen elsewhere than among the options.
_ELSEWHERE = ("level", "max_tokens", "class_weights", "oversample")
_PLACE = "ft_estimate"
_BYTES_UNKNOWN = 0


def settings_of(state: FineTuneState, check: DataCheck) -> FinetuneSettings:
    """The settings of the run.

    Raises:
        TrainingError: a value that cannot be.
    """
    balance = balance_of(state, check)
    options = {key: value for key, value in state.options if key not in _ELSEWHERE}
    size = ask(Explorer.info)(state.model).config.hidden_size
    return FinetuneSettings.proposed(
        size,
        num_rows_seen(check, balance == "oversample"),
        level=state.level or FIRST_LEVEL,
        max_tokens=max_tokens_of(state, check),
        class_weights=balance == "weights",
        oversample=balance == "oversample",
        **options,
    )


def timed_settings(state: FineTuneState, check: DataCheck) -> FinetuneSettings:
    """The settings that the time of all levels is asked for.

    What changes nothing about a step is left out, so that playing with it does not
    ask anew; `RunEstimate.seconds_of` takes the epochs into account.
    """
    timed = tuple((key, value) for key, value in state.options if key in _TIMED)
    return settings_of(dataclasses.replace(state, level="", options=timed), check)


def balance_of(state: FineTuneState, check: DataCheck) -> str:
    """What is done about unequal classes, one of `REMEDIES`."""
    return "none" if check.is_regression else state.balance or check.remedy


def max_tokens_of(state: FineTuneState, check: DataCheck) -> int:
    """Where texts are cut."""
    chosen = state.max_tokens or check.default_max_tokens
    return min(max(SHORTEST, chosen), check.max_position_embeddings)


def num_rows_seen(check: DataCheck, oversample: bool) -> int:
    """Rows of an epoch: with oversampling, each class has as many as the largest."""
    return check.num_oversampled if oversample else check.num_train


def ask_estimate(
    state: FineTuneState, at_once: bool = False
) -> TrainingEstimate | None:
    """Draws the question for time and memory; the answer, once it is there."""
    if state.check is None or state.data is None:
        return None
    settings = timed_settings(state, state.check)
    again = t("fine_tune.estimate_again")
    return ask_job(
        _PLACE,
        again if has_job(_PLACE) else t("fine_tune.estimate_start"),
        ask(estimate_training).about(state.model, state.data, settings),
        at_once=at_once,
        wording=Wording(
            working=lambda share: t("fine_tune.estimate_runs", share=share)
        ),
        start=_shared,
    )


def is_asked() -> bool:
    """Whether this visitor waits for an estimate, or sees one."""
    return has_job(_PLACE)


def _shared(question: Question[Any]) -> str:
    """The measurement of others, unless it has failed."""
    with contextlib.suppress(BertVizError):  # the server may have started again
        job_id = _start(question)
        status = client().job(job_id)
        if status.state == "done" or not status.is_finished:
            return job_id
    _start.clear(question)
    return _start(question)


@st.cache_resource(
    max_entries=64, ttl=600, show_spinner=False, hash_funcs={Question: repr}
)
def _start(question: Question[Any]) -> str:
    return client().start(question, owner())


def time_of(
    estimate: TrainingEstimate, state: FineTuneState, check: DataCheck, level: str
) -> str:
    """How long the run would take at a level, with what the visitor chose."""
    run = estimate.level(level).run
    if run is None:
        return plain("fine_tune.not_timed")
    settings = settings_of(dataclasses.replace(state, level=level), check)
    num_rows = num_rows_seen(check, settings.oversample)
    return duration(run.seconds_of(count_steps(settings, num_rows)))


def show_estimate(state: FineTuneState, check: DataCheck) -> None:
    """Draws the question, then a table of the levels and the recommended one."""
    st.markdown(t("fine_tune.estimate_explained"))
    estimate = ask_estimate(state)
    if estimate is None:
        return
    rows = [
        [
            plain(f"fine_tune.level_{one.level}"),
            time_of(estimate, state, check, one.level),
            memory(one.memory_bytes),
            plain(f"fine_tune.fits_{'yes' if one.fits else 'no'}"),
        ]
        for one in estimate.levels
    ]
    names = ("level", "time", "memory", "fits")
    st.markdown(table([plain(f"fine_tune.column_{name}") for name in names], rows))
    level = plain(f"fine_tune.level_{estimate.recommended}")
    said = t("fine_tune.recommended_level", level=level)
    st.success(said, icon=":material/thumb_up:")
    explain_estimate(estimate)


def explain_estimate(estimate: TrainingEstimate) -> None:
    """Says what the figures rest on."""
    said = [t("fine_tune.estimate_rests_on")]
    if estimate.free_bytes != _BYTES_UNKNOWN:
        said.append(t("fine_tune.memory_free", size=memory(estimate.free_bytes)))
    if estimate.is_loaded:
        said.append(t("fine_tune.estimate_loaded"))
    st.caption(in_a_row(said))
