"""A run in its folder: what it leaves, how it ends, how it goes on when killed."""

import dataclasses
import json
import os
import shutil
import zipfile

import numpy as np
import pytest
from safetensors import SafetensorError
from sklearn.linear_model import LogisticRegression

from bertviz_core import whole_files
from bertviz_core.checkpoints import export
from bertviz_core.checkpoints.folder import open_folder
from bertviz_core.errors import CheckpointError, DatasetError, TrainingError
from bertviz_core.finetune import (
    disk_room,
    json_files,
    run_files,
    training_run,
    workplace,
)
from bertviz_core.finetune.column_choice import ColumnChoice
from bertviz_core.finetune.notes import in_english
from bertviz_core.finetune.request import DataChoice, TableSource, TrainingRequest
from bertviz_core.finetune.run import finetune, weights_hash
from bertviz_core.finetune.settings import FinetuneSettings
from bertviz_core.finetune.training_run import TrainingRun
from bertviz_core.pretrain import checkpoint
from tests.core.finetune_samples import number_data, random_data, tiny_loaded

pytestmark = pytest.mark.tensorflow

SETTINGS = FinetuneSettings(
    level="full", epochs=3, batch_size=5, learning_rate=1e-2, max_tokens=9,
    patience=0, precision="float32", seed=4,
)  # fmt: skip
HEAD = dataclasses.replace(SETTINGS, level="head", learning_rate=0.05)
DATA = DataChoice(TableSource("sample:library_en"), ColumnChoice("message", "topic"))


class Killed(BaseException):
    """The process is gone."""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("BERTVIZ_CACHE", str(tmp_path))
    monkeypatch.setattr(training_run, "WRITE_SECONDS", 0.0)
    return tmp_path


def new_run(settings=HEAD, **options):
    request = TrainingRequest("a-model", DATA, settings, **options)
    folder = workplace.run_folder(run_files.create_run(request))
    run_files.take_care(folder)
    return folder


def run(folder, data=None, loaded=None, clock=None):
    options = {} if clock is None else {"clock": clock}
    loaded, data = loaded or tiny_loaded(), data or random_data()
    TrainingRun(folder, **options).run(lambda _: loaded, lambda: data)
    return run_files.status_of(folder)


def files_of(folder):
    return {path.name for path in folder.iterdir()}


def sentences(status):
    return [in_english(entry.sentence) for entry in status.log]


def test_a_run_knows_the_table_that_it_was_asked_for_with():
    table = workplace.keep_table(b"message,topic\na,b\n")
    data = dataclasses.replace(DATA, source=TableSource(table))
    request = TrainingRequest("a-model", data, HEAD)
    own = run_files.read_request(workplace.run_folder(run_files.create_run(request)))
    assert own.data.source.table != table
    assert own.is_of(table)
    assert own.is_of(own.data.source.table)
    assert not own.is_of(workplace.keep_table(b"message,topic\na,b\n"))


def test_a_run_leaves_a_model_a_zip_and_its_curves_and_no_scratch():
    folder = new_run(title="Mine")
    status = run(folder)
    assert (status.state, status.ending, status.error) == ("done", "finished", None)
    assert (status.model.model_id, status.model.title) == (f"run:{folder.name}", "Mine")
    assert status.steps.tolist() == list(range(1, 16))
    assert status.epoch_steps.tolist() == [5, 10, 15]
    assert (status.num_steps, status.num_epochs, status.epoch) == (15, 3, 3)
    assert len(status.metrics) == len(status.validation_losses) == 3
    # Of equal metrics the smaller loss wins.
    scores = list(zip(status.metrics, -np.array(status.validation_losses), strict=True))
    assert status.best_epoch == scores.index(max(scores)) + 1
    assert len(sentences(status)) >= 5
    assert files_of(folder) == {
        "request.json", "progress.json", "lease", "owner", "outputs.npz", "model",
        "model.zip",
    }  # fmt: skip
    names = zipfile.ZipFile(folder / "model.zip").namelist()
    assert "model/model.safetensors" in names
    assert open_folder(folder / "model").labels == random_data().labels


def test_the_model_is_the_one_that_training_without_a_folder_gives():
    folder = new_run(SETTINGS)
    run(folder)
    result = finetune(tiny_loaded(), random_data(), SETTINGS)
    with np.load(folder / "outputs.npz") as outputs:
        found = {name: outputs[name] for name in outputs.files}
    np.testing.assert_allclose(found["model"], result.report.probabilities, atol=1e-6)
    assert set(found) == methods_of(folder) == {"model", "majority", "tfidf"}
    assert run_files.status_of(folder).metrics.tolist() == pytest.approx(
        [point.metric for point in result.points]
    )


def test_numbers_leave_their_predictions_in_their_unit():
    folder = new_run()
    status = run(folder, number_data())
    assert status.metric_name == "r2"
    with np.load(folder / "outputs.npz") as outputs:
        assert outputs["model"].shape == (13,)
        assert 400 < outputs["model"].mean() < 700


def test_the_served_model_stays_as_it_is():
    loaded = tiny_loaded()
    before = weights_hash(loaded)
    run(new_run(SETTINGS), loaded=loaded)
    assert weights_hash(loaded) == before


def test_a_stop_keeps_the_best_epoch():
    folder = new_run(dataclasses.replace(HEAD, epochs=50))
    stop_after(folder, step=7)
    status = run(folder)
    assert (status.state, status.ending) == ("stopped", "asked")
    assert status.step == 7
    assert status.best_epoch == 1
    assert status.has_model
    assert "was stopped" in sentences(status)[-2]


def test_a_stop_before_the_first_step_leaves_no_model():
    folder = new_run()
    run_files.ask_to_stop(folder)
    status = run(folder)
    assert (status.state, status.step, status.model) == ("stopped", 0, None)
    assert "before its first step" in sentences(status)[-1]


def test_a_run_that_nobody_looked_at_says_so(monkeypatch):
    monkeypatch.setenv("BERTVIZ_LEASE_MINUTES", "7")
    folder = new_run()
    stop_after(folder, step=6, why=run_files.ABANDONED)
    status = run(folder)
    assert status.state == "stopped"
    assert any("for 7 minutes" in text for text in sentences(status))


def test_the_first_reason_to_stop_stays():
    folder = new_run()
    run_files.ask_to_stop(folder, run_files.ABANDONED)
    run_files.ask_to_stop(folder)
    assert run_files.reason_to_stop(folder) == run_files.ABANDONED


@pytest.mark.parametrize("kind", [DatasetError, TrainingError])
def test_a_failure_is_told_in_its_own_words(kind):
    folder = new_run()

    def refuse():
        raise kind("No more than {limit} of them.", limit=5)

    with pytest.raises(kind):
        TrainingRun(folder).run(lambda _: tiny_loaded(), refuse)
    status = run_files.status_of(folder)
    assert status.state == "failed"
    assert type(status.error) is kind
    assert status.error.details == {"limit": 5}
    assert not status.has_model


def test_the_log_of_a_run_that_broke_off_can_be_taken_away_and_goes_on():
    folder = new_run(tensorboard=True)
    kill_at(folder, step=13)
    with pytest.raises(Killed):
        run(folder)
    (folder / run_files.OWNER).unlink()
    broken = run_files.status_of(folder)
    assert (broken.state, broken.has_log) == ("interrupted", True)
    run_files.pack_log_of(folder)
    first = zipfile.ZipFile(folder / run_files.LOG_BUNDLE).namelist()
    assert len(first) == 1
    run_files.take_care(folder)
    run(folder)
    whole = zipfile.ZipFile(folder / run_files.LOG_BUNDLE).namelist()
    assert len(whole) == 2
    assert set(first) < set(whole)
    assert not [
        name for name in files_of(folder) if name.startswith("tensorboard.zip.")
    ]


def test_a_model_reads_the_language_of_the_one_that_it_began_with():
    request = TrainingRequest("some-model-zh", DATA, HEAD)
    first = workplace.run_folder(run_files.create_run(request))
    assert run(first).model.language == "zh"
    request = dataclasses.replace(
        request, model=run_files.status_of(first).model.model_id
    )
    second = workplace.run_folder(run_files.create_run(request))
    assert run(second).model.language == "zh"
    workplace.remove_run(first.name)
    assert run_files.status_of(second).model.language == "zh"
    assert run(new_run()).model.language == ""


def test_a_disk_that_is_full_is_told(monkeypatch):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(training_run, "pack_model", refuse)
    folder = new_run()
    with pytest.raises(TrainingError, match="disk of the server"):
        run(folder)
    assert run_files.status_of(folder).state == "failed"


def full_disk(*_):
    raise OSError(28, "No space left on device")


def test_epochs_that_the_disk_does_not_take_end_no_training(monkeypatch):
    whole = new_run(SETTINGS)
    run(whole)
    folder = new_run(SETTINGS)
    writes, write = [], checkpoint._write

    def fail_twice(*arguments):
        writes.append(arguments)
        if len(writes) in (2, 3):
            full_disk()
        write(*arguments)

    monkeypatch.setattr(checkpoint, "_write", fail_twice)
    status = run(folder)
    assert (status.state, status.ending) == ("done", "finished")
    told = [text for text in sentences(status) if "cannot be written" in text]
    assert told == [
        "Epoch 2 cannot be written to the disk. Received: No space left on device. "
        "The training goes on and keeps its best weights in memory; if it breaks off, "
        "it can go on after epoch 1 only."
    ]
    with np.load(folder / "outputs.npz") as a, np.load(whole / "outputs.npz") as b:
        np.testing.assert_allclose(a["model"], b["model"], atol=1e-6)


def test_a_first_epoch_that_the_disk_does_not_take_says_that_nothing_is_kept(
    monkeypatch,
):
    monkeypatch.setattr(checkpoint, "_write", full_disk)
    status = run(new_run())
    assert status.has_model
    told = [text for text in sentences(status) if "cannot be written" in text]
    assert len(told) == 1
    assert told[0].endswith("if it breaks off, it begins anew.")


def test_progress_that_the_disk_does_not_take_ends_no_training(monkeypatch):
    folder, write, failed = new_run(), run_files.write_json, []

    def refuse_in_epoch_2(path, value):
        if path.name == run_files.PROGRESS and value["history"]["epoch"] == 2:
            failed.append(path)
            full_disk()
        write(path, value)

    monkeypatch.setattr(run_files, "write_json", refuse_in_epoch_2)
    assert run(folder).state == "done"
    assert failed


def test_a_run_whose_owner_removed_it_ends(monkeypatch):
    folder, seen = new_run(), []

    def remove():
        workplace.remove_run(folder.name)
        seen.append("removed")

    _wrap_take(folder, 3, remove)
    _wrap_take(folder, 6, lambda: seen.append("still there"))
    with pytest.raises(TrainingError, match="disk of the server"):
        TrainingRun(folder).run(lambda _: tiny_loaded(), random_data)
    assert seen == ["removed"]
    assert not folder.exists()


def test_a_result_that_the_disk_does_not_take_fails_and_can_be_had_later(monkeypatch):
    folder = new_run()
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "_write", full_disk)
        patch.setattr(export, "save_file", full_file)
        with pytest.raises(CheckpointError, match="No space left"):
            run(folder)
    assert run_files.status_of(folder).state == "failed"
    assert run(folder).state == "done"


def full_file(*_, **__):
    raise SafetensorError("I/O error: No space left on device (os error 28)")


def test_a_disk_without_room_for_the_run_is_told_before_the_first_step(monkeypatch):
    usage = shutil.disk_usage("/")._replace(free=600_000_000)
    monkeypatch.setattr(disk_room.shutil, "disk_usage", lambda _: usage)
    monkeypatch.setattr(disk_room, "room_for", lambda *_: 500_000_000)
    assert run(new_run()).state == "done"
    monkeypatch.setattr(disk_room, "room_for", lambda *_: 500_000_001)
    folder = new_run()
    with pytest.raises(TrainingError, match=r"601 MB\. Received: 600 MB free"):
        run(folder)
    assert run_files.status_of(folder).step == 0


def test_a_run_that_was_killed_goes_on_from_its_last_epoch_to_the_same_model():
    whole = new_run(SETTINGS)
    run(whole)
    folder = new_run(SETTINGS)
    kill_at(folder, step=13)
    with pytest.raises(Killed):
        run(folder)
    killed = run_files.status_of(folder)
    assert (killed.state, killed.has_model) == ("running", False)
    status = run(folder)
    assert (status.state, status.num_restarts) == ("done", 1)
    assert any("goes on after epoch 2" in text for text in sentences(status))
    expected = run_files.status_of(whole)
    np.testing.assert_array_equal(status.steps, expected.steps)
    np.testing.assert_allclose(status.losses, expected.losses, rtol=1e-4)
    assert status.metrics.tolist() == expected.metrics.tolist()
    with np.load(folder / "outputs.npz") as a, np.load(whole / "outputs.npz") as b:
        np.testing.assert_allclose(a["model"], b["model"], atol=1e-6)


def test_a_run_that_was_asked_to_go_on_tells_of_no_accident(monkeypatch):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    folder = new_run()
    with monkeypatch.context() as patch:
        patch.setattr(training_run, "pack_model", refuse)
        with pytest.raises(TrainingError, match="disk of the server"):
            run(folder)
    run_files.ask_to_go_on(folder)
    assert run_files.status_of(folder).state == "running"
    status = run(folder)
    assert (status.state, status.num_restarts) == ("done", 0)
    told = " ".join(sentences(status))
    assert "asked to go on, and does so after epoch 3" in told
    assert "unexpectedly" not in told


def test_a_run_knows_whether_its_restart_went_on_or_began_anew():
    for step, epoch in ((3, 0), (13, 2)):
        folder = new_run()
        kill_at(folder, step=step)
        with pytest.raises(Killed):
            run(folder)
        assert run_files.status_of(folder).has_epoch is bool(epoch)
        assert run_files.status_of(folder).resumed_epoch is None
        status = run(folder)
        assert (status.num_restarts, status.resumed_epoch) == (1, epoch)


def test_a_run_that_has_only_waited_begins_like_any_other():
    folder = new_run()
    run_files.ask_to_go_on(folder)
    kill_at(folder, step=13)
    with pytest.raises(Killed):
        run(folder)
    waited = run_files.status_of(folder)
    assert waited.num_restarts == 0
    assert not any("go on" in text for text in sentences(waited))
    status = run(folder)  # this time the process did die
    assert status.num_restarts == 1
    assert any("ended unexpectedly" in text for text in sentences(status))


@pytest.mark.parametrize("stopped", [False, True])
def test_a_run_that_broke_off_with_its_model_in_place_ends_at_once(
    monkeypatch, stopped
):
    folder = new_run(dataclasses.replace(HEAD, epochs=5), tensorboard=True)
    if stopped:
        stop_after(folder, step=7)
    with monkeypatch.context() as patch:
        patch.setattr(run_files, "pack_log_of", lambda _: (_ for _ in ()).throw(Killed))
        with pytest.raises(Killed):
            run(folder)
    before = (folder / run_files.MODEL / "model.safetensors").read_bytes()

    def refuse(*_):
        raise ValueError("Nothing is left to train.")

    TrainingRun(folder).run(refuse, refuse)
    status = run_files.status_of(folder)
    assert status.state == ("stopped" if stopped else "done")
    assert status.has_log
    assert (folder / run_files.MODEL / "model.safetensors").read_bytes() == before
    assert not {run_files.WORK, run_files.LOG_FOLDER} & files_of(folder)


def test_a_run_that_dies_while_words_are_counted_has_kept_its_model(monkeypatch):
    folder = new_run()
    with monkeypatch.context() as patch:
        patch.setattr(
            LogisticRegression, "fit", lambda *_: (_ for _ in ()).throw(Killed)
        )
        with pytest.raises(Killed):
            run(folder)
    # The report may still grow: nobody is to see it as whole.
    assert not run_files.status_of(folder).has_model

    def refuse(*_):
        raise ValueError("Nothing is left to train, and the same would kill again.")

    TrainingRun(folder).run(refuse, refuse)
    status = run_files.status_of(folder)
    assert (status.state, status.has_model) == ("done", True)
    assert "ended unexpectedly while it counted words" in sentences(status)[-1]
    assert methods_of(folder) == {"model", "majority"}


def test_counting_words_can_be_left_out_and_the_log_says_so(monkeypatch):
    folder, take = new_run(), TrainingRun._take

    def stop_in_comparison(self, event):
        take(self, event)
        if event.kind == "compare":
            assert run_files.status_of(folder).phase == "compare"
            run_files.ask_to_stop(folder)

    monkeypatch.setattr(TrainingRun, "_take", stop_in_comparison)
    status = run(folder)
    assert (status.state, status.ending) == ("done", "finished")
    assert "Counting words (TF-IDF) was stopped" in sentences(status)[-1]
    assert methods_of(folder) == {"model", "majority"}


def test_the_last_reading_can_be_left_out_and_everything_says_so(monkeypatch):
    folder, take, seen = new_run(), TrainingRun._take, []

    def stop_in_reading(self, event):
        take(self, event)
        if event.kind == "judge":
            seen.append(run_files.status_of(folder))
            run_files.ask_to_stop(folder)

    monkeypatch.setattr(TrainingRun, "_take", stop_in_reading)
    status = run(folder)
    assert (status.state, status.ending, status.has_model) == ("done", "finished", True)
    assert [status.phase for status in seen] == ["evaluate"]
    assert "reads the validation rows once more" in sentences(seen[0])[-1]
    told = f"said of them after epoch {status.best_epoch}, in float32"
    assert told in sentences(status)[-2]
    assert methods_of(folder) == {"model", "majority"}
    raw = json.loads((folder / "model" / "recipe.json").read_text())
    assert raw["read_again"] is False
    with np.load(folder / "outputs.npz") as outputs:
        accuracy = outputs["model"].argmax(1) == random_data().validation.targets
    assert accuracy.mean() == status.metrics[status.best_epoch - 1]


def test_a_training_that_was_stopped_is_held_against_word_counts_all_the_same():
    folder = new_run(dataclasses.replace(HEAD, epochs=50))
    stop_after(folder, step=7)
    assert run(folder).state == "stopped"
    assert methods_of(folder) == {"model", "majority", "tfidf"}


def test_too_little_memory_for_counting_words_costs_no_model(monkeypatch):
    monkeypatch.setattr(LogisticRegression, "fit", failing(MemoryError))
    folder = new_run()
    status = run(folder)
    assert (status.state, status.has_model) == ("done", True)
    assert "too little memory for counting words" in sentences(status)[-1]
    assert methods_of(folder) == {"model", "majority"}


def failing(kind):
    def fail(*_):
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


def test_half_of_what_a_run_leaves_does_not_stand_in_its_way():
    folder = new_run()
    (folder / run_files.MODEL).mkdir()
    (folder / run_files.MODEL / "vocab.txt").write_text("old")
    status = run(folder)
    assert status.state == "done"
    assert open_folder(folder / "model").labels == random_data().labels


def test_a_stop_that_comes_after_an_accident_keeps_the_best_of_before():
    folder = new_run()
    kill_at(folder, step=13)
    with pytest.raises(Killed):
        run(folder)
    before = run_files.status_of(folder)
    run_files.ask_to_stop(folder)
    status = run(folder)
    assert (status.state, status.ending) == ("stopped", "asked")
    assert status.has_model
    assert status.best_epoch == before.best_epoch
    assert len(status.metrics) == 2


def test_a_run_whose_owner_is_gone_is_interrupted(monkeypatch):
    folder = new_run()
    assert run_files.status_of(folder).state == "running"
    assert run_files.status_of(folder, place=2).state == "waiting"
    monkeypatch.setattr(run_files, "OWNER_SECONDS", -1.0)
    assert run_files.status_of(folder).state == "interrupted"
    run_files.set_state(folder, "stopped")
    assert run_files.status_of(folder).state == "stopped"


def test_seconds_count_over_both_parts_of_a_run():
    ticks = iter(np.arange(0.0, 1000.0, 0.5))
    folder = new_run()
    kill_at(folder, step=8)
    with pytest.raises(Killed):
        run(folder, clock=lambda: next(ticks))
    first = run_files.status_of(folder).seconds
    assert first > 0
    ticks = iter(np.arange(5000.0, 6000.0, 0.5))
    status = run(folder, clock=lambda: next(ticks))
    assert first < status.seconds < 1000
    told = [entry.seconds for entry in status.log]
    assert told == sorted(told)


def test_a_log_for_tensorboard_holds_every_step_and_epoch():
    folder = new_run(tensorboard=True)
    status = run(folder)
    assert status.has_log
    assert not (folder / run_files.LOG_FOLDER).exists()
    found = read_log(folder)
    losses = dict(found["train/loss"])
    assert list(losses) == list(range(1, 16))
    np.testing.assert_allclose(list(losses.values()), status.losses, rtol=1e-4)
    steps, values = zip(*found["validation/accuracy"], strict=True)
    assert steps == (5, 10, 15)
    np.testing.assert_allclose(values, status.metrics, rtol=1e-6)
    assert set(found) == {
        "train/loss", "train/learning_rate", "train/epoch_loss", "validation/loss",
        "validation/accuracy",
    }  # fmt: skip


def test_without_being_asked_for_there_is_no_log():
    status = run(new_run())
    assert not status.has_log


def test_oversampling_learns_from_repeated_rows_and_judges_by_macro_f1():
    data = random_data(num_train=24)
    rare = data.train.select(np.array([*range(0, 24, 3), *range(1, 24, 3), 2]))
    data = dataclasses.replace(data, train=rare)
    plain = run(new_run(), data)
    status = run(new_run(dataclasses.replace(HEAD, oversample=True)), data)
    assert (plain.num_steps, status.num_steps) == (3 * 4, 3 * 5)  # 17 and 24 rows
    assert (plain.metric_name, status.metric_name) == ("accuracy", "macro_f1")


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
        if len(tries) < 3:  # as Windows does while another process has it open
            raise PermissionError(13, "The file is in use")
        replace(source, target)

    monkeypatch.setattr(whole_files.os, "replace", busy)
    json_files.write_json(path, {"step": 3})
    assert json_files.read_json(path) == {"step": 3}
    assert len(tries) == 3


def test_a_file_that_may_never_be_replaced_is_an_error(tmp_path, monkeypatch):
    def refused(source, target):
        raise PermissionError(13, "Not yours")

    monkeypatch.setattr(whole_files.os, "replace", refused)
    with pytest.raises(PermissionError):
        json_files.write_json(tmp_path / "it.json", {})
