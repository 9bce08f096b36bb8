"""What the engine answers: at once and cached for all visitors, or as long work.

A rerun of a page asks the same questions again, and finds the answers here. They are
shared, so nobody may modify them.

Long work has a button, shows how far it is, and a way to stop. A result belongs to the
question that it answers: another text or target asks anew, and coming back to a
question finds its answer. The engine stops a job that no page has asked for in a while:
the page that shows one asks all the time, and all others do so for it, see
`visitor.hold`.
"""

import contextlib
import functools
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import streamlit as st

from bertviz_core.analysis.wordlists import entries_of_kind
from bertviz_core.checkpoints.versions import version_of
from bertviz_core.engine import JobStatus
from bertviz_core.engine.cache import BoundedCache, num_bytes
from bertviz_core.engine.model_tasks import earlier_uploads, models, vocabulary
from bertviz_core.engine.questions import Asker, Question, answer_all
from bertviz_core.engine.worker_specs import ON_TENSORFLOW
from bertviz_core.errors import BertVizError, EngineError
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import JOB_RESOURCE
from bertviz_core.trace import ModelEntry
from bertviz_core.visitor_files import RUN_PREFIX
from pages.shared.engine import HAS_ANSWERED, client
from pages.shared.errors import show_error, shown_to_user
from pages.shared.language import t
from pages.shared.page_head import model_at_work
from pages.shared.panel import button, panel
from pages.shared.turns import TURNS
from pages.shared.visitor import hold, owner

R = TypeVar("R")
# For comparison: the logits of one mask take 64 kB with the bundled vocabulary, one
# attention matrix of 512 tokens 1 MB, what is said of such a text in a layer 8 MB.
_MOST_BYTES = 96 * 2**20
# Seconds; the engine keeps a table or a run while somebody asks for it now and then.
_ASK_AGAIN_AFTER = 600.0
_KEPT: BoundedCache[tuple[Question[Any], str, int], Any] = BoundedCache(
    _MOST_BYTES, num_bytes, weight_of_key=num_bytes
)


def answer(question: Question[R]) -> R:
    """The answer to a question, from the store if it is there."""
    key = _key(question)
    with contextlib.nullcontext() if key in _KEPT else TURNS.left():
        kept: R = _KEPT.get(key, lambda: _read_only(_asked(question)))
    if kept is None:  # none yet, but there may be one at any moment
        _KEPT.drop(key)
    HAS_ANSWERED.set()
    return kept


def fetch(*questions: Question[Any]) -> None:
    """Brings answers in one go, to be found by who asks.

    The way to the engine and back takes the process of the pages 5 to 10 ms, however
    small the question. What fails is left to be asked again, where the error is shown.
    """
    missing = tuple(question for question in questions if _key(question) not in _KEPT)
    if len(missing) < 2:
        return
    # Kept for a moment: thirty visitors who follow one link ask it once.
    together = ask(answer_all).about(missing)
    outcomes = answer(together)
    for question, outcome in zip(missing, outcomes, strict=True):
        if outcome.value is not None:
            _KEPT.get(_key(question), functools.partial(_read_only, outcome.value))
    _KEPT.drop(_key(together))


def _key(question: Question[Any]) -> tuple[Question[Any], str, int]:
    subject = question.subject
    # A run that goes on gets another model; `ask_anew_if_changed` looks at all others.
    version = version_of(subject) if subject.startswith(RUN_PREFIX) else ""
    return question, version, int(time.monotonic() // _ASK_AGAIN_AFTER)


def _asked(question: Question[R]) -> R:
    # A model that is opened takes seconds, any other question a moment, and what takes
    # longer is asked as a job.
    with model_at_work(at_start_only=question.name != Explorer.info.__qualname__):
        return client().call(question)


def _read_only(found: R) -> R:
    if isinstance(found, np.ndarray):
        found.flags.writeable = False
    elif isinstance(found, (tuple, list)):
        for part in found:
            _read_only(part)
    return found


# `ask(function)(model, ...)` waits for the answer of a function of the core.
ask = Asker(answer)


@st.cache_data(max_entries=1, ttl=30, show_spinner=False)
def installed_models() -> tuple[ModelEntry, ...]:
    """Bundled and downloaded models; at most half a minute old."""
    return client().ask(models)()


@st.cache_data(max_entries=1, ttl=30, show_spinner=False)
def uploaded_models() -> tuple[ModelEntry, ...]:
    """Everybody's uploads; at most half a minute old. Not for strangers."""
    return client().ask(earlier_uploads)()


@st.cache_data(max_entries=64, show_spinner=False)
def chinese_share(model: str) -> float:
    """Which share of the word pieces of a model hold a Chinese character, 0 to 1."""
    return float(entries_of_kind(ask(vocabulary)(model), "cjk").mean())


def forget_lists() -> None:
    """Forgets the lists of models; what is cached about each model stays valid."""
    installed_models.clear()
    uploaded_models.clear()


def forget_models() -> None:
    """Forgets all answers about models: a download may give a name other weights."""
    st.cache_data.clear()
    _KEPT.forget(lambda _: True)


def ask_anew_if_changed(model: str) -> None:
    """Forgets the answers about a folder that holds another model now."""
    seen, version = _seen(model), version_of(model)
    if seen["version"] != version:
        seen["version"] = version
        forget_models()


@st.cache_resource(max_entries=32, show_spinner=False)
def _seen(model: str) -> dict[str, str]:
    """The answers about a model that all sessions share."""
    return {"version": version_of(model)}


POLL_SECONDS = 0.5
# Work that is done without asking: about a second on two cores.
_SHORT_WORK = 3e10
_PATIENCE = 10  # so many times as long, with a bar and a button to stop it


@dataclass(frozen=True)
class _Job:
    """A job that was started, and where it stood when somebody looked last.

    The same model may have other weights in another `version`. Nobody stops one that
    `is_shared` for all who wait.
    """

    question: Question[Any]
    version: str
    status: JobStatus
    is_shared: bool


@dataclass(frozen=True)
class Wording:
    """What a job says, where the usual sentences do not do.

    `before` draws what stands above the button, `working` is said beside the bar, with
    the share that is done, `stopped` after someone stopped it.
    """

    before: Callable[[], object] = lambda: None
    working: Callable[[float], str] = lambda share: t("app.working", share=share)
    stopped: Callable[[], str] = lambda: t("app.stopped")


_USUAL = Wording()


def ask_job(
    place: str,
    label: str,
    question: Question[R],
    *,
    at_once: bool = False,
    wording: Wording = _USUAL,
    show: Callable[[Any], object] = lambda so_far: None,
    start: Callable[[Question[Any]], str] | None = None,
) -> R | None:
    """Draws a job at whatever stage it is.

    Returns what the task returned, `None` until then. `place` is unique on the page;
    work that is short starts `at_once`, without the button. `show` draws what the task
    has shown so far, see `JobStatus`; `start` gives a job that others may wait for,
    too.
    """
    key = _job_key(place)
    version = version_of(question.subject)
    job: _Job | None = st.session_state.get(key)
    if job is not None and (job.question, job.version) != (question, version):
        _drop(key, job)
        job = None
    if job is None and at_once:
        job = _start(key, question, version, start)
    if job is not None and not job.status.is_finished:
        panel(_watch, POLL_SECONDS)(key, job, wording, show)
        return None
    if job is not None:
        if job.status.state == "done":
            result: R = job.status.result
            return result
        if job.status.state == "cancelled":
            st.info(wording.stopped(), icon=":material/cancel:")
        show_error(job.status.error)
    wording.before()
    # Noted at the click: a run that another message ends before it comes here would
    # lose what the button says.
    asked = f"{key}_asked"
    note = functools.partial(st.session_state.__setitem__, asked, question)
    button(label, f"{key}_start", "play_arrow", note)
    is_asked = st.session_state.pop(asked, None) == question
    if is_asked and _start(key, question, version, start) is not None:
        st.rerun()
    return None


def is_short(model: str, num_passes: float, num_tokens: float) -> bool:
    """Whether so many passes take so little that nobody need ask for them."""
    config = ask(Explorer.info)(model).config
    layers, hidden = config.num_hidden_layers, config.hidden_size
    # 24 H^2 operations for a token in a layer.
    return num_passes * num_tokens * layers * 24 * hidden**2 < _SHORT_WORK


def ask_soon(
    place: str,
    question: Question[R],
    num_passes: float,
    num_tokens: float,
    label: str = "masked.compute",
) -> R | None:
    """Asks what mostly takes a moment; where it takes longer, as a job.

    It takes about `num_passes` of the network, of `num_tokens` each. `None` while it is
    worked on. `label` is that of the button which begins what takes long.
    """
    model = question.subject
    if num_passes == 1 or is_short(model, num_passes, num_tokens):
        forget_job(place)
        return answer(question)
    # Opening the panel asks already; what takes long waits for the button.
    at_once = is_short(model, num_passes // _PATIENCE, num_tokens)
    return ask_job(place, label, question, at_once=at_once)


def has_job(place: str) -> bool:
    """Whether something was asked at a place, be it that it runs or has ended."""
    return _job_key(place) in st.session_state


def forget_job(place: str) -> None:
    """Drops an answer that was taken, or stops the work that nobody waits for."""
    key = _job_key(place)
    job: _Job | None = st.session_state.get(key)
    if job is not None:
        _drop(key, job)


def _job_key(place: str) -> str:
    return f"job_{place}"


def _start(
    key: str,
    question: Question[Any],
    version: str,
    start: Callable[[Question[Any]], str] | None,
) -> _Job | None:
    """Starts a job; `None`, and the reason on the page, where too many wait."""
    job = None
    with shown_to_user(stop=False):
        job_id = start(question) if start else client().start(question, owner())
        begun = JobStatus(job_id, "waiting")
        job = _Job(question, version, begun, is_shared=start is not None)
        try:
            st.session_state[key] = job
            hold(key, [job_id])
        except BaseException:  # a click came first: this run ends here
            _drop(key, job)
            raise
    return job


def _drop(key: str, job: _Job) -> None:
    """Nobody waits for the answer any more."""
    if not (job.status.is_finished or job.is_shared):
        with contextlib.suppress(EngineError):  # forgotten by now: it has ended
            client().cancel(job.status.job_id)
    st.session_state.pop(key, None)
    hold(key, [])


def _watch(
    key: str, job: _Job, wording: Wording, show: Callable[[Any], object]
) -> None:
    # The session keeps the id alone: the job goes on while another page is shown.
    job = st.session_state.get(key, job)  # a click may have ended it
    status = job.status if job.status.is_finished else look_again(job.status)
    if status.is_finished:
        st.session_state[key] = replace(job, status=status)
        hold(key, [])
        st.rerun()
    words = wording.working(status.fraction)
    if status.num_before:
        words = t("app.in_line")
    elif (
        status.state == "waiting"
        and job.question.resource(JOB_RESOURCE) in ON_TENSORFLOW
    ):
        words = t("app.tensorflow_starts")
    st.progress(status.fraction, words)
    button("app.cancel", f"{key}_cancel", "", _cancel, key, job)
    if status.so_far is not None:
        show(status.so_far)


def _cancel(key: str, job: _Job) -> None:
    """A callback: a run that ends before it comes to a button forgets the click."""
    if job.is_shared:  # it goes on for the others
        ended = replace(job.status, state="cancelled")
        st.session_state[key] = replace(job, status=ended)
    else:
        with contextlib.suppress(EngineError):  # forgotten by now: it has ended
            client().cancel(job.status.job_id)


def look_again(status: JobStatus) -> JobStatus:
    """Where a job stands now, of which a page keeps where it stood."""
    try:
        return client().job(status.job_id)
    except BertVizError as error:  # the server has started again since
        return replace(status, state="failed", error=error)
