"""Saving a model as a Hugging Face folder.

Source: The layout that Hugging Face `transformers` writes and reads:
`PreTrainedModel.save_pretrained`, `BertConfig`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import save_file

from bertviz_core.checkpoints.huggingface import SINGLE_FILE
from bertviz_core.checkpoints.names import HUGGINGFACE, weights_of
from bertviz_core.errors import CheckpointError, reason_of
from bertviz_core.whole_files import new_folder

if TYPE_CHECKING:
    from bertviz_core.checkpoints.library import LoadedModel

# The largest float16. Source: IEEE 754, binary16.
_MAX_HALF = 65504.0


def save_huggingface(loaded: LoadedModel, folder: Path) -> None:
    """Writes a folder, new or empty, that `transformers` loads with equal outputs.

    The files appear all at once: they are written beside the folder and moved.

    Raises:
        CheckpointError: the folder has something in it or cannot be written; or the
            model is pre-norm or sparse, which `transformers` does not compute.
    """
    own_fields = loaded.model.config.own_fields
    if own_fields:
        raise CheckpointError(
            "The model {model} computes something that Hugging Face's BERT does not, "
            "so it would give wrong answers there. Received: {settings}. Save it in "
            "BERT Explorer's own format.",
            model=loaded.model_id,
            settings=", ".join(f"{name}={value}" for name, value in own_fields.items()),
        )
    save_model(loaded, folder)


def save_model(
    loaded: LoadedModel, folder: Path, half: bool = False, replaces: bool = False
) -> None:
    """Writes a folder that `open_model` loads; plain Hugging Face for a plain BERT.

    A pre-norm model gets our own names `bert.final_norm.weight` and `.bias`; it and a
    sparse one have our own fields instead of a model type in their config. `half`
    stores float16, half the size, with 11 bits of precision. Who reads the model that
    it `replaces` finds that one, or the new one when that is whole.

    Raises:
        CheckpointError: the folder has something in it or cannot be written; or a
            weight is too large for float16.
    """
    folder = Path(folder)
    try:
        if not replaces and folder.exists() and any(folder.iterdir()):
            raise CheckpointError(
                "The folder {folder} is not empty. Choose a new one, so that nothing "
                "is overwritten.",
                folder=folder.name,
            )
        with new_folder(folder) as scratch:
            _write(loaded, scratch, half)
            for path in scratch.iterdir():
                path.chmod(0o644)  # `save_file` shuts everyone else out
    except (OSError, SafetensorError) as error:  # the latter on a full disk
        raise CheckpointError(
            "Cannot write to the folder {folder}. Received: {reason}. Choose another "
            "folder, or free some disk space.",
            folder=folder.name,
            reason=reason_of(error),
        ) from error


def _write(loaded: LoadedModel, folder: Path, half: bool) -> None:
    weights = _weights(loaded, half)
    save_file(weights, folder / SINGLE_FILE, metadata={"format": "pt"})
    config = json.dumps(_config(loaded, half), indent=2, ensure_ascii=False)
    (folder / "config.json").write_text(config + "\n", encoding="utf-8")
    loaded.tokenizer.save(folder)


def _weights(loaded: LoadedModel, half: bool) -> dict[str, np.ndarray]:
    from bertviz_core.weights import as_numpy

    model = loaded.model
    variables = {variable.path: variable for variable in model.weights}
    result = {}
    for weight in weights_of(model.config, model.heads, HUGGINGFACE, model.num_labels):
        array = as_numpy(variables[weight.ours]).astype("float32")
        if half:
            array = _as_half(array, weight.stored)
        # The file format takes the bytes as they lie.
        result[weight.stored] = np.ascontiguousarray(
            array.T if weight.transposed else array
        )
    return result


def _as_half(array: np.ndarray, name: str) -> np.ndarray:
    if np.abs(array).max() > _MAX_HALF:
        raise CheckpointError(
            "The weight {weight} is too large for 16-bit floats. Save the model "
            "with 32-bit floats.",
            weight=name,
        )
    return array.astype("float16")


def _config(loaded: LoadedModel, half: bool) -> dict[str, Any]:
    model = loaded.model
    config = model.config.to_dict()
    # Without a model type `transformers` does not take another model for BERT.
    kind = {} if model.config.own_fields else {"model_type": "bert"}
    labels = {str(index): label for index, label in enumerate(loaded.labels)}
    classes = {
        "id2label": labels,
        "label2id": {label: int(index) for index, label in labels.items()},
    }
    return {
        "architectures": [_architecture(model.heads)],
        **kind,
        **config,
        **(classes if labels else {}),
        "pad_token_id": loaded.tokenizer.pad_token_id,
        "tie_word_embeddings": True,
        "dtype": "float16" if half else "float32",
    }


def _architecture(heads: tuple[str, ...]) -> str:
    """The class of `transformers` that has these heads."""
    if "classifier" in heads:
        return "BertForSequenceClassification"
    if {"mlm", "nsp"} <= set(heads):
        return "BertForPreTraining"
    if "mlm" in heads:
        return "BertForMaskedLM"
    return "BertForNextSentencePrediction" if "nsp" in heads else "BertModel"
