"""What is refused is refused before it costs anything, and can be mended in place."""

import dataclasses
import json

import keras
import pytest

from bertviz_core.errors import TrainingError
from bertviz_core.pretrain import run, run_folder
from bertviz_core.pretrain.batches import Batches
from bertviz_core.pretrain.trainer import Trainer
from bertviz_core.training.checkpoint import read_latest
from tests.core import pretrain_samples as samples

pytestmark = pytest.mark.tensorflow


@pytest.fixture
def world(tmp_path):
    """A text, and settings of two phases that fit it."""
    return samples.text_and_settings(tmp_path)


def weighed(asked, **weights):
    """The same settings with weights of files for the second phase."""
    second = dataclasses.replace(asked.phases[1], weights=weights)
    return dataclasses.replace(asked, phases=(asked.phases[0], second))


def test_a_refused_run_is_corrected_in_the_same_folder(world, tmp_path):
    text, asked = world
    folder = tmp_path / "run"
    absent = weighed(asked, **{"absent.txt": 2.0})
    with pytest.raises(TrainingError, match=r"Received: absent\.txt"):
        run.pretrain(run.RunPlan(absent, [text], folder), str)
    many = run.RunPlan(asked, [text], folder, num_devices=77)
    with pytest.raises(TrainingError, match="Received: 77"):
        run.pretrain(many, str)
    (encoded,) = (folder / "corpus").iterdir()
    before = (encoded / "tokens.bin").stat().st_mtime_ns
    # With other settings than those that were refused, and the text as it is.
    other = dataclasses.replace(asked, seed=5, phases=asked.phases[:1])
    model = run.pretrain(run.RunPlan(other, [text], folder), str)
    assert model == folder / "model"
    assert (encoded / "tokens.bin").stat().st_mtime_ns == before
    assert json.loads((folder / "settings.json").read_text())["seed"] == 5
    with pytest.raises(TrainingError, match="other values of phases, seed"):
        run.pretrain(run.RunPlan(asked, [text], folder), str)


def test_settings_that_were_refused_settle_no_precision(tmp_path, monkeypatch):
    asked = samples.settings(precision="auto")
    monkeypatch.setattr(run_folder, "chosen_precision", lambda _: "float32")
    settled = run_folder.with_precision(asked, tmp_path)
    run_folder.claim_folder(tmp_path, settled)
    monkeypatch.setattr(run_folder, "chosen_precision", lambda _: "bfloat16")
    assert run_folder.with_precision(asked, tmp_path).precision == "bfloat16"


def test_a_later_phase_without_text_is_refused_before_the_first_step(world, tmp_path):
    text, asked = world
    wrong = weighed(asked, **{"text.txt": 0.0})
    with pytest.raises(TrainingError, match="two tokens in phase 2"):
        run.pretrain(run.RunPlan(wrong, [text], tmp_path / "run"), str)
    assert read_latest(tmp_path / "run" / "checkpoints") is None


def test_an_epoch_that_draws_nothing_but_single_words_reads_all():
    """One document of a word, read often, and one of a sentence, read hardly ever."""
    corpus = samples.encode_documents(
        iter([(0, ["cat"]), (1, ["the old cat purrs."])]), samples.tokenizer()
    )
    corpus = dataclasses.replace(corpus, file_names=("word.txt", "text.txt"))
    weights = {"weights": {"word.txt": 1.0, "text.txt": 1e-9}}
    asked = samples.settings(corpus=weights)
    _, labels = Batches(corpus, samples.kinds(), asked).batch(0, 0)
    assert labels["mlm_weights"].any()


def test_a_phase_is_saved_before_the_next_one_begins(world, tmp_path, monkeypatch):
    text, asked = world
    seldom = dataclasses.replace(asked, checkpoint_steps=1000)
    steps = run.Trainer.run

    def fails_in_the_second(trainer, batches, phase_index, *arguments):
        if phase_index == 1:
            raise TrainingError("There is no memory left.")
        return steps(trainer, batches, phase_index, *arguments)

    monkeypatch.setattr(run.Trainer, "run", fails_in_the_second)
    with pytest.raises(TrainingError, match="no memory"):
        run.pretrain(run.RunPlan(seldom, [text], tmp_path / "run"), str)
    assert read_latest(tmp_path / "run" / "checkpoints").step == 8


def test_several_machines_need_an_encoded_text_and_a_precision(
    world, tmp_path, monkeypatch
):
    text, asked = world
    out = tmp_path / "run"
    monkeypatch.setattr(run, "join_hosts", lambda: None)
    for module in (run, run_folder):
        monkeypatch.setattr(module, "has_hosts", lambda: True)
    with pytest.raises(TrainingError, match=r"encoded once.*--prepare-only"):
        run.pretrain(run.RunPlan(asked, [text], out), str)
    assert not out.exists()
    unsettled = dataclasses.replace(asked, precision="auto")
    with pytest.raises(TrainingError, match="Received: precision=auto"):
        run_folder.with_precision(unsettled, out)


def test_nothing_is_trained_on_openvino(world, monkeypatch):
    _, asked = world
    monkeypatch.setattr(keras.backend, "backend", lambda: "openvino")
    with pytest.raises(TrainingError, match="KERAS_BACKEND=openvino"):
        Trainer(asked, len(samples.VOCABULARY))
