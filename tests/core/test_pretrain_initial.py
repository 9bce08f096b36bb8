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
from bertviz_core.pretrain import initial, run
from bertviz_core.pretrain.checkpoint import read_latest
from bertviz_core.pretrain.initial import open_initial_model, settings_from_file
from bertviz_core.pretrain.prepare import prepare_corpus
from bertviz_core.tokenizer import BertTokenizer
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
    samples.write_text(folder / "text.txt")
    (folder / "vocab.txt").write_text("\n".join(samples.VOCABULARY))
    given = {"vocabulary_file": str(folder / "vocab.txt"), "held_out_rate": 0.2}
    asked = samples.settings(samples.ONE_LAYER, corpus=given)
    asked = dataclasses.replace(asked, phases=asked.phases[:1])
    model = run.pretrain(run.RunPlan(asked, [folder / "text.txt"], folder / "a"), str)
    return folder, asked, model


def continued(model, **changes):
    """Settings of a run that begins with `model`, learned words left out."""
    asked = samples.settings(samples.ONE_LAYER, phases=PHASES)
    return dataclasses.replace(asked, initial_model=str(model), **changes)


def state_before_the_first_step(asked, text, out):
    """What a run has drawn or taken over when it begins."""
    said = []
    run.pretrain(run.RunPlan(asked, [text], out, stop_after_seconds=0), said.append)
    return read_latest(out / "checkpoints").state, said


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


def test_trained_positions_stay_where_a_phase_is_longer(first, tmp_path):
    """A run of its own would put a continuation in their place."""
    folder, _, model = first
    still = dataclasses.replace(samples.settings().optimizer, learning_rate=1e-12)
    asked = continued(model, optimizer=still)
    plan = run.RunPlan(asked, [folder / "text.txt"], tmp_path)
    assert run.pretrain(plan, str) is not None
    (name,) = (
        n
        for n in read_latest(tmp_path / "checkpoints").state
        if "position" in n and n.startswith("weights/")
    )
    table = read_latest(tmp_path / "checkpoints").state[name]
    before = as_numpy(open_model(str(model)).model.embeddings.position_embeddings)
    np.testing.assert_allclose(table, before, atol=1e-6)


def stop_after_a_step(plan):
    """Begins a run; what it says is gathered."""
    said = []

    def has_stepped():
        return any(line.startswith("step 1/") for line in said)

    assert run.pretrain(plan, said.append, has_stepped) is None
    return said


def test_a_stopped_run_goes_on_without_taking_the_weights_again(first, tmp_path):
    folder, _, model = first
    text = folder / "text.txt"
    asked = continued(model)
    whole = run.pretrain(run.RunPlan(asked, [text], tmp_path / "whole"), str)
    plan = run.RunPlan(asked, [text], tmp_path / "parts")
    said = stop_after_a_step(plan)
    assert said[-1] == "Stopped after step 1 of 2; saved"
    said.clear()
    parts = run.pretrain(plan, said.append)
    assert not any(line.startswith("Beginning with") for line in said)
    assert whole is not None
    assert parts is not None
    states = [read_latest(m.parent / "checkpoints").state for m in (whole, parts)]
    for name, values in states[0].items():
        np.testing.assert_allclose(states[1][name], values, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("fate", ["gone", "moved"])
@pytest.mark.parametrize("is_encoded", [False, True])
def test_a_run_goes_on_without_the_model_that_it_began_with(
    first, tmp_path, fate, is_encoded
):
    folder, _, model = first
    copy, moved = tmp_path / "model", tmp_path / "moved"
    shutil.copytree(model, copy)
    asked, text = continued(copy), folder / "text.txt"
    if is_encoded:
        words = open_model(str(copy)).tokenizer
        text = prepare_corpus([text], asked, tmp_path / "cache", str, words=words)
    whole = run.pretrain(run.RunPlan(asked, [text], tmp_path / "whole"), str)
    plan = run.RunPlan(asked, [text], tmp_path / "parts")
    said = stop_after_a_step(plan)
    before = (tmp_path / "parts" / "settings.json").read_text()
    if fate == "moved":
        copy.rename(moved)
        plan = dataclasses.replace(plan, settings=continued(moved))
    else:
        shutil.rmtree(copy)
    parts = run.pretrain(plan, said.append)
    assert "Going on after step 1" in said
    states = [read_latest(m.parent / "checkpoints").state for m in (whole, parts)]
    for name, values in states[0].items():
        np.testing.assert_allclose(states[1][name], values, atol=1e-6, err_msg=name)
    # As a run of before this was possible would find it.
    assert (tmp_path / "parts" / "settings.json").read_text() == before
    assert json.loads(before)["initial_model"] == str(copy)


def test_a_run_does_not_go_on_with_a_model_of_other_words_or_sizes(first, tmp_path):
    folder, _, model = first
    text, out = folder / "text.txt", tmp_path / "out"
    state_before_the_first_step(continued(model), text, out)
    loaded = open_model(str(model))
    other = BertTokenizer(tuple(reversed(samples.VOCABULARY)))
    save_model(dataclasses.replace(loaded, tokenizer=other), tmp_path / "words")
    with pytest.raises(TrainingError, match="other text or other settings"):
        run.pretrain(run.RunPlan(continued(tmp_path / "words"), [text], out), str)
    sizes = dataclasses.replace(loaded.model.config, intermediate_size=24)
    bert = Bert(sizes, ("mlm",))
    save_model(dataclasses.replace(loaded, model=bert), tmp_path / "sizes")
    with pytest.raises(TrainingError, match="do not fit the model"):
        run.pretrain(run.RunPlan(continued(tmp_path / "sizes"), [text], out), str)


def test_a_run_whose_text_is_encoded_anew_needs_the_words_of_the_model(first, tmp_path):
    folder, _, model = first
    text, out = folder / "text.txt", tmp_path / "out"
    state_before_the_first_step(continued(model), text, out)
    shutil.rmtree(out / "corpus")
    assert run.pretrain(run.RunPlan(continued(model), [text], out), str) is not None


def test_the_command_opens_the_model_once_and_not_to_go_on(
    first, tmp_path, monkeypatch
):
    folder, _, model = first
    copy, opened = tmp_path / "model", []
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
    options = ["--corpus", str(folder / "text.txt"), "--out", str(tmp_path / "b")]
    command = ["pretrain", "--config", str(path), "--from", str(copy), *options]
    stop = ["--stop-after-minutes", "0"]
    for number, more in enumerate((["--prepare-only"], stop), 1):
        result = CliRunner().invoke(main, [*command, *more])
        assert result.exit_code == 0, result.output
        assert opened == [str(copy)] * number
    shutil.rmtree(copy)
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    assert "Going on after step 0" in result.output
    assert len(opened) == 2
    assert (tmp_path / "b" / "model").is_dir()


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


def test_the_command_takes_sizes_and_case_from_the_model(first, tmp_path):
    folder, _, model = first
    asked = samples.settings(phases=PHASES).to_dict()
    del asked["model"], asked["corpus"], asked["initial_model"]
    path = tmp_path / "settings.json"
    path.write_text(json.dumps(asked))
    options = ["--corpus", str(folder / "text.txt"), "--out", str(tmp_path / "b")]
    result = CliRunner().invoke(
        main, ["pretrain", "--config", str(path), "--from", str(model), *options]
    )
    assert result.exit_code == 0, result.output
    made = open_model(str(tmp_path / "b" / "model"))
    assert made.model.config == open_model(str(model)).model.config
    assert made.tokenizer.vocabulary == samples.VOCABULARY
    noted = json.loads((tmp_path / "b" / "settings.json").read_text())
    assert noted["initial_model"] == str(model)


def test_other_sizes_or_case_than_the_models_are_refused(first):
    _, _, model = first
    asked = continued(model)
    sizes = dataclasses.replace(asked.model, intermediate_size=24)
    with pytest.raises(TrainingError) as caught:
        open_initial_model(dataclasses.replace(asked, model=sizes))
    assert "intermediate_size=24" in str(caught.value)
    assert "intermediate_size=20" in str(caught.value)
    cased = dataclasses.replace(asked.corpus, lower_case=False)
    with pytest.raises(TrainingError, match="lower_case=False"):
        open_initial_model(dataclasses.replace(asked, corpus=cased))


def test_words_of_a_file_contradict_those_of_the_model(first):
    _, asked, model = first
    with pytest.raises(TrainingError, match=r"vocab\.txt"):
        dataclasses.replace(asked, initial_model=str(model))


def test_text_that_was_encoded_with_other_words_is_refused(first, tmp_path):
    folder, asked, model = first
    (tmp_path / "vocab.txt").write_text("\n".join(reversed(samples.VOCABULARY)))
    given = {"vocabulary_file": str(tmp_path / "vocab.txt")}
    other = dataclasses.replace(asked.corpus, **given)
    words = dataclasses.replace(asked, corpus=other)
    encoded = prepare_corpus([folder / "text.txt"], words, tmp_path / "cache", str)
    again = dataclasses.replace(other, vocabulary_file=None)
    plan = run.RunPlan(continued(model, corpus=again), [encoded], tmp_path / "b")
    with pytest.raises(TrainingError, match="other words than those of the model"):
        run.pretrain(plan, str)


def test_a_settings_file_may_name_the_model_itself(first, tmp_path):
    _, _, model = first
    asked = samples.settings(phases=PHASES).to_dict()
    del asked["model"]
    asked["initial_model"] = str(model)
    path = tmp_path / "settings.json"
    path.write_text(json.dumps(asked))
    settings, opened = settings_from_file(path, None, tmp_path / "b")
    assert settings.model == opened.model.config == open_model(str(model)).model.config


def test_settings_of_a_wrong_kind_are_a_sentence_beside_a_model_too(first, tmp_path):
    path = tmp_path / "settings.json"
    for wrong in ({"corpus": ["text"]}, {"initial_model": 3}, {"phases": None}):
        path.write_text(json.dumps({"initial_model": str(first[2])} | wrong))
        with pytest.raises(TrainingError):
            settings_from_file(path, None, tmp_path / "b")
