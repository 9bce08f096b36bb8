"""What a Dask worker runs for the engine. Used by name on both sides.

A cluster that is not started by the engine gives its workers these options:
`dask worker tls://… --nthreads 6 --resources "call=2 job=1 predict=1 download=1
upload=1" --memory-limit 1.0 --preload bertviz_core.engine.worker --tls-ca-file …
--tls-cert … --tls-key …`, and the one that trains and derives `--nthreads 3
--resources "train=1 estimate=1 gradient=1"` with the rest alike; two on one machine
share its memory, as in `worker_specs`.
Its scheduler gets `--preload bertviz_core.engine.without_spans`, as these workers have
no spans either, and `DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES=0` in its
environment: `connection` tries again what was with a worker that died.
"""

import contextlib
import faulthandler
import gc
import importlib
import logging
import os
import threading
import time
from pathlib import Path
from typing import Any

from bertviz_core.engine import without_spans
from bertviz_core.engine.jobs import JobCancelled, JobProgress, in_background
from bertviz_core.engine.questions import Outcome, Question, run
from bertviz_core.engine.worker_specs import ON_TENSORFLOW, reading_backend
from bertviz_core.environment import ASKED_POLICY
from bertviz_core.free_memory import SHARE_VARIABLE
from bertviz_core.quiet import import_keras

HEAVY_MODULE = "bertviz_core.model.compiled"
# Pages are to stay quick while a model trains, so the system lets others go first.
TRAINING_NICENESS = 5
# Of 1000. Where memory runs out, the kernel ends what has most: first what trains, then
# what reads, and the process of the pages last.
TRAINING_OOM_SCORE, READING_OOM_SCORE = 600, 300
# Reports that follow each other faster than this are dropped, unless they say
# something new or are the last.
REPORT_EVERY_SECONDS = 0.2

LOGGER = logging.getLogger(__name__)

# Jobs that run in this process and how to stop them. It belongs to the process,
# like the worker itself, because Dask calls plain functions.
_STOP_OF_JOB: dict[str, threading.Event] = {}


def dask_setup(worker: Any) -> None:
    """Chooses the backend and begins to import it while the worker registers itself.

    Dask calls this by name when the module is given as a preload.
    """
    without_spans.dask_setup(worker)
    on_tensorflow = not worker.state.total_resources.keys().isdisjoint(ON_TENSORFLOW)
    os.environ["KERAS_BACKEND"] = "tensorflow" if on_tensorflow else reading_backend()
    if on_tensorflow and hasattr(os, "nice"):
        os.nice(TRAINING_NICENESS)
    score = TRAINING_OOM_SCORE if on_tensorflow else READING_OOM_SCORE
    with contextlib.suppress(OSError):  # not Linux, or it goes sooner already
        Path("/proc/self/oom_score_adj").write_text(str(score))
    if worker.memory_manager.memory_limit:
        os.environ[SHARE_VARIABLE] = str(int(worker.memory_manager.memory_limit))
    in_background("import-keras", _import_heavy)


def run_call(question: Question[Any], policy: str, seconds: float) -> Outcome:
    """Runs a task, by the `environment.models_policy` of the server that asks.

    When it takes longer than so many seconds, this process ends: a thread cannot be
    ended, and would keep its place. Dask starts another.
    """
    ASKED_POLICY.set(policy)
    timer = _timer(seconds, _end, question.name)
    try:
        return run(question)
    finally:
        timer.cancel()


def run_job(question: Question[Any], policy: str, job_id: str, topic: str) -> Outcome:
    """Runs a task that reports to a topic of the scheduler, until `stop_job` stops it.

    The topic gets events `{"job_id", "fraction", "so_far"}`; for `policy` see
    `run_call`.
    """
    ASKED_POLICY.set(policy)
    stop = _STOP_OF_JOB[job_id] = threading.Event()
    tell = _reporter(topic, job_id, stop)
    try:
        tell(0.0, "")
        return run(question, tell)
    except JobCancelled:
        return Outcome(is_cancelled=True)
    finally:
        del _STOP_OF_JOB[job_id]


def stop_job(job_id: str, seconds: float) -> None:
    """Makes a running job raise `JobCancelled` at its next report.

    When that takes longer than so many seconds, this process ends, as in `run_call`.
    """
    stop = _STOP_OF_JOB.get(job_id)
    if stop is not None:
        stop.set()
        _timer(seconds, _end_unstopped, job_id)


def _timer(seconds: float, function: Any, *arguments: Any) -> threading.Timer:
    timer = threading.Timer(seconds, function, arguments)
    timer.daemon = True
    timer.start()
    return timer


def _end_unstopped(job_id: str) -> None:
    if job_id in _STOP_OF_JOB:
        _end(job_id)


def _end(what: str) -> None:
    LOGGER.error("%s hangs, so this process ends. It stands here:", what)
    faulthandler.dump_traceback()
    os._exit(1)


def _reporter(topic: str, job_id: str, stop: threading.Event) -> JobProgress:
    """What a job in a worker tells how far it is."""
    from distributed import get_worker

    worker, last_sent, last_message = get_worker(), 0.0, ""

    def tell(fraction: float, message: str, so_far: Any = None) -> None:
        nonlocal last_sent, last_message
        if stop.is_set():
            raise JobCancelled
        now = time.monotonic()
        is_early = now - last_sent < REPORT_EVERY_SECONDS
        is_news = message != last_message or so_far is not None
        if not is_early or is_news or fraction >= 1.0:
            last_sent, last_message = now, message
            event = {"job_id": job_id, "fraction": float(fraction), "so_far": so_far}
            worker.log_event(topic, event)

    return tell


def _import_heavy() -> None:
    # Collecting garbage while a million objects are made that all stay takes a
    # third of the import: 2.4 s instead of 4.2 s on two cores. Frozen, they are
    # not looked at again later either.
    gc.disable()
    try:
        import_keras()
        importlib.import_module(HEAVY_MODULE)
        gc.freeze()
    except Exception:
        LOGGER.exception("The worker cannot import %s.", HEAVY_MODULE)
    finally:
        gc.enable()
