"""The mean of models that began as one.

A stretch of training that begins with a model ends not far from it. Where both ends
are about equally good, the loss between them is often lower than at either, because
what each learnt by chance cancels out. The mean costs nothing, and computes like any
of them.

Source: Izmailov et al. 2018 (arXiv:1803.05407), "Averaging weights leads to wider
optima and better generalization"; Wortsman et al. 2022 (arXiv:2203.05482), "Model
soups".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bertviz_core.errors import TrainingError
from bertviz_core.weights import as_numpy

if TYPE_CHECKING:
    from bertviz_core.checkpoints.library import LoadedModel


def fractions_of(shares: Sequence[float], num_models: int) -> tuple[float, ...]:
    """What part of a mean each model is; needs no model to be open. They sum to 1.

    Only the ratios of shares matter; without any, all models count alike. Fewer than
    two models, or not one positive number each, are a `TrainingError`.
    """
    if num_models < 2:
        raise TrainingError(
            "Averaging takes two models or more. Received: {num_models}. Name each "
            "with a `--model` of its own.",
            num_models=num_models,
        )
    shares = tuple(shares) or (1.0,) * num_models
    # Not `fsum`, which raises where infinities meet.
    total = sum(shares)
    if len(shares) != num_models or min(shares) <= 0 or not math.isfinite(total):
        raise TrainingError(
            "Each model needs one share, a number above 0. Received: {shares} for "
            "{num_models} models. Give as many `--share` as `--model`, or none.",
            shares=", ".join(f"{share:g}" for share in shares),
            num_models=num_models,
        )
    return tuple(share / total for share in shares)


def average_models(
    models: Sequence[LoadedModel], fractions: Sequence[float]
) -> LoadedModel:
    """Turns the first of some models into their mean, in float32, and returns it.

    Whether they began as one cannot be seen; other models' mean knows nothing. Models
    that differ in more than weights and training are a `TrainingError`.
    """
    first, *others = models
    for other in others:
        _require_same_kind(first, other)
    variables = [loaded.model.trainable_variables for loaded in models]
    for same in zip(*variables, strict=True):
        values = [as_numpy(variable) for variable in same]
        same[0].assign(np.average(values, axis=0, weights=fractions).astype("float32"))
    return first


def _require_same_kind(first: LoadedModel, other: LoadedModel) -> None:
    words = [
        (loaded.tokenizer.vocabulary, loaded.tokenizer.lower_case)
        for loaded in (first, other)
    ]
    what = (
        ("heads", first.model.heads != other.model.heads),
        ("labels", first.labels != other.labels),
        ("words", words[0] != words[1]),
    )
    differing = [
        *first.model.config.differing_fields(other.model.config),
        *(name for name, differs in what if differs),
    ]
    if differing:
        raise TrainingError(
            "Only models that differ in nothing but their weights can be averaged. "
            "Received: {first} and {other} with different {differing}. Choose "
            "models of which one continues the training of the other.",
            first=first.model_id[:80],
            other=other.model_id[:80],
            differing=", ".join(differing),
        )
