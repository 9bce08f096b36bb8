"""Tasks about models, and what every model is asked first, see `tasks`."""

from __future__ import annotations

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


def earlier_uploads() -> tuple[ModelEntry, ...]:
    """Everybody's uploads, the latest use first; not to be shown to strangers."""
    from bertviz_core.checkpoints import library

    return library.list_uploads()


def suggested_models() -> tuple[ModelEntry, ...]:
    """Names on the hub that are worth a download; asks no server."""
    from bertviz_core.checkpoints import library

    return library.suggested_models()


def describe_model(model: str) -> ModelInfo:
    """Loads a model if need be, and describes it.

    Raises:
        CheckpointError: it cannot be opened.
    """
    return explorer(model).info()


def vocabulary(model: str) -> tuple[str, ...]:
    """The word pieces of a model, by id; `[row 57]` for a row without a word."""
    return explorer(model).vocabulary


def tokenize(
    model: str, text: str, pair: str | None = None, cut: bool = False
) -> TokenizedText:
    """Splits a text as the model reads it.

    Args:
        model: its id.
        text: the first text.
        pair: the second text.
        cut: leaves out what is beyond the last position.

    Raises:
        TextError: empty, or too long while `cut` is false.
    """
    return explorer(model).tokenize(text, pair, cut)


def predict_masks(
    model: str, text: str, pair: str | None = None, cut: bool = False
) -> MaskPredictions:
    """Scores every word of the vocabulary at each `[MASK]`.

    Args:
        model: its id.
        text: the first text.
        pair: the second text.
        cut: leaves out what is beyond the last position.

    Raises:
        CheckpointError: the model has no masked-word head.
        TextError: no mask, empty, or too long while `cut` is false.
    """
    key = ("predict_masks", model, text, pair, cut)
    return ANSWERS.get(key, lambda: explorer(model).predict_masks(text, pair, cut))


def trace(
    model: str,
    text: str,
    pair: str | None = None,
    cut: bool = False,
    parts: tuple[str, ...] = ("pooled_output", "nsp_logits"),
) -> Trace:
    """Sends a text through the network once and fetches some of the arrays.

    The worker keeps the whole trace for a while: other parts of the same
    text cost no second forward pass.

    Args:
        model: its id.
        text: the first text.
        pair: the second text.
        cut: leaves out what is beyond the last position.
        parts: arrays of `Trace` to fetch. All attention of a long text is
            large: 151 MB for BERT-base and 512 tokens.

    Raises:
        TextError: empty, or too long while `cut` is false.
    """
    return whole_trace(model, text, pair, cut).only(parts)


def add_upload(path: str, name: str) -> ModelEntry:
    """Takes a zip file with a checkpoint into the cache.

    Args:
        path: of the file, where the worker can read it.
        name: what to call the model.

    Raises:
        CheckpointError: damaged, hostile, or no checkpoint.
    """
    from bertviz_core.checkpoints import library

    return library.add_upload(path, name)


def forward_count() -> int:
    """How many forward passes the worker has run since it started."""
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


JOB_TASKS = (download_model, convert)
