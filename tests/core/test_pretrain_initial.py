"""Training on from a model that there is: its weights, its words, its positions."""

import dataclasses
import json
import shutil

import numpy as np
import pytest
from click.testing import CliRunner

from bertviz_core.checkpoints.export import save_model
from bertviz_core.checkpoints.library import open_model
from bertviz_core.cli import main
from bertviz_core.errors import TrainingError
from bertviz_core.model.bert import Bert
from bertviz_core.tokenizer import BertTokenizer
from bertviz_core.training.checkpoint import read_latest
from bertviz_core.training.pretrain import initial, run
from bertviz_core.training.pretrain.corpus import prepare_corpus
from bertviz_core.training.pretrain.initial import (
    continued_positions,
    open_initial_model,
    settings_from_file,
)
from bertviz_core.training.pretrain.trainer import Trainer
from bertviz_core.weights import as_numpy
from tests.core import pretrain_samples as samples

pytestmark = pytest.mark.tensorflow

# One length that the first run knew, and a longer one.
PHASES = [
    {"max_tokens": 16, "num_tokens": 96, "batch_tokens": 96},
    {"max_tokens": 24, "num_tokens": 96, "batch_tokens": 96},
]


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """The folder of a text, its settings, and a small model trained on it."""
    folder = tmp_path_factory.mktemp("first")
    _, asked = samples.text_and_settings(folder)
    asked = dataclasses.replace(asked, phases=asked.phases[:1])
    model = trained(asked, folder / "text.txt", folder / "a")
    return folder, asked, model


def continued(model, **changes):
    """Settings of a run that begins with `model`, learned words left out."""
    asked = samples.settings(samples.ONE_LAYER, phases=PHASES)
    return dataclasses.replace(asked, initial_model=str(model), **changes)


def state_before_the_first_step(asked, text, out):
    """What a run has drawn or taken over when it begins."""
    said = []
    trained(asked, text, out, said.append, stop_after_seconds=0)
    return read_latest(out).state, said


def test_a_run_begins_with_the_weights_and_words_of_the_model(first, tmp_path):
    model = first[2]
    # Text that alone would give other words.
    text = tmp_path / "other.txt"
    text.write_text("The old cat purrs. A zebra sings.\n\nThe dog barks. A fish swims.")
    state, said = state_before_the_first_step(continued(model), text, tmp_path / "b")
    loaded = open_model(str(model))
    for variable in loaded.model.trainable_variables:
        taken = state[f"weights/{variable.path}"]
        np.testing.assert_array_equal(taken, as_numpy(variable), variable.path)
    count = len(loaded.model.trainable_variables)
    assert f"Beginning with {count} weights of {model}" in said
    (words,) = (tmp_path / "b" / "corpus").glob("*/vocab.txt")
    assert tuple(words.read_text().split()) == samples.VOCABULARY


def test_a_stopped_run_goes_on_without_the_model_that_it_began_with(
    first, whole, tmp_path
):
    folder, _, model = first
    copy, moved, out = tmp_path / "model", tmp_path / "moved", tmp_path / "parts"
    shutil.copytree(model, copy)
    asked, text, said = continued(copy), folder / "text.txt", []
    has_stepped = lambda: any(line.startswith("step 1/") for line in said)  # noqa: E731
    assert run.pretrain(asked, [text], out, said.append, has_stepped) is None
    assert said[-1] == "Stopped after step 1 of 2; saved"
    before = (out / "settings.json").read_text()
    assert json.loads(before)["initial_model"] == str(copy)
    copy.rename(moved)
    (encoded,) = (out / "corpus").glob("?" * 32)
    elsewhere = shutil.copytree(encoded, tmp_path / encoded.name)
    goes = []
    for settings, corpus, more in (
        (continued(moved), text, {"stop_after_seconds": 0}),
        (asked, elsewhere, {"stop_after_seconds": 0, "cache": tmp_path / "none"}),
        (asked, text, {}),
    ):
        trained(settings, corpus, out, goes.append, **more)
    assert goes.count("Going on after step 1") == 3
    assert not any(line.startswith("Beginning with") for line in goes)
    samples.assert_same_states(whole, out)
    # As a run of before this was possible would find it.
    assert (out / "settings.json").read_text() == before


@pytest.fixture(scope="module")
def whole(first, tmp_path_factory):
    """The folder of a run that began with the model and that nobody stopped."""
    folder, _, model = first
    out = tmp_path_factory.mktemp("whole")
    assert trained(continued(model), folder / "text.txt", out) is not None
    return out


def trained(asked, text, out, say=str, **options):
    return run.pretrain(asked, [text], out, say, **options)


def test_a_run_does_not_go_on_with_a_model_of_other_words_or_sizes(first, tmp_path):
    folder, _, model = first
    text, out = folder / "text.txt", tmp_path / "out"
    state_before_the_first_step(continued(model), text, out)
    loaded = open_model(str(model))
    other = BertTokenizer(tuple(reversed(samples.VOCABULARY)))
    save_model(dataclasses.replace(loaded, tokenizer=other), tmp_path / "words")
    with pytest.raises(TrainingError, match="other data or other settings"):
        trained(continued(tmp_path / "words"), text, out)
    sizes = dataclasses.replace(loaded.model.config, intermediate_size=24)
    bert = Bert(sizes, ("mlm",))
    save_model(dataclasses.replace(loaded, model=bert), tmp_path / "sizes")
    with pytest.raises(TrainingError, match="do not fit the model"):
        trained(continued(tmp_path / "sizes"), text, out)
    shutil.rmtree(out / "corpus")  # encoded anew, with the words of the model
    (out / "vocab.txt").unlink()  # as a run of before would have it
    assert trained(continued(model), text, out) is not None


def test_the_command_opens_the_model_once_and_takes_its_sizes_and_case(
    first, tmp_path, monkeypatch
):
    folder, _, model = first
    copy, out, opened = tmp_path / "model", tmp_path / "b", []
    shutil.copytree(model, copy)
    known = initial._open

    def noted(model_id):
        opened.append(model_id)
        return known(model_id)

    monkeypatch.setattr(initial, "_open", noted)
    asked = samples.settings(phases=PHASES).to_dict()
    del asked["model"], asked["corpus"], asked["initial_model"]
    path = tmp_path / "settings.json"
    path.write_text(json.dumps(asked))
    options = ["--corpus", str(folder / "text.txt"), "--out", str(out)]
    command = ["pretrain", "--config", str(path), "--from", str(copy), *options]
    stop = ["--stop-after-minutes", "0"]
    for number, more in enumerate((["--prepare-only"], stop), 1):
        result = CliRunner().invoke(main, [*command, *more])
        assert result.exit_code == 0, result.output
        assert opened == [str(copy)] * number
    shutil.rmtree(copy)
    result = CliRunner().invoke(main, command)  # goes on without it
    assert result.exit_code == 0, result.output
    assert "Going on after step 0" in result.output
    assert len(opened) == 2
    made = open_model(str(out / "model"))
    assert made.model.config == open_model(str(model)).model.config
    assert made.tokenizer.vocabulary == samples.VOCABULARY
    assert json.loads((out / "settings.json").read_text())["initial_model"] == str(copy)


def test_other_sizes_case_or_words_than_the_models_are_refused(first):
    _, own, model = first
    asked = continued(model)
    sizes = dataclasses.replace(asked.model, intermediate_size=24)
    with pytest.raises(TrainingError, match=r"intermediate_size=24.*size=20"):
        open_initial_model(dataclasses.replace(asked, model=sizes))
    cased = dataclasses.replace(asked.corpus, lower_case=False)
    with pytest.raises(TrainingError, match="lower_case=False"):
        open_initial_model(dataclasses.replace(asked, corpus=cased))
    with pytest.raises(TrainingError, match=r"vocab\.txt"):
        dataclasses.replace(own, initial_model=str(model))


def test_a_head_that_the_model_lacks_is_learned_anew(first, tmp_path):
    """Many checkpoints on the hub have masked words alone."""
    folder, _, model = first
    without = tmp_path / "masked-words"
    loaded = open_model(str(model))
    bert = Bert(loaded.model.config, ("mlm",))
    values = {v.path: as_numpy(v) for v in loaded.model.trainable_variables}
    for variable in bert.trainable_variables:
        variable.assign(values[variable.path])
    save_model(dataclasses.replace(loaded, model=bert), without)
    asked = continued(without)
    state, _ = state_before_the_first_step(asked, folder / "text.txt", tmp_path / "b")
    drawn = {n for n in state if n.startswith("weights/")}
    drawn -= {f"weights/{variable.path}" for variable in bert.trainable_variables}
    assert drawn
    for variable in bert.trainable_variables:
        taken = state[f"weights/{variable.path}"]
        np.testing.assert_allclose(taken, as_numpy(variable), atol=1e-3)
    kernels = [state[name] for name in drawn if name.endswith("kernel")]
    assert kernels
    assert all(np.std(kernel) > 0 for kernel in kernels)


def test_text_that_was_encoded_with_other_words_is_refused(first, tmp_path):
    folder, asked, model = first
    (tmp_path / "vocab.txt").write_text("\n".join(reversed(samples.VOCABULARY)))
    given = {"vocabulary_file": str(tmp_path / "vocab.txt")}
    other = dataclasses.replace(asked.corpus, **given)
    words = dataclasses.replace(asked, corpus=other)
    encoded = prepare_corpus([folder / "text.txt"], words, tmp_path / "cache", str)
    again = dataclasses.replace(other, vocabulary_file=None)
    with pytest.raises(TrainingError, match="other words than those of the model"):
        trained(continued(model, corpus=again), encoded, tmp_path / "b")


def test_a_settings_file_may_name_the_model_itself(first, tmp_path):
    model, path = str(first[2]), tmp_path / "settings.json"
    asked = samples.settings(phases=PHASES).to_dict()
    del asked["model"]
    path.write_text(json.dumps(asked | {"initial_model": model}))
    settings, opened = settings_from_file(path, None, tmp_path / "b")
    assert settings.model == opened.model.config == open_model(model).model.config
    for wrong in ({"corpus": ["text"]}, {"initial_model": 3}, {"phases": None}):
        path.write_text(json.dumps({"initial_model": model} | wrong))
        with pytest.raises(TrainingError):
            settings_from_file(path, None, tmp_path / "b")


def circles(num_positions, noise=0.0):
    """Waves of four lengths in a space of 24 axes, and an offset."""
    rng = np.random.default_rng(0)
    steps = np.arange(num_positions)[:, None] * np.array([0.2, 0.45, 0.8, 1.3])
    waves = np.concatenate([np.cos(steps), np.sin(steps)], axis=1)
    axes = np.linalg.qr(rng.normal(size=(24, 24)))[0][:8]
    table = waves @ axes + rng.normal(size=24)
    return table + noise * rng.normal(size=table.shape)


def similarity(one, other):
    one, other = one - one.mean(axis=0), other - other.mean(axis=0)
    product = (one * other).sum(axis=1)
    return product / np.linalg.norm(one, axis=1) / np.linalg.norm(other, axis=1)


def test_waves_go_on_as_waves():
    whole = circles(160)
    table = whole.copy()
    table[96:] = np.random.default_rng(1).normal(size=(64, 24))
    found = continued_positions(table, 96)
    assert (found[:94] == whole[:94]).all()
    assert similarity(found, whole)[94:].min() > 0.9


def test_noise_on_the_trained_positions_hardly_matters():
    whole = circles(160, noise=0.05)
    found = continued_positions(whole.copy(), 96)
    assert similarity(found, circles(160))[94:].mean() > 0.8


@pytest.mark.parametrize(("num_trained", "why"), [(31, "too few"), (160, "all")])
def test_without_anything_to_go_by_or_to_do_nothing_changes(num_trained, why):
    table = circles(160)
    assert continued_positions(table, num_trained) is table


def two_lengths(**changes):
    sizes = {**samples.ONE_LAYER, "max_position_embeddings": 64}
    phases = [
        {"max_tokens": length, "num_tokens": length * 8, "batch_tokens": length * 4}
        for length in (32, 64)
    ]
    return samples.settings(sizes, phases=phases, **changes)


@pytest.mark.parametrize(
    ("changes", "first_step", "is_continued"),
    [
        ({}, 0, True),
        ({}, 1, False),  # goes on within the phase
        ({"continue_positions": False}, 0, False),
        ({"initial_model": "m"}, 0, False),  # whose positions are trained
    ],
)
def test_a_longer_phase_begins_with_continued_positions(
    monkeypatch, changes, first_step, is_continued
):
    asked = two_lengths(**changes)
    trainer = Trainer(asked, len(samples.VOCABULARY))
    table = trainer.bert.embeddings.position_embeddings
    before = as_numpy(table).copy()

    def begin(**_):  # what comes next takes time
        raise InterruptedError

    monkeypatch.setattr(trainer.model, "make_train_function", begin)
    with pytest.raises(InterruptedError):
        trainer.run(samples.batches(asked), 1, first_step, 1)
    expected = continued_positions(before, 32) if is_continued else before
    np.testing.assert_array_equal(as_numpy(table), expected)
    assert np.array_equal(expected, before) is not is_continued
