"""What each level of training would need on this machine, and which one to choose."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from bertviz_core.finetune.estimate import COPIES_OF_LEARNING, estimate_run
from bertviz_core.finetune.examples import TrainingData
from bertviz_core.finetune.remedies import num_rows_seen
from bertviz_core.finetune.run_estimate import (
    LevelEstimate,
    RunEstimate,
    TrainingEstimate,
)
from bertviz_core.finetune.settings import LEVELS, FinetuneSettings
from bertviz_core.free_memory import free_memory

if TYPE_CHECKING:
    from bertviz_core.checkpoints.library import LoadedModel

# Who sits before the page waits for so long without leaving.
PATIENCE_SECONDS = 900.0
# What the framework takes beside weights and activations.
MARGIN_BYTES = 300_000_000
_FLOAT_BYTES = 4


def estimate_levels(
    loaded: LoadedModel,
    data: TrainingData,
    settings: FinetuneSettings,
    progress: Callable[[float, str], None] = lambda fraction, message: None,
    is_loaded: bool = False,
    free_bytes: int | None = None,
) -> TrainingEstimate:
    """Times two steps of each level that fits into memory.

    Args:
        loaded: stays as it is.
        data: rows of the run.
        settings: of the level that they name; the other levels take their own
            epochs and learning rate.
        progress: told the fraction done and the level; may raise to cancel.
        is_loaded: another training runs at the same time.
        free_bytes: memory that may be taken; `None` asks the system.
    """
    free = free_memory() if free_bytes is None else free_bytes
    found = []
    hidden_size = loaded.model.config.hidden_size
    num_rows = num_rows_seen(data, settings.oversample)
    for index, level in enumerate(LEVELS):
        progress(index / len(LEVELS), level)
        chosen = settings
        if level != settings.level:
            chosen = of_level(settings, level, hidden_size, num_rows)
        needed = memory_before(loaded, chosen)
        run = None
        if needed + MARGIN_BYTES <= free:
            run = estimate_run(loaded, data, chosen)
            needed = run.memory_bytes
            gc.collect()  # a copy of the model, full of cycles
        fits = run is not None and needed + MARGIN_BYTES <= free
        found.append(LevelEstimate(level, run, needed, fits))
    return TrainingEstimate(
        levels=tuple(found),
        recommended=recommended(found),
        patience_seconds=PATIENCE_SECONDS,
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
        estimate.level
        for estimate in levels
        if estimate.fits and _seconds(estimate.run) <= PATIENCE_SECONDS
    ]
    return quick[-1] if quick else levels[0].level


def memory_before(loaded: LoadedModel, settings: FinetuneSettings) -> int:
    """Bytes of a run by arithmetic alone, as if every text were of full length.

    Source:
        As `estimate.estimate_run`: weights, and the copies of those that learn;
        activations after Korthikanti et al. 2022.
    """
    config = loaded.model.config
    size, inner = config.hidden_size, config.intermediate_size
    total = sum(int(np.prod(weight.shape)) for weight in loaded.model.weights)
    # Four square products with their biases, two of the feed-forward part, norms.
    layer = 4 * size * (size + 1) + 2 * size * inner + inner + size + 4 * size
    layers = {
        "head": 0,
        "top": min(settings.num_top_layers, config.num_hidden_layers),
        "full": config.num_hidden_layers,
    }[settings.level]
    moving = total if settings.level == "full" else layers * layer
    tokens = min(settings.max_tokens, config.max_position_embeddings)
    places = settings.batch_size * tokens
    share = 34 + 5 * config.num_attention_heads * tokens / size
    activations = 2 * places * size * share * layers
    # A pass without learning holds one layer's activations.
    passing = 2 * places * size * share
    numbers = total + COPIES_OF_LEARNING * moving
    return int(numbers * _FLOAT_BYTES + activations + passing)


def _seconds(run: RunEstimate | None) -> float:
    return float("inf") if run is None else run.seconds
