"""A tiny model and rows that it can learn."""

import dataclasses
import functools

import numpy as np

from bertviz_core.training.finetune.dataset import Dataset, Examples, TrainingData
from bertviz_core.training.finetune.settings import FinetuneSettings
from tests.core.random_models import CONFIG, VOCABULARY, explorer_of, random_model

NAMES = ("cats", "mats", "rest")
# Which word gives a row its class; the last class has neither.
SIGNS = ("cat", "mat", "on")
FILLERS = ("the", "sat", "a", ".", "!", "e")

SETTINGS = FinetuneSettings(
    level="full", epochs=3, batch_size=5, learning_rate=1e-2, max_tokens=9,
    patience=0, precision="float32", seed=4,
)  # fmt: skip
HEAD = dataclasses.replace(SETTINGS, level="head", learning_rate=0.05)


def dataset_of(texts, labels, names=("a", "b", "c"), pairs=None):
    kind = "int32" if names else "float32"
    return Dataset(
        texts=tuple(texts),
        pairs=pairs,
        targets=np.array(labels, kind),
        label_names=names,
        rows=np.arange(len(labels)) + 2,
        label_column="label",
    )


def random_examples(num_rows, seed, pairs=False, first_row=2):
    """Texts of 2 to 6 words, one of which tells the class."""
    rng = np.random.default_rng(seed)
    targets = np.arange(num_rows, dtype="int32") % len(NAMES)
    texts = []
    for target in targets:
        words = list(rng.choice(FILLERS, rng.integers(1, 6)))
        words.insert(rng.integers(len(words) + 1), SIGNS[target])
        texts.append(" ".join(words))
    seconds = tuple("the e" if row % 2 else "a ." for row in range(num_rows))
    rows = np.arange(first_row, first_row + num_rows)
    return Examples(tuple(texts), seconds if pairs else None, targets, rows)


def random_data(num_train=23, num_validation=13, pairs=False):
    judged = random_examples(num_validation, 2, pairs, first_row=num_train + 2)
    return TrainingData(random_examples(num_train, 1, pairs), judged, judged, NAMES)


def number_data(num_train=23, num_validation=13):
    """The same texts with a number for each, far from 0."""
    parts = []
    for part in (random_examples(num_train, 1), random_examples(num_validation, 2)):
        numbers = (500 + 30 * part.targets).astype("float32")
        parts.append(Examples(part.texts, None, numbers, part.rows))
    return TrainingData(*parts, parts[1], ("price",), is_regression=True)


def tiny_loaded(heads=("pooler", "mlm", "nsp"), num_layers=2):
    """A loaded model; a new one each time, as a test may spoil it.

    Each layer costs a second or two wherever a training is compiled.
    """
    config = dataclasses.replace(CONFIG, num_hidden_layers=num_layers)
    model, _ = random_model(config, heads=heads)
    assert model.config.vocab_size == len(VOCABULARY) + 2
    return explorer_of(model).loaded


@functools.cache
def shared_loaded(num_layers=1):
    """The same model each time, which no test may change."""
    return tiny_loaded(num_layers=num_layers)


def weights_of(model):
    """Every weight by path, copied."""
    return {weight.path: np.array(weight.numpy()) for weight in model.weights}
