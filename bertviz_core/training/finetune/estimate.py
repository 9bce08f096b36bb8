"""Time, memory and disk of a run before it starts: two timed steps, and arithmetic."""

from __future__ import annotations

import dataclasses
import gc
import math
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bertviz_core import visitor_files
from bertviz_core.errors import TrainingError
from bertviz_core.explorer import Explorer
from bertviz_core.free_memory import free_memory
from bertviz_core.tasks import Progress, untold
from bertviz_core.training.finetune.baselines import seconds_of_counting
from bertviz_core.training.finetune.batches import (
    Arrays,
    epoch_order,
    kept_bytes,
    tokenize,
    used_words,
)
from bertviz_core.training.finetune.dataset import TrainingData
from bertviz_core.training.finetune.evaluation import metric_name
from bertviz_core.training.finetune.settings import (
    LEVELS,
    FinetuneSettings,
    count_steps,
)
from bertviz_core.training.finetune.split import num_rows_seen, oversampled

if TYPE_CHECKING:
    from bertviz_core.checkpoints.library import LoadedModel
    from bertviz_core.config import BertConfig
    from bertviz_core.tokenizer import BertTokenizer
    from bertviz_core.training.finetune.learner import Learner


@dataclass(frozen=True)
class LevelEstimate:
    """What a run of one level is expected to need."""

    level: str  # one of `settings.LEVELS`
    # Weights, their gradients and averages, the best epoch, activations of the largest
    # batch, and what is kept of frozen layers; beside what the machine uses already.
    memory_bytes: int
    # From texts to the report: tokens, frozen layers, all epochs with their validation,
    # the reading of the test rows in float32, word counts, and compiling; early
    # stopping makes it less. `None` where the timed steps would not have fitted into
    # memory, and were not tried.
    seconds: float | None = None
    seconds_once: float = 0.0  # of these, those however many epochs there are
    num_steps: int = 0  # optimiser steps of all epochs
    fits: bool = False  # whether that much memory was free

    def seconds_of(self, num_steps: int) -> float | None:
        """How long the run would take with another number of optimiser steps."""
        if self.seconds is None:
            return None
        rest = self.seconds - self.seconds_once
        return self.seconds_once + rest * num_steps / self.num_steps


@dataclass(frozen=True)
class TrainingEstimate:
    """What each level would need on this machine, now."""

    levels: tuple[LevelEstimate, ...]  # as `settings.LEVELS`, each by its own defaults
    # The level with the most to learn that fits and takes no longer than
    # `PATIENCE_SECONDS`; else "head".
    recommended: str
    free_bytes: int  # memory that was free
    is_loaded: bool  # another training ran meanwhile, so times are too long

    def level(self, name: str) -> LevelEstimate:
        return self.levels[LEVELS.index(name)]


_NUM_TIMED = 2
_FLOAT_BYTES = 4
_FEWEST_LABELS = 2  # a head of more is next to nothing
# Numbers for each that learns, beside itself: its gradient and the clipped one, Adam's
# two averages, the best epoch, and what the allocator keeps.
COPIES_OF_LEARNING = 6
# Rows that are tokenized for the estimate; what is beyond is as long on average.
_MOST_ROWS = 1000
# Beside these, the rows with the most characters, for the longest in tokens.
_MOST_LONG_ROWS = 64


@dataclass(frozen=True)
class _Sample:
    """Some rows of a table, and how much there is of them in the whole run."""

    words: np.ndarray  # that occur in these rows, see `used_words`; others are few
    timed: list[Arrays]  # batches of tokens, numbered by these words
    targets: list[np.ndarray]  # of these batches
    places: float  # token places of an epoch, padding counted
    seen: float  # those of the validation rows
    read: float  # those of the test rows
    num_tokens: int  # of all rows that an epoch reads, without padding
    largest: tuple[int, int]  # B and T of the largest batch of the run
    tokenizing: float  # seconds for all rows


class _Timing(NamedTuple):
    """Seconds of a kind of pass or step."""

    first: float = 0.0  # that the first one takes longer than another, as it compiles
    both: float = 0.0  # of those on the timed batches


def estimate_run(
    loaded: LoadedModel, data: TrainingData, settings: FinetuneSettings, counting: float
) -> LevelEstimate:
    """Times two steps of a copy, after one that compiles, and scales them up.

    A step's time is taken as proportional to its token places, padding counted. Frozen
    layers whose output the run keeps are timed once, and not in each step. The run
    compiles as well, makes a copy, and counts words for `counting` seconds: most of a
    short run.

    Source: Activations: Korthikanti et al. 2022 (arXiv:2205.05198), equation 2, for
    float32.
    """
    from bertviz_core.training.finetune.learner import Learner

    if settings.oversample:
        data = oversampled(data, settings.seed)
    sample = _sample(loaded.tokenizer, data, settings)
    began_at = time.perf_counter()
    learner = Learner(loaded, data, settings, sample.words)
    beginning = time.perf_counter() - began_at
    targets = [learner.centred(part) for part in sample.targets]
    num_steps = count_steps(settings, len(data.train))
    kept = kept_bytes(learner, sample.num_tokens)
    is_head, inputs = settings.level == "head", sample.timed
    frozen = passes = _Timing()
    if is_head or kept:
        frozen, inputs = _through_frozen(learner, inputs)
    if not is_head:
        passes = _timing(learner.network.predict_on_batch, inputs)
    steps = _timing(
        lambda batch, right: learner.step(batch, right, 0.0), inputs, targets
    )
    if is_head:  # on what is kept, steps take next to nothing, however long the rows
        seconds = steps.both / _NUM_TIMED * num_steps
    else:
        timed = steps.both * sample.places + passes.both * sample.seen
        seconds = timed * settings.epochs / _places(sample.timed)
    forward = Explorer(loaded).forward  # in float32, whatever learned
    reading = _timing(lambda batch: forward(batch, ("hidden_states",)), sample.timed)
    once = frozen.both * (sample.places + sample.seen) + reading.both * sample.read
    once /= _places(sample.timed)
    once += sum(timing.first for timing in (frozen, passes, steps, reading))
    once += beginning + sample.tokenizing + counting
    moving, total = (
        sum(int(np.prod(weight.shape)) for weight in weights)
        for weights in (learner.network.trainable_variables, learner.bert.weights)
    )
    layers = len(learner.bert.blocks) - learner.num_frozen
    memory = _bytes(learner.bert.config, total, moving, sample.largest, layers) + kept
    return LevelEstimate(settings.level, memory, once + seconds, once, num_steps)


def _sample(
    tokenizer: BertTokenizer, data: TrainingData, settings: FinetuneSettings
) -> _Sample:
    chosen = data.train.spread(_MOST_ROWS)
    began_at = time.perf_counter()
    read = tokenize(tokenizer, chosen, settings.max_tokens)
    seconds = time.perf_counter() - began_at
    # Beside these, the rows with the most characters.
    chars = np.array([len(text) for text in data.train.joined])
    long = data.train.select(np.argsort(-chars, kind="stable")[:_MOST_LONG_ROWS])
    longest = tokenize(tokenizer, long, settings.max_tokens)
    words = used_words((read, longest))
    rows, longest = read.renumbered(words), longest.renumbered(words)
    order = epoch_order(rows.lengths, settings.batch_size, settings.seed, 0)
    inputs = [rows.batch(batch) for batch in order]
    first = [index % len(inputs) for index in range(_NUM_TIMED)]
    share = len(data.train) / len(chosen)
    places = _places(inputs) * share
    more, tested = (
        len(part) / len(data.train) for part in (data.validation, data.test)
    )
    # The batch with the longest row, which makes all of it as long.
    part = max((rows, longest), key=lambda part: int(part.lengths.max()))
    row = np.array([part.lengths.argmax()])
    width = part.batch(row)["input_ids"].shape[1]
    return _Sample(
        words=words,
        timed=[inputs[index] for index in first],
        targets=[chosen.targets[order[index]] for index in first],
        places=places,
        seen=places * more,
        read=places * tested,
        num_tokens=int(rows.lengths.sum() * share * (1 + more)),
        largest=(min(settings.batch_size, len(data.train)), width),
        tokenizing=seconds * share * (1 + more + tested),
    )


def _through_frozen(
    learner: Learner, timed: list[Arrays]
) -> tuple[_Timing, list[Arrays]]:
    """Passes through layers that do not learn, and what the network reads of them."""
    name = "pooled_output" if learner.network.reads_pooled else "states"
    inputs: list[Arrays] = []

    def read(batch: Arrays) -> None:
        made = learner.frozen_output(batch)
        mask = batch["attention_mask"][:, : made.shape[1]]
        inputs.append({name: made, "attention_mask": mask})

    return _timing(read, timed), inputs[1:]


def _timing(work: Callable[..., object], *given: Sequence[Any]) -> _Timing:
    """Works on the first batch, then on each of them."""
    batches = list(zip(*given, strict=True))
    ends = [time.perf_counter()]
    for batch in (batches[0], *batches):
        work(*batch)
        ends.append(time.perf_counter())
    both = ends[-1] - ends[1]
    return _Timing(max(ends[1] - ends[0] - both / _NUM_TIMED, 0.0), both)


def _bytes(
    config: BertConfig, total: int, moving: int, batch: tuple[int, int], layers: int
) -> int:
    """Of all weights, copies of those that move, and activations of some layers."""
    rows, tokens = batch
    # Two bytes a number in the source, four here.
    share = 34 + 5 * config.num_attention_heads * tokens / config.hidden_size
    activations = 2 * tokens * rows * config.hidden_size * share * layers
    return int((total + COPIES_OF_LEARNING * moving) * _FLOAT_BYTES + activations)


def _places(batches: list[Arrays]) -> int:
    return sum(batch["input_ids"].size for batch in batches)


# Who sits before the page waits for so long without leaving.
PATIENCE_SECONDS = 900.0
# What the framework takes beside weights and activations.
MARGIN_BYTES = 300_000_000


def estimate_levels(
    loaded: LoadedModel,
    data: TrainingData,
    settings: FinetuneSettings,
    progress: Progress = untold,
    is_loaded: bool = False,
) -> TrainingEstimate:
    """Times two steps of each level that fits into memory; `progress` is told its name.

    Levels that the settings do not name take their own epochs and learning rate.
    """
    free, found = free_memory(), []
    hidden_size = loaded.model.config.hidden_size
    num_rows = num_rows_seen(data, settings.oversample)
    counting = seconds_of_counting(data, metric_name(data.is_regression, settings))
    for index, level in enumerate(LEVELS):
        progress(index / len(LEVELS), level)
        chosen = settings
        if level != settings.level:
            chosen = of_level(settings, level, hidden_size, num_rows)
        one = LevelEstimate(level, memory_before(loaded, chosen))
        if one.memory_bytes + MARGIN_BYTES <= free:
            one = estimate_run(loaded, data, chosen, counting)
            gc.collect()  # a copy of the model, full of cycles
            fits = one.memory_bytes + MARGIN_BYTES <= free
            one = dataclasses.replace(one, fits=fits)
        found.append(one)
    return TrainingEstimate(
        levels=tuple(found),
        recommended=recommended(found),
        free_bytes=free,
        is_loaded=is_loaded,
    )


def of_level(
    settings: FinetuneSettings, level: str, hidden_size: int, num_rows: int
) -> FinetuneSettings:
    """The same settings for another level, with what is proposed for that level."""
    chosen = settings.to_dict() | {
        "level": level, "epochs": -1, "learning_rate": 0.0, "patience": -1
    }  # fmt: skip
    return FinetuneSettings.proposed(hidden_size, num_rows, **chosen)


def recommended(levels: list[LevelEstimate]) -> str:
    """The last level that fits and is done in time; else the first."""
    quick = [
        one.level
        for one in levels
        if one.fits and one.seconds is not None and one.seconds <= PATIENCE_SECONDS
    ]
    return quick[-1] if quick else levels[0].level


def memory_before(loaded: LoadedModel, settings: FinetuneSettings) -> int:
    """Bytes of a run by arithmetic alone, as if every text were of full length."""
    from bertviz_core.training.finetune.learner import num_frozen, num_learning

    config = loaded.model.config
    moving = num_learning(loaded.model, settings, _FEWEST_LABELS)
    layers = config.num_hidden_layers - num_frozen(settings, config.num_hidden_layers)
    tokens = min(settings.max_tokens, config.max_position_embeddings)
    batch, total = (settings.batch_size, tokens), loaded.model.count_params()
    # A pass without learning holds one layer's activations.
    return _bytes(config, total, moving, batch, layers + 1)


# Predictions, curves and the vocabulary, and what others write meanwhile.
_MARGIN_ON_DISK = 100_000_000


def require_room(
    folder: Path, loaded: LoadedModel, settings: FinetuneSettings, num_labels: int
) -> None:
    """Refuses a run for which the disk has no room.

    As if every word of the vocabulary occurred, which is the most; a pooler that the
    model lacks is counted. What lies in the `folder` of the checkpoints already counts
    as the run's own; it need not exist.

    Raises:
        StorageError: its owner, or everybody, keeps too much already.
        TrainingError: too little is free.
    """
    from bertviz_core.training.checkpoint import NUM_KEPT
    from bertviz_core.training.finetune.learner import num_learning

    size = loaded.model.config.hidden_size
    whole = loaded.model.count_params() + (size + 1) * (size + num_labels)
    # Each number that learns, Adam's two averages, and that of the best epoch.
    checkpoint = 4 * num_learning(loaded.model, settings, num_labels)
    # Beside those that are kept, another checkpoint is written; or the model and its
    # zip file, which hardly compresses.
    most = NUM_KEPT * checkpoint + max(checkpoint, 2 * whole)
    needed = _MARGIN_ON_DISK + _FLOAT_BYTES * most
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(there).free
    own = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    if free + own < needed:
        raise TrainingError(
            "There is too little room on the disk for this training. Expected: "
            "{needed} MB. Received: {free} MB free. Let fewer layers learn, choose a "
            "smaller model, or try again when there is more room.",
            needed=math.ceil(needed / 1_000_000),
            free=free // 1_000_000,
        )
    for owner in visitor_files.owners_of(folder.parent):  # none on the command line
        visitor_files.require_room(needed, owner, but=folder.parent)
