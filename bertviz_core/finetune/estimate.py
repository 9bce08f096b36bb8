"""Time and memory of a run before it starts, from two timed steps."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING

import numpy as np

from bertviz_core.finetune.batches import (
    Arrays,
    epoch_order,
    tokenize,
)
from bertviz_core.finetune.examples import Examples, TrainingData
from bertviz_core.finetune.learner import Learner
from bertviz_core.finetune.remedies import oversampled
from bertviz_core.finetune.run_estimate import RunEstimate
from bertviz_core.finetune.settings import FinetuneSettings, steps_per_epoch

if TYPE_CHECKING:
    from bertviz_core.checkpoints.library import LoadedModel

_NUM_TIMED = 2
_FLOAT_BYTES = 4
# Rows that are tokenized for the estimate; what is beyond is as long on average.
_MOST_ROWS = 1000


def estimate_run(
    loaded: LoadedModel, data: TrainingData, settings: FinetuneSettings
) -> RunEstimate:
    """Times two steps of a copy, after one that compiles, and scales them up.

    A step's time is taken as proportional to its token places, padding counted.

    Args:
        loaded: stays as it is.
        data: rows of the run.
        settings: of the run.

    Source:
        Activations: Korthikanti et al. 2022 (arXiv:2205.05198), equation 2, for
        float32.
    """
    if settings.oversample:
        data = oversampled(data, settings.seed)
    learner = Learner(loaded, data, settings)
    rows = tokenize(loaded.tokenizer, _some(data.train), settings.max_tokens)
    order = epoch_order(rows.lengths, settings.batch_size, settings.seed, 0)
    inputs = [rows.batch(chosen) for chosen in order]
    timed = [inputs[index % len(inputs)] for index in range(_NUM_TIMED)]
    targets = [
        learner.centred(data.train.targets[order[index % len(order)]])
        for index in range(_NUM_TIMED)
    ]
    places = _places(inputs) * len(data.train) / len(rows.lengths)
    seen = places * len(data.validation) / len(data.train)
    forward = _seconds_of_frozen(learner, timed) / _places(timed)
    num_steps = steps_per_epoch(len(data.train), settings.batch_size) * settings.epochs
    if settings.level == "head":
        # The frozen layers run once; steps on their outputs take next to nothing.
        step = _seconds_of_head_step(learner, timed, targets)
        seconds = forward * (places + seen) + step * num_steps
    else:
        step = _seconds_of_steps(learner, timed, targets)
        per_epoch = step * _NUM_TIMED / _places(timed) * places + forward * seen
        seconds = per_epoch * settings.epochs
    return RunEstimate(
        seconds, step, num_steps, _memory(learner, timed, settings, places + seen)
    )


def _some(examples: Examples) -> Examples:
    count = min(len(examples), _MOST_ROWS)
    pairs = examples.pairs
    return dataclasses.replace(
        examples,
        texts=examples.texts[:count],
        pairs=None if pairs is None else pairs[:count],
        targets=examples.targets[:count],
        rows=examples.rows[:count],
    )


def _seconds_of_frozen(learner: Learner, timed: list[Arrays]) -> float:
    """Of passes without learning, through all layers."""
    passes = iter(learner.frozen_outputs([timed[0], *timed], reads_pooled=True))
    next(passes)  # compiles
    began_at = time.perf_counter()
    for _ in passes:
        pass
    return time.perf_counter() - began_at


def _seconds_of_steps(
    learner: Learner, timed: list[Arrays], targets: list[np.ndarray]
) -> float:
    """Of one step, the mean of those timed."""
    learner.step(timed[0], targets[0], 0.0)  # compiles
    began_at = time.perf_counter()
    for batch, wanted in zip(timed, targets, strict=True):
        learner.step(batch, wanted, 0.0)
    return (time.perf_counter() - began_at) / len(timed)


def _seconds_of_head_step(
    learner: Learner, timed: list[Arrays], targets: list[np.ndarray]
) -> float:
    size = learner.bert.config.hidden_size
    if learner.learns_pooler:
        heads: list[Arrays] = [
            {
                "states": np.zeros((len(batch["input_ids"]), 1, size), "float32"),
                "attention_mask": np.ones((len(batch["input_ids"]), 1), "int32"),
            }
            for batch in timed
        ]
    else:
        heads = [
            {"pooled_output": np.zeros((len(batch["input_ids"]), size), "float32")}
            for batch in timed
        ]
    return _seconds_of_steps(learner, heads, targets)


def _memory(
    learner: Learner, timed: list[Arrays], settings: FinetuneSettings, places: float
) -> int:
    config = learner.bert.config
    size = config.hidden_size
    all_weights = sum(int(np.prod(w.shape)) for w in learner.bert.weights)
    moving = sum(int(np.prod(v.shape)) for v in learner.network.trainable_variables)
    # A gradient, Adam's two averages, and the best epoch.
    numbers = all_weights + 4 * moving
    rows, tokens = max((batch["input_ids"].shape for batch in timed), key=np.prod)
    layers = len(learner.bert.blocks) - learner.num_frozen
    # Two bytes a number in the source, four here.
    share = 34 + 5 * config.num_attention_heads * tokens / size
    activations = 2 * tokens * rows * size * share * layers
    kept = places * size * _FLOAT_BYTES if settings.level == "top" else 0.0
    return int(numbers * _FLOAT_BYTES + activations + kept)


def _places(batches: list[Arrays]) -> int:
    return sum(batch["input_ids"].size for batch in batches)
