"""The fast maps against one whole pass for each of their numbers."""

import gc
import weakref

import numpy as np
import pytest

from bertviz_core.errors import CheckpointError, TextError
from bertviz_core.experiments import targets
from bertviz_core.experiments.ablation import ablate_heads, ablate_parts
from bertviz_core.experiments.cause_results import ABLATED_PARTS, Target
from bertviz_core.interventions import Interventions
from tests.core.cause_models import (
    CONFIGS,
    HEADS,
    LAYERS,
    NEURONS,
    TARGETS,
    TEXT,
    WORD,
    answer,
    explorer_named,
)
from tests.core.random_models import CONFIG, agree, explorer_of, random_model


def slow_head_map(explorer, target, text=TEXT, pair=None):
    heads = explorer.config.num_attention_heads
    found = np.zeros((2, LAYERS, heads))
    for layer in range(LAYERS):
        for head in range(heads):
            mask = np.ones((LAYERS, heads), "float32")
            mask[layer, head] = 0
            off = Interventions(head_mask=mask)
            found[:, layer, head] = answer(explorer, target, off, text, pair)
    return found


def slow_part_map(explorer, target):
    found = np.zeros((2, LAYERS, len(ABLATED_PARTS)))
    for layer in range(LAYERS):
        heads = np.ones((LAYERS, HEADS), "float32")
        neurons = np.ones((LAYERS, NEURONS), "float32")
        heads[layer] = neurons[layer] = 0
        parts = ({"head_mask": heads}, {"neuron_mask": neurons})
        for column, off in enumerate((*parts, parts[0] | parts[1])):
            found[:, layer, column] = answer(explorer, target, Interventions(**off))
    return found


def agree_with(found, slow):
    agree(found.logits, slow[0])
    agree(found.probabilities, slow[1])


@pytest.mark.parametrize(
    ("name", "target"),
    [*((name, WORD) for name in CONFIGS), ("post-norm", TARGETS[2])],
)
def test_each_head_alone_is_off_as_in_a_whole_pass(name, target):
    explorer = explorer_named(name)
    found = ablate_heads(explorer, TEXT, target)
    assert found.logits.shape == (LAYERS, explorer.config.num_attention_heads)
    agree_with(found, slow_head_map(explorer, target))
    logit, probability = answer(explorer, target)
    agree([found.before.logit, found.before.probability], [logit, probability])
    assert np.abs(found.delta_logits).min(axis=1).max() > 1e-4, "nothing was off"


@pytest.mark.parametrize("name", ["post-norm", "pre-norm"])
def test_each_half_of_a_layer_is_off_as_in_a_whole_pass(name):
    explorer = explorer_named(name)
    found = ablate_parts(explorer, TEXT, WORD)
    agree_with(found, slow_part_map(explorer, WORD))
    agree(found.delta_probabilities, found.probabilities - found.before.probability, 0)
    agree(found.delta_logits, found.logits - found.before.logit, 0)


def test_the_size_of_a_batch_changes_no_number(monkeypatch):
    explorer = explorer_named("pre-norm")
    whole = ablate_heads(explorer, TEXT, WORD)
    monkeypatch.setattr(targets, "MOST_TOKENS", 45)
    agree(ablate_heads(explorer, TEXT, WORD).logits, whole.logits)


@pytest.mark.parametrize(
    ("name", "target", "texts"),
    [
        ("post-norm", Target("mlm", 9, 7), ("the cats", "a [MASK] mat")),
        ("sparse", Target("mlm", 3, 1), ("[MASK]", None)),
    ],
)
def test_a_pair_and_a_text_of_one_token_have_a_map(name, target, texts):
    explorer, (text, pair) = explorer_named(name), texts
    found = ablate_heads(explorer, text, target, pair)
    agree_with(found, slow_head_map(explorer, target, text, pair))


def test_an_explorer_that_is_gone_leaves_nothing_behind():
    explorer = explorer_of(random_model(CONFIG)[0])
    ablate_heads(explorer, TEXT, WORD)
    gone = weakref.ref(explorer), weakref.ref(explorer.loaded.model)
    del explorer
    gc.collect()
    assert [reference() for reference in gone] == [None, None]


def test_an_absent_head_and_an_absent_token_are_refused():
    with pytest.raises(CheckpointError, match="has no MLM head"):
        ablate_heads(explorer_named("headless"), TEXT, WORD)
    with pytest.raises(TextError, match=r"no token number 10.*Received: 9 tokens"):
        ablate_heads(explorer_named("post-norm"), TEXT, Target("mlm", 1, 9))
    with pytest.raises(ValueError, match="below 23"):
        ablate_heads(explorer_named("post-norm"), TEXT, Target("mlm", 23, 1))


def test_half_precision_gives_the_map_of_a_whole_pass():
    explorer = explorer_of(random_model(CONFIG, dtype="mixed_bfloat16")[0])
    found = ablate_heads(explorer, TEXT, WORD)
    exact = ablate_heads(explorer_named("post-norm"), TEXT, WORD)
    slow = slow_head_map(explorer, WORD)
    rounding = np.abs(slow[0] - exact.logits).max()
    assert rounding > 1e-3
    agree(found.logits, slow[0], 2 * rounding)
