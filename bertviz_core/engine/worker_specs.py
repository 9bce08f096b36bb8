"""Which workers a local cluster has, as options of Dask's `Nanny`, and what they keep.

The process that serves pages looks at these limits before it starts any other. An
environment variable with a value that cannot be is an `EngineError`.
"""

import os
from typing import Any

from bertviz_core.environment import one_of, whole_number
from bertviz_core.tasks import (
    CALL_RESOURCE,
    DOWNLOAD_RESOURCE,
    ESTIMATE_RESOURCE,
    GRADIENT_RESOURCE,
    JOB_RESOURCE,
    PREDICT_RESOURCE,
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
    PREDICT_RESOURCE: 0,
    DOWNLOAD_RESOURCE: 0,
    TRAIN_RESOURCE: 0,
}
# Of the memory of the machine, or of the container around this process, together not
# more than there is. Dask ends a worker at 95 % of its share: so one that fills it
# takes none from the other, nor from the process of the pages. A training on a small
# machine needs more than what is read beside it.
READING_SHARE, TRAINING_SHARE = 0.4, 0.6
# What runs on TensorFlow, in the worker that starts when it is first asked for: it may
# use up the memory without harm to those who read.
ON_TENSORFLOW = (GRADIENT_RESOURCE, ESTIMATE_RESOURCE, TRAIN_RESOURCE)
SLOTS_VARIABLE = "BERTVIZ_TRAINING_SLOTS"
MAX_MODELS = "BERTVIZ_MAX_MODELS"
DEFAULT_MAX_MODELS = 2
MAX_TRACE_MEGABYTES = "BERTVIZ_MAX_TRACE_MB"
DEFAULT_MAX_TRACE_MEGABYTES = 128


def reading_spec() -> dict[str, Any]:
    """The worker that reads: two calls at a time, and one of each kind of job."""
    resources = {
        CALL_RESOURCE: 2,
        JOB_RESOURCE: 1,
        PREDICT_RESOURCE: 1,
        DOWNLOAD_RESOURCE: 1,
        UPLOAD_RESOURCE: 1,
    }
    return _spec("reading", READING_SHARE, resources)


def training_spec() -> dict[str, Any]:
    """The worker that trains and derives.

    It is started by the first training or gradient, because a process with TensorFlow
    takes some hundred megabytes. It may use every core: the system lets others go
    first.
    """
    slots = training_slots()
    resources = {TRAIN_RESOURCE: slots, ESTIMATE_RESOURCE: 1, GRADIENT_RESOURCE: 1}
    return _spec("training", TRAINING_SHARE, resources)


def _spec(name: str, share: float, resources: dict[str, int]) -> dict[str, Any]:
    return {
        "name": name,
        "nthreads": sum(resources.values()),
        "memory_limit": share,
        "resources": resources,
    }


def training_slots() -> int:
    """How many trainings run at the same time; more are slower each."""
    return whole_number(SLOTS_VARIABLE, default=1, least=1)


def max_models() -> int:
    """Models in memory: two, so that they can be compared. BERT-base takes 440 MB."""
    return max(1, whole_number(MAX_MODELS, DEFAULT_MAX_MODELS))


def max_answer_bytes() -> int:
    """Answers in memory.

    That of BERT-base on 512 tokens takes 171 MB and is kept alone, that of the bundled
    model on its longest text 4 MB.
    """
    return whole_number(MAX_TRACE_MEGABYTES, DEFAULT_MAX_TRACE_MEGABYTES) * 2**20


def reading_backend() -> str:
    """What Keras runs on in the worker that reads, by `BERTVIZ_BACKEND`."""
    return one_of("BERTVIZ_BACKEND", ("openvino", "tensorflow"))


def environment(num_cores: int) -> dict[str, str]:
    """Variables that must be set before a worker starts; those that are set stay.

    The cores are those of this machine, or of the share that the process may use.
    """
    defaults = {
        # 2: errors only. TensorFlow greets every start with several warnings.
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "TF_NUM_INTRAOP_THREADS": str(num_cores),
        "TF_NUM_INTEROP_THREADS": str(num_cores),
        # What one layer frees the next one takes, without a way to the system:
        # a third faster on 128 tokens than with Dask's trim threshold of 64 kB.
        # What a dropped model leaves is given back by `memory`.
        "MALLOC_ARENA_MAX": "2",
        "MALLOC_MMAP_THRESHOLD_": str(256 * 2**20),
        "MALLOC_TRIM_THRESHOLD_": str(128 * 2**20),
    }
    return {name: os.environ.get(name, value) for name, value in defaults.items()}
