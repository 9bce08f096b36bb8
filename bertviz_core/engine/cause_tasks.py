"""Tasks that run the network with something changed, see `tasks`."""

from __future__ import annotations

from bertviz_core.engine.jobs import Progress
from bertviz_core.engine.memory import ANSWERS, explorer
from bertviz_core.experiments.cause_results import (
    AblationMap,
    GradientMap,
    PartAblation,
    PatchingMap,
    SparsePattern,
    SparsePrediction,
    SwitchedPrediction,
    Switches,
    Target,
)
from bertviz_core.experiments.neuron_results import NeuronEffects


def switch_off(
    model: str,
    text: str,
    target: Target,
    switches: Switches,
    pair: str | None = None,
    cut: bool = False,
) -> SwitchedPrediction:
    """Predicts with parts of the model switched off."""
    from bertviz_core.experiments import switching

    return switching.switch_off(explorer(model), text, target, switches, pair, cut)


def predict_sparsely(
    model: str,
    text: str,
    target: Target,
    pattern: SparsePattern,
    pair: str | None = None,
    cut: bool = False,
) -> SparsePrediction:
    """Predicts under a sparse attention pattern."""
    from bertviz_core.experiments import sparsity

    opened = explorer(model)
    return sparsity.predict_sparsely(opened, text, target, pattern, pair, cut)


def estimate_heads(
    progress: Progress,
    model: str,
    text: str,
    target: Target,
    pair: str | None = None,
    cut: bool = False,
) -> GradientMap:
    """Estimates what each head does for the target; one backward pass."""
    from bertviz_core.experiments import gradients

    key = ("estimate_heads", model, text, target, pair, cut)
    return ANSWERS.get(
        key,
        lambda: gradients.estimate_heads(explorer(model), text, target, pair, cut),
    )


def ablate_heads(
    progress: Progress,
    model: str,
    text: str,
    target: Target,
    pair: str | None = None,
    cut: bool = False,
) -> AblationMap:
    """Switches off each head alone."""
    from bertviz_core.experiments import ablation

    key = ("ablate_heads", model, text, target, pair, cut)
    return ANSWERS.get(
        key,
        lambda: ablation.ablate_heads(
            explorer(model), text, target, pair, cut, progress
        ),
    )


def rank_neurons(
    progress: Progress,
    model: str,
    text: str,
    target: Target,
    num_neurons: int = 10,
    pair: str | None = None,
    cut: bool = False,
) -> NeuronEffects:
    """Finds the neurons of all layers that matter most for the target."""
    from bertviz_core.experiments import neuron_effects

    key = ("rank_neurons", model, text, target, num_neurons, pair, cut)
    return ANSWERS.get(
        key,
        lambda: neuron_effects.rank_neurons(
            explorer(model), text, target, num_neurons, pair, cut, progress
        ),
    )


def ablate_parts(
    progress: Progress,
    model: str,
    text: str,
    target: Target,
    pair: str | None = None,
    cut: bool = False,
) -> PartAblation:
    """Switches off each layer's attention, its feed-forward block, and both."""
    from bertviz_core.experiments import ablation

    key = ("ablate_parts", model, text, target, pair, cut)
    return ANSWERS.get(
        key,
        lambda: ablation.ablate_parts(
            explorer(model), text, target, pair, cut, progress
        ),
    )


def patch_hidden_states(
    progress: Progress,
    model: str,
    clean: str,
    corrupted: str,
    target: Target,
    minus: int | None = None,
    clean_pair: str | None = None,
    corrupted_pair: str | None = None,
    cut: bool = False,
) -> PatchingMap:
    """Puts each hidden state of one text into another, one at a time."""
    from bertviz_core.experiments import patching

    return patching.patch_hidden_states(
        explorer(model),
        clean,
        corrupted,
        target,
        minus,
        clean_pair,
        corrupted_pair,
        cut,
        progress,
    )


JOB_TASKS = (
    estimate_heads,
    ablate_heads,
    ablate_parts,
    rank_neurons,
    patch_hidden_states,
)
