"""Traces of whole batches as .npz files."""

from __future__ import annotations

import errno
import lzma
import os
import struct
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bertviz_core.config import BertConfig
from bertviz_core.errors import DatasetError, reason_of
from bertviz_core.trace import Arrays
from bertviz_core.whole_files import new_file, scratch_of

if TYPE_CHECKING:
    from bertviz_core.explorer import Explorer

_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
# What NumPy raises for a broken file depends on where it is broken; a header that
# claims more numbers than there is memory is one of the ways.
_BROKEN = (
    OSError,
    ValueError,
    EOFError,
    TypeError,
    MemoryError,
    RuntimeError,
    ArithmeticError,
    SyntaxError,
    struct.error,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
)


def read_inputs(path: Path, config: BertConfig) -> Arrays:
    """Reads a batch that is already made of ids: int32 `[B, T]` each.

    Args:
        path: an .npz file with `input_ids` int `[B, T]` and, where not all 1
            and all 0, `attention_mask` and `token_type_ids` of the same shape.

    Raises:
        DatasetError: not such a file, or an id beyond the model's tables.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            # A member that is no array comes as the bytes that it has.
            found = {name: np.asarray(file[name]) for name in _INPUTS if name in file}
    except _BROKEN as error:
        raise DatasetError(
            "The file {name} cannot be read as an .npz file of numbers. Write it "
            "with numpy.savez, with an array input_ids.",
            name=path.name,
        ) from error
    ids = found.get("input_ids", np.zeros(0))
    arrays = {
        "input_ids": ids,
        "attention_mask": found.get("attention_mask", np.ones(ids.shape, "int32")),
        "token_type_ids": found.get("token_type_ids", np.zeros(ids.shape, "int32")),
    }
    upper = {
        "input_ids": config.vocab_size,
        "attention_mask": 2,
        "token_type_ids": config.type_vocab_size,
    }
    for name, array in arrays.items():
        _require_ids(name, array, ids.shape, upper[name])
    return {name: array.astype("int32") for name, array in arrays.items()}


def _require_ids(
    name: str, array: np.ndarray, shape: tuple[int, ...], upper: int
) -> None:
    if array.ndim != 2 or not array.size or array.shape != shape:
        raise DatasetError(
            "{name} must have two axes, batch and token, the same in all arrays. "
            "Received: shape={received}. Store it as [B, T].",
            name=name,
            received=str(array.shape),
        )
    if array.dtype.kind not in "iu":
        raise DatasetError(
            "{name} must hold whole numbers. Received: {dtype}. Use the ids of this "
            "model.",
            name=name,
            dtype=str(array.dtype)[:120],
        )
    if array.min() < 0 or array.max() >= upper:
        raise DatasetError(
            "{name} must hold whole numbers from 0 to {largest}. "
            "Received: {dtype} from {low} to {high}. Use the ids of this model.",
            name=name,
            largest=upper - 1,
            dtype=str(array.dtype),
            low=str(array.min()),
            high=str(array.max()),
        )


def trace_arrays(explorer: Explorer, inputs: Arrays) -> Arrays:
    """Runs a batch of `read_inputs`, keeps everything, and predicts words everywhere.

    Returns:
        `hidden_states` `[B, L + 1, T, H]`, `attention_probs` `[B, L, N, T, T]` and,
        where the model has the head, `pooled_output` `[B, H]`, `nsp_logits` `[B, 2]`,
        `class_logits`, `mlm_logits` `[B, T, V]`.
    """
    batch, num_tokens = inputs["input_ids"].shape
    asked = dict(inputs)
    if "mlm" in explorer.loaded.model.heads:
        asked["mlm_positions"] = np.arange(batch * num_tokens)
    output = explorer.forward(asked)
    del output["sequence_output"]
    if "mlm_logits" in output:
        flat = output["mlm_logits"]
        output["mlm_logits"] = flat.reshape(batch, num_tokens, -1)
    return output


def require_place(path: Path) -> None:
    """Refuses a place that `write_arrays` cannot write to, before the long work.

    Raises:
        DatasetError: it is a folder, or its folder is absent or closed to us.
    """
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        scratch = scratch_of(path)
        scratch.touch()
        scratch.unlink()
    except OSError as error:
        raise _not_written(path, error) from error


def write_arrays(path: Path, arrays: Arrays) -> None:
    """Writes an .npz file whole or not at all.

    Raises:
        DatasetError: the folder is absent or cannot be written.
    """
    try:
        with new_file(path) as scratch, scratch.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
    except OSError as error:
        raise _not_written(path, error) from error


def _not_written(path: Path, error: OSError) -> DatasetError:
    return DatasetError(
        "Cannot write the file {name}. Received: {reason}. Choose an existing folder "
        "with free space.",
        name=path.name or str(path),
        reason=reason_of(error),
    )
