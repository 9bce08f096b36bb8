"""Curves with a bound, and a log that tells each thing once."""

import dataclasses
import json

import numpy as np
import pytest

from bertviz_core.training.events import TrainingEvent
from bertviz_core.training.finetune import run_history
from bertviz_core.training.finetune.notes import in_english
from bertviz_core.training.finetune.run_history import RunHistory


def step(number, loss, rate=0.5, num_steps=40, epoch=1):
    return TrainingEvent(
        "step", epoch=epoch, step=number, num_steps=num_steps, loss=loss,
        learning_rate=rate, fraction=number / num_steps, seconds_left=9.0,
        metric_name="accuracy",
    )  # fmt: skip


def epoch(number, metric, best, step_number, name="accuracy", loss=0.7):
    return TrainingEvent(
        "epoch", epoch=number, step=step_number, num_steps=40, loss=1.5, metric=metric,
        metric_name=name, validation_loss=loss, best_epoch=best, fraction=0.5,
    )  # fmt: skip


def sentences(history):
    return [in_english((text, details)) for _, text, details in history.log]


def test_a_sequence_of_steps_is_a_curve(monkeypatch):
    history = RunHistory()
    for number, loss in enumerate([3.0, 2.5, 1.25], 1):
        history.take(step(number, loss, rate=number / 8))
    assert history.curve.tolist() == [[1, 3.0, 0.125], [2, 2.5, 0.25], [3, 1.25, 0.375]]
    assert (history.phase, history.step, history.seconds_left) == ("train", 3, 9.0)
    # A long one keeps few points, whose losses are means.
    monkeypatch.setattr(run_history, "MAX_POINTS", 8)
    history = RunHistory()
    losses = np.random.default_rng(3).random(45)
    for number, loss in enumerate(losses, 1):
        history.take(step(number, loss, rate=number, num_steps=45))
    curve = history.curve
    assert len(curve) <= 8
    assert curve[-1][0] == 45
    begun = 0
    for last, mean, rate in curve:
        assert mean == pytest.approx(losses[begun : int(last)].mean(), rel=1e-4)
        assert rate == last
        begun = int(last)


def test_what_was_told_before_an_accident_and_comes_again_is_told_once():
    history = RunHistory()
    for number in range(1, 8):
        history.take(step(number, 10.0 + number, epoch=1 + number // 5))
    history.epochs, history.best_epoch = [[4.0, 1.0, 0.5, 0.25]], 1
    again = RunHistory(**json.loads(json.dumps(history.to_dict())))
    again.restart()
    again.take(TrainingEvent("begun", epoch=1, step=4, num_steps=40))
    assert [point[0] for point in again.curve] == [1, 2, 3, 4]
    again.take(step(5, 99.0, epoch=2))
    assert again.curve[-1, :2].tolist() == [5, 99.0]
    assert (again.num_restarts, again.resumed_epoch) == (1, 1)
    assert sum("goes on after epoch 1" in text for text in sentences(again)) == 1


def test_the_last_reading_tells_its_share_and_its_time():
    history = RunHistory()
    history.take(epoch(1, 0.5, 1, 40))
    history.take(step(41, 1.0))
    history.take(TrainingEvent("ended", epoch=1, step=41, ending="finished"))
    assert (history.phase, history.fraction) == ("evaluate", 0.0)
    assert history.seconds_left is None
    history.take(TrainingEvent("judge", fraction=0.25, seconds_left=30.0))
    assert (history.fraction, history.seconds_left) == (0.25, 30.0)
    assert history.step == 41


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (
            {"metric_name": "accuracy", "metric": 0.8126,
             "chosen": {"C": 10.0, "class_weight": "balanced", "folds": 3}},
            "(TF-IDF, C=10, class_weight=balanced) get 81.3% of the test rows",
        ),
        (
            {"metric_name": "r2", "metric": 0.25, "chosen": {"alpha": 0.1, "folds": 0}},
            "(TF-IDF, alpha=0.1), with R² = 0.25",
        ),
        ({}, "could not be had"),
    ],
)  # fmt: skip
def test_the_bar_to_beat_is_told_before_anything_learns(event, said):
    history = RunHistory()
    history.take(TrainingEvent("compare", fraction=0.5))
    assert (history.phase, history.fraction, history.bar) == ("compare", 0.5, None)
    history.take(TrainingEvent("compared", **event))
    again = RunHistory(**json.loads(json.dumps(history.to_dict())))
    assert said in in_english(again.bar)
    assert said in sentences(history)[-1]
    assert again.step == 0


def test_where_nothing_chooses_an_epoch_none_is_called_the_best():
    history = RunHistory(phase="train")
    for number in (1, 2):
        told = epoch(number, None, number, 10 * number, "")
        history.take(dataclasses.replace(told, validation_loss=None))
    ended = {"ending": "finished", "epoch": 2, "step": 20}
    again = RunHistory(**json.loads(json.dumps(history.to_dict())))
    resumed = {"epoch": 2, "step": 20, "num_steps": 40, "best_epoch": 2}
    again.take(TrainingEvent("begun", **resumed))
    assert again.best_epoch == 2
    again.take(TrainingEvent("ended", **ended))
    said = " ".join(sentences(again))
    assert "Epoch 2 is done; its mean loss was 1.5" in said
    assert "as it was after epoch 2" in said
    assert "best" not in said


def test_a_stop_within_the_first_epoch_is_told_as_one():
    history = RunHistory(phase="train")
    history.take(step(3, 1.0))
    part = dataclasses.replace(epoch(1, 0.9, 1, 3), is_whole=False)
    history.take(part)
    ended = {"ending": "asked", "step": 3, "is_whole": False}
    history.take(TrainingEvent("ended", metric_name="accuracy", **ended))
    assert (history.best_epoch, history.epochs) == (0, [])
    assert "stopped after step 3, before its first epoch" in sentences(history)[-2]
    assert not any("best" in text for text in sentences(history))


def test_a_run_that_died_in_its_first_epoch_begins_anew():
    history = RunHistory()
    for number in (1, 2, 3):
        history.take(step(number, 5.0))
    history.restart()
    history.take(TrainingEvent("begun", num_steps=40))
    assert (history.phase, history.epoch) == ("train", 1)
    history.take(step(1, 4.0))
    assert history.curve.tolist() == [[1, 4.0, 0.5]]
    assert history.resumed_epoch == 0
    assert "begins anew" in sentences(history)[-1]
    history.take(step(2, 4.0))
    assert len(history.log) == 1


@pytest.mark.parametrize(
    ("epoch", "words"), [(2, "asked to go on, and does so after epoch 2"),
                         (0, "asked to go on. No epoch was done yet")],
)  # fmt: skip
def test_who_asked_a_run_to_go_on_is_told_so_and_not_of_an_accident(epoch, words):
    history = RunHistory(is_asked=True)
    history.restart()
    history.take(TrainingEvent("begun", epoch=epoch, step=4 * epoch, num_steps=40))
    history.take(step(9, 5.0, epoch=epoch + 1))
    assert [words in text for text in sentences(history)] == [True]
    assert history.num_restarts == 0
    history.restart()
    history.take(TrainingEvent("begun", num_steps=40))
    assert "ended unexpectedly" in sentences(history)[-1]
    assert history.num_restarts == 1


def test_an_epoch_that_comes_twice_is_one_epoch_and_the_best_is_that_of_before():
    history = RunHistory(phase="train")
    history.take(epoch(1, 0.5, 1, 10))
    history.take(epoch(2, 0.75, 2, 20))
    resumed = {"epoch": 1, "step": 10, "num_steps": 40, "best_epoch": 1}
    history.take(TrainingEvent("begun", **resumed))
    assert history.best_epoch == 1
    history.take(epoch(2, 0.25, 1, 20))
    assert [row[3] for row in history.epochs] == [0.5, 0.25]
    assert history.best_epoch == 1


@pytest.mark.parametrize(
    ("name", "best", "worse"),
    [
        ("accuracy", "Epoch 1: 62.5% of", "Epoch 2: 50.0% of"),
        ("macro_f1", "Epoch 1: macro-F1 on the validation rows is 0.625", "0.5. Epoch"),
        ("r2", "Epoch 1: R² on the validation rows is 0.625", "0.5. Epoch 1 with"),
    ],
)
def test_the_log_says_how_each_epoch_did(name, best, worse):
    history = RunHistory(phase="train")
    history.take(epoch(1, 0.625, 1, 10, name))
    history.take(epoch(2, 0.5, 1, 20, name))
    first, second = sentences(history)
    assert best in first
    assert "best so far" in first
    assert worse in second
    assert "stays the best" in second
    history.take(epoch(3, 0.625, 3, 30, name, loss=0.1))
    assert "as good as epoch 1" in sentences(history)[-1]


@pytest.mark.parametrize(
    ("ending", "part"),
    [
        ("finished", "All epochs are done. The model is that of epoch 1"),
        ("no_better", "No epoch was better for 2 epochs"),
        ("asked", "was stopped. The model is that of epoch 1"),
        ("not_a_number", "no longer a number"),
    ],
)
def test_the_log_says_why_a_run_ended(ending, part):
    history = RunHistory(phase="train", best_epoch=1, epochs=[[1.0] * 4] * 3)
    ended = {"ending": ending, "metric_name": "accuracy"}
    history.take(TrainingEvent("ended", epoch=3, step=30, num_steps=40, **ended))
    assert part in sentences(history)[-2]
    assert (history.phase, history.ending) == ("evaluate", ending)


def test_frozen_layers_are_explained_once():
    history = RunHistory()
    for fraction in (0.25, 0.5):
        history.take(TrainingEvent("tokenize", fraction=fraction))
    for fraction in (0.25, 0.75, 0.125, 1.0):
        history.take(TrainingEvent("cache", fraction=fraction))
    assert len(history.log) == 1
    assert (history.phase, history.fraction) == ("cache", 1.0)
