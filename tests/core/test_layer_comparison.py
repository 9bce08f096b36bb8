"""What fine-tuning changed: layers probed before and after, and moves of weights."""

import dataclasses

import numpy as np
import pytest

from bertviz_core.analysis.geometry import are_alike
from bertviz_core.analysis.separation import group_separation
from bertviz_core.experiments import after_training
from bertviz_core.experiments.after_training import (
    PARTS,
    compare_layers,
    probe_classes,
    probe_numbers,
    weight_change,
)
from bertviz_core.experiments.sentence_states import states_of
from bertviz_core.weights import as_numpy
from tests.core.finetune_samples import NAMES, number_data, random_data
from tests.core.random_models import CONFIG, PRE_NORM, agree, random_model


@pytest.fixture(scope="module")
def two(explorer, other_explorer):
    return explorer, other_explorer


@pytest.fixture(scope="module")
def found(two):
    return compare_layers(*two, random_data(), "mean")


@pytest.mark.parametrize("reading", ["cls", "mean"])
def test_states_of_rows_are_those_of_each_text_alone(two, reading):
    texts = ["the cat sat on a mat .", "cats", "", "a mat !"]
    states = states_of(two[0], list(map(two[0].tokenizer.encode, texts)), reading)
    assert states.shape == (4, 4, 42)
    for index, text in enumerate(texts):
        read = two[0].tokenizer.encode(text)
        alone = two[0].forward(read.inputs, ("hidden_states",))["hidden_states"][0]
        own = ~read.is_special if text else np.arange(2) == 0
        expected = alone[:, 0] if reading == "cls" else alone[:, own].mean(axis=1)
        agree(states[:, index], expected)


def test_each_layer_and_model_is_probed_on_the_validation_rows(two, found):
    data = random_data()
    truth = data.validation.targets
    assert found.rows.tolist() == list(range(13))
    for model, explorer in enumerate(two):
        known, asked = (
            states_in(explorer, "mean", part) for part in (data.train, data.validation)
        )
        for layer in range(4):
            named = probe_classes(known[layer], data.train.targets, asked[layer])
            assert found.scores[model, layer] == np.mean(named == truth)
            expected = group_separation(asked[layer], truth.astype(str)).score
            assert found.separations[model, layer] == expected
            # On the map no distance is longer than between the vectors.
            shown, whole = found.coordinates[model, layer], asked[layer]
            on_map = np.linalg.norm(np.diff(shown, axis=0), axis=1)
            real = np.linalg.norm(np.diff(whole, axis=0), axis=1)
            assert (on_map <= real + 1e-5).all()
    # 23 rows of three classes in turn: 8, 8 and 7; the first is the commonest.
    assert found.least == pytest.approx(5 / 13)
    assert found.num_fitted == 23
    assert found.labels == NAMES
    low, high = found.score_intervals[..., 0], found.score_intervals[..., 1]
    assert (low < found.scores).all()
    assert (found.scores <= high + 1e-12).all()
    assert ((high - low) > 0.2).all()  # thirteen rows say little


def test_both_models_lie_on_the_same_axes_and_the_first_token_begins_with_nothing(two):
    found = compare_layers(two[0], two[0], random_data(), "cls")
    np.testing.assert_allclose(found.coordinates[0], found.coordinates[1])
    np.testing.assert_allclose(found.scores[0], found.scores[1])
    assert found.coordinates.shape == (2, 4, 13, 2)
    # Before the first layer it is the same everywhere.
    assert np.isnan(found.separations[:, 0]).all()
    assert not np.isnan(found.separations[:, 1:]).any()
    np.testing.assert_allclose(found.scores[:, 0], 5 / 13)


def states_in(explorer, reading, part):
    return states_of(
        explorer, list(map(explorer.tokenizer.encode, part.texts)), reading
    )


def test_numbers_are_probed_by_r2_and_have_no_separation(two):
    data = number_data()
    found = compare_layers(*two, data, "cls")
    assert found.is_regression
    assert found.least == 0
    assert np.isnan(found.separations).all()
    assert np.isnan(found.score_intervals).all()
    known, asked = (
        states_in(two[1], "cls", part)[2] for part in (data.train, data.validation)
    )
    expected = probe_numbers(known, data.train.targets, asked, data.validation.targets)
    assert found.scores[1, 2] == pytest.approx(expected)


def test_large_tables_are_sampled_alike_each_time(two, monkeypatch):
    monkeypatch.setattr(after_training, "MAX_FITTED", 9)
    monkeypatch.setattr(after_training, "MAX_JUDGED", 7)
    first, second = (compare_layers(*two, random_data()) for _ in range(2))
    assert first.num_fitted == 9
    assert len(set(first.rows.tolist())) == 7
    np.testing.assert_array_equal(first.rows, second.rows)
    np.testing.assert_array_equal(first.scores, second.scores)


def test_a_probe_finds_what_is_linear_and_nothing_in_noise():
    rng = np.random.default_rng(6)
    vectors = rng.normal(size=(300, 5)) * [1, 100, 0.01, 1, 1] + 7
    targets = (vectors[:, 2] > 7).astype(int)
    named = probe_classes(vectors[:200], targets[:200], vectors[200:])
    assert np.mean(named == targets[200:]) > 0.93
    noise = rng.integers(0, 2, 300)
    named = probe_classes(vectors[:200], noise[:200], vectors[200:])
    assert np.mean(named == noise[200:]) < 0.65
    numbers = 40 * vectors[:, 2]
    assert probe_numbers(vectors[:200], numbers[:200], vectors[200:], numbers[200:]) > (
        0.99
    )


def test_rounding_is_nothing_to_learn_from():
    rng = np.random.default_rng(9)
    targets = rng.integers(0, 2, 60)
    # What differs, differs as the class does, but a million times less than 1.
    vectors = 3 + 1e-6 * (targets[:, None] + rng.normal(size=(60, 4)) / 9)
    assert are_alike(vectors)
    named = probe_classes(vectors, targets, vectors)
    assert len(set(named.tolist())) == 1
    assert not are_alike(vectors + targets[:, None])


def test_a_probe_that_saw_one_class_names_it():
    vectors = np.random.default_rng(1).normal(size=(4, 3))
    assert probe_classes(vectors[:2], np.array([2, 2]), vectors).tolist() == [2] * 4


def test_an_unknown_reading_is_a_mistake(two):
    with pytest.raises(ValueError, match="reading"):
        compare_layers(*two, random_data(), "last")


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
