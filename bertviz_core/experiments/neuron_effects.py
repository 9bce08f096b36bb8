"""The neurons that matter most for one answer, among those of all layers.

A BERT-base has 36,864 of them: too many to switch each one off. One backward pass
estimates what each would do; the best are then switched off one after another.
"""

from dataclasses import dataclass

import numpy as np

from bertviz_core.experiments.ablation import switch_in_layers
from bertviz_core.experiments.cause_results import AblationMap, Target
from bertviz_core.experiments.gradients import slopes
from bertviz_core.experiments.targets import ask
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import GRADIENT_RESOURCE, Progress, task, untold


@dataclass(frozen=True)
class NeuronEffects(AblationMap):
    """The neurons that matter most for a target, of all layers.

    What `AblationMap` holds in `[L, C]` is here float64 `[F]`, one number for each
    neuron that is switched off alone.
    """

    # int64 [F, 2], (layer, neuron) pairs, the largest measured change of
    # `Prediction.value` first, whatever its sign.
    neurons: np.ndarray
    # float [F], its change as the gradient predicts it, off less on.
    estimated_deltas: np.ndarray


@task(GRADIENT_RESOURCE)
def rank_neurons(
    explorer: Explorer,
    text: str,
    target: Target,
    num_neurons: int = 10,
    pair: str | None = None,
    progress: Progress = untold,
) -> NeuronEffects:
    """Finds the neurons without which the answer changes most.

    What changes is the target's probability, or the number of a head with one
    output (`Prediction.value`). Every neuron is estimated: its derivative with
    respect to the neuron's mask, at 1, is followed in a straight line to 0. The F
    neurons with the largest estimates, of either sign, are then switched off alone,
    at all tokens, and stand in the order of what that really changes. A neuron whose
    estimate is small and whose effect is not is missed.

    Raises:
        EngineError: on OpenVINO.

    Source: The estimate is that of Michel et al. 2019 (arXiv:1905.10650), section 4.1,
    for heads, and of Molchanov et al. 2017 (arXiv:1611.06440), section 2.2, "Taylor
    expansion", for single units; here with its sign, for one text.
    """
    if num_neurons < 1:
        raise ValueError(f"`num_neurons` must be at least 1. Received: {num_neurons}.")
    question = ask(explorer, text, target, pair)
    before, outputs = question.run(also=("hidden_states",))
    config = explorer.config
    shape = (config.num_hidden_layers, config.intermediate_size)
    quantity = "logit" if before.is_number else "probability"
    on = np.ones((1, *shape))
    estimates = -slopes(question, "neurons", on, quantity)[0]  # [L, I]
    order = np.argsort(-np.abs(estimates), axis=None, kind="stable")[:num_neurons]
    places = np.stack(np.unravel_index(np.sort(order), shape), axis=1)  # [F, 2]
    heads = np.ones((len(places), config.num_attention_heads), "float32")
    neurons = np.ones((len(places), config.intermediate_size), "float32")
    neurons[np.arange(len(places)), places[:, 1]] = 0
    states, layers = outputs["hidden_states"], places[:, 0]
    probabilities, logits = switch_in_layers(
        question, states, layers, heads, neurons, progress
    )
    values = logits if before.is_number else probabilities
    best = np.argsort(-np.abs(values - before.value), kind="stable")
    return NeuronEffects(
        before=before,
        probabilities=probabilities[best],
        logits=logits[best],
        neurons=places[best],
        estimated_deltas=estimates[tuple(places[best].T)],
    )
