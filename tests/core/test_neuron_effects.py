"""The best neurons of all layers, against switching each one off by hand."""

import numpy as np
import pytest

from bertviz_core.errors import CheckpointError
from bertviz_core.experiments.cause_results import Target
from bertviz_core.experiments.gradients import slopes as derivatives
from bertviz_core.experiments.neuron_effects import rank_neurons
from bertviz_core.experiments.targets import ask
from tests.core.cause_models import TARGETS, TEXT, WORD, by_oracle, explorer_named
from tests.core.random_models import agree

pytestmark = pytest.mark.tensorflow
NAMES = ("post-norm", "pre-norm")
STEP = 1e-4  # of a neuron's mask


def shape_of(name):
    config = explorer_named(name).config
    return config.num_hidden_layers, config.intermediate_size


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.head)
@pytest.mark.parametrize("name", NAMES)
def test_what_is_measured_is_what_switching_off_by_hand_gives(name, target):
    found = rank_neurons(explorer_named(name), TEXT, target, 6)
    everything = np.ones(shape_of(name))
    before = by_oracle(name, TEXT, target, neuron_mask=everything[None])
    agree([found.before.probability, found.before.logit], before)
    assert len(set(map(tuple, found.neurons.tolist()))) == 6
    for index, place in enumerate(found.neurons.tolist()):
        mask = everything.copy()
        mask[tuple(place)] = 0
        after = by_oracle(name, TEXT, target, neuron_mask=mask[None])
        agree([found.probabilities[index], found.logits[index]], after)
        change = np.subtract(after, before)
        agree([found.delta_probabilities[index], found.delta_logits[index]], change)
    sizes = np.abs(found.delta_probabilities)
    assert (np.diff(sizes) <= 0).all()
    assert sizes[0] > 1e-4, "nothing to find"


@pytest.mark.parametrize("name", NAMES)
def test_every_neuron_of_every_layer_is_estimated_as_small_steps_find(name):
    shape = shape_of(name)
    slopes = np.zeros(shape)
    for place in np.ndindex(shape):
        ends = []
        for step in (STEP, -STEP):
            mask = np.ones(shape)
            mask[place] += step
            ends.append(by_oracle(name, TEXT, WORD, neuron_mask=mask[None])[0])
        slopes[place] = (ends[0] - ends[1]) / (2 * STEP)
    question = ask(explorer_named(name), TEXT, WORD)
    on = np.ones((1, *shape))
    agree(derivatives(question, "neurons", on, "probability")[0], slopes)
    found = rank_neurons(explorer_named(name), TEXT, WORD, 5)
    assert found.num_estimated == slopes.size
    largest = np.argsort(-np.abs(slopes), axis=None)[:5]
    expected = {tuple(map(int, np.unravel_index(i, shape))) for i in largest}
    assert set(map(tuple, found.neurons.tolist())) == expected
    agree(found.estimated_deltas, -slopes[tuple(found.neurons.T)])


def test_an_absent_head_and_no_neurons_are_refused():
    explorer, told = explorer_named("post-norm"), []
    with pytest.raises(CheckpointError, match="has no MLM head"):
        rank_neurons(explorer_named("headless"), TEXT, WORD)
    with pytest.raises(ValueError, match="num_neurons"):
        rank_neurons(explorer, TEXT, WORD, 0)
    # Fewer than asked for are all of them.
    found = rank_neurons(
        explorer,
        "cat",
        Target("nsp", 0),
        10**6,
        progress=lambda share, _: told.append(share),
    )
    assert len(found.neurons) == found.num_estimated == np.prod(shape_of("post-norm"))
    assert told == sorted(told)
    assert told[0] == 0 < told[-1] < 1
