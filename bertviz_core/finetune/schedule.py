"""The learning rate of every step, known before the first one."""

from __future__ import annotations

import numpy as np

from bertviz_core.finetune.settings import FinetuneSettings, steps_per_epoch
from bertviz_core.pretrain.schedule import learning_rate
from bertviz_core.pretrain.settings import OptimizerSettings


def count_steps(settings: FinetuneSettings, num_rows: int) -> int:
    """Optimiser steps of all epochs.

    Args:
        settings: epochs and batch size.
        num_rows: to learn from.
    """
    return settings.epochs * steps_per_epoch(num_rows, settings.batch_size)


def learning_rates(
    settings: FinetuneSettings, num_rows: int, steps: np.ndarray | None = None
) -> np.ndarray:
    """Gives the curve, or points of it: what is drawn is what is used.

    Args:
        settings: peak, warm-up, decay, epochs and batch size.
        num_rows: to learn from.
        steps: int `[S]`, from 0, whose rates are wanted; `None` asks for those of
            all epochs, which may be very many: see `count_steps`.

    Returns:
        float64 `[S]`.

    Source:
        Linear: Devlin et al. 2019, appendix A.2. Exponential: Goodfellow et al.
        2016, "Deep Learning", section 8.3.1, as a factor for each epoch.
    """
    in_epoch = steps_per_epoch(num_rows, settings.batch_size)
    num_steps = count_steps(settings, num_rows)
    chosen = np.arange(num_steps) if steps is None else steps
    steps = chosen.astype("float64")
    if settings.decay == "linear":
        asked = OptimizerSettings(
            learning_rate=settings.learning_rate, warmup_rate=settings.warmup_rate
        )
        return learning_rate(steps, num_steps, asked, np)
    warmup_steps = max(1.0, settings.warmup_rate * num_steps)
    rising = np.minimum((steps + 1.0) / warmup_steps, 1.0)
    factor = settings.epoch_factor ** (steps // in_epoch)
    return settings.learning_rate * rising * factor
