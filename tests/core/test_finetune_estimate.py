"""What a run will need, told before it starts."""

import dataclasses

import numpy as np
import pytest

from bertviz_core.finetune import estimate
from bertviz_core.finetune.settings import FinetuneSettings
from tests.core.finetune_samples import random_data, tiny_loaded, weights_of

FULL = FinetuneSettings(
    level="full", epochs=3, batch_size=5, max_tokens=9, precision="float32"
)


@pytest.mark.parametrize("level", ["head", "top", "full"])
def test_the_model_stays_as_it_is_and_the_steps_are_counted(level):
    loaded = tiny_loaded(num_layers=3)
    before = weights_of(loaded.model)
    settings = dataclasses.replace(FULL, level=level)
    found = estimate.estimate_run(loaded, random_data(), settings)
    after = weights_of(loaded.model)
    assert all(np.array_equal(before[name], after[name]) for name in before)
    assert found.num_steps == 15
    assert found.seconds > 0
    num_weights = sum(
        weight.size for name, weight in before.items() if "mlm" not in name
    )
    assert found.memory_bytes > 4 * num_weights - 4 * (42 * 2 + 2)


def test_time_grows_with_epochs_and_rows(monkeypatch):
    monkeypatch.setattr(estimate, "_seconds_of_steps", lambda *_: 2.0)
    monkeypatch.setattr(estimate, "_seconds_of_frozen", lambda *_: 0.5)
    short = estimate.estimate_run(tiny_loaded(num_layers=3), random_data(), FULL)
    longer = dataclasses.replace(FULL, epochs=6)
    twice = estimate.estimate_run(tiny_loaded(num_layers=3), random_data(), longer)
    assert twice.seconds == pytest.approx(2 * short.seconds)
    # 5 steps of 2 seconds each, and validation rows at a quarter of the price.
    assert 3 * 5 * 2.0 * 0.7 < short.seconds < 3 * 5 * 2.0 * 1.6
