"""Pooler, masked-word head and classifier against the oracle."""

import dataclasses

import numpy as np
import pytest
from keras.ops import convert_to_numpy as to_numpy

from bertviz_core.model.heads import ClassifierHead, MaskedLanguageModelHead, Pooler
from tests.core import oracle
from tests.core.random_models import (
    ASKED,
    BATCH,
    CONFIG,
    LABELS,
    TOKENS,
    agree,
    set_dense,
    set_mlm,
)


@pytest.fixture(scope="module")
def weights():
    return oracle.random_weights(CONFIG, seed=9, num_labels=LABELS)


@pytest.fixture(scope="module")
def rng():
    return np.random.default_rng(10)


def classifier(weights, **arguments):
    layer = ClassifierHead(CONFIG, num_labels=LABELS, **arguments)
    layer.build()
    set_dense(layer.dense, weights["classifier"])
    return layer


def test_pooler_reads_the_first_token_alone(weights, rng):
    states = rng.normal(size=(BATCH, TOKENS, CONFIG.hidden_size)).astype("float32")
    layer = Pooler(CONFIG)
    layer.build()
    set_dense(layer.dense, weights["pooler"])
    expected = [oracle.pooler(weights, text.astype("float64")) for text in states]
    agree(layer(states), expected)


@pytest.mark.parametrize("activation", sorted(oracle.ACTIVATIONS))
def test_masked_word_head_matches_the_formula(weights, rng, activation):
    config = dataclasses.replace(CONFIG, hidden_act=activation)
    vectors = rng.normal(size=(ASKED, CONFIG.hidden_size)).astype("float32")
    layer = MaskedLanguageModelHead(config)
    layer.build()
    set_mlm(layer, weights)
    words = weights["words"].astype("float32")
    expected = [oracle.mlm(weights, config, v.astype("float64")) for v in vectors]
    agree(layer(vectors, words), expected)


def test_classifier_is_one_projection(weights, rng):
    pooled = rng.uniform(-1, 1, (BATCH, CONFIG.hidden_size)).astype("float32")
    expected = oracle.dense(pooled.astype("float64"), *weights["classifier"])
    agree(classifier(weights)(pooled), expected)


def test_only_the_classifier_of_classes_has_dropout(weights, rng):
    pooled = rng.uniform(-1, 1, (BATCH, CONFIG.hidden_size)).astype("float32")
    with_dropout, without = classifier(weights), classifier(weights, dropout=False)
    agree(without(pooled, training=True), without(pooled), 0)
    change = to_numpy(with_dropout(pooled, training=True)) - to_numpy(
        with_dropout(pooled)
    )
    assert np.abs(change).max() > 0.1
