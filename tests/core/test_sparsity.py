"""Imposed patterns against edges counted by hand."""

import dataclasses

import numpy as np
import pytest

from bertviz_core.errors import CheckpointError, ConfigError
from bertviz_core.experiments.cause_results import SparsePattern
from bertviz_core.experiments.sparsity import edges_of, predict_sparsely
from bertviz_core.interventions import Interventions
from tests.core.cause_models import TARGETS, TEXT, WORD, answer, explorer_named
from tests.core.random_models import CONFIG, PRE_NORM, agree, explorer_of, random_model

PATTERNS = (
    SparsePattern(),
    SparsePattern(window=1),
    SparsePattern(num_global=1),
    SparsePattern(window=1, stride=3, num_global=1, block=2),
)


def edges_by_hand(pattern, tokens):
    edges = np.full((tokens, tokens), pattern == SparsePattern())
    for q, k in np.ndindex(tokens, tokens):
        first, second = q // pattern.block, k // pattern.block
        edges[q, k] |= (
            abs(first - second) <= pattern.window
            or (pattern.stride > 0 and (first - second) % pattern.stride == 0)
            or min(first, second) < pattern.num_global
        )
    return edges


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("name", ["post-norm", "pre-norm"])
def test_a_pattern_does_what_its_edges_say(name, pattern):
    explorer, edges = explorer_named(name), edges_by_hand(pattern, 9)
    found = predict_sparsely(explorer, TEXT, WORD, pattern)
    off = Interventions(edge_mask=edges.astype("int32")[None, None])
    agree([found.before.logit, found.before.probability], answer(explorer, WORD))
    agree([found.after.logit, found.after.probability], answer(explorer, WORD, off))
    agree(found.delta_logit, found.after.logit - found.before.logit, 0)
    change = found.after.probability - found.before.probability
    agree(found.delta_probability, change, 0)
    assert (found.edges == edges).all()
    assert found.kept_share == pytest.approx(edges.sum() / 81)
    assert (found.kept_share < 1) == (pattern != SparsePattern())
    # The cut mass is the attention that lay there.
    probs = explorer.trace(TEXT).attention_probs
    agree(found.cut_mass, (probs * ~edges).sum(axis=-1).mean(axis=-1))


def test_imposing_a_pattern_is_building_the_model_with_it():
    """The same weights in a model that is sparse by itself."""
    config = dataclasses.replace(PRE_NORM, sparse_window=1, sparse_global=2)
    sparse = explorer_of(random_model(config)[0])
    pattern = SparsePattern(window=1, num_global=2)
    for target in TARGETS:
        found = predict_sparsely(explorer_named("pre-norm"), TEXT, target, pattern)
        agree([found.after.logit, found.after.probability], answer(sparse, target))


def test_a_sparse_model_keeps_its_own_pattern():
    """It sees 1 to each side and every 4th; asked for 2 to each side: its 1."""
    explorer = explorer_named("sparse")
    found = predict_sparsely(explorer, TEXT, WORD, SparsePattern(window=2))
    own = edges_by_hand(SparsePattern(window=1, stride=4), 9)
    assert (found.edges == edges_by_hand(SparsePattern(window=1), 9)).all()
    assert found.kept_share == pytest.approx(found.edges.sum() / own.sum())


@pytest.mark.parametrize(
    ("pattern", "field"),
    [
        (SparsePattern(window=-1), "sparse_window"),
        (SparsePattern(stride=-2), "sparse_stride"),
        (SparsePattern(num_global=-1), "sparse_global"),
        (SparsePattern(window=1, block=0), "sparse_block"),
    ],
)
def test_a_pattern_that_cannot_be_is_refused(pattern, field):
    with pytest.raises(ConfigError, match=field):
        edges_of(pattern, CONFIG, 5)
    with pytest.raises(CheckpointError, match="has no MLM head"):
        predict_sparsely(explorer_named("headless"), TEXT, WORD, PATTERNS[0])
