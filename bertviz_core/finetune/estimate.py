"""Time and memory of a run before it starts, from two timed steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bertviz_core.explorer import Explorer
from bertviz_core.finetune.baselines import seconds_of_counting
from bertviz_core.finetune.batches import (
    Arrays,
    TokenRows,
    epoch_order,
    tokenize,
    used_words,
)
from bertviz_core.finetune.examples import Examples, TrainingData
from bertviz_core.finetune.inputs import kept_bytes
from bertviz_core.finetune.learner import Learner
from bertviz_core.finetune.remedies import oversampled
from bertviz_core.finetune.run_estimate import RunEstimate
from bertviz_core.finetune.schedule import count_steps
from bertviz_core.finetune.selection import metric_name
from bertviz_core.finetune.settings import FinetuneSettings

if TYPE_CHECKING:
    from bertviz_core.checkpoints.library import LoadedModel
    from bertviz_core.tokenizer import BertTokenizer

_NUM_TIMED = 2
_FLOAT_BYTES = 4
# Numbers for each that learns, beside itself: its gradient and the clipped one, Adam's
# two averages, the best epoch; and while an epoch is being written to the disk, itself
# and both averages once more.
COPIES_OF_LEARNING = 8
# Rows that are tokenized for the estimate; what is beyond is as long on average.
_MOST_ROWS = 1000
# Beside these, the rows with the most characters, for the longest in tokens.
_MOST_LONG_ROWS = 64


@dataclass(frozen=True)
class _Tokens:
    """Some rows of a table as tokens; words that occur in others alone are few.

    Args:
        chosen: int `[S]`, which rows to learn from.
        words: from `used_words`; the rows are numbered by these.
        rows: the chosen ones.
        longest: the rows with the most characters.
        seconds: that making `rows` took.
    """

    chosen: np.ndarray
    words: np.ndarray
    rows: TokenRows
    longest: TokenRows
    seconds: float


@dataclass(frozen=True)
class _Sample:
    """What the estimate looks at, and how much there is of it in the whole run.

    Args:
        timed: batches of tokens.
        targets: of these batches, as the network learns them.
        places: token places of an epoch, padding counted.
        seen: those of the validation rows.
        read: those of the test rows.
        num_tokens: of all rows, without padding.
        largest: B and T of the largest batch of the run.
        tokenizing: seconds for all rows.
    """

    timed: list[Arrays]
    targets: list[np.ndarray]
    places: float
    seen: float
    read: float
    num_tokens: int
    largest: tuple[int, int]
    tokenizing: float


@dataclass(frozen=True)
class _Timing:
    """How long a kind of pass or step takes.

    Args:
        first: seconds that the first one took longer than another: it compiles.
        both: seconds of those on the timed batches.
    """

    first: float
    both: float


_NO_TIME = _Timing(0.0, 0.0)


def estimate_run(
    loaded: LoadedModel, data: TrainingData, settings: FinetuneSettings
) -> RunEstimate:
    """Times two steps of a copy, after one that compiles, and scales them up.

    A step's time is taken as proportional to its token places, padding counted.
    Frozen layers whose output the run keeps are timed once, and not in each step. The
    run compiles as well, and makes a copy: seconds of their own, which are most of a
    short run.

    Args:
        loaded: stays as it is.
        data: rows of the run.
        settings: of the run.

    Source:
        Activations: Korthikanti et al. 2022 (arXiv:2205.05198), equation 2, for
        float32.
    """
    counting = seconds_of_counting(data, metric_name(data.is_regression, settings))
    if settings.oversample:
        data = oversampled(data, settings.seed)
    tokens = _tokens(loaded.tokenizer, data, settings)
    began_at = time.perf_counter()
    learner = Learner(loaded, data, settings, tokens.words)
    beginning = time.perf_counter() - began_at
    sample = _sample(learner, tokens, data, settings)
    num_steps = count_steps(settings, len(data.train))
    kept = kept_bytes(learner, settings, sample.num_tokens)
    frozen = passes = _NO_TIME
    if settings.level == "head":
        # The frozen layers run once; steps on their outputs take next to nothing.
        frozen = _time_frozen(learner, sample.timed, True)
        steps = _time_head_steps(learner, sample.timed, sample.targets)
        seconds = steps.both / _NUM_TIMED * num_steps
    else:
        inputs = sample.timed
        if kept:
            frozen = _time_frozen(learner, sample.timed, False)
            inputs = _states(learner, sample.timed)
        passes = _time_passes(learner, inputs)
        steps = _time_steps(learner, inputs, sample.targets)
        timed = steps.both * sample.places + passes.both * sample.seen
        seconds = timed * settings.epochs / _places(sample.timed)
    reading = _time_reading(loaded, sample.timed)
    once = frozen.both * (sample.places + sample.seen) + reading.both * sample.read
    once /= _places(sample.timed)
    once += sum(timing.first for timing in (frozen, passes, steps, reading))
    once += beginning + sample.tokenizing + counting
    memory = _memory(learner, sample.largest) + kept
    per_step = steps.both / _NUM_TIMED
    return RunEstimate(once + seconds, per_step, num_steps, memory, once)


def _tokens(
    tokenizer: BertTokenizer, data: TrainingData, settings: FinetuneSettings
) -> _Tokens:
    chosen = _spread(len(data.train))
    began_at = time.perf_counter()
    rows = tokenize(tokenizer, data.train.select(chosen), settings.max_tokens)
    seconds = time.perf_counter() - began_at
    longest = tokenize(tokenizer, _long(data.train), settings.max_tokens)
    words = used_words((rows, longest))
    return _Tokens(
        chosen, words, rows.renumbered(words), longest.renumbered(words), seconds
    )


def _sample(
    learner: Learner, tokens: _Tokens, data: TrainingData, settings: FinetuneSettings
) -> _Sample:
    chosen, rows = tokens.chosen, tokens.rows
    order = epoch_order(rows.lengths, settings.batch_size, settings.seed, 0)
    inputs = [rows.batch(batch) for batch in order]
    first = [index % len(inputs) for index in range(_NUM_TIMED)]
    targets = data.train.targets[chosen]
    share = len(data.train) / len(chosen)
    places = _places(inputs) * share
    more, tested = (
        len(part) / len(data.train) for part in (data.validation, data.test)
    )
    return _Sample(
        timed=[inputs[index] for index in first],
        targets=[learner.centred(targets[order[index]]) for index in first],
        places=places,
        seen=places * more,
        read=places * tested,
        num_tokens=int(rows.lengths.sum() * share * (1 + more)),
        largest=_largest(
            (rows, tokens.longest), min(settings.batch_size, len(data.train))
        ),
        tokenizing=tokens.seconds * share * (1 + more + tested),
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


def _time_frozen(learner: Learner, timed: list[Arrays], reads_pooled: bool) -> _Timing:
    """Passes without learning, through all layers or through the frozen ones."""
    passes = iter(learner.frozen_outputs([timed[0], *timed], reads_pooled))
    return _timing(lambda _: next(passes))


def _time_reading(loaded: LoadedModel, timed: list[Arrays]) -> _Timing:
    """Passes of a finished model, which computes in float32 whatever learned."""
    explorer = Explorer(loaded)
    return _timing(lambda index: explorer.forward(timed[index], ("hidden_states",)))


def _time_passes(learner: Learner, timed: list[Arrays]) -> _Timing:
    """Passes that judge the network."""
    return _timing(lambda index: learner.network.predict_on_batch(timed[index]))


def _time_steps(
    learner: Learner, timed: list[Arrays], targets: list[np.ndarray]
) -> _Timing:
    """Steps that learn nothing."""
    return _timing(lambda index: learner.step(timed[index], targets[index], 0.0))


def _timing(work: Callable[[int], object]) -> _Timing:
    """Calls with the index of the first batch, then with that of each of them."""
    ends = [time.perf_counter()]
    for index in (0, *range(_NUM_TIMED)):
        work(index)
        ends.append(time.perf_counter())
    both = ends[-1] - ends[1]
    return _Timing(max(ends[1] - ends[0] - both / _NUM_TIMED, 0.0), both)


def _time_head_steps(
    learner: Learner, timed: list[Arrays], targets: list[np.ndarray]
) -> _Timing:
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
    return _time_steps(learner, heads, targets)


def _memory(learner: Learner, largest: tuple[int, int]) -> int:
    """Bytes of weights and of the activations of the largest batch."""
    config = learner.bert.config
    size = config.hidden_size
    moving = sum(int(np.prod(v.shape)) for v in learner.network.trainable_variables)
    numbers = _num_weights(learner) + COPIES_OF_LEARNING * moving
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
