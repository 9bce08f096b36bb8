"""What the engine can be asked: plain functions of plain values.

Only a process that runs models imports this module. `Client` has a method of the
same name and arguments for each function in `TASKS`; those in `JOB_TASKS` take a
`progress` first and are started as jobs. Keras is imported with the first model,
so that the list of models need not wait for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bertviz_core.engine import (
    attention_tasks,
    cause_tasks,
    embedding_tasks,
    finetune_tasks,
    finetuned_tasks,
    layer_tasks,
    pretraining_tasks,
    word_tasks,
)
from bertviz_core.engine.jobs import Progress
from bertviz_core.engine.memory import (
    ANSWERS,
    explorer,
    forget,
    num_forward_passes,
    whole_trace,
)
from bertviz_core.trace import (
    MaskPredictions,
    ModelEntry,
    ModelInfo,
    TokenizedText,
    Trace,
)

WARM_UP_TEXT = "Ready?"


def models() -> tuple[ModelEntry, ...]:
    """The models at hand: bundled ones, then downloaded ones."""
    from bertviz_core.checkpoints import library

    return library.list_models()


def describe_model(model: str) -> ModelInfo:
    """Loads a model if need be, and describes it."""
    return explorer(model).info()


def vocabulary(model: str) -> tuple[str, ...]:
    """The word pieces of a model, by id."""
    return explorer(model).tokenizer.vocabulary


def tokenize(
    model: str, text: str, pair: str | None = None, cut: bool = False
) -> TokenizedText:
    """Splits a text as the model reads it."""
    return explorer(model).tokenize(text, pair, cut)


def predict_masks(
    model: str, text: str, pair: str | None = None, cut: bool = False
) -> MaskPredictions:
    """Scores every word at each `[MASK]`."""
    key = ("predict_masks", model, text, pair, cut)
    return ANSWERS.get(key, lambda: explorer(model).predict_masks(text, pair, cut))


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
    return whole_trace(model, text, pair, cut).only(parts)


def add_upload(path: str, name: str) -> ModelEntry:
    """Takes a zip file with a checkpoint into the cache."""
    from bertviz_core.checkpoints import library

    return library.add_upload(path, name)


def forward_count() -> int:
    """How many forward passes this process has run since it started."""
    return num_forward_passes()


def warm_up(model: str) -> None:
    """Loads a model and runs what the first question will run."""
    opened = explorer(model)
    if "mlm" in opened.loaded.model.heads:
        opened.predict_masks(f"{WARM_UP_TEXT} [MASK]")
    opened.trace(WARM_UP_TEXT)


def download_model(
    progress: Progress, name: str, revision: str | None = None
) -> ModelEntry:
    """Takes a model from the hub into the cache."""
    from bertviz_core.checkpoints import library

    entry = library.download(name, revision, progress)
    # A name without a revision means the newest download from now on.
    forget(name)
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
        *attention_tasks.TASKS,
        *cause_tasks.TASKS,
        *layer_tasks.TASKS,
        *embedding_tasks.TASKS,
        *finetune_tasks.TASKS,
        *finetuned_tasks.TASKS,
        *word_tasks.TASKS,
    )
}
JOB_TASKS: dict[str, Callable[..., Any]] = {
    task.__name__: task
    for task in (
        download_model,
        convert,
        *attention_tasks.JOB_TASKS,
        *cause_tasks.JOB_TASKS,
        *layer_tasks.JOB_TASKS,
        *pretraining_tasks.JOB_TASKS,
        *embedding_tasks.JOB_TASKS,
        *finetuned_tasks.JOB_TASKS,
        *finetune_tasks.JOB_TASKS,
        *word_tasks.JOB_TASKS,
    )
}
