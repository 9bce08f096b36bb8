"""What the network in training leaves out: nothing that changes what it learns.

Words that occur in no row, and the decay of seven steps of eight, which the eighth
makes up for. That of the last block only the first token is computed is held in
`test_training_fast.py`.
"""

import dataclasses

import keras
import numpy as np
import pytest

from bertviz_core.training.finetune import trainer
from bertviz_core.training.finetune.batches import (
    RowInputs,
    TokenRows,
    tokenize,
    used_words,
)
from bertviz_core.training.finetune.learner import Learner
from bertviz_core.training.finetune.settings import FinetuneSettings
from bertviz_core.training.finetune.trainer import Trainer
from bertviz_core.training.optimizer import build_without_decay
from tests.core.finetune_samples import random_data, tiny_loaded, weights_of
from tests.core.random_models import PRE_NORM, explorer_of, random_model

pytestmark = pytest.mark.tensorflow

SETTINGS = FinetuneSettings(
    level="full", batch_size=5, max_tokens=9, precision="float32", seed=4
)


def loaded_of(order):
    if order == "post-norm":
        return tiny_loaded()
    config = dataclasses.replace(PRE_NORM, num_hidden_layers=2)
    return explorer_of(random_model(config, heads=("pooler", "mlm"))[0]).loaded


@pytest.mark.parametrize("order", ["post-norm", "pre-norm"])
def test_the_network_says_what_the_model_says(order):
    loaded, data = loaded_of(order), random_data()
    learner = Learner(loaded, data, SETTINGS)
    rows = tokenize(loaded.tokenizer, data.validation, SETTINGS.max_tokens)
    batch = rows.batch(np.arange(len(data.validation)))
    whole = learner.bert(**batch)
    np.testing.assert_allclose(learner.network(batch), whole["class_logits"], atol=1e-5)


def inputs_of(rows, data):
    return RowInputs(rows.batch, rows.lengths, data.train.targets)


class KerasLearner(Learner):
    """One whose weights decay at every step, by Keras' own AdamW."""

    def _compile(self):
        optimizer = keras.optimizers.AdamW(
            self.settings.learning_rate,
            weight_decay=self.settings.weight_decay,
            epsilon=1e-6,
            global_clipnorm=self.settings.clip_norm,
        )
        build_without_decay(optimizer, self.network.trainable_variables)
        self.network.compile(optimizer)
        return optimizer

    def _decay(self):
        pass


def test_weights_decay_as_those_of_adamw_of_keras_do():
    loaded, data = without_dropout(tiny_loaded()), random_data()
    rows = tokenize(loaded.tokenizer, data.train, SETTINGS.max_tokens)
    rates = np.linspace(1e-4, 1e-5, 19)
    weights, outputs = [], []
    for kind, decay in ((Learner, 0.1), (KerasLearner, 0.1), (Learner, 0.0)):
        settings = dataclasses.replace(SETTINGS, weight_decay=decay)
        learner = kind(loaded, data, settings)
        for rate in rates:
            learner.step(rows.batch(np.arange(5)), data.train.targets[:5], rate)
        weights.append(learner.weights())
        if decay:
            outputs.append(learner.outputs(inputs_of(rows, data)))
    np.testing.assert_allclose(outputs[0], outputs[1], atol=1e-5)
    for path, weight in weights[0].items():
        apart = np.linalg.norm(weight - weights[1][path])
        decayed = np.linalg.norm(weight - weights[2][path])
        if not path.endswith(("bias", "gamma", "beta")):
            assert decayed > 1e-5 * np.linalg.norm(weight), path
            assert apart < 0.05 * decayed, path
        else:
            np.testing.assert_allclose(weight, weights[1][path], atol=5e-6)


@pytest.fixture(scope="module")
def decaying():
    """A learner whose weights lose a twentieth with each step; a step; its rows."""
    # Each test leaves nothing that is due of the decay.
    loaded, data = tiny_loaded(num_layers=1), random_data()
    rows = tokenize(loaded.tokenizer, data.train, SETTINGS.max_tokens)
    learner = Learner(loaded, data, dataclasses.replace(SETTINGS, weight_decay=0.5))

    def step():
        learner.step(rows.batch(np.arange(5)), data.train.targets[:5], 0.1)

    return learner, step, inputs_of(rows, data)


@pytest.mark.parametrize("read", ["outputs", "weights"])
def test_who_reads_weights_reads_them_decayed_and_may_put_them_back(decaying, read):
    learner, step, rows = decaying
    step()
    kernel = learner.bert.blocks[0].attention.query.kernel
    before = kernel.numpy()
    for _ in range(2):  # once is enough
        kept = getattr(learner, read)(*([rows] if read == "outputs" else []))
        np.testing.assert_allclose(kernel.numpy(), before * 0.95, rtol=1e-6)
    if read == "weights":
        step()
        learner.set_weights(kept)
        # They do not decay for what was learned since.
        now = learner.weights()
        assert [path for path in now if not np.array_equal(now[path], kept[path])] == []


def test_a_state_stays_as_it_was_and_holds_what_is_due_of_the_decay(decaying):
    learner, step, _ = decaying
    step()
    kernel = learner.bert.blocks[0].attention.query.kernel
    before = kernel.numpy()
    kept = learner.state()
    np.testing.assert_array_equal(kernel.numpy(), before)
    copies = {name: np.array(values) for name, values in kept.items()}
    step()
    learner.set_state(kept)
    assert set(copies) == set(learner.state())
    for name, values in learner.state().items():
        np.testing.assert_array_equal(values, copies[name], err_msg=name)
    learner.weights()
    np.testing.assert_allclose(kernel.numpy(), before * 0.95, rtol=1e-6)


@pytest.mark.parametrize("level", ["full", "head"])
def test_a_run_without_the_words_that_do_not_occur_ends_with_the_same_model(
    monkeypatch, level
):
    # All words decay, and by a lot.
    changes = {"level": level, "num_top_layers": 1, "weight_decay": 0.5, "epochs": 3}
    changes |= {"learning_rate": 0.02, "warmup_rate": 0.0}
    settings = dataclasses.replace(SETTINGS, **changes)
    loaded, data = without_dropout(tiny_loaded(num_layers=1)), random_data()
    run = Trainer(loaded, data, settings)
    words = run._words
    num_words = loaded.model.config.vocab_size
    assert len(words) < num_words
    result = run.run()
    few = weights_of(result.bert)
    monkeypatch.setattr(trainer, "used_words", lambda _: np.arange(num_words))
    whole = weights_of(Trainer(loaded, data, settings).run().bert)
    assert few.keys() == whole.keys()
    for path, weight in few.items():
        if "seed" not in path:  # where a state of chance begins, nothing is drawn
            np.testing.assert_allclose(
                weight, whole[path], rtol=1e-3, atol=1e-5, err_msg=path
            )
    table = next(path for path in few if "word_embeddings" in path)
    rest = np.setdiff1d(np.arange(num_words), words)
    shares = few[table][rest] / weights_of(loaded.model)[table][rest]
    assert np.ptp(shares) < 1e-5
    num_steps = result.best_epoch * run.num_steps // settings.epochs
    kept = np.prod(1 - settings.weight_decay * run._rates(np.arange(num_steps)))
    assert kept < 0.97
    np.testing.assert_allclose(shares, kept if level == "full" else 1.0, rtol=1e-5)


def without_dropout(loaded):
    quiet = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    loaded.model.config = dataclasses.replace(loaded.model.config, **quiet)
    return loaded


def test_rows_are_renumbered_by_the_words_that_occur():
    ids = (np.array([7, 2, 9], "int32"), np.array([9], "int32"))
    types = tuple(np.zeros_like(row) for row in ids)
    rows = TokenRows(ids, types, pad_token_id=4, max_tokens=5)
    other = TokenRows((np.array([11, 2], "int32"),), types[:1], 4, 5)
    words = used_words((rows, other))
    assert words.tolist() == [2, 4, 7, 9, 11]
    batch = rows.renumbered(words).batch(np.array([0, 1]))
    assert batch["input_ids"].tolist() == [[2, 0, 3], [3, 1, 1]]
    assert words[batch["input_ids"]].tolist() == [[7, 2, 9], [9, 4, 4]]
