"""What a run will need, told before it starts."""

import dataclasses
import types

import numpy as np
import pytest

from bertviz_core.finetune import baselines, estimate, inputs
from bertviz_core.finetune.learner import Learner
from bertviz_core.finetune.settings import FinetuneSettings
from tests.core.finetune_samples import random_data, shared_loaded, weights_of

pytestmark = pytest.mark.tensorflow

FULL = FinetuneSettings(
    level="full", epochs=3, batch_size=5, max_tokens=9, precision="float32"
)
TOP = dataclasses.replace(FULL, level="top", num_top_layers=1)


@pytest.mark.parametrize("level", ["head", "top", "full"])
def test_the_model_stays_as_it_is_and_the_steps_are_counted(level):
    loaded = shared_loaded(2)
    before = weights_of(loaded.model)
    found = estimated(dataclasses.replace(FULL, level=level), loaded=loaded)
    after = weights_of(loaded.model)
    assert all(np.array_equal(before[name], after[name]) for name in before)
    assert found.num_steps == 15
    assert found.seconds > 0
    num_weights = sum(w.size for name, w in before.items() if "mlm" not in name)
    assert found.memory_bytes > 4 * num_weights - 4 * (42 * 2 + 2)


def clock(tick):
    """In place of a module's `time`, and of nobody else's."""
    return types.SimpleNamespace(perf_counter=tick)


@pytest.fixture
def nothing_around(monkeypatch):
    """What comes before and after the epochs takes no time."""
    monkeypatch.setattr(estimate, "_time_reading", lambda *_: estimate._NO_TIME)
    monkeypatch.setattr(estimate, "seconds_of_counting", lambda *_: 0.0)
    monkeypatch.setattr(estimate, "time", clock(lambda: 0.0))


def test_tokens_the_last_reading_and_the_simple_methods_are_counted_once(
    timed, monkeypatch
):
    both, loaded = random_data(20, 10), shared_loaded(2)
    # As many again to test on, which no epoch reads.
    data = dataclasses.replace(both, test=random_data(3, 10).validation)
    epochs = estimated(FULL, data, loaded)
    assert epochs.seconds_once == 0.0
    monkeypatch.setattr(estimate, "seconds_of_counting", lambda *_: 100.0)
    counted = estimated(FULL, data, loaded)
    assert counted.seconds - epochs.seconds == pytest.approx(100.0)
    assert counted.seconds_once == 100.0
    # Four batches of five rows to learn from, two of them timed: half as many to
    # test on are one more reading of as many places.
    monkeypatch.setattr(estimate, "_time_reading", taking(8.0))
    read = estimated(FULL, data, loaded)
    assert read.seconds_once - counted.seconds_once == pytest.approx(8.0, rel=0.3)
    ticks = iter([0.0, 3.0, 3.0, 8.0])  # tokens, then a copy of the model
    monkeypatch.setattr(estimate, "time", clock(lambda: next(ticks)))
    more = estimated(FULL, data, loaded).seconds_once - read.seconds_once
    assert more == pytest.approx(5.0 + 3.0 * (1 + 2 * 0.5))


def taking(seconds, first=0.0):
    """In place of what times passes or steps."""
    return lambda *_: estimate._Timing(first, seconds)


@pytest.mark.parametrize("settings", [FULL, TOP], ids=["full", "top"])
def test_compiling_is_counted_once_for_each_kind_of_pass(timed, monkeypatch, settings):
    before = estimated(settings)
    kinds = {"_time_steps": 1.0, "_time_passes": 1.0, "_time_reading": 0.0}
    if settings is TOP:
        kinds["_time_frozen"] = 8.0
    for first, (name, seconds) in zip((1, 10, 100, 1000), kinds.items(), strict=False):
        monkeypatch.setattr(estimate, name, taking(seconds, float(first)))
    after = estimated(settings)
    expected = 1111.0 if settings is TOP else 111.0
    assert after.seconds - before.seconds == pytest.approx(expected)
    assert after.seconds_once - before.seconds_once == pytest.approx(expected)
    assert after.seconds_per_step == before.seconds_per_step


def test_what_the_first_pass_takes_longer_is_for_compiling(monkeypatch):
    moments = iter([10.0, 17.0, 17.5, 19.0])
    monkeypatch.setattr(estimate, "time", clock(lambda: next(moments)))
    called = []
    found = estimate._timing(called.append)
    assert called == [0, 0, 1]
    assert found == estimate._Timing(first=6.0, both=2.0)


def activations_of(config, tokens):
    """Bytes of a batch of five in two layers."""
    share = 34 + 5 * config.num_attention_heads * tokens / config.hidden_size
    return 2 * tokens * 5 * config.hidden_size * share * 2


def test_memory_counts_all_copies_of_what_learns(timed):
    data, loaded = random_data(), shared_loaded(2)
    full = estimated(FULL, data, loaded).memory_bytes
    head = dataclasses.replace(FULL, level="head")
    least = estimated(head, data, loaded).memory_bytes
    config = loaded.model.config
    read = estimate._sample(loaded.tokenizer, data, FULL)
    learner, tokens = Learner(loaded, data, FULL, read.words), read.largest[1]
    learned = weights_of(learner.bert).items()
    # All but the states of dropout; at level "head" the output layer alone learns.
    learning = sum(w.size for name, w in learned if "seed" not in name)
    output = config.hidden_size * 3 + 3
    more = 4 * (2 + 2 + 1 + 1) * (learning - output) + activations_of(config, tokens)
    assert full - least == pytest.approx(more, rel=0.02)


@pytest.mark.parametrize(("most_tuned", "times"), [(5000, 3.0), (20, 640 / 480)])
def test_the_counting_of_words_is_timed_on_some_rows(monkeypatch, most_tuned, times):
    data, seen = random_data(60, 15), []
    monkeypatch.setattr(baselines, "_MOST_TIMED_ROWS", 20)
    monkeypatch.setattr(baselines, "_MOST_TUNED", most_tuned)
    monkeypatch.setattr(baselines, "count_words", lambda *asked: seen.append(asked))
    ticks = iter([5.0, 7.0])
    monkeypatch.setattr(baselines, "time", clock(lambda: next(ticks)))
    found = baselines.seconds_of_counting(data, "macro_f1")
    assert found == pytest.approx(2.0 * times)
    ((sample, metric),) = seen
    assert (len(sample.train), len(sample.test), metric) == (20, 5, "macro_f1")


def test_time_grows_with_epochs_and_rows(monkeypatch, nothing_around):
    monkeypatch.setattr(estimate, "_time_steps", taking(4.0))
    monkeypatch.setattr(estimate, "_time_passes", taking(0.5))
    short, twice = estimated(), estimated(dataclasses.replace(FULL, epochs=6))
    assert twice.seconds == pytest.approx(2 * short.seconds)
    # 5 steps of 2 seconds each, and validation rows at a quarter of the price.
    assert 3 * 5 * 2.0 * 0.7 < short.seconds < 3 * 5 * 2.0 * 1.6
    assert short.seconds_of(2 * short.num_steps) == pytest.approx(twice.seconds)


@pytest.fixture
def timed(monkeypatch, nothing_around):
    """The inputs of the steps and passes that were timed; both take a second."""
    seen = []

    def remember(learner, batches, *_):
        seen.append({name: array.shape for name, array in batches[0].items()})
        return estimate._Timing(0.0, 1.0)

    for name in ("_time_steps", "_time_passes"):
        monkeypatch.setattr(estimate, name, remember)
    monkeypatch.setattr(estimate, "_time_frozen", taking(8.0))
    return seen


def test_steps_of_upper_layers_are_timed_on_the_states_that_a_run_keeps(timed):
    kept = estimated(TOP)
    size = shared_loaded().model.config.hidden_size
    assert [names["states"][2] for names in timed] == [size, size]
    assert all("input_ids" not in names for names in timed)
    assert kept.seconds_once > 8.0  # 23 + 13 rows at the price of ten
    more = estimated(dataclasses.replace(TOP, epochs=2 * TOP.epochs))
    assert more.seconds_once == kept.seconds_once
    assert kept.seconds_of(more.num_steps) == pytest.approx(more.seconds)


@pytest.mark.parametrize("why", ["one epoch", "too many", "nothing frozen"])
def test_no_states_are_counted_where_a_run_keeps_none(timed, monkeypatch, why):
    data, loaded = random_data(), shared_loaded(2)
    kept = estimated(TOP, data, loaded)
    tokens = [
        estimate.tokenize(loaded.tokenizer, part, TOP.max_tokens).lengths.sum()
        for part in (data.train, data.validation)
    ]
    size = loaded.model.config.hidden_size
    changes = {"one epoch": {"epochs": 1}, "nothing frozen": {"num_top_layers": 2}}
    if why == "too many":
        monkeypatch.setattr(inputs, "MAX_KEPT_BYTES", 4 * size * sum(tokens) // 2)
    timed.clear()
    found = estimated(dataclasses.replace(TOP, **changes.get(why, {})), data, loaded)
    assert all("input_ids" in names for names in timed)
    assert found.seconds_once == 0.0
    if why != "nothing frozen":  # else more layers learn
        # The lengths of the rows to judge by are taken from those to learn from.
        counted = 4 * size * int(tokens[0] * (1 + 13 / 23))
        assert kept.memory_bytes - found.memory_bytes == counted


def test_the_longest_row_of_all_decides_on_the_memory(timed, monkeypatch):
    monkeypatch.setattr(estimate, "_MOST_ROWS", 10)
    loaded, short = shared_loaded(2), random_data(num_train=203)
    settings = dataclasses.replace(FULL, max_tokens=19)
    texts = list(short.train.texts)
    texts[101] = "the cat " * 12
    train = dataclasses.replace(short.train, texts=tuple(texts))
    long = dataclasses.replace(short, train=train)
    less, more = (estimated(settings, d, loaded).memory_bytes for d in (short, long))
    assert 101 not in estimate._spread(203)
    config = loaded.model.config
    expected = activations_of(config, 19) - activations_of(config, 8)
    assert more - less == pytest.approx(expected, abs=1)


def test_rows_of_all_the_table_are_looked_at():
    assert estimate._spread(7).tolist() == list(range(7))
    chosen = estimate._spread(50_000)
    assert (len(chosen), chosen[0], chosen[-1]) == (1000, 0, 49_999)
    assert np.diff(chosen).max() <= 51


def estimated(settings=FULL, data=None, loaded=None):
    loaded, data = loaded or shared_loaded(2), data or random_data()
    return estimate.estimate_run(loaded, data, settings)
