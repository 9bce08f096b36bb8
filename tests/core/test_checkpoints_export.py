"""What is saved loads again, here and in `transformers`, with equal outputs."""

import json
import stat
import sys

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

from bertviz_core.checkpoints import export
from bertviz_core.checkpoints.export import save_huggingface, save_model
from bertviz_core.checkpoints.huggingface import SINGLE_FILE
from bertviz_core.checkpoints.library import LoadedModel, open_model
from bertviz_core.errors import CheckpointError
from bertviz_core.model.compiled import CompiledForward
from bertviz_core.tokenizer import BertTokenizer
from bertviz_core.trace import LoadReport
from tests.core.checkpoint_copies import GOOGLE, HF, full_disk, hf_copy, weights_of_hf
from tests.core.random_models import (
    BATCH,
    LABELS,
    PRE_NORM,
    TOKENS,
    agree,
    random_inputs,
    random_model,
)
from tests.make_golden import SPECIAL_TOKENS

NAMES = tuple(f"class {index}" for index in range(LABELS))


def loaded_from(model):
    pieces = [*SPECIAL_TOKENS, *(chr(ord("a") + i) for i in range(18))]
    tokenizer = BertTokenizer(pieces, lower_case=False, strip_accents=True)
    report = LoadReport("huggingface", (), (), (), 0, ())
    labels = NAMES if "classifier" in model.heads else ()
    return LoadedModel("random", model, tokenizer, labels, report)


@pytest.fixture
def loaded(post_norm_model):
    return loaded_from(post_norm_model[0])


def outputs(model):
    return CompiledForward(model)(random_inputs())


def config_in(folder):
    return json.loads((folder / "config.json").read_text())


def test_saving_what_transformers_wrote_gives_the_same_files(tmp_path):
    save_huggingface(open_model(str(HF)), tmp_path / "saved")
    saved, original = load_file(tmp_path / "saved" / SINGLE_FILE), weights_of_hf()
    assert saved.keys() == original.keys()
    for name, array in original.items():
        assert saved[name].dtype == array.dtype
        assert np.array_equal(saved[name], array)
    ours, theirs = config_in(tmp_path / "saved"), config_in(HF)
    assert {key: theirs[key] for key in ours} == ours


def test_a_saved_model_computes_the_same_and_others_may_read_it(
    tmp_path, loaded, explorer
):
    folder = tmp_path / "saved"
    folder.mkdir()  # an empty one is taken
    save_huggingface(loaded, folder)
    again = open_model(str(folder))
    before, after = explorer.forward(random_inputs()), outputs(again.model)
    assert before.keys() == after.keys()
    assert all(np.array_equal(array, after[name]) for name, array in before.items())
    assert again.labels == NAMES
    assert again.tokenizer.vocabulary == loaded.tokenizer.vocabulary
    assert not again.tokenizer.lower_case
    assert again.tokenizer.strip_accents
    with safe_open(folder / SINGLE_FILE, "numpy") as file:
        assert file.metadata() == {"format": "pt"}
    paths = [folder, *folder.iterdir()]
    assert len(paths) == 5
    if sys.platform != "win32":  # which has no such modes
        assert all(path.stat().st_mode & stat.S_IROTH for path in paths)


def test_the_curve_of_a_google_checkpoint_keeps_its_name(tmp_path):
    save_huggingface(open_model(str(GOOGLE)), tmp_path / "saved")
    assert config_in(tmp_path / "saved")["hidden_act"] == "gelu_new"
    assert open_model(str(tmp_path / "saved")).model.config.hidden_act == "gelu_new"


def test_half_precision_halves_the_file_and_rounds_once(tmp_path, loaded):
    save_huggingface(loaded, tmp_path / "whole")
    save_model(loaded, tmp_path / "half", half=True)
    whole = load_file(tmp_path / "whole" / SINGLE_FILE)
    half = load_file(tmp_path / "half" / SINGLE_FILE)
    for name, array in whole.items():
        assert half[name].dtype == "float16"
        assert np.array_equal(half[name], array.astype("float16"))
    assert config_in(tmp_path / "half")["dtype"] == "float16"
    assert open_model(str(tmp_path / "half")).report.notes


def test_a_weight_beyond_half_precision_is_refused(tmp_path):
    weights = weights_of_hf()
    weights["bert.pooler.dense.bias"][3] = 70_000
    loaded = open_model(str(hf_copy(tmp_path, weights)))
    with pytest.raises(CheckpointError, match=r"bert\.pooler\.dense\.bias"):
        save_model(loaded, tmp_path / "saved", half=True)
    assert not (tmp_path / "saved").exists()


@pytest.mark.parametrize(
    ("heads", "architecture"),
    [
        ((), "BertModel"),
        (("pooler", "mlm"), "BertForMaskedLM"),
        (("pooler", "nsp"), "BertForNextSentencePrediction"),
        (("pooler", "mlm", "nsp"), "BertForPreTraining"),
        (("pooler", "mlm", "classifier"), "BertForSequenceClassification"),
    ],
)
def test_the_heads_decide_the_class_and_come_back(tmp_path, heads, architecture):
    model, _ = random_model(heads=heads)
    save_huggingface(loaded_from(model), tmp_path / "saved")
    assert config_in(tmp_path / "saved")["architectures"] == [architecture]
    assert open_model(str(tmp_path / "saved")).model.heads == heads


def test_a_pre_norm_model_comes_back_from_our_own_layout_alone(
    tmp_path, pre_norm_model
):
    model = pre_norm_model[0]
    with pytest.raises(CheckpointError, match="pre_norm=True"):
        save_huggingface(loaded_from(model), tmp_path / "saved")
    assert not (tmp_path / "saved").exists()
    save_model(loaded_from(model), tmp_path / "saved")
    again = open_model(str(tmp_path / "saved")).model
    assert again.config == PRE_NORM
    before, after = outputs(model), outputs(again)
    assert all(np.array_equal(array, after[name]) for name, array in before.items())
    assert "model_type" not in config_in(tmp_path / "saved")


def test_a_folder_with_something_in_it_is_not_touched(tmp_path, loaded):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(CheckpointError, match="not empty"):
        save_huggingface(loaded, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_save_that_fails_leaves_nothing(tmp_path, loaded, monkeypatch):
    monkeypatch.setattr(export, "save_file", full_disk)
    with pytest.raises(CheckpointError, match="No space left on device"):
        save_huggingface(loaded, tmp_path / "a" / "saved")
    assert list((tmp_path / "a").iterdir()) == []


def opened_by_transformers(kind, loaded, folder):
    """What its class makes of what we save, and its outputs for random inputs."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    save_huggingface(loaded, folder)
    peer, info = getattr(transformers, kind).from_pretrained(
        folder, attn_implementation="eager", output_loading_info=True
    )
    assert not any(info.values())
    inputs = random_inputs(config=loaded.model.config)
    del inputs["mlm_positions"]
    tensors = {name: torch.tensor(array) for name, array in inputs.items()}
    with torch.no_grad():
        return peer, inputs, peer.eval()(**tensors, output_hidden_states=True)


@pytest.mark.peer
@pytest.mark.parametrize("source", [HF, GOOGLE])
def test_transformers_computes_the_same_from_what_we_save(tmp_path, source):
    loaded = open_model(str(source))
    _, inputs, theirs = opened_by_transformers(
        "BertForPreTraining", loaded, tmp_path / "saved"
    )
    places = {"mlm_positions": np.arange(BATCH * TOKENS)}
    ours = CompiledForward(loaded.model)(inputs | places)
    kept = inputs["attention_mask"] == 1
    for index, states in enumerate(theirs.hidden_states):
        agree(ours["hidden_states"][:, index][kept], states.numpy()[kept])
    words = ours["mlm_logits"].reshape(BATCH, TOKENS, -1)
    agree(words[kept], theirs.prediction_logits.numpy()[kept])
    agree(ours["nsp_logits"], theirs.seq_relationship_logits.numpy())


@pytest.mark.peer
def test_transformers_computes_the_same_classes(tmp_path):
    model, _ = random_model(heads=("pooler", "classifier"))
    peer, inputs, theirs = opened_by_transformers(
        "BertForSequenceClassification", loaded_from(model), tmp_path / "saved"
    )
    assert peer.config.id2label == dict(enumerate(NAMES))
    agree(CompiledForward(model)(inputs)["class_logits"], theirs.logits.numpy())
