"""Derivatives against differences of the NumPy oracle, in float64."""

import numpy as np
import pytest

from bertviz_core.errors import CheckpointError
from bertviz_core.experiments.ablation import ablate_heads
from bertviz_core.experiments.cause_results import Target
from bertviz_core.experiments.gradients import estimate_heads
from tests.core import oracle
from tests.core.cause_models import (
    CONFIGS,
    TARGETS,
    TEXT,
    WORD,
    answer,
    explorer_named,
    weights_named,
)
from tests.core.checkpoint_copies import number_copy
from tests.core.random_models import agree

pytestmark = pytest.mark.tensorflow
STEP = 1e-4  # of a head's mask


def differences(name, text, target, quantity):
    """Half the change of the target between masks 1 + step and 1 - step."""
    explorer, weights = explorer_named(name), weights_named(name)
    tokenized, config = explorer.tokenize(text), explorer.config
    shape = (config.num_hidden_layers, config.num_attention_heads)
    inputs = {
        "input_ids": tokenized.input_ids[None],
        "token_type_ids": tokenized.token_type_ids[None],
        "mlm_positions": [target.position],
    }
    name_of = {"mlm": "mlm_logits", "nsp": "nsp_logits", "classifier": "class_logits"}

    def value(mask):
        output = oracle.forward(weights, config, inputs | {"head_mask": mask[None]})
        logits = output[name_of[target.head]][0]
        powers = np.exp(logits)
        both = {"logit": logits, "probability": powers / powers.sum()}
        return both[quantity][target.index]

    slopes = np.zeros(shape)
    for place in np.ndindex(shape):
        up, down = np.ones(shape), np.ones(shape)
        up[place] += STEP
        down[place] -= STEP
        slopes[place] = (value(up) - value(down)) / (2 * STEP)
    return slopes


@pytest.mark.parametrize("quantity", ["probability", "logit"])
@pytest.mark.parametrize("name", ["post-norm", "pre-norm"])
def test_derivatives_are_what_small_steps_find(name, quantity):
    target = Target("mlm", 8, 2)
    found = estimate_heads(explorer_named(name), "a [MASK]", target, quantity=quantity)
    expected = differences(name, "a [MASK]", target, quantity)
    agree(found.derivatives, expected)
    agree(found.estimated_deltas, -expected)
    assert np.abs(expected).max() > 1e-3, "nothing to find"
    assert found.quantity == quantity


@pytest.mark.parametrize("target", TARGETS[1:], ids=lambda target: target.head)
def test_derivatives_of_a_class_are_what_small_steps_find(target):
    found = estimate_heads(explorer_named("pre-norm"), "cat", target)
    agree(found.derivatives, differences("pre-norm", "cat", target, "probability"))


@pytest.mark.parametrize("name", CONFIGS)
def test_an_estimate_comes_with_the_prediction_as_it_is(name):
    explorer = explorer_named(name)
    found = estimate_heads(explorer, TEXT, WORD)
    heads = explorer.config.num_attention_heads
    assert found.derivatives.shape == (explorer.config.num_hidden_layers, heads)
    assert not found.derivatives.flags.writeable
    agree([found.before.logit, found.before.probability], answer(explorer, WORD))


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
