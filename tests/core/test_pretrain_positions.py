"""Positions that were never trained go on as those that were."""

import numpy as np
import pytest

from bertviz_core.pretrain.initial import continued_positions
from bertviz_core.pretrain.trainer import Trainer
from bertviz_core.weights import as_numpy
from tests.core import pretrain_samples as samples

pytestmark = pytest.mark.tensorflow


def circles(num_positions, noise=0.0):
    """Waves of four lengths in a space of 24 axes, and an offset."""
    rng = np.random.default_rng(0)
    steps = np.arange(num_positions)[:, None] * np.array([0.2, 0.45, 0.8, 1.3])
    waves = np.concatenate([np.cos(steps), np.sin(steps)], axis=1)
    axes = np.linalg.qr(rng.normal(size=(24, 24)))[0][:8]
    table = waves @ axes + rng.normal(size=24)
    return table + noise * rng.normal(size=table.shape)


def similarity(one, other):
    one, other = one - one.mean(axis=0), other - other.mean(axis=0)
    product = (one * other).sum(axis=1)
    return product / np.linalg.norm(one, axis=1) / np.linalg.norm(other, axis=1)


def test_waves_go_on_as_waves():
    whole = circles(160)
    table = whole.copy()
    table[96:] = np.random.default_rng(1).normal(size=(64, 24))
    found = continued_positions(table, 96)
    assert (found[:94] == whole[:94]).all()
    assert similarity(found, whole)[94:].min() > 0.9


def test_noise_on_the_trained_positions_hardly_matters():
    whole = circles(160, noise=0.05)
    found = continued_positions(whole.copy(), 96)
    assert similarity(found, circles(160))[94:].mean() > 0.8


@pytest.mark.parametrize(("num_trained", "why"), [(31, "too few"), (160, "all")])
def test_without_anything_to_go_by_or_to_do_nothing_changes(num_trained, why):
    table = circles(160)
    assert continued_positions(table, num_trained) is table


def settings(**changes):
    sizes = {**samples.ONE_LAYER, "max_position_embeddings": 64}
    phases = [
        {"max_tokens": length, "num_tokens": length * 8, "batch_tokens": length * 4}
        for length in (32, 64)
    ]
    return samples.settings(sizes, phases=phases, **changes)


@pytest.mark.parametrize(
    ("changes", "first_step", "is_continued"),
    [
        ({}, 0, True),
        ({}, 1, False),  # goes on within the phase
        ({"continue_positions": False}, 0, False),
    ],
)
def test_a_longer_phase_begins_with_continued_positions(
    monkeypatch, changes, first_step, is_continued
):
    asked = settings(**changes)
    trainer = Trainer(asked, len(samples.VOCABULARY))
    table = trainer.bert.embeddings.position_embeddings
    before = as_numpy(table).copy()

    def begin(**_):  # what comes next takes time
        raise InterruptedError

    monkeypatch.setattr(trainer.model, "make_train_function", begin)
    with pytest.raises(InterruptedError):
        trainer.run(samples.batches(asked), 1, first_step, 1)
    expected = continued_positions(before, 32) if is_continued else before
    np.testing.assert_array_equal(as_numpy(table), expected)
    assert np.array_equal(expected, before) is not is_continued
