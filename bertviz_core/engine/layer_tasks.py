"""Tasks about what happens inside the layers, see `tasks`."""

from __future__ import annotations

import numpy as np

from bertviz_core.analysis.layer_similarity import layer_similarities
from bertviz_core.engine.jobs import Progress
from bertviz_core.engine.memory import ANSWERS, explorer, whole_trace
from bertviz_core.experiments.step_results import (
    LayerStep,
    NeuronActivations,
    NeuronFactors,
    NeuronWords,
    NormInput,
    PartNumbers,
    ResidualStream,
    StepTable,
    StrongNeurons,
)


def layer_steps(
    model: str, text: str, pair: str | None = None, cut: bool = False
) -> tuple[LayerStep, ...]:
    """Every operation in its order, the masked-word head asked at one token."""
    from bertviz_core.experiments import token_numbers

    trace = whole_trace(model, text, pair, cut)
    return token_numbers.steps_for_one_token(explorer(model), trace)


def part_numbers(
    model: str,
    text: str,
    part: str,
    token: int,
    pair: str | None = None,
    cut: bool = False,
) -> PartNumbers:
    """What every step of a part of the network computed for one token."""
    from bertviz_core.experiments import token_numbers

    trace = whole_trace(model, text, pair, cut)
    return token_numbers.part_numbers(explorer(model), trace, part, token)


def step_table(
    model: str,
    text: str,
    step: str,
    token: int,
    head: int = 0,
    pair: str | None = None,
    cut: bool = False,
) -> StepTable:
    """What a step computed for 64 tokens around one."""
    from bertviz_core.experiments import token_numbers

    trace = whole_trace(model, text, pair, cut)
    return token_numbers.step_table(explorer(model), trace, step, token, head)


def norm_input(
    model: str,
    text: str,
    step: str,
    token: int,
    pair: str | None = None,
    cut: bool = False,
) -> NormInput:
    """What a layer norm got for one token, and its weights."""
    from bertviz_core.experiments import token_numbers

    trace = whole_trace(model, text, pair, cut)
    return token_numbers.norm_input_at(explorer(model), trace, step, token)


def residual_stream(
    model: str, text: str, pair: str | None = None, cut: bool = False
) -> ResidualStream:
    """Lengths of the residual and of both updates, at every layer and token.

    For large models and long texts there is the job `measure_residual_stream`.
    """
    from bertviz_core.experiments import residual_stream as stream

    trace = whole_trace(model, text, pair, cut)
    key = ("residual_stream", model, text, pair, cut)
    return ANSWERS.get(key, lambda: stream.residual_stream(explorer(model), trace))


def layer_similarity(
    model: str, text: str, pair: str | None = None, cut: bool = False
) -> np.ndarray:
    """How alike every two layers see the tokens, `[L + 1, L + 1]`."""
    states = whole_trace(model, text, pair, cut).hidden_states
    return layer_similarities(np.asarray(states))


def measure_residual_stream(
    progress: Progress,
    model: str,
    text: str,
    pair: str | None = None,
    cut: bool = False,
) -> ResidualStream:
    """The same as a job, for large models and long texts."""
    from bertviz_core.experiments import residual_stream as stream

    trace = whole_trace(model, text, pair, cut)
    key = ("residual_stream", model, text, pair, cut)
    return ANSWERS.get(
        key, lambda: stream.residual_stream(explorer(model), trace, progress)
    )


def strongest_neurons(
    model: str,
    text: str,
    layer: int,
    token: int,
    num_neurons: int = 10,
    order: str = "activation",
    pair: str | None = None,
    cut: bool = False,
) -> StrongNeurons:
    """The feed-forward neurons that are strongest at a token."""
    from bertviz_core.experiments import neurons

    trace = whole_trace(model, text, pair, cut)
    return neurons.strongest_neurons(
        explorer(model), trace, layer, token, num_neurons, order
    )


def neuron_activations(
    model: str,
    text: str,
    layer: int,
    neuron: int,
    pair: str | None = None,
    cut: bool = False,
) -> NeuronActivations:
    """One neuron at every token."""
    from bertviz_core.experiments import neurons

    trace = whole_trace(model, text, pair, cut)
    return neurons.neuron_activations(explorer(model), trace, layer, neuron)


def neuron_words(
    model: str,
    text: str,
    layer: int,
    neuron: int,
    token: int | None = None,
    top_k: int = 10,
    pair: str | None = None,
    cut: bool = False,
) -> NeuronWords:
    """Words that a neuron speaks for and against; without `token`, of its weights."""
    from bertviz_core.experiments import neurons

    opened = explorer(model)
    if token is None:
        return neurons.words_of_neuron(opened, layer, neuron, top_k)
    trace = whole_trace(model, text, pair, cut)
    return neurons.words_of_neuron_here(opened, trace, layer, neuron, token, top_k)


def neuron_factors(
    progress: Progress,
    model: str,
    text: str,
    num_factors: int,
    seed: int,
    layers: tuple[int, ...] | None = None,
    pair: str | None = None,
    cut: bool = False,
) -> NeuronFactors:
    """Finds groups of neurons that fire together over a text."""
    from bertviz_core.experiments import neuron_factors as factors

    key = ("neuron_factors", model, text, pair, num_factors, seed, layers, cut)
    trace = whole_trace(model, text, pair, cut)
    return ANSWERS.get(
        key,
        lambda: factors.neuron_factors(
            explorer(model), trace, num_factors, seed, layers, progress=progress
        ),
    )


JOB_TASKS = (measure_residual_stream, neuron_factors)
