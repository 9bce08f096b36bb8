"""The same checkpoint with the other curve that is called GELU."""

from __future__ import annotations

import numpy as np

from bertviz_core.analysis.logit_rows import log_softmax, top_words
from bertviz_core.errors import ConfigError
from bertviz_core.experiments.layer_results import GeluSwitch
from bertviz_core.experiments.masked_rows import piece_names
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import task

OTHER = {"gelu": "gelu_new", "gelu_new": "gelu"}


@task()
def switch_gelu(
    explorer: Explorer, text: str, pair: str | None = None, top_k: int = 10
) -> GeluSwitch:
    """Predicts the masks with the erf and with the tanh GELU.

    The served model is not changed.

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
    tokenized = explorer.require_masks(text, pair)
    positions = tokenized.mask_positions
    inputs = tokenized.inputs | {"mlm_positions": positions}
    passes = explorer.forward, explorer.forward_with(hidden_act=OTHER[own])
    both = np.stack([run(inputs, ("mlm_logits",))["mlm_logits"] for run in passes])
    own_logits, other_logits = both  # [P, V]
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
