"""Copies of the golden checkpoints with something changed, for tests of loading."""

import errno
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from bertviz_core.errors import CheckpointError

GOLDEN = Path(__file__).parents[1] / "data" / "checkpoints"
HF, GOOGLE = GOLDEN / "hf_tiny", GOLDEN / "google_tiny"

# Sizes of `hf_tiny`, see `tests/make_golden.py`.
NUM_LABELS = 11


def weights_of_hf():
    return load_file(HF / "model.safetensors")


def first_layers(weights, num_layers):
    """Of the three of `hf_tiny`; a copy says `num_hidden_layers` too."""
    others = (f"bert.encoder.layer.{layer}." for layer in range(num_layers, 3))
    return without_part(weights, *others)


def hf_copy(folder, weights=None, config=None, without=(), name="copy"):
    """A copy of `hf_tiny` with other weights, config values or fewer files."""
    target = google_copy(folder, config, without, name, source=HF)
    if weights is not None:
        save_file(weights, target / "model.safetensors", metadata={"format": "pt"})
    return target


def shallow_copy(folder, num_layers, name="copy"):
    """A copy of `hf_tiny` with its first layers alone."""
    weights, config = weights_of_hf(), {"num_hidden_layers": num_layers}
    return hf_copy(folder, first_layers(weights, num_layers), config, name=name)


def spare_rows_copy(folder, num_spare, name="spare"):
    """A copy of `hf_tiny` whose last rows of the embeddings belong to no word."""
    target = hf_copy(folder, name=name)
    words = (target / "vocab.txt").read_text(encoding="utf-8").splitlines()
    kept = words[: len(words) - num_spare]
    (target / "vocab.txt").write_text("\n".join(kept) + "\n", encoding="utf-8")
    return target


def number_copy(folder, label="price", name="number", num_layers=3):
    """A copy of `hf_tiny` that says one number, as a model trained on numbers does."""
    rng = np.random.default_rng(5)
    weights = without_part(weights_of_hf(), "cls.") | {
        "classifier.weight": rng.normal(size=(1, 30)).astype("float32"),
        "classifier.bias": rng.normal(size=1).astype("float32"),
    }
    config = {
        "architectures": ["BertForSequenceClassification"],
        "id2label": {"0": label},
        "num_hidden_layers": num_layers,
    }
    return hf_copy(folder, first_layers(weights, num_layers), config, name=name)


def google_copy(folder, config=None, without=(), name="copy", source=GOOGLE):
    target = Path(folder) / name
    shutil.copytree(source, target)
    if config:
        edit_config(target, **config)
    for file in without:
        (target / file).unlink()
    return target


def pre_norm_copy(folder, name="pre_norm"):
    """A copy of `hf_tiny` with its norms in front of each half, and one at the end."""
    rng = np.random.default_rng(6)
    size = weights_of_hf()["bert.pooler.dense.bias"].size
    weights = weights_of_hf() | {
        f"bert.final_norm.{part}": rng.normal(middle, 0.2, size).astype("float32")
        for part, middle in (("weight", 1), ("bias", 0))
    }
    return hf_copy(folder, weights, {"pre_norm": True}, name=name)


def edit_config(folder, **values):
    """Sets values of the config; `None` takes the key out."""
    names = ("config.json", "bert_config.json")
    path = next(folder / name for name in names if (folder / name).is_file())
    raw = json.loads(path.read_text(encoding="utf-8")) | values
    kept = {key: value for key, value in raw.items() if value is not None}
    path.write_text(json.dumps(kept), encoding="utf-8")


def renamed(weights, *changes):
    """Weights with text in their names replaced: pairs (old, new)."""
    for old, new in changes:
        weights = {name.replace(old, new): array for name, array in weights.items()}
    return weights


def without_part(weights, *openings):
    return {k: v for k, v in weights.items() if not k.startswith(openings)}


def refusal_of(call, *arguments, kind=CheckpointError, **named):
    """The sentence that a call ends with: one, short, and not a traceback's."""
    with pytest.raises(kind) as caught:
        call(*arguments, **named)
    sentence = str(caught.value)
    assert "Traceback" not in sentence
    assert "\n" not in sentence
    assert len(sentence) < 900
    return sentence


def full_disk(*_, **__):
    """In the place of what writes a file."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def encrypted(path):
    """Sets the flag of a password at the first entry of a zip file, and gives it."""
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    return path
