"""Answers of the engine, cached for all visitors.

A rerun of a page asks the same questions again, and finds the answers here. They are
shared, so nobody may modify them.
"""

import contextlib
import functools
import time
from typing import Any, TypeVar

import numpy as np
import streamlit as st

from bertviz_core.analysis.wordlists import entries_of_kind
from bertviz_core.checkpoints.versions import version_of
from bertviz_core.engine.cache import BoundedCache, num_bytes
from bertviz_core.engine.model_tasks import earlier_uploads, models, vocabulary
from bertviz_core.engine.questions import Asker, Question, answer_all
from bertviz_core.explorer import Explorer
from bertviz_core.trace import ModelEntry
from bertviz_core.visitor_files import RUN_PREFIX
from pages.shared.engine import client, note_answer
from pages.shared.page_head import model_at_work
from pages.shared.turns import TURNS

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
    note_answer()
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
