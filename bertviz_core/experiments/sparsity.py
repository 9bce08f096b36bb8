"""Lay a sparse pattern on a model's attention and see what it loses."""

import dataclasses

import numpy as np

from bertviz_core.config import BertConfig
from bertviz_core.experiments.cause_results import (
    SparsePattern,
    SparsePrediction,
    Target,
)
from bertviz_core.experiments.targets import ask, compare_answers
from bertviz_core.explorer import Explorer
from bertviz_core.interventions import Interventions
from bertviz_core.tasks import task


@task()
def predict_sparsely(
    explorer: Explorer,
    text: str,
    target: Target,
    pattern: SparsePattern,
    pair: str | None = None,
) -> SparsePrediction:
    """The prediction with full attention and under a pattern of edges.

    The model was not trained under the pattern, so this is what it loses when
    the pattern comes as a surprise; training with it can win much back. A model that is
    sparse by itself keeps its own pattern, too.

    Raises:
        ConfigError: a number of the pattern is below 0, or its block below 1.

    Source: See `model.sparse.pattern_edges`.
    """
    question = ask(explorer, text, target, pair)
    num_tokens = question.tokenized.num_tokens
    own = explorer.forward.visible(num_tokens)
    imposed = edges_of(pattern, explorer.config, num_tokens)
    before, found = question.run(also=("attention_probs",))
    mask = imposed.astype("int32")[None, None]  # [1, 1, Q, K]
    after, changed = question.run(Interventions(edge_mask=mask))
    cut_mass = (found["attention_probs"] * ~imposed).sum(axis=-1).mean(axis=-1)
    return SparsePrediction(
        before=before,
        after=after,
        answers=compare_answers(found, changed, target),
        edges=own & imposed,
        kept_share=float((own & imposed).sum() / own.sum()),
        cut_mass=cut_mass,
    )


def edges_of(pattern: SparsePattern, config: BertConfig, num_tokens: int) -> np.ndarray:
    """The edges that a pattern leaves, bool `[T, T]`; rows look.

    Raises:
        ConfigError: a number below 0, or a block below 1.
    """
    from bertviz_core.model.sparse import visible_edges

    sparse = dataclasses.replace(
        config,
        sparse_block=pattern.block,
        sparse_window=pattern.window,
        sparse_stride=pattern.stride,
        sparse_global=pattern.num_global,
    )
    return visible_edges(sparse, num_tokens)
