"""Which worker processes a local cluster has, and how each is set up."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from bertviz_core.environment import one_of, whole_number
from bertviz_core.tasks import (
    CALL_RESOURCE,
    DOWNLOAD_RESOURCE,
    ESTIMATE_RESOURCE,
    GRADIENT_RESOURCE,
    JOB_RESOURCE,
    TRAIN_RESOURCE,
    UPLOAD_RESOURCE,
)

# A worker of Dask looks at the first of its waiting tasks alone: one whose resource is
# taken holds up all behind it. So what is soon over comes before what takes long.
PRIORITIES = {
    CALL_RESOURCE: 4,
    UPLOAD_RESOURCE: 3,
    GRADIENT_RESOURCE: 3,
    ESTIMATE_RESOURCE: 2,
    JOB_RESOURCE: 1,
    DOWNLOAD_RESOURCE: 0,
    TRAIN_RESOURCE: 0,
}
READING, TRAINING = "reading", "training"
# What runs on TensorFlow, in the worker that starts when it is first asked for: it may
# use up the memory without harm to those who read.
ON_TENSORFLOW = (GRADIENT_RESOURCE, ESTIMATE_RESOURCE, TRAIN_RESOURCE)
SLOTS_VARIABLE = "BERTVIZ_TRAINING_SLOTS"


@dataclass(frozen=True)
class WorkerSpec:
    """One worker process.

    Args:
        name: unlike that of the others.
        num_threads: tasks that run at the same time.
        resources: what tasks can ask for, by name, and how much there is of it.
        environment: variables that must be set before the process starts.
    """

    name: str
    num_threads: int
    resources: Mapping[str, float]
    environment: Mapping[str, str] = field(default_factory=dict)


def worker_specs(num_cores: int) -> tuple[WorkerSpec, ...]:
    """The workers of a local cluster.

    One reads: two calls at a time, and beside them a job, a download and an upload.

    Args:
        num_cores: of this machine, or of the share that the process may use.
    """
    resources = {
        CALL_RESOURCE: 2,
        JOB_RESOURCE: 1,
        DOWNLOAD_RESOURCE: 1,
        UPLOAD_RESOURCE: 1,
    }
    num_threads = sum(resources.values())
    return (WorkerSpec(READING, num_threads, resources, _environment(num_cores)),)


def training_spec(num_cores: int) -> WorkerSpec:
    """The worker that trains and derives.

    It is started by the first training or gradient, because a process with TensorFlow
    takes some hundred megabytes. It may use every core: the system lets others go
    first.

    Args:
        num_cores: of this machine, or of the share that the process may use.

    Raises:
        EngineError: see `training_slots`.
    """
    slots = training_slots()
    resources = {TRAIN_RESOURCE: slots, ESTIMATE_RESOURCE: 1, GRADIENT_RESOURCE: 1}
    num_threads = sum(resources.values())
    return WorkerSpec(TRAINING, num_threads, resources, _environment(num_cores))


def training_slots() -> int:
    """How many trainings run at the same time; more are slower each.

    Raises:
        EngineError: `BERTVIZ_TRAINING_SLOTS` is no number from 1.
    """
    return whole_number(SLOTS_VARIABLE, default=1, least=1)


def reading_backend() -> str:
    """What Keras runs on in the worker that reads.

    Raises:
        EngineError: `BERTVIZ_BACKEND` names another than these two.
    """
    return one_of("BERTVIZ_BACKEND", ("openvino", "tensorflow"))


def _environment(num_cores: int) -> dict[str, str]:
    defaults = {
        # 2: errors only. TensorFlow greets every start with several warnings.
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "TF_NUM_INTRAOP_THREADS": str(num_cores),
        "TF_NUM_INTEROP_THREADS": str(num_cores),
        # What one layer frees the next one takes, without a way to the system:
        # a third faster on 128 tokens than with Dask's trim threshold of 64 kB.
        # What a dropped model leaves is given back by `tasks`.
        "MALLOC_ARENA_MAX": "2",
        "MALLOC_MMAP_THRESHOLD_": str(256 * 2**20),
        "MALLOC_TRIM_THRESHOLD_": str(128 * 2**20),
    }
    return {name: os.environ.get(name, value) for name, value in defaults.items()}
