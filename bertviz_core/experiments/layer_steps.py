"""Every number between a word and a prediction, one step at a time.

A layer runs once more on what entered it in the trace, compiled from the same lines,
and each step shows what they hand to the tap: the numbers of the pass, in float32, to
the last bit but for what a backend adds up in another order.

Letters of the axes are those of `step_results`.
"""

import numpy as np

from bertviz_core.analysis.logit_rows import softmax_rows
from bertviz_core.errors import require_index
from bertviz_core.experiments.step_results import LayerStep
from bertviz_core.experiments.step_table import (
    BEFORE,
    EMBEDDING_OPERATIONS,
    OPERATIONS,
    describe,
    layer_operations,
)
from bertviz_core.explorer import Explorer
from bertviz_core.trace import Arrays, Trace

_WORD_OPERATIONS = (
    *("mlm_transform", "mlm_activation", "mlm_norm", "mlm_logits", "mlm_probs"),
)
TAPPED = tuple(o.activation for o in OPERATIONS.values() if o.activation)


def list_steps(explorer: Explorer, trace: Trace) -> tuple[LayerStep, ...]:
    """All operations for a text, in the order in which the model does them.

    Heads that the model lacks are left out, and so are the steps of the masked-word
    head when the trace asked for no position, and the softmax over classes where the
    model says a number. Of the trace only tokens and asked positions are read.
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

    Keeps the numbers of the part that was read last, so that the next step of the same
    layer costs nothing: a few MB for a sentence, 70 MB for 512 tokens of a BERT-base.
    """

    def __init__(self, explorer: Explorer, trace: Trace) -> None:
        self.steps = list_steps(explorer, trace)
        self._explorer, self._trace = explorer, trace
        self._by_name = {step.name: step for step in self.steps}
        self._kept: tuple[str, Arrays] | None = None

    def step(self, name: str) -> LayerStep:
        if name not in self._by_name:
            raise ValueError(
                "`step_name` must be the name of one of the steps, such as "
                f"{self.steps[-1].name}. Received: {name}."
            )
        return self._by_name[name]

    def values(self, step_name: str) -> np.ndarray:
        """The numbers of one step as the pass has them, float32, read-only.

        The softmax of an answer is in float64.
        """
        step = self.step(step_name)
        operation = OPERATIONS[step.operation]
        if operation.activation:
            found = self._part(step.part)[operation.activation].reshape(step.shape)
        else:
            found = softmax_rows(self.values(*step.inputs))
        found.flags.writeable = False  # it serves several readers
        return found

    def read_by(self, step: LayerStep, input_name: str) -> np.ndarray:
        """What a step gets from one of its inputs, with all tokens.

        What comes from an earlier part is the hidden state that the trace has there.
        """
        if self.step(input_name).part == step.part:
            return self.values(input_name)
        return _hidden_states(self._trace)[-1 if step.layer is None else step.layer]

    def _part(self, part: str) -> Arrays:
        if self._kept is None or self._kept[0] != part:
            self._kept = part, _part_values(self._explorer, self._trace, part)
        return self._kept[1]


def block_values(explorer: Explorer, trace: Trace, layer: int) -> Arrays:
    """What one layer computes on its way.

    Returns:
        float32 by the names of `model.taps` without "layer.3.", those of the steps;
        "input" and "output" enter and leave the layer. No axis for the batch.
    """
    require_index("layer", layer, explorer.config.num_hidden_layers)
    keep = [OPERATIONS[name].activation for name in layer_operations(False)]
    x = _hidden_states(trace)[layer]
    found = explorer.forward.block(layer, x[None], keep=("output", *keep))
    return {"input": x, **{name: array[0] for name, array in found.items()}}


def _hidden_states(trace: Trace) -> np.ndarray:
    if trace.hidden_states is None:
        raise ValueError("The trace must hold `hidden_states`.")
    return trace.hidden_states


def _part_values(explorer: Explorer, trace: Trace, part: str) -> Arrays:
    """What a layer, the embeddings or the heads compute, by names of `model.taps`."""
    forward = explorer.forward
    if part == "embeddings":
        keep = [name.removeprefix("embeddings.") for name in _names_in("embeddings")]
        found = forward.embed(**trace.tokenized.inputs, keep=keep)
        return {f"embeddings.{name}": array for name, array in found.items()}
    if part != "heads":
        return block_values(explorer, trace, int(part.removeprefix("layer_")))
    last, found = _hidden_states(trace)[-1], {}
    if explorer.config.pre_norm:
        found |= forward.read("final_norm", last, ("final_norm",))
    for head in explorer.loaded.model.heads:
        asked = trace.mlm_positions if head == "mlm" else [0]
        if asked is not None and len(asked):
            found |= forward.read(head, last[asked], _names_in(head))
    return found


def _names_in(place: str) -> tuple[str, ...]:
    return tuple(name for name in TAPPED if name.startswith(f"{place}."))


def _chain(
    explorer: Explorer,
    trace: Trace,
    operations: tuple[str, ...],
    layer: int | None,
    before: str,
) -> list[LayerStep]:
    """Steps of one layer or one head that start from the step `before`."""
    from bertviz_core.experiments.quoted_lines import locate  # loads the model's code

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
            place=locate(found.activation, config.hidden_act),
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
