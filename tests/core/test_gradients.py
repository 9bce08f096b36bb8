"""Derivatives against differences of the NumPy oracle, in float64."""

import numpy as np
import pytest

from bertviz_core.errors import CheckpointError
from bertviz_core.experiments.ablation import ablate_heads
from bertviz_core.experiments.cause_results import Target
from bertviz_core.experiments.gradients import estimate_heads
from tests.core.cause_models import (
    TARGETS,
    TEXT,
    WORD,
    answer,
    by_oracle,
    explorer_named,
)
from tests.core.checkpoint_copies import number_copy
from tests.core.random_models import agree

pytestmark = pytest.mark.tensorflow
STEP = 1e-4  # of a head's mask


def differences(name, text, target, quantity):
    """Half the change of the target between masks 1 + step and 1 - step."""
    config = explorer_named(name).config
    slopes = np.zeros((config.num_hidden_layers, config.num_attention_heads))
    for place in np.ndindex(slopes.shape):
        ends = []
        for step in (STEP, -STEP):
            mask = np.ones((1, *slopes.shape))
            mask[0][place] += step
            found = by_oracle(name, text, target, head_mask=mask)
            ends.append(found[quantity == "logit"])
        slopes[place] = (ends[0] - ends[1]) / (2 * STEP)
    return slopes


@pytest.mark.parametrize("quantity", ["probability", "logit"])
@pytest.mark.parametrize("name", ["post-norm", "pre-norm"])
def test_derivatives_are_what_small_steps_find(name, quantity):
    target = Target("mlm", 8, 2)
    found = estimate_heads(explorer_named(name), "a [MASK]", target, quantity=quantity)
    expected = differences(name, "a [MASK]", target, quantity)
    agree(found.derivatives, expected)
    agree(found.estimated_deltas, -expected)
    before = answer(explorer_named(name), target, None, "a [MASK]")
    agree([found.before.logit, found.before.probability], before)
    assert np.abs(expected).max() > 1e-3, "nothing to find"
    assert found.quantity == quantity


@pytest.mark.parametrize("target", TARGETS[1:], ids=lambda target: target.head)
def test_derivatives_of_a_class_are_what_small_steps_find(target):
    found = estimate_heads(explorer_named("pre-norm"), "cat", target)
    agree(found.derivatives, differences("pre-norm", "cat", target, "probability"))


def test_another_quantity_and_an_absent_head_are_refused():
    with pytest.raises(ValueError, match="rank"):
        estimate_heads(explorer_named("post-norm"), TEXT, WORD, quantity="rank")
    with pytest.raises(CheckpointError, match="has no MLM head"):
        estimate_heads(explorer_named("headless"), TEXT, WORD)


def test_of_one_output_the_number_is_derived(tmp_path):
    from bertviz_core.explorer import Explorer

    explorer = Explorer.open(str(number_copy(tmp_path)))
    target = Target("classifier", 0)
    found = estimate_heads(explorer, "ab cab", target)
    assert found.quantity == "logit"
    assert found.before.value == found.before.logit
    assert np.abs(found.derivatives).max() > 1e-3
    exact = ablate_heads(explorer, "ab cab", target)
    np.testing.assert_array_equal(exact.deltas, exact.delta_logits)
    assert np.abs(exact.deltas).max() > 1e-3
