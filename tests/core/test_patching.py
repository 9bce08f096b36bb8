"""Patches against one whole pass for each of them."""

import numpy as np
import pytest

from bertviz_core.errors import CheckpointError, TextError
from bertviz_core.experiments import targets
from bertviz_core.experiments.cause_results import Target
from bertviz_core.experiments.patching import patch_hidden_states
from bertviz_core.interventions import Interventions
from tests.core.cause_models import (
    CONFIGS,
    LAYERS,
    TARGETS,
    TEXT,
    WORD,
    answer,
    explorer_named,
)
from tests.core.random_models import CONFIG, agree, explorer_of, random_model

CORRUPTED = "The mats [MASK] on red cat"
MINUS = 9


def slow_scores(explorer, target, minus, clean=TEXT, corrupted=CORRUPTED):
    taken = explorer.trace(clean).hidden_states
    levels, tokens = taken.shape[:2]
    scores = np.zeros((levels, tokens))
    for level, position in np.ndindex(levels, tokens):
        mask = np.zeros((levels, tokens), "int32")
        mask[level, position] = 1
        patch = Interventions(replace_mask=mask, replacement=taken)
        scores[level, position] = score(explorer, corrupted, target, minus, patch)
    return scores


def score(explorer, text, target, minus, patch=None):
    logit, probability = answer(explorer, target, patch, text)
    if minus is None:
        return probability
    other = Target(target.head, minus, target.position)
    return logit - answer(explorer, other, patch, text)[0]


@pytest.mark.parametrize(
    ("name", "minus"),
    [*((name, MINUS) for name in CONFIGS), ("post-norm", None), ("pre-norm", None)],
)
def test_each_patch_is_what_a_whole_pass_gives(name, minus):
    explorer = explorer_named(name)
    found = patch_hidden_states(explorer, TEXT, CORRUPTED, WORD, minus)
    expected = slow_scores(explorer, WORD, minus)
    assert found.scores.shape == (LAYERS + 1, 9)
    agree(found.scores, expected)
    clean = score(explorer, TEXT, WORD, minus)
    corrupted = score(explorer, CORRUPTED, WORD, minus)
    agree([found.clean_score, found.corrupted_score], [clean, corrupted])
    # A share divides the error of a score by the difference of the two texts.
    whole = clean - corrupted
    agree(found.recovered * whole, expected - corrupted, 2e-5)
    assert found.quantity == ("probability" if minus is None else "logit_difference")
    if minus is not None:
        # The last state at the asked place brings all back, and no other any.
        agree(found.recovered[LAYERS], np.eye(9)[WORD.position], 1e-4)


@pytest.mark.parametrize("target", TARGETS[1:], ids=lambda target: target.head)
def test_patches_of_a_class_are_what_whole_passes_give(target):
    explorer = explorer_named("post-norm")
    found = patch_hidden_states(explorer, TEXT, CORRUPTED, target)
    agree(found.scores, slow_scores(explorer, target, None))


def test_the_size_of_a_batch_changes_no_score(monkeypatch):
    explorer = explorer_named("post-norm")
    whole = patch_hidden_states(explorer, TEXT, CORRUPTED, WORD, MINUS)
    monkeypatch.setattr(targets, "MOST_TOKENS", 30)
    again = patch_hidden_states(explorer, TEXT, CORRUPTED, WORD, MINUS)
    agree(again.scores, whole.scores)


def test_pairs_are_patched_with_pairs():
    explorer, target = explorer_named("post-norm"), Target("nsp", 0)
    found = patch_hidden_states(
        explorer, "a cat", "a mat", target, None, "the cats", "the mats"
    )
    assert found.clean.token_type_ids.tolist() == [0] * 4 + [1] * 4
    agree(found.corrupted_score, answer(explorer, target, None, "a mat", "the mats")[1])


def test_texts_that_cannot_be_compared_are_refused(monkeypatch):
    explorer = explorer_named("post-norm")
    with pytest.raises(
        TextError,
        match=r"Received: 4 tokens \(\[CLS\] a cat \[SEP\]\) and 5 tokens "
        r"\(\[CLS\] a cat ##s \[SEP\]\)",
    ):
        patch_hidden_states(explorer, "a cat", "a cats", Target("mlm", 1, 2))
    monkeypatch.setattr("bertviz_core.experiments.patching.MOST_TOKENS_SHOWN", 3)
    with pytest.raises(TextError, match=r"5 tokens \(\[CLS\] a cat …\)"):
        patch_hidden_states(explorer, "a cat", "a cats", Target("mlm", 1, 2))
    for minus in (None, MINUS):
        with pytest.raises(TextError, match="Both texts give the same answer"):
            patch_hidden_states(explorer, TEXT, TEXT, WORD, minus)
    for minus in (WORD.index, CONFIG.vocab_size):
        with pytest.raises(ValueError, match=r"minus|below 23"):
            patch_hidden_states(explorer, TEXT, CORRUPTED, WORD, minus)
    with pytest.raises(CheckpointError, match="has no MLM head"):
        patch_hidden_states(explorer_named("headless"), TEXT, CORRUPTED, WORD)


def test_a_small_probability_has_shares_as_a_large_one_has():
    """The bias of one word falls: all its probabilities do, by the same factor."""
    whole = patch_hidden_states(explorer_named("post-norm"), TEXT, CORRUPTED, WORD)
    model, weights = random_model(CONFIG)
    lowered = weights["decoder_bias"].copy()
    lowered[WORD.index] -= 20
    model.mlm.bias.assign(lowered)
    found = patch_hidden_states(explorer_of(model), TEXT, CORRUPTED, WORD)
    assert found.clean_score < 1e-8
    # Odds, not probabilities, fall by one factor: equal where both are small.
    odds = whole.scores / (1 - whole.scores)
    first, last = whole.clean_score, whole.corrupted_score
    first, last = first / (1 - first), last / (1 - last)
    agree(found.recovered, (odds - last) / (first - last), 1e-3)


def test_long_texts_are_cut_where_it_is_asked_for():
    explorer = explorer_named("post-norm")
    limit = explorer.config.max_position_embeddings
    clean, corrupted = (f"{text} " + "cat " * limit for text in (TEXT, CORRUPTED))
    with pytest.raises(TextError, match=str(limit)):
        patch_hidden_states(explorer, clean, corrupted, WORD)
    found = patch_hidden_states(explorer, clean, corrupted, WORD, cut=True)
    assert found.recovered.shape == (LAYERS + 1, limit)
    assert found.clean_score != found.corrupted_score
