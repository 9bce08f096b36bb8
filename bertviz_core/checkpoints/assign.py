"""Fitting a checkpoint to a model: first compare, then refuse or assign.

The comparison needs the config, the file's names and shapes, and the biases of its
heads. Nothing is built before it, so a config of absurd sizes costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bertviz_core.checkpoints.folder import open_folder
from bertviz_core.checkpoints.limits import (
    max_megabytes,
    require_few_classes,
    require_usual_sizes,
)
from bertviz_core.checkpoints.names import (
    TABLE,
    Weight,
    names_of_part,
    num_layers_in,
    weights_of,
)
from bertviz_core.checkpoints.stored import Checkpoint, Note, damaged, note
from bertviz_core.errors import CheckpointError
from bertviz_core.free_memory import free_memory
from bertviz_core.tasks import Progress
from bertviz_core.trace import LoadReport

if TYPE_CHECKING:
    from bertviz_core.model.bert import Bert
    from bertviz_core.tokenizer import BertTokenizer

# The weights as they are read, and as they are packed for the processor.
_COPIES = 2

# In this order in messages and in the model.
_HEADS = ("pooler", "mlm", "nsp", "classifier")
_NEED_POOLER = ("nsp", "classifier")
_SHOWN_OFFENDERS = 3


@dataclass(frozen=True)
class Plan:
    """What a fitting checkpoint will fill."""

    heads: tuple[str, ...]  # parts that the checkpoint holds completely
    num_labels: int  # outputs of the classifier head; 2 where there is none
    weights: tuple[Weight, ...]  # every weight to assign
    unused: tuple[str, ...]  # names in the checkpoint that no weight takes
    notes: tuple[Note, ...]  # sentences for the report


def plan(checkpoint: Checkpoint) -> Plan:
    """Compares a config with the names and shapes in a checkpoint; says what to assign.

    Every weight of the encoder is there, and every head completely or not at all.

    Raises:
        CheckpointError: names the first few weights that are missing or have another
            shape; or the config and the weights disagree, or are too large.
    """
    _require_same_layers(checkpoint)
    config = checkpoint.config
    require_usual_sizes(checkpoint.name, config.num_hidden_layers, config.vocab_size)
    heads, notes = _heads(checkpoint)
    num_labels = _num_labels(checkpoint) if "classifier" in heads else 2
    weights = tuple(weights_of(config, heads, checkpoint.kind, num_labels))
    _require_fit(checkpoint, weights)
    _require_size(checkpoint, weights)
    taken = {weight.stored for weight in weights}
    unused = sorted(checkpoint.shapes.keys() - taken) + list(checkpoint.unused)
    return Plan(heads, num_labels, weights, tuple(unused), notes)


def load(
    checkpoint: Checkpoint,
    notes: tuple[Note, ...] = (),
    progress: Progress | None = None,
) -> tuple[Bert, LoadReport]:
    """Builds the model that a checkpoint, opened and not read, holds and fills it."""
    from bertviz_core.model.bert import Bert  # loads Keras: seconds

    agreed = plan(checkpoint)
    # Zeros, not draws: all of it is overwritten below.
    model = Bert(
        checkpoint.config, agreed.heads, agreed.num_labels, kernel_initializer="zeros"
    )
    variables = {variable.path: variable for variable in model.weights}
    if variables.keys() != {weight.ours for weight in agreed.weights}:
        raise ValueError("`names.TABLE` and the variables of `Bert` differ.")
    total = sum(math.prod(weight.shape) for weight in agreed.weights)
    done = 0
    for weight in agreed.weights:
        variables[weight.ours].assign(read_weight(checkpoint, weight))
        done += math.prod(weight.shape)
        if progress is not None:
            progress(done / total, "read")
    return model, _report(checkpoint, agreed, notes)


def require_fitting(folder: Path) -> None:
    """Compares config, weights and vocabulary, and reads every weight once.

    Raises:
        CheckpointError: they do not fit each other, or a file is damaged or holds what
            is not a finite number.
        ConfigError: the config is broken or not BERT's.
        TokenizerError: the vocabulary is absent or broken.
    """
    checkpoint = open_folder(folder)
    agreed = plan(checkpoint)
    fitting_tokenizer(folder, checkpoint)
    for weight in agreed.weights:
        read_weight(checkpoint, weight)


def fitting_tokenizer(
    folder: Path, checkpoint: Checkpoint
) -> tuple[BertTokenizer, tuple[Note, ...]]:
    """Reads the tokenizer of a checkpoint, unless its vocabulary is too long.

    A line of the file becomes a hundred times as many bytes in a tokenizer, so the
    lines are counted before one is built.

    Returns:
        The tokenizer, and notes on what was guessed or differs, and on rows to spare.

    Raises:
        CheckpointError: word pieces without an embedding.
        TokenizerError: the vocabulary is absent or broken.
    """
    # Both load `tokenizers`.
    from bertviz_core.checkpoints.casing import (
        count_pieces,
        notes_on_class,
        open_tokenizer,
    )

    _require_vocabulary(checkpoint, count_pieces(folder))
    tokenizer, notes = open_tokenizer(folder)
    notes += notes_on_class(folder)
    return tokenizer, notes + _require_vocabulary(checkpoint, tokenizer.vocab_size)


def _require_vocabulary(checkpoint: Checkpoint, vocab_size: int) -> tuple[Note, ...]:
    """Holds the vocabulary against the word embeddings; notes rows to spare."""
    rows = checkpoint.config.vocab_size
    if vocab_size > rows:
        raise CheckpointError(
            "The vocabulary does not match the model {name}. Received: {vocab_size} "
            "word pieces for {rows} word embeddings. Use the checkpoint's own "
            "vocab.txt.",
            name=checkpoint.name,
            vocab_size=vocab_size,
            rows=rows,
        )
    if vocab_size == rows:
        return ()
    return (
        note(
            "The vocabulary has {vocab_size} word pieces but the model has {rows} word "
            "embeddings; the last ones belong to no word.",
            vocab_size=vocab_size,
            rows=rows,
        ),
    )


def _require_same_layers(checkpoint: Checkpoint) -> None:
    # Before anything loops over the layers: a config may claim a billion, and a single
    # weight with such an index agree. There are no more layers than weights.
    shapes = checkpoint.shapes
    found = min(num_layers_in(shapes, checkpoint.kind), len(shapes))
    wanted = checkpoint.config.num_hidden_layers
    if found != wanted and found > 0:
        raise CheckpointError(
            "The config of {name} does not match its weights. Received: "
            "num_hidden_layers={wanted}; the weights have {found} layers. Check that "
            "both come from the same folder.",
            name=checkpoint.name,
            wanted=wanted,
            found=found,
        )
    if found == 0:
        raise CheckpointError(
            "The weights of {name} are not a BERT's: none is named like an encoder "
            "layer. Received: {names}. Choose a BERT checkpoint.",
            name=checkpoint.name,
            names=_some(sorted(checkpoint.shapes)),
        )


def _heads(checkpoint: Checkpoint) -> tuple[tuple[str, ...], tuple[Note, ...]]:
    present = [
        head
        for head in _HEADS
        if names_of_part(head, checkpoint.kind) & checkpoint.shapes.keys()
    ]
    notes = []
    if "classifier" in present and not checkpoint.takes_classifier:
        present.remove("classifier")
        notes.append(
            note(
                "The classifier was not loaded: according to its config it does not "
                "choose one class, or say one number, for the whole text."
            )
        )
    for head in _NEED_POOLER:
        if head in present and "pooler" not in present:
            present.remove(head)
            notes.append(
                note(
                    "The {head} head was not loaded: it reads the pooled output, and "
                    "the checkpoint has no pooler.",
                    head=head,
                )
            )
    for head in reversed(present[:]):  # the pooler last
        is_read = head == "pooler" and {*_NEED_POOLER} & {*present}
        if not is_read and _is_untrained(checkpoint, head):
            present.remove(head)
            notes.append(
                note(
                    "The {head} head was not loaded: all its biases are 0, so it was "
                    "never trained. Programs fill in such weights where a checkpoint "
                    "has none.",
                    head=head,
                )
            )
    return tuple(present), tuple(notes)


def _is_untrained(checkpoint: Checkpoint, head: str) -> bool:
    """Whether its biases are what a new layer begins with; training moves them."""
    names = [
        row.stored_name(checkpoint.kind)
        for row in TABLE
        if row.part == head and row.ours.endswith("/bias")
    ]
    return all(
        name in checkpoint.shapes and not checkpoint.read(name).any() for name in names
    )


def _num_labels(checkpoint: Checkpoint) -> int:
    """Classes by the bias of the classifier; its other half is compared later."""
    biases = [row for row in TABLE if row.part == "classifier" and row.axes == "C"]
    shape = checkpoint.shapes.get(biases[0].stored_name(checkpoint.kind), (2,))
    found = shape[0] if len(shape) == 1 else 0
    require_few_classes(checkpoint.name, found)
    if found < 1 or (checkpoint.labels and len(checkpoint.labels) != found):
        raise CheckpointError(
            "The class names of {name} do not match its weights. Received: {named} "
            "names; the weights have {found} classes. Check id2label in config.json.",
            name=checkpoint.name,
            named=len(checkpoint.labels),
            found=found,
        )
    return found


def _require_fit(checkpoint: Checkpoint, weights: Sequence[Weight]) -> None:
    shapes = checkpoint.shapes
    missing = [w.stored for w in weights if w.stored not in shapes]
    mismatched = [
        f"{w.stored}: {w.stored_shape} ≠ {shapes[w.stored]}"
        for w in weights
        if w.stored in shapes and shapes[w.stored] != w.stored_shape
    ]
    if missing or mismatched:
        raise CheckpointError(
            "The checkpoint {name} does not match its config. Missing weights: "
            "{missing}. Weights with a different shape (config ≠ file): {mismatched}. "
            "Check that config and weights come from the same folder.",
            name=checkpoint.name,
            missing=_some(missing),
            mismatched=_some(mismatched),
        )


def _require_size(checkpoint: Checkpoint, weights: Sequence[Weight]) -> None:
    megabytes = 4 * sum(math.prod(weight.shape) for weight in weights) // 1_000_000
    limit = max_megabytes()
    if megabytes > limit:
        raise CheckpointError(
            "The model {name} is too large. Received: {megabytes} MB of weights; the "
            "limit here is {limit} MB. Choose a smaller model.",
            name=checkpoint.name,
            megabytes=megabytes,
            limit=limit,
        )
    free = free_memory() // 1_000_000
    if _COPIES * megabytes > free:
        raise CheckpointError(
            "There is not enough memory for the model {name}. Received: {free} MB "
            "free; it needs {needed} MB. Choose a smaller model, or try again when "
            "fewer people are using the app.",
            name=checkpoint.name,
            free=free,
            needed=_COPIES * megabytes,
        )


def read_weight(checkpoint: Checkpoint, weight: Weight) -> np.ndarray:
    """One weight in float32 and in our shape."""
    stored = checkpoint.read(weight.stored)
    if stored.shape != weight.stored_shape:
        raise damaged(weight.stored, ValueError(f"shape {stored.shape}"))
    # The sum is not finite where any number is not, and costs no second array.
    with np.errstate(over="ignore", invalid="ignore"):
        array = np.asarray(stored, "float32")
        total = np.sum(array, dtype="float64")
    if not np.isfinite(total):
        raise CheckpointError(
            "The weight {weight} contains infinite or undefined values (NaN), so the "
            "model's answers would be meaningless. Get another copy of the checkpoint.",
            weight=weight.stored,
        )
    return array.T if weight.transposed else array


def _report(
    checkpoint: Checkpoint, agreed: Plan, notes: tuple[Note, ...]
) -> LoadReport:
    transposed = tuple(
        f"{weight.stored}: {weight.stored_shape} -> {weight.shape}"
        for weight in agreed.weights
        if weight.transposed
    )
    return LoadReport(
        kind=checkpoint.kind,
        loaded=tuple(weight.stored for weight in agreed.weights),
        absent_parts=tuple(
            head for head in ("pooler", "mlm", "nsp") if head not in agreed.heads
        ),
        unused=agreed.unused,
        optimizer_slots=checkpoint.optimizer_slots,
        reshaped=checkpoint.renamed + transposed,
        notes=checkpoint.notes + agreed.notes + notes,
    )


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(name[:160] for name in names[:_SHOWN_OFFENDERS]) or "–"
    more = len(names) - _SHOWN_OFFENDERS
    return shown if more <= 0 else f"{shown} (+{more})"
