"""What a process that runs models keeps: open models, and answers of the network.

It belongs to the process because tasks are plain functions; nothing else in the core
has state. Both stores have a bound.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from bertviz_core.checkpoints.versions import version_of
from bertviz_core.engine.cache import BoundedCache, num_bytes
from bertviz_core.engine.worker_specs import max_answer_bytes, max_models
from bertviz_core.tasks import untold
from bertviz_core.trace import Texts, Trace

if TYPE_CHECKING:
    from bertviz_core.engine.jobs import JobProgress
    from bertviz_core.experiments.embedding_results import SentenceStates
    from bertviz_core.experiments.word_vectors import WordVectors
    from bertviz_core.explorer import Explorer


def explorer(model: str) -> Explorer:
    """An open model; opens it if need be, or raises what `library.open_model` does."""
    version = version_of(model)
    # What its folder held before is stale.
    EXPLORERS.forget(lambda opened: opened[0] == model and opened[1] != version)
    return EXPLORERS.get((model, version), lambda: _open(model))


def whole_trace(model: str, texts: Texts) -> Trace:
    """Every array of one forward pass, from the store if it is there."""
    return ANSWERS.get(
        ("trace", model, texts),
        lambda: explorer(model).trace(texts.text, texts.pair, cut=True),
    )


def sentence_states(
    model: str, sentences: tuple[str, ...], reading: str, progress: JobProgress | None
) -> SentenceStates:
    """Vectors of sentences at every layer, from the store if they are there."""
    from bertviz_core.experiments import sentence_states as experiment

    return ANSWERS.get(
        ("sentence_states", model, sentences, reading),
        lambda: experiment.sentence_states(
            explorer(model), sentences, reading, progress=progress or untold
        ),
    )


def words_of(model: str) -> WordVectors:
    """The vocabulary of a model with its vectors, ready to be asked."""
    from bertviz_core.experiments.word_vectors import word_vectors

    key = (model, version_of(model))
    return WORDS.get(key, lambda: word_vectors(explorer(model)))


def num_forward_passes() -> int:
    """The number of forward passes that the open models here have run."""
    return sum(opened.num_forward_passes for opened in EXPLORERS.values())


def forget(model: str) -> None:
    """Drops a model and its answers: its name may mean other weights now."""
    EXPLORERS.forget(lambda key: key[0] == model)
    ANSWERS.forget(lambda key: key[1] == model)
    WORDS.forget(lambda key: key[0] == model)


def _open(model: str) -> Explorer:
    from bertviz_core.explorer import Explorer

    give_memory_back()
    return Explorer.open(model)


def give_memory_back() -> None:
    """Frees what a dropped model leaves; glibc alone would keep it."""
    gc.collect()  # models are full of cycles
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


class _Answers(BoundedCache[tuple[Hashable, ...], Any]):
    """Answers by question and model: that of a folder that changed is no answer."""

    def get(self, key: tuple[Hashable, ...], make: Callable[[], Any]) -> Any:
        return super().get((*key, version_of(str(key[1]))), make)


# Keys begin with the model, and `version_of` it.
EXPLORERS: BoundedCache[tuple[str, str], Explorer] = BoundedCache(max_models())
ANSWERS = _Answers(max_answer_bytes(), num_bytes, weight_of_key=num_bytes)
# That of BERT-base takes 94 MB and is kept alone.
WORDS: BoundedCache[tuple[str, str], WordVectors] = BoundedCache(
    2**27, lambda words: words.table.vectors.nbytes
)
