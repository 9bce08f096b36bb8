"""The engine in one process: for scripts, notebooks and tests."""

import threading
from collections import defaultdict
from typing import Any

from bertviz_core.engine.engine import TRAIN, Engine
from bertviz_core.engine.jobs import Job, JobCancelled, is_closed_error
from bertviz_core.engine.questions import Outcome, Question, run


class InlineEngine(Engine):
    """Runs calls in the caller's thread, and jobs in a thread of their own.

    The first task imports Keras into this process. A Streamlit server must not have
    it, see CONTRIBUTING.md, and uses the cluster. Keras runs on OpenVINO unless
    `KERAS_BACKEND` says otherwise; trainings and gradients need "tensorflow".
    """

    def __init__(self, train: str = TRAIN) -> None:
        super().__init__(train)
        # One job of each kind at a time, so that they leave room for calls.
        self._turns: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def _run(self, question: Question[Any], job: Job | None = None) -> Outcome:
        if self._closed.is_set():
            return Outcome(error=is_closed_error())
        if job is None:
            return run(question)

        def progress(fraction: float, message: str, so_far: Any = None) -> None:
            job.report(fraction, so_far)
            if job.status.state == "cancelled":
                raise JobCancelled

        with self._turns[job.kind]:
            if job.status.state == "cancelled":
                return Outcome(is_cancelled=True)
            progress(0.0, "")
            return run(question, progress)
