"""Sanity check: would a model of random weights give the same attributions?"""

import dataclasses

import numpy as np

from bertviz_core.analysis.correlation import spearman
from bertviz_core.experiments.attribution import attribute
from bertviz_core.experiments.cause_results import Target
from bertviz_core.experiments.layer_results import RandomWeightsCheck
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import GRADIENT_RESOURCE, Progress, task, untold
from bertviz_core.weights import as_numpy


@task(GRADIENT_RESOURCE)
def check_with_random_weights(
    explorer: Explorer,
    text: str,
    target: Target,
    contrast: int | None = None,
    baseline: str = "mask",
    seed: int = 0,
    progress: Progress = untold,
) -> RandomWeightsCheck:
    """Attributes an answer twice: with the model's weights, and shuffled.

    The shuffled model is a second one, in memory while this runs; the served
    model is not changed. For the rest see `attribution.attribute`.

    Source: Adebayo et al. 2018 (arXiv:1810.03292), section 3, model parameter
    randomisation; shuffled rather than drawn anew, so that every weight keeps its
    scale.
    """
    own = attribute(explorer, text, target, contrast, baseline=baseline)
    progress(0.5, "shuffle")
    other = shuffled_explorer(explorer, seed)
    shuffled = attribute(other, text, target, contrast, baseline=baseline)
    progress(1.0, "shuffle")
    rows = zip(own.scores, shuffled.scores, strict=True)
    agreement = [spearman(a[own.compared], b[own.compared]) for a, b in rows]
    return RandomWeightsCheck(own, np.array(agreement, "float64"))


def shuffled_explorer(explorer: Explorer, seed: int) -> Explorer:
    """The same architecture with each weight's numbers in a random order."""
    from bertviz_core.model.bert import twin_of

    twin, rng = twin_of(explorer.loaded.model), np.random.default_rng(seed)
    for weight in twin.weights:
        weight.assign(rng.permuted(as_numpy(weight).ravel()).reshape(weight.shape))
    return Explorer(dataclasses.replace(explorer.loaded, model=twin))
