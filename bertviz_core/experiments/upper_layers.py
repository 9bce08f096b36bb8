"""Many changed copies of one text, run through the layers above their change.

A change in layer l leaves the layers below as they were. So a copy begins where
it differs, from hidden states that are known, and all copies that have reached a
layer go through it as one batch: weights are read once for all of them. The last
block, its feed-forward half and the head work at the one position that is read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from keras import ops

from bertviz_core.config import BertConfig
from bertviz_core.experiments.cause_results import Target
from bertviz_core.experiments.compiled_step import Step, compiled_step
from bertviz_core.explorer import Explorer
from bertviz_core.model.sparse import pattern_edges

# Tokens of all copies that go through a block at once; bounds the memory.
MOST_TOKENS = 2048

Tensor = Any
Progress = Callable[[float, str], None]
# (level, rows) to float `[len(rows), T, H]`, see `run_upwards`.
Enter = Callable[[int, np.ndarray], np.ndarray]


def run_upwards(
    explorer: Explorer,
    levels: np.ndarray,
    enter: Enter,
    num_tokens: int,
    target: Target,
    progress: Progress | None = None,
) -> np.ndarray:
    """Brings copies of a text from where each begins to the answer.

    Args:
        explorer: whose model is used.
        levels: int `[R]`, not falling: the hidden state, 0 to L, that copy r
            begins with; 0 is the embedding output.
        enter: called with a level and the rows that begin there; gives their
            hidden states `[M, T, H]`, or for level L only the position that is
            read, `[M, 1, H]`.
        num_tokens: T.
        target: what to read.
        progress: told the share of the work done; may raise to stop.

    Returns:
        float32 `[R, C]`: the logits of the target's head.
    """
    most_rows = max(1, MOST_TOKENS // num_tokens)
    chunks = np.array_split(np.arange(len(levels)), -(-len(levels) // most_rows))
    answers, top = [], explorer.config.num_hidden_layers
    read = _reader(explorer, target)
    for index, rows in enumerate(chunks):
        states = np.empty((0, num_tokens, explorer.config.hidden_size), "float32")
        first = int(levels[rows[0]])
        for level in range(first, top + 1):
            if progress is not None:
                within = (level - first) / (top - first + 1)
                progress((index + within) / len(chunks), "layers")
            if len(states):
                states = carry(explorer, level - 1, states, target)
            new = rows[levels[rows] == level]
            if len(new):
                entering = enter(level, new)
                states = np.concatenate([states, entering]) if len(states) else entering
        answers.append(read({"states": states})["logits"])
    return np.concatenate(answers)


def carry(
    explorer: Explorer, layer: int, states: np.ndarray, target: Target
) -> np.ndarray:
    """One block on a batch: `[B, T, H]` in and out, `[B, 1, H]` from the last."""
    is_last = layer == explorer.config.num_hidden_layers - 1

    def make_body(model: Any) -> Any:
        block, config, dtype = model.blocks[0], model.config, model.compute_dtype

        def body(inputs: Any) -> dict[str, Tensor]:
            x = ops.cast(inputs["states"], dtype)
            position = inputs["position"] if is_last else None
            context = attend(block, config, x, position)
            rows = x if position is None else ops.take(x, position, axis=1)
            return {"states": finish(block, rows, context)}

        return body

    signature = {"states": ("float32", 3), "position": ("int32", 1)}
    step = compiled_step(explorer, ("carry", is_last), signature, make_body, layer)
    position = np.array([target.position], "int32")
    return step({"states": states, "position": position})["states"]


def attend(
    block: Any, config: BertConfig, x: Tensor, position: Tensor | None = None
) -> Tensor:
    """The context vectors of a block, before its output projection.

    Args:
        block: an `EncoderBlock`.
        config: of the model, for its own sparse pattern.
        x: float `[B, T, H]`, what enters the block.
        position: int `[1]`, the only row that looks; `None` for all.

    Returns:
        float `[B, T or 1, H]`, heads one after another.
    """
    if block.pre_norm:
        x = block.attention_norm(x)
    tokens = ops.arange(ops.shape(x)[1], dtype="int32")[None]
    edges = pattern_edges(config, tokens)  # [1, Q, K]
    if position is None:
        return block.attention(x, edges).context
    attention = block.attention
    query = _split(attention.query(ops.take(x, position, axis=1)), config)
    key = _split(attention.key(x), config)  # [B, K, N, D]
    value = _split(attention.value(x), config)
    scores = ops.einsum("bqnd,bknd->bnqk", query, key) / config.head_size**0.5
    if edges is not None:
        allowed = ops.take(edges, position, axis=1)[:, None]  # [1, 1, 1, K]
        scores = ops.where(allowed == 1, scores, ops.cast(-1e4, scores.dtype))
    context = ops.einsum("bnqk,bknd->bqnd", ops.softmax(scores, axis=-1), value)
    return ops.reshape(context, (-1, 1, config.hidden_size))


def finish(
    block: Any, x: Tensor, context: Tensor, neuron_mask: Tensor | None = None
) -> Tensor:
    """What a block does after its attention; the rows may be some of the text.

    Args:
        block: an `EncoderBlock`.
        x: float `[B or 1, Q, H]`, what entered the block.
        context: float `[B, Q, H]`, from `attend`.
        neuron_mask: see `FeedForward`.
    """
    x = x + block.attention_output(context)
    if block.pre_norm:
        return x + block.feed_forward(block.output_norm(x), neuron_mask)
    x = block.attention_norm(x)
    return block.output_norm(x + block.feed_forward(x, neuron_mask))


def _reader(explorer: Explorer, target: Target) -> Step:
    """From `[B, 1, H]` at the position that is read to a head's logits."""
    head = target.head

    def make_body(model: Any) -> Any:
        def body(inputs: Any) -> dict[str, Tensor]:
            x = ops.cast(inputs["states"], model.compute_dtype)
            x = x if model.final_norm is None else model.final_norm(x)
            if head == "mlm":
                words = model.embeddings.word_embeddings
                return {"logits": model.mlm(x[:, 0], words)}
            return {"logits": getattr(model, head)(model.pooler(x))}

        return body

    return compiled_step(
        explorer, ("read", head), {"states": ("float32", 3)}, make_body
    )


def _split(x: Tensor, config: BertConfig) -> Tensor:
    """`[B, T, H]` to `[B, T, N, D]`."""
    batch, tokens = ops.shape(x)[:2]
    shape = (batch, tokens, config.num_attention_heads, config.head_size)
    return ops.reshape(x, shape)
