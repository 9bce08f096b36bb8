"""Pooler, masked-word head and classifier against the oracle."""

import dataclasses

import keras
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
    agree,
    evaluate,
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


def test_pooler_is_tanh_of_a_projection(weights, rng):
    first = rng.normal(size=(BATCH, CONFIG.hidden_size)).astype("float32")
    layer = Pooler(CONFIG)
    layer.build()
    set_dense(layer.dense, weights["pooler"])
    expected = [oracle.pooler(weights, text[None].astype("float64")) for text in first]
    agree(evaluate(layer, first), expected)


@pytest.mark.parametrize("activation", sorted(oracle.ACTIVATIONS))
def test_masked_word_head_matches_the_formula(weights, rng, activation):
    config = dataclasses.replace(CONFIG, hidden_act=activation)
    vectors = rng.normal(size=(ASKED, CONFIG.hidden_size)).astype("float32")
    layer = MaskedLanguageModelHead(config)
    layer.build()
    set_mlm(layer, weights)
    words = weights["words"].astype("float32")
    expected = [oracle.mlm(weights, config, v.astype("float64")) for v in vectors]
    agree(evaluate(layer, vectors, word_embeddings=keras.ops.array(words)), expected)


def test_classifier_is_one_projection(weights, rng):
    pooled = rng.uniform(-1, 1, (BATCH, CONFIG.hidden_size)).astype("float32")
    expected = oracle.dense(pooled.astype("float64"), *weights["classifier"])
    agree(evaluate(classifier(weights), pooled), expected)


def test_only_the_classifier_of_classes_has_dropout(weights, rng):
    pooled = rng.uniform(-1, 1, (BATCH, CONFIG.hidden_size)).astype("float32")
    quiet = evaluate(classifier(weights), pooled)
    without = classifier(weights, dropout=False)(pooled, training=True)
    dropped = classifier(weights)(pooled, training=True)
    agree(to_numpy(without), quiet, 1e-6)
    assert np.abs(to_numpy(dropped) - quiet).max() > 0.1
