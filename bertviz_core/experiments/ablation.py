"""Exact maps: switch off each head, or each half of a layer, and look again."""

from __future__ import annotations

from typing import Any

import numpy as np
from keras import ops

from bertviz_core.experiments.cause_results import (
    ABLATED_PARTS,
    AblationMap,
    PartAblation,
    Target,
)
from bertviz_core.experiments.compiled_step import compiled_step
from bertviz_core.experiments.targets import Question, ask
from bertviz_core.experiments.upper_layers import (
    Progress,
    attend,
    finish,
    run_upwards,
)
from bertviz_core.explorer import Explorer


def ablate_heads(
    explorer: Explorer,
    text: str,
    target: Target,
    pair: str | None = None,
    cut: bool = False,
    progress: Progress | None = None,
) -> AblationMap:
    """Switches off each head alone: L x N answers, exact.

    The attention of a layer is computed once for its N copies, and each copy
    runs through the layers above only: about half the work of L x N passes, in
    large batches.

    Args:
        explorer: whose model is asked.
        text: the text, or the first of two.
        target: what is watched.
        pair: the second text.
        cut: leaves out what is beyond the last position.
        progress: told the share done and "layers"; may raise to stop.

    Raises:
        CheckpointError: the model lacks the target's head.
        TextError: see `targets.ask`.

    Source:
        Michel et al. 2019 (arXiv:1905.10650), section 3.2, "ablating one head".
    """
    num_heads = explorer.config.num_attention_heads
    strengths = 1.0 - np.eye(num_heads, dtype="float32")
    question = ask(explorer, text, target, pair, cut)
    found = _ablate(question, strengths, np.ones(num_heads, "float32"), progress)
    return AblationMap(target, question.tokenized, *found)


def ablate_parts(
    explorer: Explorer,
    text: str,
    target: Target,
    pair: str | None = None,
    cut: bool = False,
    progress: Progress | None = None,
) -> PartAblation:
    """Switches off each layer's attention, its feed-forward block, and both.

    What remains of a half that is off is the bias of its output projection, as
    in `switching`. Arguments and errors are those of `ablate_heads`.

    Returns:
        Maps `[L, 3]`, a column for each of `ABLATED_PARTS`.
    """
    off = {"attention": (0.0, 1.0), "feed_forward": (1.0, 0.0), "both": (0.0, 0.0)}
    chosen = np.array([off[part] for part in ABLATED_PARTS], "float32")  # [3, 2]
    strengths = np.repeat(chosen[:, :1], explorer.config.num_attention_heads, axis=1)
    question = ask(explorer, text, target, pair, cut)
    found = _ablate(question, strengths, chosen[:, 1], progress)
    return PartAblation(target, question.tokenized, *found)


def _ablate(
    question: Question,
    head_strengths: np.ndarray,
    feed_forward_strengths: np.ndarray,
    progress: Progress | None,
) -> tuple[Any, np.ndarray, np.ndarray]:
    """The same C variants in every layer.

    Args:
        question: text and target.
        head_strengths: float `[C, N]`.
        feed_forward_strengths: float `[C]`.
        progress: see `ablate_heads`.

    Returns:
        The prediction as it is; probabilities and logits `[L, C]`.
    """
    explorer, target = question.explorer, question.target
    num_layers, num_variants = explorer.config.num_hidden_layers, len(head_strengths)
    before, found = question.run()
    states = found["hidden_states"]  # [L + 1, T, H]

    def enter(level: int, rows: np.ndarray) -> np.ndarray:
        variants = rows % num_variants
        arrays = {
            "states": states[level - 1][None],
            "position": np.array([target.position], "int32"),
            "heads": head_strengths[variants],
            "feed_forward": feed_forward_strengths[variants],
        }
        return _variants(explorer, level - 1)(arrays)["states"]

    levels = np.repeat(np.arange(1, num_layers + 1), num_variants)
    num_tokens = question.tokenized.num_tokens
    answers = run_upwards(explorer, levels, enter, num_tokens, target, progress)
    logits = answers[:, target.index]
    probabilities = np.exp(logits - _log_sum_exp(answers))
    shape = (num_layers, num_variants)
    return before, probabilities.reshape(shape), logits.reshape(shape)


def _variants(explorer: Explorer, layer: int) -> Any:
    """One block on one text, finished in several ways."""
    is_last = layer == explorer.config.num_hidden_layers - 1

    def make_body(model: Any) -> Any:
        block, config, dtype = model.blocks[0], model.config, model.compute_dtype

        def body(inputs: Any) -> dict[str, Any]:
            x = ops.cast(inputs["states"], dtype)
            position = inputs["position"] if is_last else None
            context = attend(block, config, x, position)  # [1, Q, H]
            rows = x if position is None else ops.take(x, position, axis=1)
            heads = ops.cast(inputs["heads"], dtype)  # [C, N]
            strengths = ops.repeat(heads, config.head_size, axis=1)  # [C, H]
            neurons = inputs["feed_forward"][:, None]  # [C, 1]: serves all neurons
            context = context * strengths[:, None, :]  # [C, Q, H]
            return {"states": finish(block, rows, context, neurons)}

        return body

    signature = {
        "states": ("float32", 3),
        "position": ("int32", 1),
        "heads": ("float32", 2),
        "feed_forward": ("float32", 1),
    }
    return compiled_step(explorer, ("variants", is_last), signature, make_body, layer)


def _log_sum_exp(logits: np.ndarray) -> np.ndarray:
    """`[R, C]` to `[R]`."""
    best = logits.max(axis=1)
    return best + np.log(np.exp(logits - best[:, None]).sum(axis=1))
