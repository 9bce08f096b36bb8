"""Every number between a word and a prediction, one step at a time.

Nothing here runs the network. Each layer starts from its hidden state in the trace
and is computed again in float64 with the model's weights; a step computes no more
of its layer than it needs. So the last step of a layer differs from what the next
one starts with by the rounding of float32. The trace must come from a forward pass
without interventions, and the numbers are those of a model in float32: one that
computes in half precision rounds on the way, and this does not.

Letters of the axes are those of `step_results`.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import operator
import textwrap

import numpy as np

from bertviz_core.experiments.computed_values import (
    BlockValues,
    Computed,
    EmbeddingValues,
    HeadValues,
)
from bertviz_core.experiments.double_precision import wide
from bertviz_core.experiments.step_results import CodePlace, LayerStep, NormInput
from bertviz_core.experiments.step_table import (
    BEFORE,
    EMBEDDING_OPERATIONS,
    Operation,
    describe,
    layer_operations,
)
from bertviz_core.explorer import Explorer
from bertviz_core.trace import Trace

_WORD_OPERATIONS = (
    *("mlm_transform", "mlm_activation", "mlm_norm", "mlm_logits", "mlm_probs"),
)


def list_steps(explorer: Explorer, trace: Trace) -> tuple[LayerStep, ...]:
    """All operations for a text, in the order in which the model does them.

    Heads that the model lacks are left out, and so are the steps of the masked-word
    head when the trace asked for no position, and the softmax over classes where the
    model says a number.

    Args:
        explorer: the model of the trace.
        trace: of any parts; only tokens and asked positions are read.
    """
    config = explorer.config
    order = layer_operations(config.pre_norm)
    steps = _chain(explorer, trace, EMBEDDING_OPERATIONS, None, "")
    for layer in range(config.num_hidden_layers):
        steps += _chain(explorer, trace, order, layer, steps[-1].name)
    if config.pre_norm:
        steps += _chain(explorer, trace, ("final_norm",), None, steps[-1].name)
    last = steps[-1].name
    for operations in _head_operations(explorer, trace):
        steps += _chain(explorer, trace, operations, None, last)
    return tuple(steps)


class StepReader:
    """The steps of one text, to go through one after another.

    Keeps the numbers of the layer that was read last, so that the next step of the
    same layer costs no more than its own operation: a few MB for a sentence, 150 MB
    for 512 tokens of a BERT-base.

    Args:
        explorer: the model of the trace.
        trace: with hidden states.
    """

    def __init__(self, explorer: Explorer, trace: Trace) -> None:
        self.steps = list_steps(explorer, trace)
        self._explorer, self._trace = explorer, trace
        self._names = {step.name for step in self.steps}
        self._kept: tuple[str, Computed] | None = None

    def values(self, step_name: str) -> np.ndarray:
        """The numbers of one step.

        Args:
            step_name: of one of `steps`.

        Returns:
            float64 of the step's shape, read-only.

        Raises:
            ValueError: there is no such step, or the trace has no hidden states.
        """
        if step_name not in self._names:
            raise ValueError(
                "`step_name` must be the name of one of the steps, such as "
                f"{self.steps[-1].name}. Received: {step_name}."
            )
        place, _, operation = step_name.rpartition("/")
        if not place:
            place = "in" if operation in EMBEDDING_OPERATIONS else "out"
        if (kept := self._kept) is None or kept[0] != place:
            kept = place, _values_of(self._explorer, self._trace, step_name)
            self._kept = kept
        return kept[1][operation]


def block_values(explorer: Explorer, trace: Trace, layer: int) -> BlockValues:
    """The numbers of one layer, each computed when it is asked for.

    Args:
        explorer: the model of the trace.
        trace: with hidden states.
        layer: from 0.

    Raises:
        ValueError: there is no such layer, or the trace has no hidden states.
    """
    if trace.hidden_states is None:
        raise ValueError("The trace must hold `hidden_states`.")
    if not 0 <= layer < explorer.config.num_hidden_layers:
        raise ValueError(
            f"`layer` must be at least 0 and below {explorer.config.num_hidden_layers}."
            f" Received: {layer}."
        )
    block = explorer.loaded.model.blocks[layer]
    return BlockValues(block, explorer.config, trace.hidden_states[layer])


def norm_input(
    explorer: Explorer, trace: Trace, step_name: str, token: int
) -> NormInput:
    """What a layer norm got for one token, and its weights.

    Args:
        explorer: the model of the trace.
        trace: with hidden states.
        step_name: a step whose operation ends in "_norm".
        token: index of the token; for "mlm_norm" of the asked position.

    Raises:
        ValueError: there is no such step, it is no norm, there is no such token, or
            the trace has no hidden states.
    """
    steps = {step.name: step for step in list_steps(explorer, trace)}
    if step_name not in steps or not step_name.endswith("_norm"):
        raise ValueError(f"`step_name` must name a norm. Received: {step_name}.")
    step, model = steps[step_name], explorer.loaded.model
    if not 0 <= token < step.shape[0]:
        raise ValueError(f"`token` must be below {step.shape[0]}. Received: {token}.")
    if step.layer is not None:
        norm = getattr(model.blocks[step.layer], step.operation)
    elif step.operation == "embedding_norm":
        norm = model.embeddings.layer_norm
    else:
        is_final = step.operation == "final_norm"
        norm = model.final_norm if is_final else model.mlm.transform_norm
    place, _, source = step.inputs[0].rpartition("/")
    # What comes from an earlier layer is this one's "x", a hidden state of the trace.
    is_near = place == step_name.rpartition("/")[0]
    vectors = _values_of(explorer, trace, step_name)[source if is_near else "x"]
    gamma, beta = wide(norm.gamma), wide(norm.beta)
    return NormInput(step_name, token, vectors[token], gamma, beta, norm.epsilon)


def _values_of(explorer: Explorer, trace: Trace, step_name: str) -> Computed:
    """All numbers of the layer, of the embeddings, or of the heads."""
    place, _, operation = step_name.rpartition("/")
    if place:
        return block_values(explorer, trace, int(place.removeprefix("layer_")))
    if operation in EMBEDDING_OPERATIONS:
        return EmbeddingValues(explorer.loaded.model.embeddings, trace.tokenized)
    return HeadValues(explorer.loaded.model, trace)


def _chain(
    explorer: Explorer,
    trace: Trace,
    operations: tuple[str, ...],
    layer: int | None,
    before: str,
) -> list[LayerStep]:
    """Steps of one layer or one head that start from the step `before`."""
    config, prefix = explorer.config, "" if layer is None else f"layer_{layer}/"
    sizes = _axis_sizes(explorer, trace)
    steps = []
    for name in operations:
        found = describe(name, config.pre_norm, config.hidden_act)
        step = LayerStep(
            name=prefix + name,
            operation=name,
            layer=layer,
            axes=tuple(found.axes),
            shape=tuple(sizes[axis] for axis in found.axes),
            formula=found.formula,
            inputs=tuple(before if x == BEFORE else prefix + x for x in found.inputs),
            place=_locate(found),
        )
        steps.append(step)
    return steps


def _head_operations(explorer: Explorer, trace: Trace) -> list[tuple[str, ...]]:
    """The chains of operations after the encoder, of the heads that there are."""
    heads = explorer.loaded.model.heads
    pooled: tuple[str, ...] = ()
    if "pooler" in heads:
        pooled += ("pooler_dense", "pooled_output")
    if "nsp" in heads:
        pooled += ("nsp_logits", "nsp_probs")
    if "classifier" in heads:
        pooled += ("class_logits",)
        # A single output is no class but a number: its softmax would always be 1.
        if explorer.loaded.model.num_labels > 1:
            pooled += ("class_probs",)
    has_words = "mlm" in heads and _axis_sizes(explorer, trace)["P"]
    return [pooled, _WORD_OPERATIONS if has_words else ()]


def _axis_sizes(explorer: Explorer, trace: Trace) -> dict[str, int]:
    config, num_tokens = explorer.config, trace.tokenized.num_tokens
    positions = trace.mlm_positions
    return {
        **dict.fromkeys("TQK", num_tokens),
        "N": config.num_attention_heads,
        "D": config.head_size,
        "H": config.hidden_size,
        "I": config.intermediate_size,
        "V": config.vocab_size,
        "P": 0 if positions is None else len(positions),
        "C": explorer.loaded.model.num_labels,
        "2": 2,
    }


@functools.cache
def _locate(operation: Operation) -> CodePlace:
    """Finds the lines in the source as it is installed."""
    module = importlib.import_module(f"bertviz_core.{operation.module}")
    function = operator.attrgetter(operation.function)(module)
    lines, first = inspect.getsourcelines(function)
    found = [index for index, line in enumerate(lines) if operation.code in line]
    if len(found) < operation.occurrence:
        raise ValueError(f"`{operation.code}` is not in {operation.function}.")
    start = found[operation.occurrence - 1]
    ends = [i for i in range(start, len(lines)) if operation.last in lines[i]]
    if not ends:
        raise ValueError(f"`{operation.last}` is not in {operation.function}.")
    code = textwrap.dedent("".join(lines[start : ends[0] + 1])).rstrip()
    return CodePlace(module.__name__, operation.function, first + start, code)
