"""Imposed patterns against edges counted by hand."""

import dataclasses

import numpy as np
import pytest

from bertviz_core.errors import CheckpointError, ConfigError
from bertviz_core.experiments.cause_results import SparsePattern, Target
from bertviz_core.experiments.sparsity import edges_of, predict_sparsely
from bertviz_core.interventions import Interventions
from tests.core.cause_models import (
    CONFIGS,
    HEADS,
    LAYERS,
    TARGETS,
    TEXT,
    WORD,
    answer,
    explorer_named,
)
from tests.core.random_models import CONFIG, PRE_NORM, agree, explorer_of, random_model

PATTERNS = (
    SparsePattern(window=1),
    SparsePattern(window=1, stride=3),
    SparsePattern(num_global=1),
    SparsePattern(window=1, stride=3, num_global=1, block=2),
)


def edges_by_hand(pattern, tokens):
    edges = np.zeros((tokens, tokens), bool)
    for q, k in np.ndindex(tokens, tokens):
        first, second = q // pattern.block, k // pattern.block
        edges[q, k] = (
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
    agree(
        found.delta_probability, found.after.probability - found.before.probability, 0
    )
    assert (found.edges == edges).all()
    assert found.kept_share == pytest.approx(edges.sum() / 81)
    assert 0 < found.kept_share < 1


def test_the_cut_mass_is_the_attention_that_lay_there():
    explorer, pattern = explorer_named("post-norm"), PATTERNS[1]
    found = predict_sparsely(explorer, TEXT, WORD, pattern)
    probs, edges = explorer.trace(TEXT).attention_probs, edges_by_hand(pattern, 9)
    for layer, head in np.ndindex(LAYERS, HEADS):
        by_row = [probs[layer, head, q][~edges[q]].sum() for q in range(9)]
        agree(found.cut_mass[layer, head], np.mean(by_row))
    assert not found.cut_mass.flags.writeable


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.head)
def test_imposing_a_pattern_is_building_the_model_with_it(target):
    """The same weights in a model that is sparse by itself."""
    config = dataclasses.replace(PRE_NORM, sparse_window=1, sparse_global=2)
    sparse = explorer_of(random_model(config)[0])
    pattern = SparsePattern(window=1, num_global=2)
    found = predict_sparsely(explorer_named("pre-norm"), TEXT, target, pattern)
    agree([found.after.logit, found.after.probability], answer(sparse, target))


def test_a_sparse_model_keeps_its_own_pattern():
    """It sees 1 to each side and every 4th; asked for 2 to each side: its 1."""
    explorer = explorer_named("sparse")
    found = predict_sparsely(explorer, TEXT, WORD, SparsePattern(window=2))
    own = edges_by_hand(SparsePattern(window=1, stride=4), 9)
    assert (found.edges == edges_by_hand(SparsePattern(window=1), 9)).all()
    assert found.kept_share == pytest.approx(found.edges.sum() / own.sum())


def test_no_pattern_cuts_nothing():
    found = predict_sparsely(explorer_named("post-norm"), TEXT, WORD, SparsePattern())
    assert found.edges.all()
    assert found.kept_share == 1
    assert found.cut_mass.max() == 0
    agree(found.delta_logit, 0)


@pytest.mark.parametrize("name", CONFIGS)
def test_a_text_of_one_token_can_be_seen_sparsely(name):
    target, pattern = Target("mlm", 4, 1), SparsePattern(window=1)
    found = predict_sparsely(explorer_named(name), "cat", target, pattern)
    assert found.edges.shape == (3, 3)
    assert found.edges.sum() == 7


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


def test_an_absent_head_is_refused():
    with pytest.raises(CheckpointError, match="has no MLM head"):
        predict_sparsely(explorer_named("headless"), TEXT, WORD, PATTERNS[0])
