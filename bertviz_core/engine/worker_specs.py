"""Which worker processes a local cluster has, and how each is set up."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

# A job asks for one of these. A worker has one, so jobs run one at a time there.
JOB_RESOURCE = "job"


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

    One reads: two calls at a time, and a job beside them. A worker that trains
    gets a row of its own with the resource "train", and is started by the first
    training, because a process with TensorFlow takes some hundred megabytes.

    Args:
        num_cores: of this machine, or of the share that the process may use.
    """
    return (
        WorkerSpec("reading", 3, {JOB_RESOURCE: 1}, _reading_environment(num_cores)),
    )


def _reading_environment(num_cores: int) -> dict[str, str]:
    defaults = {
        "KERAS_BACKEND": "tensorflow",
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
