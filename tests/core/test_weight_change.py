"""How far weights moved, by hand."""

import dataclasses

import numpy as np
import pytest

from bertviz_core.finetune.weight_change import PARTS, weight_change
from bertviz_core.weights import as_numpy
from tests.core.random_models import CONFIG, PRE_NORM, random_model


@pytest.fixture(scope="module")
def same():
    """A model, which no test may change."""
    return random_model(CONFIG)[0]


@pytest.fixture
def changing():
    return random_model(CONFIG)[0]


def row(found, name):
    return found.layers.index(name)


def test_nothing_changed_is_zero_everywhere(same):
    found = weight_change(same, same)
    assert found.layers == ("embeddings", "layer_0", "layer_1", "layer_2", "pooler")
    assert (found.totals == 0).all()
    assert np.nansum(found.shares) == 0
    # Parts of other layers have no share.
    assert np.isnan(found.shares[row(found, "layer_0"), PARTS.index("words")])
    assert np.isnan(found.shares[row(found, "embeddings"), PARTS.index("query")])


def test_a_part_that_is_a_quarter_longer_has_moved_by_a_quarter(same, changing):
    for weight in changing.blocks[1].attention.key.weights:
        weight.assign(1.25 * as_numpy(weight))
    found = weight_change(same, changing)
    share = found.shares[row(found, "layer_1"), PARTS.index("key")]
    assert share == pytest.approx(0.25, rel=1e-5)
    assert np.nansum(found.shares) == pytest.approx(share)
    # The layer as a whole: the same change over all its weights.
    weights = [as_numpy(weight) for weight in same.blocks[1].weights]
    keys = [as_numpy(weight) for weight in same.blocks[1].attention.key.weights]
    moved = 0.25 * np.sqrt(sum((key.astype(float) ** 2).sum() for key in keys))
    size = np.sqrt(sum((weight.astype(float) ** 2).sum() for weight in weights))
    assert found.totals[row(found, "layer_1")] == pytest.approx(moved / size, rel=1e-5)


@pytest.mark.parametrize("config", [CONFIG, PRE_NORM])
def test_every_weight_of_the_encoder_counts_exactly_once(config):
    config = dataclasses.replace(config, num_hidden_layers=1)
    before, after = random_model(config)[0], random_model(config)[0]
    heads = [before.mlm, before.nsp, before.classifier]
    left_out = {weight.path for head in heads for weight in head.weights}
    for weight in after.trainable_variables:
        old = as_numpy(weight)
        weight.assign(old + 1)
        moved = weight_change(before, after)
        weight.assign(old)
        changed = (moved.totals > 0).sum(), (np.nan_to_num(moved.shares) > 0).sum()
        assert changed == ((0, 0) if weight.path in left_out else (1, 1)), weight.path
    assert ("final_norm" in moved.layers) == config.pre_norm


def test_a_pooler_that_was_not_there_or_all_zero_has_no_share(same, changing):
    before = random_model(CONFIG, heads=("mlm",))[0]
    assert "pooler" not in weight_change(before, same).layers
    for weight in changing.pooler.dense.weights:
        weight.assign(0 * as_numpy(weight))
    found = weight_change(changing, same)
    assert np.isnan(found.totals[row(found, "pooler")])


def test_models_of_other_shapes_are_a_mistake(same):
    other = random_model(dataclasses.replace(CONFIG, intermediate_size=17))[0]
    with pytest.raises(ValueError, match="same shapes"):
        weight_change(same, other)
