"""A run in one go and in several: the same steps, and nothing lost on the way.

What is refused is refused before it costs anything, and can be mended in place.
"""

import contextlib
import csv
import dataclasses
import json
import os
import shutil
import signal
import time
import types
from pathlib import Path

import keras
import numpy as np
import pytest
from click.testing import CliRunner

from bertviz_core.checkpoints import export
from bertviz_core.checkpoints.library import open_model
from bertviz_core.cli import main
from bertviz_core.errors import CheckpointError, TrainingError
from bertviz_core.training import checkpoint as checkpoints
from bertviz_core.training.checkpoint import Checkpoint, read_latest, save_checkpoint
from bertviz_core.training.pretrain import commands, run
from bertviz_core.training.pretrain.batches import Batches
from bertviz_core.training.pretrain.corpus import corpus_key, open_corpus
from bertviz_core.training.pretrain.run import (
    CurvePoint,
    draw_curve,
    read_curve,
    write_curve,
)
from bertviz_core.training.pretrain.trainer import Trainer
from bertviz_core.training.run_folder import held
from bertviz_core.weights import as_numpy
from tests.core import pretrain_samples as samples

pytestmark = pytest.mark.tensorflow


def trained(folder, asked, name, *told, **more):
    """Runs in a folder beside the text."""
    told = told or (str,)
    return run.pretrain(asked, [folder / "text.txt"], folder / name, *told, **more)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Text, settings and a run that nobody interrupted.

    8 steps of 16 tokens, then 5 of 24; a checkpoint every 6, a report every 4.
    """
    folder = tmp_path_factory.mktemp("run")
    _, asked = samples.text_and_settings(folder)
    said = []
    model = trained(folder, asked, "whole", said.append)
    return folder, asked, model, said


def of_one_phase(asked):
    """The same settings without the second length, which costs a compilation."""
    return dataclasses.replace(asked, phases=asked.phases[:1])


def rows_of(folder):
    with (folder / "curve.csv").open() as file:
        return list(csv.DictReader(file))


def test_a_run_tells_how_it_goes_and_leaves_a_curve(world):
    folder, asked, model, said = world
    rows = rows_of(folder / "whole")
    assert [int(row["step"]) for row in rows] == [4, 6, 8, 12, 13]
    assert [int(row["max_tokens"]) for row in rows] == [16, 16, 16, 24, 24]
    assert int(rows[-1]["tokens"]) == asked.num_tokens
    assert float(rows[-1]["held_out_loss"]) > 0
    assert all(row["held_out_loss"] == "" for row in rows[:-1])
    assert sum(line.startswith("step ") for line in said) == 5
    assert "tokens/s" in said[-3]
    assert said[-2].startswith("held out: loss")
    assert said[-1] == f"Finished: {model}"
    picture = (folder / "whole" / "curve.svg").read_text()
    assert picture.count("<polyline") == 5
    assert "script" not in picture
    kept = (folder / "whole" / "checkpoints").iterdir()
    assert {path.name for path in kept} == {"step-000000012", "step-000000013"}


def test_the_finished_model_opens_like_any_other_and_knows_its_words(world):
    folder, asked, model, _ = world
    loaded = open_model(str(model))
    assert set(loaded.model.heads) == {"pooler", "mlm", "nsp"}
    assert loaded.tokenizer.vocabulary == samples.VOCABULARY
    assert loaded.model.config == asked.model
    state = read_latest(folder / "whole").state
    for variable in loaded.model.trainable_variables:
        trained = state[f"weights/{variable.path}"]
        np.testing.assert_allclose(as_numpy(variable), trained, atol=1e-3)


def test_a_run_stopped_by_a_signal_goes_on_to_the_same_weights(world):
    """SIGTERM in the first phase; the second go crosses into the other length."""
    folder, asked, _, _ = world
    said = []

    def say(line):
        said.append(line)
        if line.startswith("step 4/"):
            os.kill(os.getpid(), signal.SIGTERM)

    with commands.stop_on_signal() as should_stop:
        stopped = trained(folder, asked, "parts", say, should_stop)
    assert stopped is None
    assert said[-1] == "Stopped after step 4 of 13; saved"
    assert read_latest(folder / "parts").step == 4
    said.clear()
    assert trained(folder, asked, "parts", said.append) is not None
    assert said[0] == "Going on after step 4"
    samples.assert_same_states(folder / "whole", folder / "parts")
    last = [rows_of(folder / name)[-1] for name in ("whole", "parts")]
    assert np.isclose(float(last[0]["mlm_loss"]), float(last[1]["mlm_loss"]), atol=1e-5)


@pytest.fixture(scope="module")
def averaging():
    """A trainer with a running mean of its weights, and its state as it began."""
    asked = samples.settings(samples.ONE_LAYER, optimizer={"ema_momentum": 0.6})
    trainer = Trainer(asked, len(samples.VOCABULARY))
    return trainer, trainer.state()


def test_the_running_mean_of_the_weights_is_what_is_judged_and_shipped(averaging):
    trainer, beginning = averaging
    trainer.set_state(beginning)
    batches = samples.batches(trainer.settings)
    variables = trainer.model.trainable_variables
    expected = None
    for step in range(4):
        trainer.run(batches, 0, step, 1)
        now = [as_numpy(variable) for variable in variables]
        pairs = zip(expected or now, now, strict=True)
        expected = [0.6 * mean + 0.4 * weight for mean, weight in pairs]
    with contextlib.suppress(TrainingError), trainer.running_mean():
        mean = [as_numpy(variable) for variable in variables]
        raise TrainingError("There is no word to hide.")
    for got, wanted, variable, last in zip(mean, expected, variables, now, strict=True):
        assert np.allclose(got, wanted, atol=1e-6)
        assert (as_numpy(variable) == last).all()
    assert not np.allclose(expected[0], now[0], atol=1e-4)


@pytest.mark.parametrize(
    "changes",
    [
        {"precision": "bfloat16", "dropout": 0.1,
         "optimizer": {"name": "muon", "accumulation": 2}},
        {"layer_keep_rate": 0.5, "remat": True, "optimizer": {"ema_momentum": 0.5},
         "model": {"pre_norm": True, "sparse_window": 4, "sparse_global": 1}},
    ],
    ids=["muon in bfloat16, in parts, dropout", "pre-norm, sparse, remat, drop, mean"],
)  # fmt: skip
def test_every_kind_of_run_goes_on_to_the_same_weights(
    world, tmp_path, changes, monkeypatch
):
    folder, plain, _, _ = world
    raw = of_one_phase(plain).to_dict()
    changes = {
        name: raw[name] | value if isinstance(value, dict) else value
        for name, value in changes.items()
    }
    asked = run.PretrainSettings.from_dict(raw | changes)
    steps, taken = Trainer.run, []

    def noted(trainer, *given):
        taken.append((trainer, *given))
        return steps(trainer, *given)

    monkeypatch.setattr(Trainer, "run", noted)
    model = trained(folder, asked, tmp_path, cache=folder / "whole" / "corpus")
    assert open_model(str(model)).model.config == asked.model
    last, path = read_latest(tmp_path), tmp_path / "checkpoints" / "step-000000008"
    shutil.rmtree(path)
    before = read_latest(tmp_path)
    assert (before.step, last.step) == (6, 8)
    # Another process has all that the state is of; in this one nothing is compiled
    # again, and what the last steps have left is that of a later step.
    Trainer(asked, len(samples.VOCABULARY)).set_state(before.state)
    trainer, *_ = taken[-1]
    trainer.set_state(before.state)
    steps(*taken[-1])
    samples.assert_same_state(trainer.state(), last.state, atol=1e-5)


@pytest.fixture
def quick(monkeypatch):
    """Steps that compute nothing, where what is around them is asked for."""

    def run_none(trainer, batches, phase_index, first_step, num_steps, should_stop):
        means = dict.fromkeys(
            ("loss", "mlm_loss", "mlm_accuracy", "nsp_loss", "nsp_accuracy"), 0.5
        )
        return types.SimpleNamespace(
            num_steps=num_steps, means=means, seconds=1.0, waiting_seconds=0.0
        )

    monkeypatch.setattr(Trainer, "run", run_none)


def trained_in_one_phase(world, out, say=str):
    """With the words that are encoded already."""
    folder, asked, _, _ = world
    words = folder / "whole" / "corpus"
    return trained(folder, of_one_phase(asked), out, say, cache=words)


def test_a_finished_model_stays_until_the_next_one_is_whole(world, monkeypatch):
    folder, asked, model, _ = world
    said = []
    assert trained(folder, asked, "whole", said.append) == model
    assert said == ["Going on after step 13", f"Finished: {model}"]
    before = {path.name: path.read_bytes() for path in model.iterdir()}

    def is_full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(export, "save_file", is_full)
    with pytest.raises(CheckpointError, match="No space left"):
        trained(folder, asked, "whole", str)
    assert {path.name: path.read_bytes() for path in model.iterdir()} == before
    assert not [path for path in model.parent.iterdir() if "new" in path.name]


def test_a_loss_that_is_no_number_stops_and_the_last_good_state_stays(world):
    folder, asked, _, _ = world
    wild = samples.settings(
        samples.ONE_LAYER,
        corpus=asked.to_dict()["corpus"],
        optimizer={"learning_rate": 1e30, "clip_norm": 0, "warmup_rate": 0},
    )
    with pytest.raises(TrainingError, match="checkpoint of step 0 is good"):
        trained(folder, wild, "wild", str)
    kept = read_latest(folder / "wild")
    assert kept.step == 0
    assert all(np.isfinite(values).all() for values in kept.state.values())


@pytest.mark.usefixtures("quick")
def test_a_weight_that_is_no_number_is_never_saved(world, tmp_path, monkeypatch):
    """The loss of a step is known before the step moves the weights."""
    state, save, saved = run.Trainer.state, run.save_checkpoint, []

    def broken(trainer):
        values = state(trainer)
        if len(saved) > 1:
            values = values | {"weights/broken": np.array([1.0, np.nan])}
        return values

    monkeypatch.setattr(run.Trainer, "state", broken)
    monkeypatch.setattr(
        run, "save_checkpoint", lambda *a: (saved.append(a[0].step), save(*a))
    )
    with pytest.raises(TrainingError, match="checkpoint of step 6 is good"):
        trained_in_one_phase(world, tmp_path)
    assert saved == [0, 6]
    assert read_latest(tmp_path).step == 6


@pytest.mark.usefixtures("quick")
def test_text_that_cannot_be_measured_ends_no_run(world, tmp_path, monkeypatch):
    def refuse(*_):
        raise TrainingError("There is no word to hide.")

    monkeypatch.setattr(run, "evaluate_text", refuse)
    said = []
    assert trained_in_one_phase(world, tmp_path, said.append) is not None
    assert said[-2] == "held out: There is no word to hide."
    assert rows_of(tmp_path)[-1]["held_out_loss"] == ""


def test_the_precision_is_settled_when_a_run_begins(world, tmp_path, monkeypatch):
    folder, plain, _, _ = world
    asked = dataclasses.replace(plain, precision="auto")
    stopped = str, lambda: True
    words = folder / "whole" / "corpus"
    monkeypatch.setattr(run, "chosen_precision", lambda _: "bfloat16")
    assert trained(folder, asked, tmp_path, *stopped, cache=words) is None
    settled = json.loads((tmp_path / "settings.json").read_text())
    assert settled["precision"] == "bfloat16"
    # On another machine the same run goes on as it began.
    monkeypatch.setattr(run, "chosen_precision", lambda _: "float32")
    assert trained(folder, asked, tmp_path, *stopped, cache=words) is None


def test_a_run_with_other_settings_is_refused_by_their_names(world):
    folder, asked, _, _ = world
    corpus = asked.to_dict()["corpus"]
    other = samples.settings(samples.ONE_LAYER, corpus=corpus, seed=4, dropout=0.1)
    with pytest.raises(TrainingError, match="other values of dropout, seed"):
        trained(folder, other, "whole", str)
    quiet = samples.settings(samples.ONE_LAYER, corpus=corpus, report_steps=9)
    assert trained(folder, quiet, "whole", str) is not None


def test_a_run_whose_words_were_learnt_anew_is_refused(world, tmp_path):
    folder, _, _, _ = world
    sizes = {**samples.ONE_LAYER, "vocab_size": 64}
    asked = samples.settings(sizes, corpus={"held_out_rate": 0.2})
    out = tmp_path / "run"
    assert trained(folder, asked, out, stop_after_seconds=0) is None
    (words,) = (out / "corpus").glob("*/vocab.txt")
    pieces = words.read_text().split("\n")
    pieces[-3:-1] = pieces[-2:-4:-1]
    words.write_text("\n".join(pieces))
    with pytest.raises(TrainingError, match="step 0 belongs to other data"):
        trained(folder, asked, out, stop_after_seconds=0)


def test_a_folder_that_cannot_be_written_is_refused(world):
    folder, asked, _, _ = world
    (folder / "file").write_text("")
    with pytest.raises(TrainingError, match="folder file cannot be written"):
        trained(folder, asked, "file", str)


def test_the_command_can_stop_after_encoding_and_takes_several_files(world):
    folder, asked, _, _ = world
    files = [folder / "text.txt", samples.write_text(folder / "second.txt", seed=2)]
    (folder / "settings.json").write_text(json.dumps(asked.to_dict()))
    options = ["--config", folder / "settings.json", "--out", folder / "new"]
    options += ["--prepare-only", "--cache", folder / "both", "--corpus", *files]
    result = CliRunner().invoke(main, ["pretrain", *map(str, options)])
    assert result.exit_code == 0, result.output
    encoded = Path(result.stdout.splitlines()[-1])
    assert encoded.parent == folder / "both"
    assert open_corpus(encoded).file_names == ("text.txt", "second.txt")
    assert not (folder / "new").exists()


def checkpoint(step):
    rng = np.random.default_rng(step)
    state = {"weights/a": rng.normal(size=(2, 3)), "optimizer/0": np.array(step)}
    return Checkpoint(step, "f", state)


def test_a_checkpoint_is_read_as_it_was_saved(tmp_path):
    assert read_latest(tmp_path / "none") is None
    # Of a process that was killed while it wrote.
    (tmp_path / "checkpoints" / ".step-x7").mkdir(parents=True)
    assert save_checkpoint(checkpoint(7), tmp_path).name == "step-000000007"
    assert len(list((tmp_path / "checkpoints").iterdir())) == 1
    read = read_latest(tmp_path)
    assert (read.step, read.fingerprint) == (7, "f")
    for name, values in checkpoint(7).state.items():
        np.testing.assert_array_equal(read.state[name], values, strict=True)


def test_a_full_disk_leaves_the_checkpoints_before(tmp_path, monkeypatch):
    save_checkpoint(checkpoint(3), tmp_path)
    save_checkpoint(checkpoint(5), tmp_path)

    def full(arrays, path):
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoints, "save_file", full)
    with pytest.raises(TrainingError, match=r"step 8 cannot be saved.*No space left"):
        save_checkpoint(checkpoint(8), tmp_path)
    assert read_latest(tmp_path).step == 5
    assert len(list((tmp_path / "checkpoints").iterdir())) == 2


def damage(folder, name="state.safetensors"):
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[:-9])


@pytest.mark.parametrize("name", ["state.safetensors", "checkpoint.json"])
def test_a_damaged_checkpoint_falls_back_to_the_one_before(tmp_path, name):
    save_checkpoint(checkpoint(3), tmp_path)
    damage(save_checkpoint(checkpoint(5), tmp_path), name)
    said = []
    assert read_latest(tmp_path, say=said.append).step == 3
    assert said == ["The checkpoint step-000000005 is damaged; taking the one before"]
    # The next one to be saved is the newest that is whole, and the damaged one goes.
    save_checkpoint(checkpoint(4), tmp_path)
    assert read_latest(tmp_path).step == 4
    left = (tmp_path / "checkpoints").iterdir()
    assert sorted(path.name[-2:] for path in left) == ["03", "04"]


def test_damaged_checkpoints_are_refused_by_name_where_none_is_whole(tmp_path):
    for step in (3, 5):
        damage(save_checkpoint(checkpoint(step), tmp_path))
    with pytest.raises(TrainingError, match="step-000000005, step-000000003, damaged"):
        read_latest(tmp_path)


def point(step, **more):
    means = dict.fromkeys(
        ("learning_rate", "loss", "mlm_loss", "mlm_accuracy", "nsp_loss"), 0.25
    )
    speed = {"nsp_accuracy": 0.5, "tokens_per_second": 99.0, "waiting_rate": 0.0}
    return CurvePoint(step, step * 10, 16, **means, **speed, **more)


def test_a_curve_is_read_back_up_to_the_step_of_the_checkpoint(tmp_path):
    points = [point(4), point(8, held_out_loss=1.5, held_out_top1=0.1), point(12)]
    write_curve(points, tmp_path)
    path = tmp_path / "curve.csv"
    assert read_curve(path, 12) == points
    assert read_curve(path, 9) == points[:2]
    assert read_curve(tmp_path / "absent.csv", 9) == []
    whole = path.read_text()
    for spoilt in ("x", ""):  # that row is left out
        path.write_text(whole.replace("\n8,", f"\n{spoilt},"))
        assert read_curve(path, 12) == [point(4), point(12)]
    assert draw_curve([]).startswith("<svg")


def test_a_second_run_in_a_folder_waits_for_nobody_and_harms_nothing(world):
    folder, asked, _, _ = world
    before = {path: path.stat().st_mtime_ns for path in (folder / "whole").rglob("*")}
    refused = pytest.raises(TrainingError, match="under way in another process")
    with held(folder / "whole"), refused:
        trained(folder, asked, "whole", str)
    after = {p: p.stat().st_mtime_ns for p in before if p.name != ".lock"}
    assert after == {p: t for p, t in before.items() if p.name != ".lock"}
    assert trained(folder, asked, "whole", str) is not None  # let go again


def test_a_corpus_encoded_with_other_settings_is_refused(world, tmp_path):
    folder, asked, _, _ = world
    name = corpus_key([folder / "text.txt"], asked.corpus, asked.model.vocab_size)
    encoded = folder / "whole" / "corpus" / name

    def begun(out, **changes):
        corpus = dataclasses.replace(asked.corpus, **changes)
        other = dataclasses.replace(asked, corpus=corpus)
        return run.pretrain(other, [encoded], tmp_path / out, str, stop_after_seconds=0)

    said = r"Received: held_out_rate=0\.3; encoded with: held_out_rate=0\.2"
    with pytest.raises(TrainingError, match=said):
        begun("new", held_out_rate=0.3)
    words = tmp_path / "vocab.txt"
    words.write_text("\n".join([*samples.VOCABULARY[:-2], ".", "red"]))
    with pytest.raises(TrainingError, match=r"Received: vocab\.txt"):
        begun("words", vocabulary_file=str(words))
    assert begun("same") is None


def test_the_report_says_how_long_the_trainer_waited_for_text(averaging):
    class SlowBatches(Batches):  # the steps themselves take milliseconds
        def batch(self, *which):
            time.sleep(self.seconds)
            return super().batch(*which)

    trainer, _ = averaging
    batches = SlowBatches(samples.corpus(), samples.kinds(), trainer.settings)
    batches.seconds = 0.0
    trainer.run(batches, 0, 0, 1)  # compiles
    batches.seconds = 0.4
    # Two threads: of five batches come the first pair, two pairs, and the last one.
    # A report every step: each one waited for its batch, which was the first.
    for num_steps, least in ((5, 1.2), (1, 0.4)):
        report = trainer.run(batches, 0, 1, num_steps)
        assert least <= report.waiting_seconds <= report.seconds
        assert report.waiting_seconds > 0.5 * report.seconds


@pytest.fixture
def begun(tmp_path):
    """A text, and settings of two phases that fit it."""
    return samples.text_and_settings(tmp_path)


def weighed(asked, **weights):
    """The same settings with weights of files for the second phase."""
    second = dataclasses.replace(asked.phases[1], weights=weights)
    return dataclasses.replace(asked, phases=(asked.phases[0], second))


@pytest.mark.usefixtures("quick")
def test_a_refused_run_is_corrected_in_the_same_folder(begun, tmp_path):
    text, asked = begun
    folder = tmp_path / "run"
    absent = weighed(asked, **{"absent.txt": 2.0})
    with pytest.raises(TrainingError, match=r"Received: absent\.txt"):
        run.pretrain(absent, [text], folder, str)
    with pytest.raises(TrainingError, match="Received: 77"):
        run.pretrain(asked, [text], folder, str, num_devices=77)
    (encoded,) = (folder / "corpus").glob("?" * 32)
    before = (encoded / "tokens.bin").stat().st_mtime_ns
    # With other settings than those that were refused, and the text as it is.
    other = dataclasses.replace(asked, seed=5, phases=asked.phases[:1])
    assert run.pretrain(other, [text], folder, str) == folder / "model"
    assert (encoded / "tokens.bin").stat().st_mtime_ns == before
    assert json.loads((folder / "settings.json").read_text())["seed"] == 5
    with pytest.raises(TrainingError, match="other values of phases, seed"):
        run.pretrain(asked, [text], folder, str)


def test_a_later_phase_without_text_is_refused_before_the_first_step(begun, tmp_path):
    text, asked = begun
    wrong = weighed(asked, **{"text.txt": 0.0})
    with pytest.raises(TrainingError, match="two tokens in phase 2"):
        run.pretrain(wrong, [text], tmp_path / "run", str)
    assert read_latest(tmp_path / "run") is None


@pytest.mark.usefixtures("quick")
def test_a_phase_is_saved_before_the_next_one_begins(begun, tmp_path, monkeypatch):
    text, asked = begun
    seldom = dataclasses.replace(asked, checkpoint_steps=1000)
    steps = run.Trainer.run

    def fails_in_the_second(trainer, batches, phase_index, *arguments):
        if phase_index == 1:
            raise TrainingError("There is no memory left.")
        return steps(trainer, batches, phase_index, *arguments)

    monkeypatch.setattr(run.Trainer, "run", fails_in_the_second)
    with pytest.raises(TrainingError, match="no memory"):
        run.pretrain(seldom, [text], tmp_path / "run", str)
    assert read_latest(tmp_path / "run").step == 8


def test_several_machines_need_an_encoded_text_and_a_precision(
    begun, tmp_path, monkeypatch
):
    text, asked = begun
    out = tmp_path / "run"
    monkeypatch.setattr(run, "join_hosts", lambda: None)
    monkeypatch.setattr(run, "has_hosts", lambda: True)
    with pytest.raises(TrainingError, match=r"encoded once.*--prepare-only"):
        run.pretrain(asked, [text], out, str)
    assert not out.exists()
    unsettled = dataclasses.replace(asked, precision="auto")
    with pytest.raises(TrainingError, match="Received: precision=auto"):
        run.with_precision(unsettled, out)


def test_nothing_is_trained_on_openvino(begun, monkeypatch):
    _, asked = begun
    monkeypatch.setattr(keras.backend, "backend", lambda: "openvino")
    with pytest.raises(TrainingError, match="KERAS_BACKEND=openvino"):
        Trainer(asked, len(samples.VOCABULARY))
