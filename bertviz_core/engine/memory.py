"""What a process that runs models keeps: open models, and answers of the network.

It belongs to the process because tasks are plain functions; nothing else in the core
has state. Both stores have a bound.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import gc
import os
import threading
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from bertviz_core.engine.cache import BoundedCache
from bertviz_core.errors import EngineError
from bertviz_core.trace import Trace

if TYPE_CHECKING:
    from bertviz_core.experiments.word_vectors import WordVectors
    from bertviz_core.explorer import Explorer

# Models in memory: two, so that they can be compared. BERT-base takes 440 MB.
MAX_MODELS = "BERTVIZ_MAX_MODELS"
DEFAULT_MAX_MODELS = 2
# Answers in memory. That of BERT-base on 512 tokens takes 171 MB and is kept alone,
# that of the bundled model on its longest text 4 MB.
MAX_TRACE_MEGABYTES = "BERTVIZ_MAX_TRACE_MB"
DEFAULT_MAX_TRACE_MEGABYTES = 128


def explorer(model: str) -> Explorer:
    """An open model; opens it if need be.

    Raises:
        CheckpointError: it cannot be opened.
    """
    return EXPLORERS.get(model, lambda: _open(model))


def whole_trace(
    model: str, text: str, pair: str | None = None, cut: bool = False
) -> Trace:
    """Every array of one forward pass, from the store if it is there."""
    key = ("trace", model, text, pair, cut)
    return ANSWERS.get(key, lambda: explorer(model).trace(text, pair, cut))


def words_of(model: str) -> WordVectors:
    """The vocabulary of a model with its vectors, ready to be asked.

    Raises:
        CheckpointError: the model cannot be opened.
    """
    from bertviz_core.experiments.word_vectors import word_vectors

    return WORDS.get(model, lambda: word_vectors(explorer(model)))


def num_forward_passes() -> int:
    """How many forward passes this process has run since it started."""
    running = sum(opened.num_forward_passes for opened in EXPLORERS.values())
    return running + RETIRED.num_forward_passes


def forget(model: str) -> None:
    """Drops a model and its answers: its name may mean other weights now."""
    EXPLORERS.forget(lambda opened: opened == model)
    ANSWERS.forget(lambda key: key[1] == model)
    WORDS.forget(lambda opened: opened == model)


def _open(model: str) -> Explorer:
    from bertviz_core.explorer import Explorer

    give_memory_back()
    return Explorer.open(model)


def give_memory_back() -> None:
    """Frees what a dropped model leaves; glibc alone would keep it."""
    gc.collect()  # models are full of cycles
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def num_bytes(answer: Any) -> int:
    """What the arrays of a dataclass take, those of dataclasses within it too."""
    values = [getattr(answer, field.name) for field in dataclasses.fields(answer)]
    return sum(
        value.nbytes
        if isinstance(value, np.ndarray)
        else num_bytes(value)
        if dataclasses.is_dataclass(value)
        else 0
        for value in values
    )


def _setting(name: str, default: int) -> int:
    received = os.environ.get(name, str(default))
    if not received.isdecimal():
        raise EngineError(
            "The environment variable {name} must be a whole number. "
            "Received: {received}. Correct it, or remove it, and start again.",
            name=name,
            received=received[:60],
        )
    return int(received)


class _Retired:
    """Forward passes of models that are no longer in memory."""

    def __init__(self) -> None:
        self.num_forward_passes = 0
        self._lock = threading.Lock()

    def add(self, explorer: Explorer) -> None:
        with self._lock:
            self.num_forward_passes += explorer.num_forward_passes


RETIRED = _Retired()
EXPLORERS: BoundedCache[str, Explorer] = BoundedCache(
    max(1, _setting(MAX_MODELS, DEFAULT_MAX_MODELS)), on_drop=RETIRED.add
)
ANSWERS: BoundedCache[tuple[Hashable, ...], Any] = BoundedCache(
    _setting(MAX_TRACE_MEGABYTES, DEFAULT_MAX_TRACE_MEGABYTES) * 2**20, num_bytes
)
# That of BERT-base takes 94 MB and is kept alone.
WORDS: BoundedCache[str, WordVectors] = BoundedCache(
    2**27, lambda words: words.table.vectors.nbytes
)
