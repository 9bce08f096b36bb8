"""The same checkpoint with the other curve that is called GELU."""

from __future__ import annotations

from typing import Any

import numpy as np

from bertviz_core.analysis.logit_rows import log_softmax, top_words
from bertviz_core.errors import ConfigError
from bertviz_core.experiments.compiled_step import Step, compiled_step
from bertviz_core.experiments.layer_results import GeluSwitch
from bertviz_core.experiments.masked_rows import logits_at, piece_names, require_masks
from bertviz_core.explorer import Explorer
from bertviz_core.model.layers import ACTIVATIONS

OTHER = {"gelu": "gelu_new", "gelu_new": "gelu"}


def switch_gelu(
    explorer: Explorer, text: str, pair: str | None = None, top_k: int = 10
) -> GeluSwitch:
    """Predicts the masks with the erf and with the tanh GELU.

    The served model is not changed: the second graph goes through shallow copies
    of the layers that have an activation, which share every weight with it. That
    costs the making of one more graph, the first time, and no memory for weights.

    Args:
        explorer: of a model with the masked-word head and either GELU.
        text: with at least one mask.
        pair: the second text.
        top_k: best words to keep of each prediction.

    Raises:
        CheckpointError: the model has no masked-word head.
        ConfigError: the model's activation is no GELU.
        TextError: no mask, or see `Explorer.tokenize`.

    Source:
        Hendrycks and Gimpel 2016 (arXiv:1606.08415), section 2, for both curves;
        google-research/bert began with erf and went over to tanh in 2019.
    """
    own = explorer.config.hidden_act
    if own not in OTHER:
        raise ConfigError(
            "The model does not use GELU, so there are no two GELUs to compare. "
            "Received: hidden_act={activation}. Choose a model with gelu or gelu_new.",
            activation=own,
        )
    tokenized = require_masks(explorer, text, pair)
    positions = tokenized.mask_positions
    own_logits = logits_at(explorer, tokenized, positions)
    other_logits = _other_forward(explorer, OTHER[own])(
        {
            "input_ids": tokenized.input_ids[None],
            "token_type_ids": tokenized.token_type_ids[None],
            "mlm_positions": positions.astype("int32"),
        }
    )["mlm_logits"]
    both = np.stack([own_logits, other_logits])  # [2, P, V]
    log_probs = log_softmax(both)
    divergence = (np.exp(log_probs[0]) * (log_probs[0] - log_probs[1])).sum(axis=-1)
    top_ids = np.stack([top_words(logits, top_k) for logits in both])
    return GeluSwitch(
        model_id=explorer.model_id,
        tokenized=tokenized,
        own_activation=own,
        other_activation=OTHER[own],
        positions=positions,
        own_logits=own_logits,
        other_logits=other_logits,
        # Rounding can go below 0 for two equal predictions.
        divergence_bits=np.maximum(divergence, 0.0) / np.log(2),
        largest_differences=np.abs(both[0].astype(np.float64) - both[1]).max(axis=-1),
        top_ids=top_ids,
        top_tokens=tuple(
            tuple(piece_names(explorer, row) for row in rows) for rows in top_ids
        ),
        top_log_probs=np.take_along_axis(log_probs, top_ids, axis=-1),
    )


def _other_forward(explorer: Explorer, activation: str) -> Step:
    signature = {
        "input_ids": ("int32", 2),
        "token_type_ids": ("int32", 2),
        "mlm_positions": ("int32", 1),
    }

    def make_body(model: Any) -> Any:
        twin = _twin_with(model, activation)

        def body(inputs: Any) -> dict[str, Any]:
            return {"mlm_logits": twin(**inputs, training=False)["mlm_logits"]}

        return body

    return compiled_step(explorer, ("gelu_switch", activation), signature, make_body)


def _twin_with(model: Any, activation: str) -> Any:
    """The model with another activation and the very same weights."""
    curve = ACTIVATIONS[activation]
    blocks = [
        _shallow_copy(
            block, feed_forward=_shallow_copy(block.feed_forward, activation=curve)
        )
        for block in model.blocks
    ]
    return _shallow_copy(
        model, blocks=blocks, mlm=_shallow_copy(model.mlm, activation=curve)
    )


def _shallow_copy(layer: Any, **changes: Any) -> Any:
    """Another layer object around the same parts and weights.

    `copy.copy` asks Keras to rebuild the layer from its config, and setting an
    attribute would enter it in the bookkeeping that both objects share.
    """
    twin = object.__new__(type(layer))
    vars(twin).update(vars(layer) | changes)
    return twin
