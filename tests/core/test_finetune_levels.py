"""Which level of training is recommended, and what is not even tried."""

import dataclasses

import numpy as np
import psutil
import pytest

from bertviz_core.finetune import estimate as level_estimates
from bertviz_core.finetune.estimate import (
    PATIENCE_SECONDS,
    RunEstimate,
    estimate_levels,
    memory_before,
    of_level,
)
from bertviz_core.finetune.settings import FinetuneSettings
from bertviz_core.free_memory import free_memory
from tests.core.finetune_samples import random_data, shared_loaded, weights_of

pytestmark = pytest.mark.tensorflow

SETTINGS = FinetuneSettings(
    level="top", num_top_layers=2, epochs=7, batch_size=5, max_tokens=9
)
MANY_BYTES = 10**12


@pytest.fixture
def asked(monkeypatch):
    """Settings that were timed; a level takes as long as `seconds` says."""
    seconds, seen = {"head": 10.0, "top": 20.0, "full": 30.0}, []

    def estimate(loaded, data, settings):
        seen.append(settings)
        return RunEstimate(seconds[settings.level], 0.5, 3, 1000)

    monkeypatch.setattr(level_estimates, "estimate_run", estimate)
    return seconds, seen


@pytest.fixture
def tiny():
    return shared_loaded(3)


def estimated(**options):
    options = {"free_bytes": MANY_BYTES} | options
    return estimate_levels(shared_loaded(3), random_data(), SETTINGS, **options)


def test_each_level_is_timed_and_only_the_named_one_with_the_settings_as_given(asked):
    _, seen = asked
    found = estimated()
    assert [settings.level for settings in seen] == ["head", "top", "full"]
    assert seen[1] == SETTINGS
    for settings in (seen[0], seen[2]):
        usual = FinetuneSettings.proposed(42, 23, level=settings.level, batch_size=5)
        assert settings.epochs == usual.epochs
        assert settings.learning_rate == usual.learning_rate
        assert settings.batch_size == 5
    assert [level.memory_bytes for level in found.levels] == [1000] * 3
    assert found.level("full").run.seconds == 30.0
    with pytest.raises(ValueError, match="level"):
        found.level("none")


def test_epochs_are_proposed_for_the_rows_that_an_epoch_sees(asked):
    _, seen = asked
    data = random_data()
    settings = dataclasses.replace(SETTINGS, batch_size=2, oversample=True)
    unequal = np.array([0] * (len(data.train) - 2) + [1, 2])
    train = dataclasses.replace(data.train, targets=unequal)
    data = dataclasses.replace(data, train=train)
    estimate_levels(shared_loaded(3), data, settings, free_bytes=MANY_BYTES)
    size, num_rows = shared_loaded(3).model.config.hidden_size, 3 * (len(unequal) - 2)
    usual = FinetuneSettings.proposed(size, num_rows, level="full", batch_size=2)
    assert seen[2].epochs == usual.epochs


@pytest.mark.parametrize(
    ("slow", "expected"),
    [((), "full"), (("full",), "top"), (("full", "top"), "head"),
     (("head", "top", "full"), "head"), (("top",), "full")],
)  # fmt: skip
def test_the_most_that_is_done_in_time_is_recommended(asked, slow, expected):
    seconds, _ = asked
    for level in slow:
        seconds[level] = PATIENCE_SECONDS + 1
    assert estimated().recommended == expected


def test_a_level_that_does_not_fit_is_not_tried(asked, tiny):
    _, seen = asked
    full = memory_before(tiny, of_level(SETTINGS, "full", 8, 5))
    top = memory_before(tiny, SETTINGS)
    free = level_estimates.MARGIN_BYTES + (full + top) // 2
    found = estimated(free_bytes=free)
    assert [settings.level for settings in seen] == ["head", "top"]
    last = found.level("full")
    assert (last.run, last.fits, last.memory_bytes) == (None, False, full)
    assert (found.recommended, found.free_bytes) == ("top", free)
    nothing = estimated(free_bytes=0)
    assert nothing.recommended == "head"
    assert not any(level.fits for level in nothing.levels)


def test_memory_by_arithmetic_counts_the_weights_that_learn_seven_times(tiny):
    weights = weights_of(tiny.model)
    total = sum(array.size for array in weights.values())
    block = next(name.split("/")[1] for name in weights if "query" in name)
    layer = sum(a.size for name, a in weights.items() if name.split("/")[1] == block)
    smallest = dataclasses.replace(SETTINGS, batch_size=1, max_tokens=3)
    head, top, full = (
        memory_before(tiny, of_level(smallest, level, 8, 5))
        for level in ("head", "top", "full")
    )
    size = tiny.model.config.hidden_size
    share = 34 + 5 * tiny.model.config.num_attention_heads * 3 / size
    passing = 2 * 3 * size * share  # activations of one layer
    output, pooler = 2 * size + 2, size * size + size
    other = ("mlm", "nsp")  # heads that are left as they are
    left = sum(a.size for name, a in weights.items() if name.split("/")[1] in other)
    assert head == int(4 * (total + 6 * output) + passing)
    assert top == int(4 * (total + 6 * (2 * layer + pooler + output)) + 3 * passing)
    assert full == int(4 * (total + 6 * (total - left + output)) + (3 + 1) * passing)


def test_progress_names_the_levels_and_may_end_it(asked):
    told = []
    estimated(progress=lambda fraction, level: told.append((fraction, level)))
    assert told == [(0.0, "head"), (1 / 3, "top"), (2 / 3, "full")]

    def refuse(fraction, level):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        estimated(progress=refuse)


def test_free_memory_is_that_of_the_container_where_it_is_less(tmp_path):
    available = psutil.virtual_memory().available
    limit, used = tmp_path / "memory.max", tmp_path / "memory.current"
    groups = ((str(limit), str(used)),)
    held = tmp_path / "memory.stat"
    held.write_text("anon 900\ninactive_file 0\n")
    assert free_memory(groups) == pytest.approx(available, rel=0.5)
    limit.write_text("5000\n")
    used.write_text("1200\n")
    assert free_memory(groups) == 3800
    held.write_text("anon 900\ninactive_file 700\n")
    assert free_memory(groups) == 4500  # files that were read are no load
    held.write_text("inactive_file 4\ntotal_inactive_file 800\n")
    assert free_memory(groups) == 4600
    used.write_text("6000\n")
    assert free_memory(groups) == 0
    limit.write_text("max\n")
    assert np.isfinite(free_memory(groups))
    assert free_memory(groups) > 10**6
