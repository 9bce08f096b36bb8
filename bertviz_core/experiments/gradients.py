"""Quick estimates of what a part does for an answer, from one backward pass."""

from __future__ import annotations

from typing import Any

import numpy as np
from keras import ops

from bertviz_core.experiments.cause_results import GradientMap, Target
from bertviz_core.experiments.compiled_step import compiled_step
from bertviz_core.experiments.targets import LOGITS, Question, ask
from bertviz_core.explorer import Explorer
from bertviz_core.model.compiled import INPUTS

QUANTITIES = ("probability", "logit")


def estimate_heads(
    explorer: Explorer,
    text: str,
    target: Target,
    pair: str | None = None,
    cut: bool = False,
    quantity: str | None = None,
) -> GradientMap:
    """The derivative of the target with respect to each head's mask, at 1.

    Exact for a tiny change of a head; how far it says what happens when the head
    is switched off whole is what `ablation.ablate_heads` measures.

    Args:
        explorer: whose model is asked.
        text: the text, or the first of two.
        target: what is watched.
        pair: the second text.
        cut: leaves out what is beyond the last position.
        quantity: "probability" or "logit", what is derived; `None` for what the
            head says: the logit of a head with one output, else the probability.

    Raises:
        CheckpointError: the model lacks the target's head.
        TextError: see `targets.ask`.
        ValueError: another quantity.

    Source:
        Michel et al. 2019 (arXiv:1905.10650), section 4.1. They take the mean
        size of the loss's derivative over many texts; this is the derivative
        itself, with its sign, for one text.
    """
    question = ask(explorer, text, target, pair, cut)
    before, _ = question.run()
    quantity = quantity or ("logit" if before.is_number else "probability")
    config = explorer.config
    shape = (config.num_hidden_layers, config.num_attention_heads)
    slope = mask_slopes(question, "head_mask", shape, quantity)
    return GradientMap(target, question.tokenized, before, quantity, slope)


def mask_slopes(
    question: Question, mask: str, shape: tuple[int, ...], quantity: str
) -> np.ndarray:
    """The derivative of the target with respect to a mask that lets all through.

    Args:
        question: text and target.
        mask: an input of `CompiledForward`, without its batch axis of `shape`.
        shape: of the mask.
        quantity: "probability" or "logit", what is derived.

    Returns:
        float32 of that shape; one backward pass for all of it.

    Raises:
        ValueError: another quantity.
    """
    if quantity not in QUANTITIES:
        raise ValueError(
            f"`quantity` must be one of {QUANTITIES}. Received: {quantity}."
        )
    head, name = question.target.head, LOGITS[question.target.head]

    def make_body(model: Any) -> Any:
        def body(inputs: Any) -> dict[str, Any]:
            inputs = dict(inputs)
            index = inputs.pop("index")
            logits = ops.cast(model(**inputs, training=False)[name], "float32")
            values = ops.softmax(logits) if quantity == "probability" else logits
            return {"slope": ops.take(values, index, axis=1)}

        return body

    arrays = question.inputs | {
        mask: np.ones((1, *shape), "float32"),
        "index": np.array([question.target.index], "int32"),
    }
    signature = {"index": ("int32", 1)} | {
        key: INPUTS[key] for key in arrays if key in INPUTS
    }
    key = ("gradient", mask, head, quantity)
    step = compiled_step(question.explorer, key, signature, make_body, slope_of=mask)
    return step(arrays)["slope"][0]
