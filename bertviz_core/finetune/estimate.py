"""Time and memory of a run before it starts, from two timed steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bertviz_core.explorer import Explorer
from bertviz_core.finetune.baselines import counting_bytes, seconds_of_counting
from bertviz_core.finetune.batches import (
    Arrays,
    TokenRows,
    epoch_order,
    tokenize,
)
from bertviz_core.finetune.examples import Examples, TrainingData
from bertviz_core.finetune.inputs import kept_bytes
from bertviz_core.finetune.learner import Learner
from bertviz_core.finetune.remedies import oversampled
from bertviz_core.finetune.run_estimate import RunEstimate
from bertviz_core.finetune.schedule import count_steps
from bertviz_core.finetune.settings import FinetuneSettings

if TYPE_CHECKING:
    from bertviz_core.checkpoints.library import LoadedModel
    from bertviz_core.tokenizer import BertTokenizer

_NUM_TIMED = 2
_FLOAT_BYTES = 4
# Rows that are tokenized for the estimate; what is beyond is as long on average.
_MOST_ROWS = 1000
# Beside these, the rows with the most characters, for the longest in tokens.
_MOST_LONG_ROWS = 64


@dataclass(frozen=True)
class _Sample:
    """What the estimate looks at, and how much there is of it in the whole run.

    Args:
        timed: batches of tokens.
        targets: of these batches, as the network learns them.
        places: token places of an epoch, padding counted.
        seen: those of the validation rows.
        num_tokens: of all rows, without padding.
        largest: B and T of the largest batch of the run.
        tokenizing: seconds for all rows.
    """

    timed: list[Arrays]
    targets: list[np.ndarray]
    places: float
    seen: float
    num_tokens: int
    largest: tuple[int, int]
    tokenizing: float


def estimate_run(
    loaded: LoadedModel, data: TrainingData, settings: FinetuneSettings
) -> RunEstimate:
    """Times two steps of a copy, after one that compiles, and scales them up.

    A step's time is taken as proportional to its token places, padding counted.
    Frozen layers whose output the run keeps are timed once, and not in each step.

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
    sample = _sample(learner, loaded.tokenizer, data, settings)
    num_steps = count_steps(settings, len(data.train))
    kept = kept_bytes(learner, settings, sample.num_tokens)
    once, step, passing = 0.0, 0.0, 0.0
    if settings.level == "head":
        # The frozen layers run once; steps on their outputs take next to nothing.
        once = _seconds_of_frozen(learner, sample.timed, True)
        step = _seconds_of_head_step(learner, sample.timed, sample.targets)
        seconds = step * num_steps
    else:
        inputs = sample.timed
        if kept:
            once = _seconds_of_frozen(learner, sample.timed, False)
            inputs = _states(learner, sample.timed)
        passing = _seconds_of_passes(learner, inputs)
        step = _seconds_of_steps(learner, inputs, sample.targets)
        timed = step * _NUM_TIMED * sample.places + passing * sample.seen
        seconds = timed * settings.epochs / _places(sample.timed)
    once *= (sample.places + sample.seen) / _places(sample.timed)
    reading = _seconds_of_reading(loaded, sample.timed)
    once += sample.tokenizing + reading * sample.seen / _places(sample.timed)
    once += seconds_of_counting(data)
    memory = max(
        _memory(learner, sample.largest) + kept,
        # When the training is over, words are counted beside the finished model.
        _FLOAT_BYTES * _num_weights(learner) + counting_bytes(data),
    )
    return RunEstimate(once + seconds, step, num_steps, memory, once)


def _sample(
    learner: Learner,
    tokenizer: BertTokenizer,
    data: TrainingData,
    settings: FinetuneSettings,
) -> _Sample:
    chosen = _spread(len(data.train))
    began_at = time.perf_counter()
    rows = tokenize(tokenizer, data.train.select(chosen), settings.max_tokens)
    tokenizing = time.perf_counter() - began_at
    order = epoch_order(rows.lengths, settings.batch_size, settings.seed, 0)
    inputs = [rows.batch(batch) for batch in order]
    first = [index % len(inputs) for index in range(_NUM_TIMED)]
    targets = data.train.targets[chosen]
    share = len(data.train) / len(chosen)
    places = _places(inputs) * share
    more = len(data.validation) / len(data.train)
    longest = [rows, tokenize(tokenizer, _long(data.train), settings.max_tokens)]
    return _Sample(
        timed=[inputs[index] for index in first],
        targets=[learner.centred(targets[order[index]]) for index in first],
        places=places,
        seen=places * more,
        num_tokens=int(rows.lengths.sum() * share * (1 + more)),
        largest=_largest(longest, min(settings.batch_size, len(data.train))),
        # Those to judge by become tokens twice: the finished model reads them again.
        tokenizing=tokenizing * share * (1 + 2 * more),
    )


def _spread(num_rows: int) -> np.ndarray:
    """Indices of rows from all of the table, as its beginning may be unlike it."""
    count = min(num_rows, _MOST_ROWS)
    return np.linspace(0, num_rows - 1, count).astype("int64")


def _long(examples: Examples) -> Examples:
    """The rows with the most characters."""
    chars = np.array([len(text) for text in examples.joined])
    return examples.select(np.argsort(-chars, kind="stable")[:_MOST_LONG_ROWS])


def _largest(parts: Sequence[TokenRows], batch_size: int) -> tuple[int, int]:
    """B and T of the batch with the longest row, which makes all of it as long."""
    longest = max(parts, key=lambda part: int(part.lengths.max()))
    row = np.argmax(longest.lengths)
    return batch_size, longest.batch(np.array([row]))["input_ids"].shape[1]


def _states(learner: Learner, timed: list[Arrays]) -> list[Arrays]:
    """What the frozen layers make of batches, as the run keeps it."""
    outputs = learner.frozen_outputs(timed, reads_pooled=False)
    return [
        {"states": states, "attention_mask": batch["attention_mask"]}
        for states, batch in zip(outputs, timed, strict=True)
    ]


def _seconds_of_frozen(
    learner: Learner, timed: list[Arrays], reads_pooled: bool
) -> float:
    """Of passes without learning, through all layers or through the frozen ones."""
    passes = iter(learner.frozen_outputs([timed[0], *timed], reads_pooled))
    next(passes)  # compiles
    return _seconds(lambda: list(passes))


def _seconds_of_reading(loaded: LoadedModel, timed: list[Arrays]) -> float:
    """Of passes of a finished model, which computes in float32 whatever learned."""
    explorer = Explorer(loaded)
    explorer.forward(timed[0], ("hidden_states",))  # compiles
    return _seconds(lambda: [explorer.forward(b, ("hidden_states",)) for b in timed])


def _seconds_of_passes(learner: Learner, timed: list[Arrays]) -> float:
    """Of passes that judge the network."""
    learner.network.predict_on_batch(timed[0])  # compiles
    return _seconds(lambda: [learner.network.predict_on_batch(b) for b in timed])


def _seconds_of_steps(
    learner: Learner, timed: list[Arrays], targets: list[np.ndarray]
) -> float:
    """Of one step, the mean of those timed."""
    learner.step(timed[0], targets[0], 0.0)  # compiles
    both = list(zip(timed, targets, strict=True))
    return _seconds(lambda: [learner.step(*pair, 0.0) for pair in both]) / len(both)


def _seconds(work: Callable[[], object]) -> float:
    began_at = time.perf_counter()
    work()
    return time.perf_counter() - began_at


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


def _memory(learner: Learner, largest: tuple[int, int]) -> int:
    """Bytes of weights and of the activations of the largest batch."""
    config = learner.bert.config
    size = config.hidden_size
    moving = sum(int(np.prod(v.shape)) for v in learner.network.trainable_variables)
    # A gradient, Adam's two averages, and the best epoch.
    numbers = _num_weights(learner) + 4 * moving
    rows, tokens = largest
    layers = len(learner.bert.blocks) - learner.num_frozen
    # Two bytes a number in the source, four here.
    share = 34 + 5 * config.num_attention_heads * tokens / size
    activations = 2 * tokens * rows * size * share * layers
    return int(numbers * _FLOAT_BYTES + activations)


def _num_weights(learner: Learner) -> int:
    return sum(int(np.prod(w.shape)) for w in learner.bert.weights)


def _places(batches: list[Arrays]) -> int:
    return sum(batch["input_ids"].size for batch in batches)
