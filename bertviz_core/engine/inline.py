"""The engine without other processes: for scripts, notebooks and tests."""

from __future__ import annotations

import threading
from typing import Any

from bertviz_core.engine import dispatch
from bertviz_core.engine.dispatch import Outcome, Request, is_closed_error
from bertviz_core.engine.engine import Engine
from bertviz_core.engine.jobs import Job, JobCancelled
from bertviz_core.engine.worker_specs import DOWNLOAD_RESOURCE, RESOURCE_OF_TASK


class InlineEngine(Engine):
    """Runs calls in the caller's thread, and jobs in a thread of their own.

    The first task imports Keras into this process. A Streamlit server must not have
    it, see CONTRIBUTING.md, and uses the cluster. Keras runs on OpenVINO unless
    `KERAS_BACKEND` says otherwise; trainings and gradients need "tensorflow".

    Args:
        module: defines the tasks.
        training_module: defines the training.
    """

    def __init__(
        self,
        module: str = dispatch.TASKS_MODULE,
        training_module: str = dispatch.TRAINING_MODULE,
    ) -> None:
        super().__init__(module, training_module)
        self._one_job = threading.Lock()
        self._one_download = threading.Lock()
        self._is_closed = False

    def close(self) -> None:
        self._is_closed = True
        super().close()

    def _run(self, request: Request, job: Job | None = None) -> Outcome:
        if self._is_closed:
            return Outcome(error=is_closed_error())
        if job is None:
            return dispatch.run(request)

        def progress(fraction: float, message: str, so_far: Any = None) -> None:
            job.report(fraction, message, so_far)
            if job.status.state == "cancelled":
                raise JobCancelled

        is_download = RESOURCE_OF_TASK.get(request.task) == DOWNLOAD_RESOURCE
        with self._one_download if is_download else self._one_job:
            if job.status.state == "cancelled":
                return Outcome(is_cancelled=True)
            progress(0.0, "")
            return dispatch.run(request, progress)

    def _run_training(self, request: Request) -> Outcome:
        if self._is_closed:
            return Outcome(error=is_closed_error())
        return dispatch.run(request)
