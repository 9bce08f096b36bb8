"""The network in training, whose last block is computed for the first token alone."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from bertviz_core.finetune.batches import tokenize
from bertviz_core.finetune.learner import Learner
from bertviz_core.finetune.network import Network
from bertviz_core.finetune.settings import FinetuneSettings
from tests.core.finetune_samples import random_data, tiny_loaded
from tests.core.random_models import PRE_NORM, explorer_of, random_model

SETTINGS = FinetuneSettings(
    level="full", batch_size=5, max_tokens=9, precision="float32", seed=4
)


def loaded_of(order):
    if order == "post-norm":
        return tiny_loaded()
    config = dataclasses.replace(PRE_NORM, num_hidden_layers=2)
    return explorer_of(random_model(config, heads=("pooler", "mlm"))[0]).loaded


def all_tokens_look(self, start, end, states, inputs, training):
    """`Network._run` as it would be without the shortcut."""
    for block in self.bert.blocks[start:end]:
        states, _ = block(states, self._mask(inputs), training=training)
    return states


def learned_from(network, batch, targets):
    """The loss, and the gradient of every weight that learns, by path."""
    with tf.GradientTape() as tape:
        loss = network.compute_loss(y=targets, y_pred=network(batch, training=False))
    variables = network.trainable_variables
    gradients = tape.gradient(loss, [variable.value for variable in variables])
    return float(loss), {
        variable.path: tf.convert_to_tensor(gradient).numpy()
        for variable, gradient in zip(variables, gradients, strict=True)
    }


@pytest.mark.parametrize("order", ["post-norm", "pre-norm"])
@pytest.mark.parametrize("level", ["full", "top"])
def test_other_tokens_of_the_last_block_teach_nothing(monkeypatch, order, level):
    loaded, data = loaded_of(order), random_data()
    settings = dataclasses.replace(SETTINGS, level=level, num_top_layers=1)
    network = Learner(loaded, data, settings).network
    rows = tokenize(loaded.tokenizer, data.train, settings.max_tokens)
    chosen = np.arange(11)
    batch, targets = rows.batch(chosen), data.train.targets[chosen]
    assert (batch["attention_mask"] == 0).any()
    loss, gradients = learned_from(network, batch, targets)
    monkeypatch.setattr(Network, "_run", all_tokens_look)
    expected_loss, expected = learned_from(network, batch, targets)
    assert loss == pytest.approx(expected_loss, rel=1e-6)
    assert gradients.keys() == expected.keys()
    for path, gradient in gradients.items():
        np.testing.assert_allclose(
            gradient, expected[path], rtol=1e-4, atol=1e-6, err_msg=path
        )
    assert max(np.abs(gradient).max() for gradient in gradients.values()) > 1e-3


@pytest.mark.parametrize("order", ["post-norm", "pre-norm"])
def test_the_network_says_what_the_model_says(order):
    loaded, data = loaded_of(order), random_data()
    learner = Learner(loaded, data, SETTINGS)
    rows = tokenize(loaded.tokenizer, data.validation, SETTINGS.max_tokens)
    batch = rows.batch(np.arange(len(data.validation)))
    whole = learner.bert(**batch)
    np.testing.assert_allclose(learner.network(batch), whole["class_logits"], atol=1e-5)
