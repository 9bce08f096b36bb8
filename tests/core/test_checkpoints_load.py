import json

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import save_file

from bertviz_core.checkpoints.assign import load
from bertviz_core.checkpoints.casing import open_tokenizer
from bertviz_core.checkpoints.folder import open_folder
from bertviz_core.checkpoints.library import open_model
from bertviz_core.checkpoints.names import GOOGLE as GOOGLE_NAMES
from bertviz_core.checkpoints.names import (
    HUGGINGFACE,
    is_optimizer_state,
    num_layers_in,
    weights_of,
)
from bertviz_core.errors import CheckpointError
from bertviz_core.weights import as_numpy
from tests.core.checkpoint_copies import (
    GOOGLE,
    HF,
    NUM_LABELS,
    google_copy,
    hf_copy,
    renamed,
    weights_of_hf,
    without_part,
)

WORDS = "bert.embeddings.word_embeddings.weight"
MLM_BIAS, DECODER_BIAS = "cls.predictions.bias", "cls.predictions.decoder.bias"
MLM_DECODER = "cls.predictions.decoder.weight"
BUFFER = "bert.embeddings.position_ids"


def read(folder, **arguments):
    """The weights, the model, the report and its notes in one text."""
    model, report = load(open_folder(folder), **arguments)
    weights = {variable.path: as_numpy(variable) for variable in model.weights}
    notes = [template.format(**details) for template, details in report.notes]
    return weights, model, report, "\n".join(notes)


@pytest.fixture(scope="module")
def original():
    return read(HF)[0]


def same(first, second):
    assert first.keys() == second.keys()
    return all(np.array_equal(first[name], second[name]) for name in first)


def with_classifier(weights):
    rng = np.random.default_rng(2)
    return weights | {
        "classifier.weight": rng.normal(size=(NUM_LABELS, 30)).astype("float32"),
        "classifier.bias": rng.normal(size=NUM_LABELS).astype("float32"),
    }


def test_a_hugging_face_report_names_every_weight_and_nothing_else():
    _, model, report, notes = read(HF)
    assert report.kind == "huggingface"
    assert sorted(report.loaded) == sorted(weights_of_hf())
    assert (report.absent_parts, report.unused, report.optimizer_slots) == ((), (), 0)
    turned = "bert.encoder.layer.0.output.dense.weight: (30, 37) -> (37, 30)"
    assert turned in report.reshaped
    assert "exact curve (erf)" in notes
    assert model.config.initializer_range == 0.02  # though it starts from zeros


def test_a_google_report_counts_what_the_optimiser_left():
    _, model, report, notes = read(GOOGLE)
    assert report.kind == "google"
    assert report.optimizer_slots == 4
    assert (report.absent_parts, report.unused) == ((), ())
    assert report.reshaped == (
        "cls/seq_relationship/output_weights: (2, 28) -> (28, 2)",
    )
    assert model.config.hidden_act == "gelu_new"
    assert "tanh" in notes


def with_old_names(weights):
    norms = (
        ("LayerNorm.weight", "LayerNorm.gamma"),
        ("LayerNorm.bias", "LayerNorm.beta"),
    )
    return renamed(weights, *norms, ("bert.", ""))


@pytest.mark.parametrize(
    ("change", "unused", "reshaped"),
    [
        (
            with_old_names,
            [],
            "embeddings.LayerNorm.gamma -> bert.embeddings.LayerNorm.",
        ),
        (lambda w: renamed(w, (MLM_BIAS, DECODER_BIAS)), [], ""),
        (
            lambda w: w | {MLM_DECODER: w[WORDS] + 0, DECODER_BIAS: w[MLM_BIAS] + 0},
            [DECODER_BIAS, MLM_DECODER],
            "",
        ),
        (lambda w: w | {BUFFER: np.arange(19)[None]}, [BUFFER], ""),
    ],
)
def test_other_spellings_and_copies_mean_the_same_weights(
    tmp_path, original, change, unused, reshaped
):
    weights, _, report, _ = read(hf_copy(tmp_path, change(weights_of_hf())))
    assert same(weights, original)
    assert sorted(report.unused) == unused
    assert reshaped in "\n".join(report.reshaped)


def test_shards_mean_the_same_weights(tmp_path, original):
    folder = hf_copy(tmp_path, without=["model.safetensors"])
    weights = weights_of_hf()
    names = sorted(weights)
    files = {"model-00001-of-00002.safetensors": names[:17]}
    files["model-00002-of-00002.safetensors"] = names[17:]
    for file, part in files.items():
        save_file({name: weights[name] for name in part}, folder / file)
    index = {"weight_map": {n: file for file, part in files.items() for n in part}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert same(read(folder)[0], original)


@pytest.mark.parametrize(
    ("dtype", "bits"), [("float16", 11), (ml_dtypes.bfloat16, 8), ("float64", 24)]
)
def test_other_float_formats_are_converted_without_further_loss(
    tmp_path, original, dtype, bits
):
    weights = {k: v.astype(dtype) for k, v in weights_of_hf().items()}
    found, _, _, notes = read(hf_copy(tmp_path, weights))
    for name, array in found.items():
        assert array.dtype == "float32"
        # Rounding to that many bits, and nothing more.
        np.testing.assert_allclose(array, original[name], rtol=2.0**-bits, atol=1e-7)
        assert np.array_equal(array.astype(dtype).astype("float32"), array)
    assert "converted to 32-bit" in notes


@pytest.mark.parametrize(
    ("change", "absent", "said"),
    [
        (lambda w: without_part(w, "cls.seq"), ("nsp",), ""),
        (lambda w: without_part(w, "cls.pred"), ("mlm",), ""),
        (
            lambda w: without_part(w, "bert.pooler", "cls."),
            ("pooler", "mlm", "nsp"),
            "",
        ),
        (lambda w: without_part(w, "bert.pooler"), ("pooler", "nsp"), "has no pooler"),
        (lambda w: w | {MLM_DECODER: w[WORDS] * 1.5}, ("mlm",), MLM_DECODER),
        (lambda w: w | {MLM_DECODER: w[WORDS][:60] + 0}, ("mlm",), MLM_DECODER),
        (lambda w: w | {DECODER_BIAS: w[MLM_BIAS] + 1}, ("mlm",), DECODER_BIAS),
    ],
)
def test_a_head_that_is_absent_or_not_berts_is_left_out(tmp_path, change, absent, said):
    weights = change(weights_of_hf())
    _, model, report, notes = read(hf_copy(tmp_path, weights))
    assert report.absent_parts == absent
    assert not set(absent) & set(model.heads)
    assert sorted(report.loaded + report.unused) == sorted(weights)
    assert said in notes


BIASES = {
    "pooler": ("bert.pooler.dense.bias",),
    "mlm": ("cls.predictions.transform.dense.bias", MLM_BIAS),
    "nsp": ("cls.seq_relationship.bias",),
    "classifier": ("classifier.bias",),
}


@pytest.mark.parametrize(
    ("untrained", "absent"),
    [
        (("mlm",), {"mlm"}),
        (("classifier",), {"classifier"}),
        (("pooler",), set()),  # the heads that read it were trained on it
        (("pooler", "nsp", "classifier"), {"pooler", "nsp", "classifier"}),
    ],
)
def test_a_head_that_a_program_made_up_is_left_out_and_said_so(
    tmp_path, untrained, absent
):
    weights = with_classifier(weights_of_hf())
    for name in (name for head in untrained for name in BIASES[head]):
        weights[name][:] = 0
    config = {"architectures": ["BertForSequenceClassification"], "id2label": None}
    _, model, _, notes = read(hf_copy(tmp_path, weights, config))
    assert {*BIASES} - {*model.heads} == absent
    assert notes.count("never trained") == len(absent)
    assert all(f"The {head} head was not loaded" in notes for head in absent)


@pytest.mark.parametrize(
    ("config", "labels"),
    [
        (
            {"id2label": {str(i): f"class {i}" for i in range(NUM_LABELS)}},
            tuple(f"class {i}" for i in range(NUM_LABELS)),
        ),
        ({"architectures": None}, tuple(f"LABEL_{i}" for i in range(NUM_LABELS))),
    ],
)
def test_a_classifier_brings_its_class_names_or_gets_numbered_ones(
    tmp_path, config, labels
):
    config = {"architectures": ["BertForSequenceClassification"]} | config
    weights = with_classifier(weights_of_hf())
    loaded = open_model(str(hf_copy(tmp_path, weights, config)))
    assert loaded.labels == labels
    kernel = as_numpy(loaded.model.classifier.dense.kernel)
    assert np.array_equal(kernel, weights["classifier.weight"].T)


@pytest.mark.parametrize(
    "config",
    [
        {"architectures": ["BertForTokenClassification"]},
        {"problem_type": "multi_label_classification"},  # several may be true at once
        {"problem_type": "regression"},  # three numbers
    ],
)
def test_a_classifier_that_does_not_choose_for_a_text_is_left_out(tmp_path, config):
    config = {"architectures": ["BertForSequenceClassification"]} | config
    folder = hf_copy(tmp_path, with_classifier(weights_of_hf()), config)
    _, model, report, notes = read(folder)
    assert "classifier" not in model.heads
    assert open_model(str(folder)).labels == ()
    assert "classifier.weight" in report.unused
    assert "classifier was not loaded" in notes


@pytest.mark.parametrize("steps", [[123], [1000, 900]])
def test_a_checkpoint_of_the_last_training_step_is_read(tmp_path, steps):
    folder = google_copy(tmp_path)
    for path in list(folder.glob("bert_model.ckpt*")):
        for step in steps:
            new = path.name.replace("bert_model.ckpt", f"model.ckpt-{step}")
            (folder / new).write_bytes(path.read_bytes())
        path.unlink()
    weights, _, _, notes = read(folder)
    assert same(weights, read(GOOGLE)[0])
    assert ("the last, model.ckpt-1000, was read" in notes) == (len(steps) > 1)


def test_progress_runs_from_above_zero_to_one():
    told = []
    read(HF, progress=lambda fraction, step: told.append((fraction, step)))
    fractions = [fraction for fraction, _ in told]
    assert fractions == sorted(fractions)
    assert 0 < fractions[0] < fractions[-1] == 1.0
    assert {step for _, step in told} == {"read"}


@pytest.mark.parametrize(
    ("name", "lower_case"),
    [
        ("uncased_L-2_H-28_A-7", True),
        ("multi_cased_L-2_H-28_A-7", False),
        ("multilingual_L-2_H-28_A-7", True),
        ("chinese_L-2_H-28_A-7", True),
        ("bert-base-multilingual-cased", False),
    ],
)
def test_the_name_of_a_folder_tells_the_casing(tmp_path, name, lower_case):
    tokenizer, notes = open_tokenizer(google_copy(tmp_path, name=name))
    assert tokenizer.lower_case is lower_case
    assert name in notes[0][1]["name"]


def test_a_file_that_states_the_casing_outdoes_the_name_and_the_vocabulary_comes_last(
    tmp_path,
):
    folder = hf_copy(tmp_path, name="bert-cased")
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": true}')
    tokenizer, notes = open_tokenizer(folder)
    assert tokenizer.lower_case
    assert notes == ()
    assert open_tokenizer(HF)[0].lower_case
    assert not open_tokenizer(GOOGLE)[0].lower_case


@pytest.mark.parametrize(
    ("name", "is_said"),
    [
        ("BertTokenizerFast", False),
        ("TokenizersBackend", False),
        ("BertJapaneseTokenizer", True),
    ],
)
def test_that_a_model_splits_text_in_another_way_is_said(tmp_path, name, is_said):
    folder = hf_copy(tmp_path)
    config = json.dumps({"tokenizer_class": name, "do_lower_case": True})
    (folder / "tokenizer_config.json").write_text(config)
    said = open_model(str(folder)).report.notes
    assert any(name in details.values() for _, details in said) is is_said


def test_a_vocabulary_may_be_shorter_than_the_embeddings(tmp_path):
    folder = hf_copy(tmp_path)
    pieces = (folder / "vocab.txt").read_text().splitlines()[:-8]
    (folder / "vocab.txt").write_text("\n".join(pieces))
    template, details = open_model(str(folder)).report.notes[-1]
    assert "53 word pieces but the model has 61" in template.format(**details)


def test_two_spellings_of_one_weight_are_refused(tmp_path):
    weights = weights_of_hf()
    twin = weights["bert.embeddings.LayerNorm.weight"]
    folder = hf_copy(tmp_path, weights | {"bert.embeddings.LayerNorm.gamma": twin})
    with pytest.raises(CheckpointError, match="stand for the same weight"):
        open_folder(folder)


@pytest.mark.parametrize("kind", [GOOGLE_NAMES, HUGGINGFACE])
def test_the_table_lists_the_variables_of_the_model_with_their_shapes(
    post_norm_model, kind
):
    model, _ = post_norm_model
    listed = list(weights_of(model.config, model.heads, kind, model.num_labels))
    assert {weight.ours: weight.shape for weight in listed} == {
        variable.path: tuple(variable.shape) for variable in model.weights
    }
    names = {weight.stored for weight in listed} - {""}
    assert len(names) == len(listed) == len(model.weights)


@pytest.mark.parametrize(
    "name",
    [
        "global_step",
        "beta1_power",
        "bert/pooler/dense/kernel/adam_m",
        "bert/pooler/dense/kernel/adam_v",
        "bert/embeddings/LayerNorm/beta/Adam_1",
    ],
)
def test_values_of_an_optimiser_are_told_from_weights(name):
    assert is_optimizer_state(name)
    assert not is_optimizer_state(name.rsplit("/", 1)[0] + "/kernel")


@pytest.mark.parametrize(
    ("kind", "names", "layers"),
    [
        (
            GOOGLE_NAMES,
            ["bert/encoder/layer_10/output/dense/bias", "bert/pooler/x"],
            11,
        ),
        (HUGGINGFACE, ["bert.encoder.layer.3.output.dense.bias"], 4),
        (HUGGINGFACE, ["bert.encoder.layer.x.y", "cls.predictions.bias"], 0),
        (HUGGINGFACE, [f"bert.encoder.layer.{'9' * 5000}.y"], 0),
        (HUGGINGFACE, ["bert.encoder.layer.²."], 0),
    ],
)
def test_layers_are_counted_by_the_names(kind, names, layers):
    assert num_layers_in(names, kind) == layers
