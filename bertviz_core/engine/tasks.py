"""What the engine can be asked: plain functions of plain values.

Only a process that runs models imports this module. `Client` has a method of the
same name and arguments for each function in `TASKS`; those in `JOB_TASKS` take a
`progress` first and are started as jobs. Keras is imported with the first model,
so that the list of models need not wait for it.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import threading
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from bertviz_core.engine.cache import BoundedCache
from bertviz_core.engine.jobs import Progress
from bertviz_core.errors import EngineError
from bertviz_core.trace import (
    MaskPredictions,
    ModelEntry,
    ModelInfo,
    TokenizedText,
    Trace,
)

if TYPE_CHECKING:
    from bertviz_core.explorer import Explorer

# Models in memory: two, so that they can be compared. BERT-base takes 440 MB.
MAX_MODELS = "BERTVIZ_MAX_MODELS"
DEFAULT_MAX_MODELS = 2
# Answers in memory. That of BERT-base on 512 tokens takes 171 MB and is kept alone,
# that of the bundled model on its longest text 4 MB.
MAX_TRACE_MEGABYTES = "BERTVIZ_MAX_TRACE_MB"
DEFAULT_MAX_TRACE_MEGABYTES = 128

WARM_UP_TEXT = "Ready?"


def models() -> tuple[ModelEntry, ...]:
    """The models at hand: bundled ones, then downloaded ones."""
    from bertviz_core.checkpoints import library

    return library.list_models()


def describe_model(model: str) -> ModelInfo:
    """Loads a model if need be, and describes it."""
    return _explorer(model).info()


def vocabulary(model: str) -> tuple[str, ...]:
    """The word pieces of a model, by id."""
    return _explorer(model).tokenizer.vocabulary


def tokenize(
    model: str, text: str, pair: str | None = None, cut: bool = False
) -> TokenizedText:
    """Splits a text as the model reads it."""
    return _explorer(model).tokenize(text, pair, cut)


def predict_masks(
    model: str, text: str, pair: str | None = None, cut: bool = False
) -> MaskPredictions:
    """Scores every word at each `[MASK]`."""
    key = ("predict_masks", model, text, pair, cut)
    return _ANSWERS.get(key, lambda: _explorer(model).predict_masks(text, pair, cut))


def trace(
    model: str,
    text: str,
    pair: str | None = None,
    cut: bool = False,
    parts: tuple[str, ...] = ("pooled_output", "nsp_logits"),
) -> Trace:
    """Sends a text through the network, keeps everything, returns some of it.

    Args:
        model: its id.
        text: the first text.
        pair: the second text.
        cut: leaves out what is beyond the last position.
        parts: arrays of `Trace` to send back.
    """
    key = ("trace", model, text, pair, cut)
    whole = _ANSWERS.get(key, lambda: _explorer(model).trace(text, pair, cut))
    return whole.only(parts)


def add_upload(path: str, name: str) -> ModelEntry:
    """Takes a zip file with a checkpoint into the cache."""
    from bertviz_core.checkpoints import library

    return library.add_upload(path, name)


def forward_count() -> int:
    """How many forward passes this process has run since it started."""
    running = sum(explorer.num_forward_passes for explorer in _EXPLORERS.values())
    return running + _RETIRED.num_forward_passes


def warm_up(model: str) -> None:
    """Loads a model and runs what the first question will run."""
    explorer = _explorer(model)
    if "mlm" in explorer.loaded.model.heads:
        explorer.predict_masks(f"{WARM_UP_TEXT} [MASK]")
    explorer.trace(WARM_UP_TEXT)


def download_model(
    progress: Progress, name: str, revision: str | None = None
) -> ModelEntry:
    """Takes a model from the hub into the cache."""
    from bertviz_core.checkpoints import library

    entry = library.download(name, revision, progress)
    # A name without a revision means the newest download from now on.
    _EXPLORERS.forget(lambda model: model == name)
    _ANSWERS.forget(lambda key: key[1] == name)
    return entry


def convert(progress: Progress, source: str, destination: str) -> str:
    """Saves a model as a Hugging Face folder; returns the folder."""
    from pathlib import Path

    from bertviz_core.checkpoints import library
    from bertviz_core.checkpoints.export import save_huggingface

    loaded = library.open_model(source, progress)
    save_huggingface(loaded, Path(destination))
    return destination


TASKS: dict[str, Callable[..., Any]] = {
    task.__name__: task
    for task in (
        models,
        describe_model,
        vocabulary,
        tokenize,
        predict_masks,
        trace,
        add_upload,
        forward_count,
        warm_up,
    )
}
JOB_TASKS: dict[str, Callable[..., Any]] = {
    task.__name__: task for task in (download_model, convert)
}


def _explorer(model: str) -> Explorer:
    return _EXPLORERS.get(model, lambda: _open(model))


def _open(model: str) -> Explorer:
    from bertviz_core.explorer import Explorer

    _give_memory_back()
    return Explorer.open(model)


def _give_memory_back() -> None:
    """Frees what a dropped model leaves; glibc alone would keep it."""
    gc.collect()  # models are full of cycles
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def _num_bytes(answer: Trace | MaskPredictions) -> int:
    arrays = {**vars(answer), **vars(answer.tokenized)}.values()
    return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))


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


# What this process keeps. It belongs to the process because tasks are plain
# functions; nothing else in the core has state.
_RETIRED = _Retired()
_EXPLORERS: BoundedCache[str, Explorer] = BoundedCache(
    max(1, _setting(MAX_MODELS, DEFAULT_MAX_MODELS)), on_drop=_RETIRED.add
)
_ANSWERS: BoundedCache[tuple[Hashable, ...], Any] = BoundedCache(
    _setting(MAX_TRACE_MEGABYTES, DEFAULT_MAX_TRACE_MEGABYTES) * 2**20, _num_bytes
)
