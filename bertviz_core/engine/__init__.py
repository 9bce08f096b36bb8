"""Runs tasks on models somewhere else: this process, worker processes, a cluster.

Importing this package loads next to nothing, as the worker processes do it on their way
to Keras; `connect` loads what the chosen engine needs.

What most functions take is said here, once. A `job_id` or `run_id` is what `start`
returned; the `owner` is whose turn and share of the room it takes, "" for nobody in
particular. `EngineError` means that no answer came, or none can; `TrainingError` that a
run is gone, was not asked for in a long time, or has no model, where one is asked.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bertviz_core.engine.jobs import JobStatus
from bertviz_core.environment import models_policy, one_of, precision

if TYPE_CHECKING:
    from bertviz_core.engine.engine import Engine

__all__ = ["JobStatus", "connect"]

ENGINE_VARIABLE = "BERTVIZ_ENGINE"
SCHEDULER_VARIABLE = "BERTVIZ_SCHEDULER"


def connect() -> Engine:
    """Makes the engine that the environment names.

    Returns at once: a cluster starts in the background, and the first call waits for
    it. Each call makes another engine, so a server keeps one.

    `BERTVIZ_ENGINE` is "cluster" (default: model processes on this machine) or "inline"
    (this process). `BERTVIZ_SCHEDULER`, such as "tcp://10.0.0.5:8786", names a running
    Dask cluster to use instead. `BERTVIZ_BACKEND` is "openvino" (default) or
    "tensorflow", for a machine with a GPU: what models are asked on;
    `BERTVIZ_PRECISION` is "float32" (default) or "bfloat16": what OpenVINO computes in.
    A value that cannot be is an `EngineError`.
    """
    _require_limits()
    scheduler = os.environ.get(SCHEDULER_VARIABLE, "").strip()
    if one_of(ENGINE_VARIABLE, ("cluster", "inline")) == "inline":
        from bertviz_core.engine.inline import InlineEngine

        return InlineEngine()
    from bertviz_core.engine.local_cluster import LocalCluster

    # Its processes import for seconds: they begin before this one imports the rest.
    begun = None if scheduler else LocalCluster()
    from bertviz_core.engine.cluster import ClusterEngine

    return ClusterEngine(scheduler or None, begun=begun)


def _require_limits() -> None:
    """Says that one cannot be on the first page, before processes stumble over it."""
    from bertviz_core.checkpoints.limits import max_megabytes
    from bertviz_core.engine.worker_specs import (
        max_answer_bytes,
        max_models,
        reading_backend,
        training_slots,
    )
    from bertviz_core.visitor_files import (
        lease_seconds,
        max_kept_bytes,
        max_training_seconds,
    )

    numbers = (max_megabytes, max_models, max_answer_bytes, training_slots)
    kept = (lease_seconds, max_kept_bytes, max_training_seconds)
    for limit in (*numbers, *kept, reading_backend, precision, models_policy):
        limit()
