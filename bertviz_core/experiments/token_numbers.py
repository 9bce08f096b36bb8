"""The walk of one token through the network, one part at a time.

A whole layer of a long text is too large to send for a picture of one token: this
takes that token's share of it. For where the numbers come from see `layer_steps`.
"""

import dataclasses

import numpy as np

from bertviz_core.errors import require_index
from bertviz_core.experiments.layer_steps import StepReader, list_steps
from bertviz_core.experiments.step_results import (
    LayerStep,
    NormInput,
    PartNumbers,
    StepTable,
)
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import task
from bertviz_core.trace import Trace
from bertviz_core.weights import as_numpy

# Axes that a token is an index of; a token's own keys and values come last.
_TOKEN_AXES = "TQK"


@task()
def steps_for_one_token(explorer: Explorer, trace: Trace) -> tuple[LayerStep, ...]:
    """All operations for the tokens of a trace, the masked-word head asked once."""
    return list_steps(explorer, _asking_at(trace, 0))


@task()
def part_numbers(
    explorer: Explorer, trace: Trace, part: str, token: int
) -> PartNumbers:
    """What every step of a part computed for one token.

    The part is "embeddings", "layer_2" (from 0) or "heads"; the masked-word head is
    asked at the token.
    """
    require_index("token", token, trace.tokenized.num_tokens)
    reader = StepReader(explorer, _asking_at(trace, token))
    steps = [step for step in reader.steps if step.part == part]
    if not steps:
        raise ValueError(f"`part` must be one of the model's. Received: {part}.")
    taken = [(step, reader.step(name)) for step in steps for name in step.inputs]
    # What the part starts from: the last step of the one before, as the trace has it.
    found = {
        source.name: reader.read_by(step, source.name)[token].copy()
        for step, source in taken
        if source.part != part
    }
    found |= {
        step.name: _at_token(step.axes, reader.values(step.name), token)
        for step in steps
    }
    # The first token's vector, whichever token is followed.
    pooler_reads = {
        source.name: reader.read_by(step, source.name)[0].copy()
        for step, source in taken
        if step.is_pooled and not source.is_pooled
    }
    return PartNumbers(token, found, pooler_reads)


@task()
def step_table(
    explorer: Explorer,
    trace: Trace,
    step_name: str,
    token: int,
    head: int = 0,
    num_tokens: int = 64,
) -> StepTable:
    """What a step with tokens computed for some around one, see `StepTable`.

    The one is in the middle where the text has an end on neither side. A head is read
    of a step with heads.
    """
    require_index("token", token, trace.tokenized.num_tokens)
    reader = StepReader(explorer, trace)
    values, axes = reader.values(step_name), reader.step(step_name).axes
    if not set(axes) & set(_TOKEN_AXES):
        raise ValueError(f"`step_name` must have tokens. Received: {step_name}.")
    if "N" in axes:
        require_index("head", head, len(values))
        values = values[head]
    size = trace.tokenized.num_tokens
    first = max(0, min(token - num_tokens // 2, size - num_tokens))
    shown = values[first : first + num_tokens]
    if "Q" in axes and "K" in axes:
        shown = shown[:, first : first + num_tokens]
    return StepTable(first, shown.copy())


@task()
def norm_input_at(
    explorer: Explorer, trace: Trace, step_name: str, token: int
) -> NormInput:
    """What a layer norm, a step in "_norm", got for one token; the last head's, too."""
    if not step_name.endswith("_norm"):
        raise ValueError(f"`step_name` must name a norm. Received: {step_name}.")
    require_index("token", token, trace.tokenized.num_tokens)
    reader = StepReader(explorer, _asking_at(trace, token))
    model, step, index = explorer.loaded.model, reader.step(step_name), token
    if step.layer is not None:
        norm = getattr(model.blocks[step.layer], step.operation)
    elif step.operation == "embedding_norm":
        norm = model.embeddings.layer_norm
    elif step.operation == "final_norm":
        norm = model.final_norm
    else:
        norm, index = model.mlm.transform_norm, 0
    vector = reader.read_by(step, *step.inputs)[index].copy()
    gamma, beta = as_numpy(norm.gamma).copy(), as_numpy(norm.beta).copy()
    return NormInput(step_name, vector, gamma, beta, norm.epsilon)


def _asking_at(trace: Trace, token: int) -> Trace:
    """The same text, with words predicted at one token alone."""
    parts = () if trace.hidden_states is None else ("hidden_states",)
    return dataclasses.replace(trace.only(parts), mlm_positions=np.array([token]))


def _at_token(axes: tuple[str, ...], values: np.ndarray, token: int) -> np.ndarray:
    if "P" in axes:
        return values.take(0, axes.index("P"))
    for letter in _TOKEN_AXES:
        if letter in axes:
            return values.take(token, axes.index(letter))
    return np.array(values)
