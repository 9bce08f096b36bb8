"""Hugging Face folders: `config.json`, `model.safetensors`, in one piece or sharded.

Source: The format of the index and the names: Hugging Face `transformers`,
`modeling_utils.py` and `modeling_bert.py`; the file format:
https://github.com/huggingface/safetensors, "Format".
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from bertviz_core.checkpoints.limits import require_few_classes
from bertviz_core.checkpoints.names import COPIES, HUGGINGFACE, Shape, names_of_part
from bertviz_core.checkpoints.stored import (
    MAX_INDEX_BYTES,
    MAX_NAME_CHARACTERS,
    Checkpoint,
    Note,
    damaged,
    note,
    require_few_names,
)
from bertviz_core.config import BertConfig, read_json_object
from bertviz_core.errors import CheckpointError
from bertviz_core.tokenizer_files import LONE_SURROGATE

SINGLE_FILE = "model.safetensors"
INDEX_FILE = "model.safetensors.index.json"

_FLOAT_TYPES = ("F64", "F32", "F16", "BF16")
_MLM_BIAS = "cls.predictions.bias"


class SafetensorsFiles:
    """Weights in one or several safetensors files, mapped into memory."""

    def __init__(self, folder: Path) -> None:
        self._file_of: dict[str, Any] = {}
        self.shapes: dict[str, Shape] = {}  # by the names in the files
        self.dtypes: set[str] = set()
        for path in _weight_files(folder):
            self._open(path)

    def read(self, name: str) -> np.ndarray:
        path, file = self._file_of[name]
        try:
            return file.get_tensor(name)
        except (SafetensorError, OSError, ValueError) as error:
            raise damaged(path.name, error) from error

    def _open(self, path: Path) -> None:
        try:
            with path.open("rb") as start:
                size = int.from_bytes(start.read(8), "little")
            if size > MAX_INDEX_BYTES:  # it takes twenty times as much in memory
                raise ValueError(f"{size} bytes of index")
            # Checks the header against the file: offsets, sizes, overlaps.
            file = safe_open(path, framework="numpy")
            names = list(file.keys())
            require_few_names(path.name, len(names) + len(self.shapes))
            slices = {name: file.get_slice(name) for name in names}
        except (SafetensorError, OSError, ValueError) as error:
            raise damaged(path.name, error) from error
        for name, piece in slices.items():
            if len(name) > MAX_NAME_CHARACTERS:
                raise damaged(path.name, ValueError(f"a name of {len(name)} letters"))
            if name in self._file_of:
                raise CheckpointError(
                    "The weight {weight} is in two files of the checkpoint. Download "
                    "or copy it again.",
                    weight=name[:120],
                )
            if piece.get_dtype() not in _FLOAT_TYPES:
                if not name.endswith(_BUFFERS):
                    raise CheckpointError(
                        "The weight {weight} is stored in a number format that BERT "
                        "Explorer does not support. Received: {dtype}. Save the model "
                        "with 16-bit or 32-bit floating-point weights.",
                        weight=name[:120],
                        dtype=str(piece.get_dtype()),
                    )
            else:
                self.dtypes.add(piece.get_dtype())
            self._file_of[name] = (path, file)
            self.shapes[name] = tuple(piece.get_shape())


# Whole numbers that old versions of `transformers` saved beside the weights.
_BUFFERS = ("embeddings.position_ids", "embeddings.token_type_ids")


def open_huggingface(folder: Path) -> Checkpoint:
    """Opens a Hugging Face folder without reading its weights."""
    path = folder / "config.json"
    raw = read_json_object(path)
    config = BertConfig.from_dict(raw, path.name)
    files = SafetensorsFiles(folder)
    stored_name, renamed = table_names(files.shapes)
    unused, notes = _settle_copies(files, stored_name)
    notes += _notes_on(config, files.dtypes, renamed)
    return Checkpoint(
        kind=HUGGINGFACE,
        name=folder.name,
        config=config,
        shapes={name: files.shapes[old] for name, old in stored_name.items()},
        read=lambda name: files.read(stored_name[name]),
        labels=_labels(raw, folder.name),
        takes_classifier=_gives_one_answer(raw, files.shapes.get("classifier.bias")),
        unused=unused,
        renamed=renamed,
        notes=notes,
    )


def table_names(names: Iterable[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Names in the file by the names of our table, and what was respelt.

    Whether the prefix `bert.` is left out is decided once, from all names. Old files
    call the gain and shift of a layer norm gamma and beta; these are told as "name in
    the file -> name in the table".

    Raises:
        CheckpointError: two names in the file mean the same weight.
    """
    names = list(names)
    has_prefix = any(name.startswith("bert.") for name in names)
    found: dict[str, str] = {}
    renamed = []
    for name in sorted(names):
        new = name.replace("LayerNorm.gamma", "LayerNorm.weight")
        new = new.replace("LayerNorm.beta", "LayerNorm.bias")
        if not has_prefix and new.startswith(("embeddings.", "encoder.", "pooler.")):
            new = f"bert.{new}"
        if new in found:
            raise CheckpointError(
                "Two names in the checkpoint stand for the same weight. Received: "
                "{first} and {second}. Download or copy it again.",
                first=found[new][:120],
                second=name[:120],
            )
        found[new] = name
        if new != name:
            renamed.append(f"{name} -> {new}")
    return found, tuple(renamed)


def _weight_files(folder: Path) -> list[Path]:
    index = folder / INDEX_FILE
    if (folder / SINGLE_FILE).is_file() or not index.is_file():
        return [folder / SINGLE_FILE]
    files = read_json_object(index).get("weight_map")
    if not isinstance(files, dict) or not files:
        raise CheckpointError(
            "The file {name} does not say which file holds which weight. Download or "
            "copy it again.",
            name=INDEX_FILE,
        )
    paths = []
    for name in sorted({str(value) for value in files.values()}):
        # A plain name: an index must not lead out of its folder.
        is_plain = Path(name).name == name and name.endswith(".safetensors")
        if not is_plain or not (folder / name).is_file():
            raise CheckpointError(
                "A file that the checkpoint's index names is missing. Received: "
                "{name}. Download or copy it again.",
                name=name[:120],
            )
        paths.append(folder / name)
    return paths


def _settle_copies(
    files: SafetensorsFiles, stored_name: dict[str, str]
) -> tuple[tuple[str, ...], tuple[Note, ...]]:
    """Decides about the decoder of the masked-word head, which should be a copy.

    Removes from `stored_name` what the loader must not see, and tells it.
    """
    if _MLM_BIAS not in stored_name and "cls.predictions.decoder.bias" in stored_name:
        stored_name[_MLM_BIAS] = stored_name.pop("cls.predictions.decoder.bias")
    copies = [name for name in COPIES if name in stored_name]
    differing = [
        name
        for name in copies
        if not _same_values(files, stored_name[name], stored_name.get(COPIES[name]))
    ]
    unused = [stored_name.pop(name) for name in copies]
    if not differing:
        return tuple(unused), ()
    # An own decoder is another head than BERT's: leave the whole head out
    # rather than answer with the wrong matrix.
    for name in sorted(names_of_part("mlm", HUGGINGFACE) & stored_name.keys()):
        unused.append(stored_name.pop(name))
    return tuple(unused), (
        note(
            "The masked-word head was not loaded: its {weight} differs from the weight "
            "that BERT ties it to.",
            weight=differing[0],
        ),
    )


def _same_values(files: SafetensorsFiles, name: str, other: str | None) -> bool:
    if other is None or files.shapes[name] != files.shapes[other]:
        return False
    return bool(np.array_equal(files.read(name), files.read(other)))


def _labels(raw: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Class names in the order of their indices; empty where there are none."""
    names = raw.get("id2label")
    if not isinstance(names, dict):
        return ()
    require_few_classes(name, len(names))
    indices = [str(index) for index in range(len(names))]
    if set(map(str, names)) != set(indices):
        return ()
    by_index = {
        str(index): LONE_SURROGATE.sub("\ufffd", str(label)[:200])
        for index, label in names.items()
    }
    return tuple(by_index[index] for index in indices)


def _gives_one_answer(raw: Mapping[str, Any], outputs: Shape | None) -> bool:
    """Whether it is for a text: not for tokens, multiple choice or several labels."""
    kind = raw.get("problem_type")
    if kind == "multi_label_classification" or (
        kind == "regression" and outputs != (1,)
    ):
        return False
    names = raw.get("architectures")
    if not isinstance(names, list) or not names:
        return True
    return "BertForSequenceClassification" in names


def _notes_on(
    config: BertConfig, dtypes: set[str], renamed: tuple[str, ...]
) -> tuple[Note, ...]:
    notes = []
    if config.hidden_act == "gelu":
        notes.append(
            note(
                "hidden_act is gelu, which in a Hugging Face checkpoint means the "
                "exact curve (erf)."
            )
        )
    if dtypes - {"F32"}:
        notes.append(
            note(
                "The weights are stored as {dtypes} and were converted to 32-bit "
                "floats.",
                dtypes=", ".join(sorted(dtypes)),
            )
        )
    if renamed:
        number = len(renamed)
        notes.append(note("{count} weights use older or shorter names.", count=number))
    return tuple(notes)
