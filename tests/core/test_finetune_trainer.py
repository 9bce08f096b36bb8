"""What learns, what stays, which epoch is kept, and going on after an accident."""

import dataclasses
import functools
from typing import NamedTuple

import numpy as np
import pytest
from scipy.special import softmax

from bertviz_core.errors import TrainingError
from bertviz_core.model.compiled import CompiledForward
from bertviz_core.training.finetune import batches, learner, split
from bertviz_core.training.finetune.batches import in_batches, tokenize
from bertviz_core.training.finetune.evaluation import EpochPoint
from bertviz_core.training.finetune.learner import Learner, class_weights
from bertviz_core.training.finetune.run import finetune
from bertviz_core.training.finetune.trainer import Trainer
from tests.core.finetune_samples import (
    SETTINGS,
    number_data,
    random_data,
    shared_loaded,
    tiny_loaded,
    weights_of,
)

pytestmark = pytest.mark.tensorflow

HEAD = dataclasses.replace(SETTINGS, level="head", epochs=6, learning_rate=0.05)
TOP = dataclasses.replace(SETTINGS, level="top", num_top_layers=1)


def trained(settings, data=None, loaded=None, **options):
    loaded, data = loaded or model_for(settings), data or random_data()
    return Trainer(loaded, data, settings, **options)


class Run(NamedTuple):
    """A training that went to its end; nobody may change what it left.

    Args:
        before: weights of the served model before the training.
        served: the served model, after it.
        result: of the training.
        events: all that it told.
    """

    before: dict
    served: object
    result: object
    events: list


def whole_run(settings):
    loaded, events = model_for(settings), []
    before = weights_of(loaded.model)
    result = trained(settings, loaded=loaded, tell=events.append).run()
    return Run(before, loaded.model, result, events)


@pytest.fixture(scope="module")
def number_run():
    return trained(HEAD, number_data()).run()


@pytest.fixture(scope="module")
def full_run():
    return whole_run(SETTINGS)


@pytest.fixture(scope="module")
def head_run():
    return whole_run(HEAD)


@pytest.fixture(scope="module")
def top_run():
    return whole_run(TOP)


def answers_of(result, data=None, settings=SETTINGS):
    """Class logits `[R, C]` of the validation rows from the network handed out."""
    part = (data or random_data()).validation
    rows = tokenize(shared_loaded().tokenizer, part, settings.max_tokens)
    batch = rows.batch(np.arange(len(part)))
    return CompiledForward(result.bert)(batch, ("class_logits",))["class_logits"]


def model_for(settings):
    """As few layers as show what is asked: each takes long to compile."""
    return shared_loaded(2 if settings.level == "top" else 1)


@pytest.mark.parametrize(
    ("level", "learning"),
    [
        ("head", {"classifier"}),
        ("top", {"layer_1", "pooler", "classifier"}),
        ("full", {"embeddings", "layer_0", "pooler", "classifier"}),
    ],
)
def test_only_the_chosen_parts_move(request, level, learning):
    run = request.getfixturevalue(f"{level}_run")
    before, after = run.before, weights_of(run.result.bert)
    served = weights_of(run.served)  # stays as it is
    assert before.keys() == served.keys()
    assert all(np.array_equal(before[name], served[name]) for name in before)
    assert all(variable.trainable for variable in run.served.weights)
    moved = {
        name
        for name, weight in after.items()
        if name not in before or not np.array_equal(weight, before[name])
    }
    # A name begins with the model's, and goes on with that of its part.
    assert {name.split("/")[1] for name in moved} == learning
    if level == "full":
        parts = [name for name in before if name.split("/")[1] in learning]
        still = [name for name in parts if name not in moved]
        # A shift of all keys alike does not change a softmax: no gradient but noise.
        assert [name for name in still if "key/bias" not in name] == []


def test_the_fresh_head_has_the_spread_of_the_config_and_comes_from_the_seed():
    other = dataclasses.replace(SETTINGS, seed=5)
    berts = [Learner(model_for(s), random_data(), s).bert for s in (SETTINGS, other)]
    kernel, second = (bert.classifier.dense.kernel.numpy() for bert in berts)
    spread = berts[0].config.initializer_range
    assert 0 < np.abs(kernel).max() <= 2 * spread
    assert kernel.std() > 0.5 * spread
    assert not berts[0].classifier.dense.bias.numpy().any()
    assert not np.isclose(kernel, second).any()


def test_what_the_best_epoch_said_is_what_the_network_says(head_run):
    """Outputs of frozen layers were kept; what is handed out has all layers."""
    result, targets = head_run.result, random_data().validation.targets
    shares = softmax(answers_of(result, None, HEAD), axis=1)
    best = result.points[result.best_epoch - 1]
    loss = -np.log(shares[np.arange(len(targets)), targets]).mean()
    assert best.validation_loss == pytest.approx(loss, abs=1e-5)
    assert best.metric == pytest.approx((shares.argmax(axis=1) == targets).mean())


def test_the_head_learns_the_same_with_and_without_kept_outputs(monkeypatch):
    # Kept outputs have no length to sort by, so that the batches would differ.
    monkeypatch.setattr(
        "bertviz_core.training.finetune.trainer.epoch_order",
        lambda lengths, size, *_: in_batches(np.arange(len(lengths)), size),
    )
    one = answers_of(trained(HEAD).run())
    monkeypatch.setattr(batches, "_kept", lambda _, rows, *__: rows.batch)
    other = answers_of(trained(HEAD).run())
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-4)


def test_upper_layers_learn_the_same_with_and_without_kept_states(monkeypatch, top_run):
    monkeypatch.setattr(batches, "MAX_KEPT_BYTES", 0)
    other = trained(TOP).run()
    one = answers_of(top_run.result)
    np.testing.assert_allclose(one, answers_of(other), rtol=0, atol=1e-4)


def test_a_head_with_a_pooler_of_its_own_keeps_the_first_token_alone(monkeypatch):
    frozen, kept = batches._frozen, []

    def remember(*args, **options):
        found = frozen(*args, **options)
        kept.extend(found)
        return found

    loaded = tiny_loaded(heads=("mlm",), num_layers=1)
    monkeypatch.setattr(batches, "_frozen", remember)
    result = trained(dataclasses.replace(HEAD, epochs=1), loaded=loaded).run()
    size = loaded.model.config.hidden_size
    assert {states.shape for states in kept} == {(1, size)}
    before = Learner(loaded, random_data(), HEAD).bert.pooler.dense.kernel.numpy()
    assert not np.array_equal(before, result.bert.pooler.dense.kernel.numpy())


def test_it_learns_what_a_word_tells():
    settings = dataclasses.replace(SETTINGS, epochs=10, learning_rate=5e-3)
    loaded = tiny_loaded(num_layers=1)
    loaded.model.config = dataclasses.replace(
        loaded.model.config, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )
    result = trained(settings, random_data(61, 29), loaded).run()
    assert result.points[result.best_epoch - 1].metric > 0.8
    assert result.points[-1].loss < 0.7 * result.points[0].loss


def test_the_weights_of_the_best_epoch_are_restored(monkeypatch):
    scored(monkeypatch, 0.1, 0.9, 0.3)
    trainer = trained(dataclasses.replace(HEAD, epochs=3))
    seen = []
    weights = trainer.learner.weights

    def noted(into=None):
        found = weights(into)
        seen.append((found, {name: np.array(value) for name, value in found.items()}))
        return found

    monkeypatch.setattr(trainer.learner, "weights", noted)
    result = trainer.run()
    assert (result.best_epoch, len(seen)) == (2, 2)
    after, (first, best) = weights_of(result.bert), (copy for _, copy in seen)
    assert all(np.array_equal(after[name], best[name]) for name in best)
    assert not any(np.array_equal(first[name], best[name]) for name in best)
    # The second is written over the first: both may be too much for the memory.
    assert seen[0][0] is seen[1][0]


def test_a_run_without_a_better_epoch_ends_early(monkeypatch):
    scored(monkeypatch, 0.5, 0.4, 0.4, 0.9)
    events = []
    result = trained(dataclasses.replace(HEAD, patience=2), tell=events.append).run()
    assert (result.ending, result.best_epoch, len(result.points)) == ("no_better", 1, 3)
    assert (events[-1].kind, events[-1].epoch) == ("ended", 3)  # there is no fourth


def test_of_equal_metrics_the_smaller_loss_wins_and_then_the_earlier():
    def point(metric, loss):
        return EpochPoint(9.0, loss, metric, 1.0)

    assert point(0.5, 0.3).beats(point(0.5, 0.4))
    assert not point(0.5, 0.4).beats(point(0.5, 0.4))
    assert point(0.6, 9.0).beats(point(0.5, 0.4))
    assert point(0.0, 9.0).beats(None)


def test_a_stop_keeps_the_best_epoch():
    num_steps = []
    trainer = trained(
        HEAD,
        tell=lambda event: num_steps.append(event.step),
        # 23 rows are 5 steps an epoch: the stop falls into the second.
        should_stop=lambda: num_steps[-1] == 8,
    )
    result = trainer.run()
    assert (result.ending, result.best_epoch, len(result.points)) == ("asked", 1, 1)
    one_epoch = trained(HEAD)
    one_epoch.settings = dataclasses.replace(HEAD, epochs=1)
    assert np.array_equal(answers_of(result), answers_of(one_epoch.run()))


@pytest.mark.parametrize("step", [5, 10])
def test_a_stop_is_heard_while_an_epoch_is_judged(monkeypatch, step):
    """After the first of its two batches; the first epoch is judged to its end."""
    read, steps = [], []
    trainer = trained(HEAD, tell=lambda event: steps.append(event.step))
    network = trainer.learner.network
    predict = network.predict_on_batch

    def noted(batch):
        read.append(steps[-1])
        return predict(batch)

    monkeypatch.setattr(network, "predict_on_batch", noted)
    trainer.should_stop = lambda: step in read
    result = trainer.run()
    assert (result.ending, result.best_epoch, len(result.points)) == ("asked", 1, 1)
    assert read.count(5) == 2
    assert read.count(10) == (step == 10)


@pytest.mark.parametrize("step", [2, 5])
def test_a_stop_in_the_first_epoch_keeps_what_there_is(step):
    events = []
    stop = lambda: events[-1].step == step  # noqa: E731
    result = trained(HEAD, tell=events.append, should_stop=stop).run()
    # Five steps are a whole epoch; two are none that could be called the best.
    assert (result.ending, result.best_epoch) == ("asked", step == 5)
    assert (result.steps, result.epochs_run) == (step, step == 5)
    assert max(event.step for event in events) == step
    told = [e for e in events if e.kind in ("epoch", "ended")]
    assert [event.is_whole for event in told] == [step == 5] * 2
    assert [event.epoch for event in told] == [1] * 2


def test_without_rows_to_choose_by_all_epochs_run_and_the_last_is_kept():
    test = random_data().validation
    data = dataclasses.replace(
        random_data(), validation=test.select(np.array([], int)), test=test
    )
    events = []
    settings = dataclasses.replace(HEAD, epochs=3, patience=1)
    result = trained(settings, data, tell=events.append).run()
    assert (result.ending, result.best_epoch) == ("finished", settings.epochs)
    assert len(result.points) == result.epochs_run == settings.epochs
    assert np.isnan([[p.metric, p.validation_loss] for p in result.points]).all()
    told = [event for event in events if event.kind == "epoch"]
    assert {(e.metric, e.validation_loss, e.metric_name) for e in told} == {
        (None, None, "")
    }
    # The rows that choose change nothing about what is learned until the last epoch.
    chosen = dataclasses.replace(data, validation=test)
    trainer = trained(dataclasses.replace(settings, patience=0), chosen)
    trainer._judge = functools.partial(_latest, trainer)
    assert np.array_equal(answers_of(result), answers_of(trainer.run()))


def _latest(trainer, *args):
    """Lets the last epoch be the best, whatever its rows say."""
    trainer.best_epoch = 0
    Trainer._judge(trainer, *args)


def test_a_run_that_was_stopped_again_and_again_ends_as_if_it_had_not(
    top_run, tmp_path
):
    """Of all layers, and after an accident: see `test_training_run`."""
    events = []
    # Before weights have decayed, and after it at the end of an epoch.
    for last in (3, 10, None):
        result = trained(
            TOP,
            tell=events.append,
            should_stop=lambda last=last: events[-1].step == last,
            work_folder=tmp_path,
            fingerprint="a",
        ).run()
        assert result.ending == ("finished" if last is None else "asked")
    expected = weights_of(top_run.result.bert)
    for name, weight in weights_of(result.bert).items():
        np.testing.assert_array_equal(weight, expected[name], err_msg=name)
    first, second = (
        [dataclasses.replace(point, seconds=0.0) for point in run.points]
        for run in (top_run.result, result)
    )
    assert first == second
    taken, before = (
        [event.loss for event in told if event.kind == "step"]
        for told in (events, top_run.events)
    )
    assert taken == before
    begun = [event for event in events if event.kind == "begun"]
    whole = [(event.step, event.is_whole) for event in begun]
    assert whole == [(0, True), (3, False), (10, False)]


@pytest.mark.parametrize(
    ("part", "broken"),
    [
        ("step", lambda *_: float("nan")),
        ("outputs", lambda *_: np.full((13, 3), np.nan)),
    ],
    ids=["loss", "answers"],
)
def test_a_loss_or_answers_that_are_no_numbers_stop_the_run(monkeypatch, part, broken):
    trainer = trained(HEAD)
    monkeypatch.setattr(trainer.learner, part, broken)
    with pytest.raises(TrainingError, match="no longer a number"):
        trainer.run()


def test_events_tell_how_it_goes(full_run):
    events = full_run.events
    steps = [event for event in events if event.kind == "step"]
    assert [event.step for event in steps] == list(range(1, 16))
    assert all(event.num_steps == 15 and event.loss > 0 for event in steps)
    assert steps[0].learning_rate == pytest.approx(1e-2 / 1.5)
    assert steps[-1].seconds_left == 0
    epochs = [event for event in events if event.kind == "epoch"]
    assert [event.epoch for event in epochs] == [1, 2, 3]
    assert epochs[0].best_epoch == 1
    assert epochs[0].metric_name == "accuracy"
    assert (events[-1].kind, events[-1].ending) == ("ended", "finished")


def test_a_loss_that_becomes_no_number_leaves_the_best_epoch(monkeypatch):
    trainer = trained(HEAD)
    step = trainer.learner.step

    def broken(*arguments):
        return step(*arguments) if trainer.step < 7 else float("inf")

    monkeypatch.setattr(trainer.learner, "step", broken)
    result = trainer.run()
    assert (result.ending, result.best_epoch) == ("not_a_number", 1)


def test_frozen_layers_are_compiled_once_for_all_rows(monkeypatch):
    made = []

    class Counted(learner.FrozenPart):
        def __init__(self, *arguments, **options):
            made.append(arguments)
            super().__init__(*arguments, **options)

    monkeypatch.setattr(learner, "FrozenPart", Counted)
    trained(dataclasses.replace(HEAD, epochs=1)).run()
    assert len(made) == 1


def test_class_weights_weigh_the_loss():
    # 12 rows of 3 classes that occur: 6, 4, 2; a fourth does not.
    targets = np.array([0] * 6 + [1] * 4 + [2] * 2, "int32")
    assert class_weights(targets, 4).tolist() == [12 / 18, 12 / 12, 12 / 6, 0.0]
    settings, data = dataclasses.replace(SETTINGS, class_weights=True), random_data(12)
    uneven = dataclasses.replace(data.train, targets=targets)
    data = dataclasses.replace(data, train=uneven)
    learner = Learner(model_for(settings), data, settings)
    logits = np.array([[1.0, 2.0, 0.5], [0.0, -1.0, 3.0]], "float32")
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    expected = (12 / 18 * -np.log(shares[0, 0]) + 2.0 * -np.log(shares[1, 2])) / 2
    found = learner.mean_loss(logits, np.array([0, 2], "int32"))
    assert found == pytest.approx(expected, rel=1e-6)


def test_numbers_are_answered_in_their_own_unit(number_run):
    data, result = number_data(), number_run
    answers = answers_of(result, data, HEAD)
    assert result.metric == "r2"
    assert answers.shape == (13, 1)
    assert 450 < answers.mean() < 650
    targets = data.validation.targets
    spread = ((targets - targets.mean()) ** 2).sum()
    r2 = 1 - ((answers[:, 0] - targets) ** 2).sum() / spread
    best = result.points[result.best_epoch - 1]
    assert best.metric == pytest.approx(r2, abs=1e-4)


def test_large_numbers_have_a_finite_spread():
    data = number_data()
    targets = np.float32(1e28) * data.train.targets
    data = dataclasses.replace(
        data, train=dataclasses.replace(data.train, targets=targets)
    )
    learner, wide = Learner(model_for(HEAD), data, HEAD), targets.astype("float64")
    assert learner.mean == pytest.approx(wide.mean())
    assert learner.spread == pytest.approx(wide.std())
    centred = learner.centred(targets)
    np.testing.assert_allclose([centred.mean(), centred.std()], [0, 1], atol=1e-5)


def test_rows_that_do_not_fit_are_refused_before_anything_learns(monkeypatch):
    def refused(data, loaded=None, **changes):
        settings = dataclasses.replace(SETTINGS, **changes)
        with pytest.raises(TrainingError) as found:
            finetune(loaded or shared_loaded(), data, settings, pytest.fail)
        return str(found.value)

    assert "11 positions" in refused(random_data(), max_tokens=12)
    assert "0 test rows" in refused(random_data(num_validation=0))
    monkeypatch.setattr(split, "MAX_OVERSAMPLED", 23)
    assert "would become 24" in refused(random_data(), oversample=True)
    loaded = tiny_loaded(num_layers=1)
    loaded.model.config = dataclasses.replace(loaded.model.config, type_vocab_size=1)
    assert "one text at a time" in refused(random_data(pairs=True), loaded)


def scored(monkeypatch, *scores):
    """The validation rows say this after each epoch."""
    given = iter(scores)
    monkeypatch.setattr(
        "bertviz_core.training.finetune.trainer.metric_of", lambda *_: next(given)
    )
