"""A run in its folder: what it leaves, how it ends, how it goes on when killed."""

import dataclasses
import json
import os
import shutil
import types
import uuid
import zipfile

import numpy as np
import pytest
from safetensors import SafetensorError
from sklearn.linear_model import LogisticRegression

from bertviz_core import visitor_files, whole_files
from bertviz_core.checkpoints import export
from bertviz_core.checkpoints.folder import open_folder
from bertviz_core.errors import DatasetError, TrainingError
from bertviz_core.training import checkpoint
from bertviz_core.training.finetune import estimate, run_files
from bertviz_core.training.finetune.columns import ColumnChoice
from bertviz_core.training.finetune.notes import in_english
from bertviz_core.training.finetune.request import (
    DataChoice,
    TableSource,
    TrainingRequest,
)
from bertviz_core.training.finetune.run import TrainingRun, finetune, weights_hash
from bertviz_core.training.finetune.visitor_tables import keep_table
from bertviz_core.training.run_folder import lock, read_json, write_json
from tests.core.finetune_samples import HEAD, SETTINGS, random_data, shared_loaded

pytestmark = pytest.mark.tensorflow

ONE = dataclasses.replace(HEAD, epochs=1)
DATA = DataChoice(TableSource("sample:library_en"), ColumnChoice("message", "topic"))


CARE = []
MODULE = "bertviz_core.training.finetune.run"


class Killed(BaseException):
    """The process is gone."""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("BERTVIZ_CACHE", str(tmp_path))
    monkeypatch.setattr(f"{MODULE}.WRITE_SECONDS", 0.0)


def new_run(settings=HEAD, **options):
    request = TrainingRequest("a-model", DATA, settings, **options)
    folder = run_files.create_run(request, uuid.uuid4().hex)
    CARE.append(lock(folder / run_files.CARE))  # held by the server
    return folder


def run(folder, data=None, loaded=None):
    loaded, data = loaded or shared_loaded(), data or random_data()
    TrainingRun(folder).run(lambda _: loaded, lambda: data)
    return run_files.status_of(folder)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run of all layers that nobody disturbed: its folder, and how it went.

    Half of what an earlier try has left stands in its folder.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BERTVIZ_CACHE", str(tmp_path_factory.mktemp("whole")))
        patch.setattr(f"{MODULE}.WRITE_SECONDS", 0.0)
        folder = new_run(SETTINGS, title="Mine", tensorboard=True)
        (folder / run_files.MODEL).mkdir()
        (folder / run_files.MODEL / "vocab.txt").write_text("old")
        loaded = shared_loaded()
        before = weights_hash(loaded)
        status = run(folder, loaded=loaded)
        assert weights_hash(loaded) == before  # the served model stays as it is
        return folder, status


def assert_same_answers(folder, other):
    with np.load(folder / "outputs.npz") as a, np.load(other / "outputs.npz") as b:
        np.testing.assert_allclose(a["model"], b["model"], atol=1e-6)


def files_of(folder):
    return {path.name for path in folder.iterdir()}


def sentences(status):
    return [in_english((text, details)) for _, text, details in status.log]


def test_a_run_knows_the_table_that_it_was_asked_for_with():
    table = keep_table(b"message,topic\na,b\n")
    data = dataclasses.replace(DATA, source=TableSource(table))
    request = TrainingRequest("a-model", data, HEAD)
    own = run_files.read_request(run_files.create_run(request, uuid.uuid4().hex))
    assert own.data.source.table != table
    assert own.is_of(table)
    assert own.is_of(own.data.source.table)
    assert not own.is_of(keep_table(b"message,topic\na,b\n"))


def test_a_run_leaves_what_training_without_a_folder_gives_and_no_scratch(whole):
    folder, status = whole
    assert (status.state, status.ending, status.error) == ("done", "finished", None)
    assert (status.model.model_id, status.model.title) == (f"run:{folder.name}", "Mine")
    assert status.model.language == ""
    assert status.curve[:, 0].tolist() == list(range(1, 16))
    assert status.judged[:, 0].tolist() == [5, 10, 15]
    assert (status.num_steps, status.num_epochs, status.epoch) == (15, 3, 3)
    assert len(status.epochs) == 3
    assert len(sentences(status)) >= 5
    assert sentences(status)[1] == in_english(status.bar)
    assert "word counts (TF-IDF, C=" in in_english(status.bar)
    assert files_of(folder) == {
        "request.json", "progress.json", "lease", "care.lock",
        "owners", "outputs.npz", "model",
        "model.zip", run_files.LOG_BUNDLE,
    }  # fmt: skip
    names = zipfile.ZipFile(folder / "model.zip").namelist()
    assert "model/model.safetensors" in names
    assert open_folder(folder / "model").labels == random_data().labels
    result = finetune(shared_loaded(), random_data(), SETTINGS)
    with np.load(folder / "outputs.npz") as outputs:
        found = outputs["model"]
    np.testing.assert_allclose(found, result.report.probabilities, atol=1e-6)
    assert methods_of(folder) == {"model", "majority", "tfidf"}
    metrics = [point.metric for point in result.points]
    assert status.judged[:, 3].tolist() == pytest.approx(metrics)
    assert status.best_epoch == result.best_epoch


def test_a_stop_before_the_first_step_leaves_no_model():
    folder = new_run()
    run_files.ask_to_stop(folder, run_files.ABANDONED)
    run_files.ask_to_stop(folder)  # the first reason stays
    assert run_files.reason_to_stop(folder) == run_files.ABANDONED
    status = run(folder)
    assert (status.state, status.step, status.model) == ("stopped", 0, None)
    assert not status.has_log  # which nobody asked for
    assert "before its first step" in sentences(status)[-1]


@pytest.mark.parametrize("kind", [DatasetError, TrainingError])
def test_a_failure_is_told_in_its_own_words(kind):
    folder = new_run()

    def refuse():
        raise kind("No more than {limit} of them.", limit=5)

    with pytest.raises(kind):
        TrainingRun(folder).run(lambda _: shared_loaded(), refuse)
    status = run_files.status_of(folder)
    assert status.state == "failed"
    assert type(status.error) is kind
    assert status.error.details == {"limit": 5}
    assert not status.has_model


def test_the_log_of_a_run_that_broke_off_can_be_taken_away_and_goes_on(monkeypatch):
    """Its seconds go on, too."""
    ticks = iter(np.arange(0.0, 1000.0, 0.5))
    clock = types.SimpleNamespace(monotonic=lambda: next(ticks))
    monkeypatch.setattr(f"{MODULE}.time", clock)
    folder = killed_run(tensorboard=True)
    CARE.pop().release()
    broken = run_files.status_of(folder)
    assert (broken.state, broken.has_log) == ("interrupted", True)
    assert (broken.has_epoch, broken.has_model) == (True, False)
    assert broken.resumed_epoch is None
    run_files.pack_log_of(folder)
    first = zipfile.ZipFile(folder / run_files.LOG_BUNDLE).namelist()
    assert len(first) == 1
    CARE.append(lock(folder / run_files.CARE))
    ticks = iter(np.arange(5000.0, 6000.0, 0.5))
    status = run(folder)
    assert 0 < broken.seconds < status.seconds < 1000
    told = [seconds for seconds, _, _ in status.log]
    assert told == sorted(told)
    both = zipfile.ZipFile(folder / run_files.LOG_BUNDLE).namelist()
    assert len(both) == 2
    assert set(first) < set(both)
    assert not any(name.startswith("tensorboard.zip.") for name in files_of(folder))


def test_a_model_reads_the_language_of_the_one_that_it_began_with():
    request = TrainingRequest("some-model-zh", DATA, ONE)
    first = run_files.create_run(request, uuid.uuid4().hex)
    own = run(first).model
    assert own.language == "zh"
    request = dataclasses.replace(request, model=own.model_id)
    second = run_files.create_run(request, uuid.uuid4().hex)
    assert run(second).model.language == "zh"
    visitor_files.remove(first)
    assert run_files.status_of(second).model.language == "zh"


def full_disk(*_):
    raise OSError(28, "No space left on device")


def test_a_full_disk_is_told_and_who_asks_to_go_on_hears_of_no_accident(monkeypatch):
    folder = new_run()
    with monkeypatch.context() as patch:
        patch.setattr(f"{MODULE}.pack_model", full_disk)
        with pytest.raises(TrainingError, match="disk of the server"):
            run(folder)
    assert run_files.status_of(folder).state == "failed"
    run_files.ask_to_go_on(folder)
    assert run_files.status_of(folder).state == "running"
    status = run(folder)
    assert (status.state, status.num_restarts) == ("done", 0)
    told = " ".join(sentences(status))
    assert "asked to go on, and does so after epoch 3" in told
    assert "unexpectedly" not in told


def test_what_the_disk_does_not_take_of_an_epoch_ends_no_training(monkeypatch, whole):
    folder = new_run(SETTINGS)
    writes, write = [], checkpoint._write
    refused, write_progress = [], run_files.write_json

    def fail_twice(*arguments):
        writes.append(arguments)
        if len(writes) in (2, 3):
            full_disk()
        write(*arguments)

    def refuse_in_epoch_2(path, value):
        if path.name == run_files.PROGRESS and value["history"]["epoch"] == 2:
            refused.append(path)
            full_disk()
        write_progress(path, value)

    monkeypatch.setattr(checkpoint, "_write", fail_twice)
    monkeypatch.setattr(run_files, "write_json", refuse_in_epoch_2)
    status = run(folder)
    assert refused
    assert (status.state, status.ending) == ("done", "finished")
    (told,) = [text for text in sentences(status) if "cannot be written" in text]
    assert told.startswith("Epoch 2 cannot be written to the disk. Received: No space")
    assert told.endswith("it can go on after epoch 1 only.")
    assert_same_answers(folder, whole[0])


def test_a_run_whose_owner_removed_it_ends():
    folder, seen = new_run(), []

    def remove():
        visitor_files.remove(folder)
        seen.append("removed")

    _wrap_take(folder, 3, remove)
    _wrap_take(folder, 6, lambda: seen.append("still there"))
    with pytest.raises(TrainingError, match="disk of the server"):
        run(folder)
    assert seen == ["removed"]
    assert not folder.exists()


def test_a_result_that_the_disk_does_not_take_fails_and_can_be_had_later(monkeypatch):
    def full_file(*_, **__):
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    folder = new_run()
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "_write", full_disk)
        patch.setattr(export, "save_file", full_file)
        with pytest.raises(TrainingError, match=r"disk of the server.*No space left"):
            run(folder)
    assert run_files.status_of(folder).state == "failed"
    assert run(folder).state == "done"


def test_a_disk_without_room_for_the_run_is_told_before_the_first_step(monkeypatch):
    folder = new_run()
    usage = shutil.disk_usage("/")._replace(free=60_000_000)
    monkeypatch.setattr(estimate.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(TrainingError, match=r"1\d\d MB\. Received: 60 MB free"):
        run(folder)
    assert run_files.status_of(folder).step == 0


def killed_run(step=13, folder=None, **options):
    """The folder of a run whose process is gone after this step, in its third epoch."""
    folder = folder or new_run(**options)
    kill_at(folder, step=step)
    with pytest.raises(Killed):
        run(folder)
    return folder


def test_a_run_that_was_stopped_and_then_killed_goes_on_to_the_same_model(whole):
    """From its step, and then from its last epoch."""
    folder = new_run(SETTINGS, title="Mine", tensorboard=True)
    stop_after(folder, step=7)
    stopped = run(folder)
    assert (stopped.state, stopped.step, stopped.has_model) == ("stopped", 7, True)
    assert stopped.can_go_on
    assert len(list((folder / run_files.WORK).glob("checkpoints/*"))) == 1
    early = (folder / run_files.BUNDLE).read_bytes()
    run_files.ask_to_go_on(folder)
    kill_at(folder, step=12)  # what the stop has left stays until there is better
    with pytest.raises(Killed):
        run(folder)
    assert (folder / run_files.BUNDLE).read_bytes() == early
    status = run(folder)
    assert (status.state, status.ending) == ("done", "finished")
    assert (status.num_restarts, status.resumed_epoch) == (1, 2)
    for place in ("step 7", "epoch 2"):
        assert any(f"goes on after {place}" in text for text in sentences(status))
    np.testing.assert_array_equal(status.curve[:, 0], whole[1].curve[:, 0])
    np.testing.assert_allclose(status.curve, whole[1].curve, rtol=1e-4)
    assert status.judged[:, 3].tolist() == whole[1].judged[:, 3].tolist()
    for name in ("model/model.safetensors", run_files.OUTPUTS):
        assert (folder / name).read_bytes() == (whole[0] / name).read_bytes()
    assert not status.can_go_on
    assert files_of(folder) == files_of(whole[0])


def test_a_run_that_has_only_waited_begins_like_any_other_and_killed_begins_anew():
    folder = new_run()
    run_files.ask_to_go_on(folder)
    killed_run(folder=folder, step=3)
    waited = run_files.status_of(folder)
    assert (waited.num_restarts, waited.has_epoch) == (0, False)
    assert not any("go on" in text for text in sentences(waited))
    status = run(folder)  # this time the process did die, in its first epoch
    assert (status.num_restarts, status.resumed_epoch) == (1, 0)
    assert any("ended unexpectedly" in text for text in sentences(status))
    # It did not die of counting words, which are counted again.
    assert methods_of(folder) == {"model", "majority", "tfidf"}


@pytest.mark.parametrize("stopped", [False, True])
def test_a_run_that_broke_off_with_its_model_in_place_ends_at_once(
    monkeypatch, stopped
):
    folder = new_run(tensorboard=True)
    if stopped:
        stop_after(folder, step=7)
    with monkeypatch.context() as patch:
        patch.setattr(run_files, "pack_log_of", failing(Killed))
        with pytest.raises(Killed):
            run(folder)
    before = (folder / run_files.MODEL / "model.safetensors").read_bytes()
    TrainingRun(folder).run(failing(ValueError), failing(ValueError))
    status = run_files.status_of(folder)
    assert status.state == ("stopped" if stopped else "done")
    assert status.has_log
    assert (folder / run_files.MODEL / "model.safetensors").read_bytes() == before
    # A run that was stopped may go on.
    left = {run_files.WORK, run_files.LOG_FOLDER} & files_of(folder)
    assert len(left) == (2 if stopped else 0)
    assert run_files.KEPT not in files_of(folder)


def test_a_run_that_dies_while_words_are_counted_goes_on_without(monkeypatch):
    folder = new_run(ONE)
    with monkeypatch.context() as patch:
        patch.setattr(LogisticRegression, "fit", failing(Killed))
        with pytest.raises(Killed):
            run(folder)
    assert run_files.read_progress(folder)["history"]["phase"] == "compare"
    status = run(folder)  # the same would kill it again
    assert (status.state, status.has_model) == ("done", True)
    assert "could not be had" in in_english(status.bar)
    assert methods_of(folder) == {"model", "majority"}


def test_a_stop_while_words_are_counted_ends_the_run(monkeypatch):
    take, phases = TrainingRun._take, []

    def stop(self, event):
        if event.kind == "compare" and event.fraction > 0:
            run_files.ask_to_stop(self.folder)
        phases.append(event.kind)
        take(self, event)

    monkeypatch.setattr(TrainingRun, "_take", stop)
    folder = new_run(ONE)
    status = run(folder)
    assert (status.state, status.has_model) == ("stopped", False)
    assert set(phases) == {"compare"}
    assert "before its first step" in sentences(status)[-1]


def failing(kind):
    def fail(*_, **__):
        raise kind

    return fail


def methods_of(folder):
    """Those in the report of the page, which are those in the zip."""
    with np.load(folder / run_files.OUTPUTS) as outputs:
        found = set(outputs.files)
    with zipfile.ZipFile(folder / run_files.BUNDLE) as packed:
        metrics = json.loads(packed.read("model/metrics.json"))
    assert found == {"model", *metrics["baselines"]}
    return found


def test_a_stop_that_comes_after_an_accident_keeps_the_best_of_before():
    folder = killed_run()
    before = run_files.status_of(folder)
    run_files.ask_to_stop(folder)
    status = run(folder)
    assert (status.state, status.ending) == ("stopped", "asked")
    assert (status.has_model, status.best_epoch) == (True, before.best_epoch)
    assert len(status.epochs) == 2


def test_a_log_for_tensorboard_holds_every_step_and_epoch(whole):
    folder, status = whole
    assert status.has_log
    found = read_log(folder)
    losses = dict(found["train/loss"])
    assert list(losses) == list(range(1, 16))
    np.testing.assert_allclose(list(losses.values()), status.curve[:, 1], rtol=1e-4)
    steps, values = zip(*found["validation/accuracy"], strict=True)
    assert steps == (5, 10, 15)
    np.testing.assert_allclose(values, status.judged[:, 3], rtol=1e-6)
    assert set(found) == {
        "train/loss", "train/learning_rate", "train/epoch_loss", "validation/loss",
        "validation/accuracy",
    }  # fmt: skip


def test_a_stop_keeps_the_best_epoch_and_says_why(monkeypatch):
    monkeypatch.setenv("BERTVIZ_LEASE_MINUTES", "7")
    folder = new_run(dataclasses.replace(HEAD, epochs=50))
    stop_after(folder, step=7, why=run_files.ABANDONED)
    status = run(folder)
    assert (status.state, status.ending) == ("stopped", "asked")
    assert (status.step, status.best_epoch, status.has_model) == (7, 1, True)
    said = " ".join(sentences(status)[-3:])
    assert "for 7 minutes" in said
    assert "was stopped" in said
    # It is held against word counts all the same.
    assert methods_of(folder) == {"model", "majority", "tfidf"}


def test_oversampling_learns_from_repeated_rows_and_judges_by_macro_f1():
    data = random_data(num_train=24)
    rare = data.train.select(np.array([*range(0, 24, 3), *range(1, 24, 3), 2]))
    data = dataclasses.replace(data, train=rare)
    status = run(new_run(dataclasses.replace(ONE, oversample=True)), data)
    # 24 rows in fives; the 17 that there are would be 4 steps.
    assert (status.num_steps, status.metric_name) == (5, "macro_f1")


def read_log(folder):
    """Value by step of each tag, as TensorBoard reads them."""
    import tensorflow as tf

    with zipfile.ZipFile(folder / run_files.LOG_BUNDLE) as packed:
        packed.extractall(folder / "read")
    found = {}
    for path in sorted((folder / "read" / "log").iterdir()):
        for record in tf.data.TFRecordDataset(str(path)):
            event = tf.compat.v1.Event.FromString(record.numpy())
            for value in event.summary.value:
                assert value.metadata.plugin_data.plugin_name in ("scalars", "")
                number = float(tf.make_ndarray(value.tensor))
                found.setdefault(value.tag, []).append((event.step, number))
    return found


def _wrap_take(folder, at_step, act):
    """Has `act` called when the run in this folder has told a step."""
    original = TrainingRun._take

    def take(self, event):
        original(self, event)
        if self.folder == folder and event.kind == "step" and event.step == at_step:
            act()

    TrainingRun._take = take


@pytest.fixture(autouse=True)
def unwrapped(monkeypatch):
    monkeypatch.setattr(TrainingRun, "_take", TrainingRun._take)


def stop_after(folder, step, why=run_files.ASKED):
    _wrap_take(folder, step, lambda: run_files.ask_to_stop(folder, why))


def kill_at(folder, step):
    armed = [True]

    def act():
        if armed and armed.pop():
            raise Killed

    _wrap_take(folder, step, act)


def test_a_file_that_is_being_read_is_replaced_a_moment_later(tmp_path, monkeypatch):
    path, replace, tries = tmp_path / "it.json", os.replace, []

    def busy(source, target):
        tries.append(target)
        if len(tries) != 3:  # as Windows does while another process has it open
            raise PermissionError(13, "The file is in use")
        replace(source, target)

    monkeypatch.setattr(whole_files.os, "replace", busy)
    write_json(path, {"step": 3})
    assert read_json(path) == {"step": 3}
    assert len(tries) == 3
    with pytest.raises(PermissionError):  # never free again
        write_json(path, {})
