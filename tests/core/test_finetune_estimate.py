"""What a run will need of time, memory and disk, told before it starts."""

import dataclasses
import math
import shutil
import types

import numpy as np
import psutil
import pytest

from bertviz_core import visitor_files
from bertviz_core.errors import StorageError, TrainingError
from bertviz_core.free_memory import free_memory
from bertviz_core.model.compiled import CompiledForward
from bertviz_core.training import checkpoint
from bertviz_core.training.finetune import baselines, batches, estimate
from bertviz_core.training.finetune.estimate import (
    PATIENCE_SECONDS,
    LevelEstimate,
    estimate_levels,
    memory_before,
    of_level,
)
from bertviz_core.training.finetune.learner import Learner, Network, num_learning
from bertviz_core.training.finetune.run import finetune
from bertviz_core.training.finetune.settings import FinetuneSettings
from tests.core.finetune_samples import (
    SETTINGS,
    random_data,
    shared_loaded,
    tiny_loaded,
    weights_of,
)
from tests.core.random_models import CONFIG, explorer_of, random_model

pytestmark = pytest.mark.tensorflow

FULL = FinetuneSettings(
    level="full", epochs=3, batch_size=5, max_tokens=9, precision="float32"
)
TOP = dataclasses.replace(FULL, level="top", num_top_layers=1)
FROZEN_OUTPUT = Learner.frozen_output


def test_the_model_stays_as_it_is_and_the_steps_are_counted():
    """With steps that are taken; all levels: see `test_engine_training`."""
    loaded = shared_loaded(2)
    before = weights_of(loaded.model)
    found = estimated(TOP, loaded=loaded)
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
def take(monkeypatch):
    """Lets a function take seconds, in place of what it does or beside it."""
    now = [0.0]
    monkeypatch.setattr(estimate, "time", clock(lambda: now[0]))

    def take(owner, name, seconds, first=0.0, does=None):
        more = [first]  # for the first call alone

        def work(*asked):
            now[0] += seconds + more[0]
            more[0] = 0.0
            return does and does(*asked)

        monkeypatch.setattr(owner, name, work)

    return take


@pytest.fixture
def nothing_around(take, monkeypatch):
    """What comes before and after the epochs takes no time."""
    monkeypatch.setattr(estimate, "seconds_of_counting", lambda *_: 0.0)
    take(CompiledForward, "__call__", 0.0)


def test_tokens_the_last_reading_and_the_simple_methods_are_counted_once(
    timed, take, monkeypatch
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
    take(CompiledForward, "__call__", 4.0)
    read = estimated(FULL, data, loaded)
    assert read.seconds_once - counted.seconds_once == pytest.approx(8.0, rel=0.3)
    take(estimate, "tokenize", 3.0, does=estimate.tokenize)
    take(Learner, "__init__", 5.0, does=Learner.__init__)
    more = estimated(FULL, data, loaded).seconds_once - read.seconds_once
    assert more == pytest.approx(5.0 + 3.0 * (1 + 2 * 0.5))


@pytest.mark.parametrize("settings", [FULL, TOP], ids=["full", "top"])
def test_compiling_is_counted_once_for_each_kind_of_pass(timed, take, settings):
    before = estimated(settings)
    take(Learner, "step", 0.5, 1.0)
    take(Network, "predict_on_batch", 0.5, 10.0)
    take(CompiledForward, "__call__", 0.0, 100.0)
    take(Learner, "frozen_output", 4.0, 1000.0, FROZEN_OUTPUT)
    after = estimated(settings)
    expected = 1111.0 if settings is TOP else 111.0
    assert after.seconds - before.seconds == pytest.approx(expected)
    assert after.seconds_once - before.seconds_once == pytest.approx(expected)


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


def test_time_grows_with_epochs_and_rows(take, nothing_around):
    take(Learner, "step", 2.0)
    take(Network, "predict_on_batch", 0.25)
    short, twice = estimated(), estimated(dataclasses.replace(FULL, epochs=6))
    assert twice.seconds == pytest.approx(2 * short.seconds)
    # 5 steps of 2 seconds each, and validation rows at a quarter of the price.
    assert 3 * 5 * 2.0 * 0.7 < short.seconds < 3 * 5 * 2.0 * 1.6
    assert short.seconds_of(2 * short.num_steps) == pytest.approx(twice.seconds)


@pytest.fixture
def timed(take, nothing_around):
    """The inputs of the steps and passes that were timed, half a second each."""
    seen = []

    def remember(_, batch, *rest):
        seen.append({name: array.shape for name, array in batch.items()})

    take(Learner, "step", 0.5, does=remember)
    take(Network, "predict_on_batch", 0.5, does=remember)
    take(Learner, "frozen_output", 4.0, does=FROZEN_OUTPUT)
    return seen


def test_steps_of_upper_layers_are_timed_on_the_states_that_a_run_keeps(timed):
    kept = estimated(TOP)
    size = shared_loaded().model.config.hidden_size
    assert [names["states"][2] for names in timed] == [size] * 6
    assert all("input_ids" not in names for names in timed)
    assert kept.seconds_once > 8.0  # 23 + 13 rows at the price of ten
    more = estimated(dataclasses.replace(TOP, epochs=2 * TOP.epochs))
    assert more.seconds_once == kept.seconds_once
    assert kept.seconds_of(more.num_steps) == pytest.approx(more.seconds)


@pytest.mark.parametrize("heads", [("mlm",), ("pooler", "mlm")])
def test_steps_of_the_head_are_timed_on_what_it_reads(timed, heads):
    size = CONFIG.hidden_size
    loaded = tiny_loaded(heads, num_layers=1)
    estimated(dataclasses.replace(FULL, level="head"), loaded=loaded)
    steps = timed[0]
    if "pooler" in heads:
        assert steps["pooled_output"] == (5, size)
    else:
        assert steps["states"] == (5, 1, size)


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
        monkeypatch.setattr(batches, "MAX_KEPT_BYTES", 4 * size * sum(tokens) // 2)
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
    assert texts[101] not in train.spread(10).texts
    config = loaded.model.config
    expected = activations_of(config, 19) - activations_of(config, 8)
    assert more - less == pytest.approx(expected, abs=1)


def test_rows_of_all_the_table_are_looked_at():
    few, many = random_data(7).train, random_data(5_000).train
    assert few.spread(1000).rows.tolist() == few.rows.tolist()
    chosen = many.spread(1000).rows
    assert (len(chosen), chosen[0], chosen[-1]) == (1000, 2, 5_001)
    assert np.diff(chosen).max() <= 6


def estimated(settings=FULL, data=None, loaded=None):
    loaded, data = loaded or shared_loaded(2), data or random_data()
    counting = estimate.seconds_of_counting(data, "macro_f1")
    return estimate.estimate_run(loaded, data, settings, counting)


ASKED = FinetuneSettings(
    level="top", num_top_layers=2, epochs=7, batch_size=5, max_tokens=9
)
MANY_BYTES = 10**12


@pytest.fixture
def asked(monkeypatch):
    """Settings that were timed; a level takes as long as `seconds` says."""
    seconds, seen = {"head": 10.0, "top": 20.0, "full": 30.0}, []
    counts = iter((5.0, 6.0))

    def timed(loaded, data, settings, counting):
        assert counting == 5.0  # counted once for all levels
        seen.append(settings)
        return LevelEstimate(settings.level, 1000, seconds[settings.level], num_steps=3)

    monkeypatch.setattr(estimate, "estimate_run", timed)
    monkeypatch.setattr(estimate, "seconds_of_counting", lambda *_: next(counts))
    monkeypatch.setattr(estimate, "free_memory", lambda: MANY_BYTES)
    # Nothing was built that would have to go.
    monkeypatch.setattr(estimate, "gc", types.SimpleNamespace(collect=int))
    return seconds, seen


def estimated_levels(**options):
    return estimate_levels(shared_loaded(3), random_data(), ASKED, **options)


def test_each_level_is_timed_and_only_the_named_one_with_the_settings_as_given(asked):
    _, seen = asked
    told = []
    found = estimated_levels(progress=lambda *said: told.append(said))
    assert told == [(0.0, "head"), (1 / 3, "top"), (2 / 3, "full")]
    assert [settings.level for settings in seen] == ["head", "top", "full"]
    assert seen[1] == ASKED
    for settings in (seen[0], seen[2]):
        usual = FinetuneSettings.proposed(42, 23, level=settings.level, batch_size=5)
        assert settings.epochs == usual.epochs
        assert settings.learning_rate == usual.learning_rate
        assert settings.batch_size == 5
    assert [level.memory_bytes for level in found.levels] == [1000] * 3
    assert found.level("full").seconds == 30.0
    with pytest.raises(ValueError, match="not in tuple"):
        found.level("none")


def test_epochs_are_proposed_for_the_rows_that_an_epoch_sees(asked):
    _, seen = asked
    data = random_data()
    settings = dataclasses.replace(ASKED, batch_size=2, oversample=True)
    unequal = np.array([0] * (len(data.train) - 2) + [1, 2])
    train = dataclasses.replace(data.train, targets=unequal)
    data = dataclasses.replace(data, train=train)
    estimate_levels(shared_loaded(3), data, settings)
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
    assert estimated_levels().recommended == expected


def test_a_level_that_does_not_fit_is_not_tried(asked, monkeypatch):
    (_, seen), tiny = asked, shared_loaded(3)
    full = memory_before(tiny, of_level(ASKED, "full", 8, 5))
    top = memory_before(tiny, ASKED)
    free = estimate.MARGIN_BYTES + (full + top) // 2
    monkeypatch.setattr(estimate, "free_memory", lambda: free)
    found = estimated_levels()
    assert [settings.level for settings in seen] == ["head", "top"]
    last = found.level("full")
    assert (last.seconds, last.fits, last.memory_bytes) == (None, False, full)
    assert (found.recommended, found.free_bytes) == ("top", free)
    monkeypatch.setattr(estimate, "free_memory", int)
    nothing = estimated_levels()
    assert nothing.recommended == "head"
    assert not any(level.fits for level in nothing.levels)


def test_memory_by_arithmetic_counts_the_weights_that_learn_seven_times():
    tiny = shared_loaded(3)
    weights = weights_of(tiny.model)
    total = sum(array.size for array in weights.values())
    block = next(name.split("/")[1] for name in weights if "query" in name)
    layer = sum(a.size for name, a in weights.items() if name.split("/")[1] == block)
    smallest = dataclasses.replace(ASKED, batch_size=1, max_tokens=3)
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


C = 3
LEVELS = ("full", "top", "head")


def settings_of(level):
    return dataclasses.replace(SETTINGS, level=level, num_top_layers=1)


@pytest.mark.parametrize("heads", [("mlm",), ("pooler", "mlm", "nsp")])
@pytest.mark.parametrize("level", LEVELS)
def test_a_training_counts_the_same(level, heads):
    settings, loaded = settings_of(level), tiny_loaded(heads)
    network = Learner(loaded, random_data(), settings).network  # with all words
    moving = sum(v.value.numpy().size for v in network.trainable_variables)
    assert num_learning(loaded.model, settings, C) == moving


def test_the_last_norm_of_a_pre_norm_model_learns_with_its_layers():
    model, _ = random_model(dataclasses.replace(CONFIG, pre_norm=True))
    settings, loaded = settings_of("top"), explorer_of(model).loaded
    network = Learner(loaded, random_data(), settings).network
    moving = sum(v.value.numpy().size for v in network.trainable_variables)
    assert num_learning(model, settings, C) == moving


def test_a_training_keeps_as_many_checkpoints_of_that_size(tmp_path, monkeypatch):
    loaded, write, sizes = shared_loaded(), checkpoint._write, []

    def measured(state, folder):
        write(state, folder)
        states = (tmp_path / "checkpoints").rglob("state.safetensors")
        sizes.append([path.stat().st_size for path in states])

    monkeypatch.setattr(checkpoint, "_write", measured)
    finetune(loaded, random_data(), SETTINGS, work_folder=tmp_path)
    most = max(sizes, key=len)
    assert len(most) == checkpoint.NUM_KEPT + 1
    moving = num_learning(loaded.model, SETTINGS, 3)
    # Beside the numbers: their names, and the states of dropout and optimiser.
    assert 0 <= most[0] - 4 * 4 * moving < 50_000


def free(monkeypatch, num_bytes):
    usage = shutil.disk_usage("/")._replace(free=num_bytes)
    monkeypatch.setattr(estimate.shutil, "disk_usage", lambda _: usage)


@pytest.mark.parametrize("level", ["full", "head"])
def test_a_run_for_which_the_disk_has_no_room_is_refused(tmp_path, monkeypatch, level):
    loaded, work = tiny_loaded(("mlm",)), tmp_path / "not" / "there"
    asked = work, loaded, settings_of(level), C
    sizes = {v.path: math.prod(v.shape) for v in loaded.model.trainable_variables}
    size = loaded.model.config.hidden_size
    encoder = sum(n for path, n in sizes.items() if "/mlm/" not in path)
    drawn = size * size + size + C * size + C
    # Three checkpoints for a moment, in each: weight, two averages, the best.
    needed = 3 * 4 * 4 * (encoder + drawn)
    if level == "head":  # the model and its zip, beside two checkpoints of a head
        needed = 2 * 4 * (sum(sizes.values()) + drawn) + 2 * 4 * 4 * drawn
    needed += 100_000_000
    free(monkeypatch, needed - 9)
    with pytest.raises(TrainingError, match="too little room"):
        estimate.require_room(*asked)
    # What lies there already counts.
    (work / "checkpoints").mkdir(parents=True)
    (work / "checkpoints" / "state").write_bytes(b"x" * 9)
    estimate.require_room(*asked)


def test_a_run_of_a_visitor_counts_in_their_share(tmp_path, monkeypatch):
    run = tmp_path / "run"
    run.mkdir()
    asked = (run / "work", shared_loaded(), SETTINGS, 3)
    monkeypatch.setenv("BERTVIZ_MAX_KEPT_MB", "300")
    estimate.require_room(*asked)  # nobody's: a command
    visitor_files.own(run, "ann")
    with pytest.raises(StorageError, match="each visitor has 75 MB"):
        estimate.require_room(*asked)
