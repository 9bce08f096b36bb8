"""What loads, under which names and formats, and what the report says of it."""

import json

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import save_file

from bertviz_core.checkpoints.assign import load, plan
from bertviz_core.checkpoints.casing import open_tokenizer
from bertviz_core.checkpoints.folder import open_folder
from bertviz_core.checkpoints.library import open_model
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

MLM_DECODER = "cls.predictions.decoder.weight"
WORDS = "bert.embeddings.word_embeddings.weight"


def variables_of(folder):
    model, _ = load(open_folder(folder))
    return {variable.path: as_numpy(variable) for variable in model.weights}


def notes_of(report):
    return [template.format(**details) for template, details in report.notes]


@pytest.fixture(scope="module")
def original():
    return variables_of(HF)


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
    checkpoint = open_folder(HF)
    _, report = load(checkpoint)
    assert report.kind == "huggingface"
    assert sorted(report.loaded) == sorted(weights_of_hf())
    assert (report.absent_parts, report.unused, report.optimizer_slots) == ((), (), 0)
    turned = "bert.encoder.layer.0.output.dense.weight: (30, 37) -> (37, 30)"
    assert turned in report.reshaped
    assert any("exact curve (erf)" in sentence for sentence in notes_of(report))


def test_a_google_report_counts_what_the_optimiser_left():
    model, report = load(open_folder(GOOGLE))
    assert report.kind == "google"
    assert report.optimizer_slots == 4
    assert (report.absent_parts, report.unused) == ((), ())
    assert report.reshaped == (
        "cls/seq_relationship/output_weights: (2, 28) -> (28, 2)",
    )
    assert model.config.hidden_act == "gelu_new"
    assert any("tanh" in sentence for sentence in notes_of(report))


def test_the_spread_of_the_config_survives_the_start_from_zeros():
    model, _ = load(open_folder(HF))
    assert model.config.initializer_range == 0.02


def test_old_names_and_a_left_out_prefix_mean_the_same_weights(tmp_path, original):
    old = renamed(
        weights_of_hf(),
        ("LayerNorm.weight", "LayerNorm.gamma"),
        ("LayerNorm.bias", "LayerNorm.beta"),
        ("bert.", ""),
    )
    assert same(variables_of(hf_copy(tmp_path, old)), original)
    _, report = load(open_folder(tmp_path / "copy"))
    assert "embeddings.LayerNorm.gamma -> bert.embeddings.LayerNorm.weight" in (
        report.reshaped
    )


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
    assert same(variables_of(folder), original)


@pytest.mark.parametrize(
    ("dtype", "bits"), [("float16", 11), (ml_dtypes.bfloat16, 8), ("float64", 24)]
)
def test_other_float_formats_are_converted_without_further_loss(
    tmp_path, original, dtype, bits
):
    weights = {k: v.astype(dtype) for k, v in weights_of_hf().items()}
    found = variables_of(hf_copy(tmp_path, weights))
    for name, array in found.items():
        assert array.dtype == "float32"
        # Rounding to that many bits, and nothing more.
        np.testing.assert_allclose(array, original[name], rtol=2.0**-bits, atol=1e-7)
        assert np.array_equal(array.astype(dtype).astype("float32"), array)
    report = load(open_folder(tmp_path / "copy"))[1]
    assert any("converted to 32-bit" in sentence for sentence in notes_of(report))


@pytest.mark.parametrize(
    ("openings", "absent"),
    [
        (("cls.",), ("mlm", "nsp")),
        (("cls.seq",), ("nsp",)),
        (("cls.predictions",), ("mlm",)),
        (("bert.pooler", "cls.seq"), ("pooler", "nsp")),
        (("bert.pooler", "cls."), ("pooler", "mlm", "nsp")),
    ],
)
def test_a_head_that_is_absent_is_not_built(tmp_path, openings, absent):
    weights = without_part(weights_of_hf(), *openings)
    model, report = load(open_folder(hf_copy(tmp_path, weights)))
    assert report.absent_parts == absent
    assert not set(absent) & set(model.heads)
    assert sorted(report.loaded) == sorted(weights)


def test_a_next_sentence_head_without_a_pooler_is_left_out_and_said_so(tmp_path):
    weights = without_part(weights_of_hf(), "bert.pooler")
    _, report = load(open_folder(hf_copy(tmp_path, weights)))
    assert report.absent_parts == ("pooler", "nsp")
    assert "cls.seq_relationship.weight" in report.unused
    assert any("has no pooler" in sentence for sentence in notes_of(report))


BIASES = {
    "pooler": ("bert.pooler.dense.bias",),
    "mlm": ("cls.predictions.transform.dense.bias", "cls.predictions.bias"),
    "nsp": ("cls.seq_relationship.bias",),
    "classifier": ("classifier.bias",),
}


@pytest.mark.parametrize(
    ("untrained", "absent"),
    [
        (("nsp",), {"nsp"}),
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
    model, report = load(open_folder(hf_copy(tmp_path, weights, config)))
    assert {*BIASES} - {*model.heads} == absent
    said = [note for note in notes_of(report) if "never trained" in note]
    assert len(said) == len(absent)
    assert all(any(f"The {head} head" in note for note in said) for head in absent)


def test_a_tied_copy_is_accepted_and_listed_as_unused(tmp_path, original):
    weights = weights_of_hf()
    copies = {
        MLM_DECODER: weights[WORDS].copy(),
        "cls.predictions.decoder.bias": weights["cls.predictions.bias"].copy(),
    }
    assert same(variables_of(hf_copy(tmp_path, weights | copies)), original)
    _, report = load(open_folder(tmp_path / "copy"))
    assert sorted(report.unused) == sorted(copies)


def test_a_bias_under_the_decoders_name_alone_is_taken(tmp_path, original):
    weights = renamed(
        weights_of_hf(), ("cls.predictions.bias", "cls.predictions.decoder.bias")
    )
    assert same(variables_of(hf_copy(tmp_path, weights)), original)


@pytest.mark.parametrize("change", ["other values", "other shape", "other bias"])
def test_a_decoder_of_its_own_takes_the_head_away(tmp_path, change):
    weights = weights_of_hf()
    if change == "other bias":
        extra = {"cls.predictions.decoder.bias": weights["cls.predictions.bias"] + 1}
    else:
        rows = slice(None) if change == "other values" else slice(60)
        extra = {MLM_DECODER: (weights[WORDS] * np.float32(1.5))[rows].copy()}
    model, report = load(open_folder(hf_copy(tmp_path, weights | extra)))
    assert "mlm" not in model.heads
    assert report.absent_parts == ("mlm",)
    assert "cls.predictions.transform.dense.weight" in report.unused
    assert any(next(iter(extra)) in sentence for sentence in notes_of(report))


def test_buffers_of_whole_numbers_are_listed_as_unused(tmp_path, original):
    buffer = {"bert.embeddings.position_ids": np.arange(19)[None]}
    folder = hf_copy(tmp_path, weights_of_hf() | buffer)
    assert same(variables_of(folder), original)
    assert load(open_folder(folder))[1].unused == tuple(buffer)


def test_a_classifier_brings_its_class_names(tmp_path):
    names = {str(index): f"class {index}" for index in range(NUM_LABELS)}
    config = {"architectures": ["BertForSequenceClassification"], "id2label": names}
    weights = with_classifier(weights_of_hf())
    loaded = open_model(str(hf_copy(tmp_path, weights, config)))
    assert loaded.labels == tuple(names.values())
    kernel = as_numpy(loaded.model.classifier.dense.kernel)
    assert np.array_equal(kernel, weights["classifier.weight"].T)


def test_a_classifier_without_names_gets_numbered_ones(tmp_path):
    config = {"architectures": None}
    folder = hf_copy(tmp_path, with_classifier(weights_of_hf()), config)
    assert open_model(str(folder)).labels[-1] == "LABEL_10"


def test_a_classifier_of_single_tokens_is_left_out(tmp_path):
    config = {"architectures": ["BertForTokenClassification"]}
    folder = hf_copy(tmp_path, with_classifier(weights_of_hf()), config)
    loaded = open_model(str(folder))
    assert "classifier" not in loaded.model.heads
    assert loaded.labels == ()
    assert "classifier.weight" in loaded.report.unused
    assert any("classifier was left out" in s for s in notes_of(loaded.report))


def test_a_model_without_a_classifier_has_no_class_names(tmp_path):
    config = {"id2label": {"0": "no", "1": "yes"}}
    assert open_model(str(hf_copy(tmp_path, config=config))).labels == ()


def test_a_checkpoint_of_a_training_step_is_read_under_any_prefix(tmp_path):
    folder = google_copy(tmp_path)
    for path in folder.glob("bert_model.ckpt*"):
        new = path.name.replace("bert_model.ckpt", "model.ckpt-123")
        path.rename(folder / new)
    assert same(variables_of(folder), variables_of(GOOGLE))


def test_of_several_training_steps_the_last_is_read(tmp_path):
    folder = google_copy(tmp_path)
    for path in list(folder.glob("bert_model.ckpt*")):
        for step in (1000, 900):
            new = path.name.replace("bert_model.ckpt", f"model.ckpt-{step}")
            (folder / new).write_bytes(path.read_bytes())
        path.unlink()
    _, report = load(open_folder(folder))
    assert any("model.ckpt-1000" in sentence for sentence in notes_of(report))


def test_progress_runs_from_above_zero_to_one(tmp_path):
    told = []
    load(open_folder(HF), progress=lambda fraction, step: told.append((fraction, step)))
    fractions = [fraction for fraction, _ in told]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    assert {step for _, step in told} == {"read"}


def test_progress_may_cancel():
    class Cancelled(Exception):
        pass

    def cancel(fraction, step):
        raise Cancelled

    with pytest.raises(Cancelled):
        load(open_folder(HF), progress=cancel)


@pytest.mark.parametrize(
    ("name", "lower_case"),
    [
        ("uncased_L-2_H-28_A-7", True),
        ("cased_L-2_H-28_A-7", False),
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


def test_a_file_that_states_the_casing_outdoes_the_name(tmp_path):
    folder = hf_copy(tmp_path, name="bert-cased")
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": true}')
    tokenizer, notes = open_tokenizer(folder)
    assert tokenizer.lower_case
    assert notes == ()


def test_the_vocabulary_decides_about_case_where_nothing_else_does():
    assert open_tokenizer(HF)[0].lower_case
    assert not open_tokenizer(GOOGLE)[0].lower_case


def test_a_vocabulary_may_be_shorter_than_the_embeddings(tmp_path):
    folder = hf_copy(tmp_path)
    pieces = (folder / "vocab.txt").read_text().splitlines()[:-8]
    (folder / "vocab.txt").write_text("\n".join(pieces))
    sentences = notes_of(open_model(str(folder)).report)
    assert any("53 word pieces, the model 61" in s for s in sentences)


def test_a_plan_holds_every_weight():
    checkpoint = open_folder(HF)
    assert plan(checkpoint).heads == ("pooler", "mlm", "nsp")
    assert len(plan(checkpoint).weights) == len(weights_of_hf())


def test_two_spellings_of_one_weight_are_refused(tmp_path):
    weights = weights_of_hf()
    twin = weights["bert.embeddings.LayerNorm.weight"]
    folder = hf_copy(tmp_path, weights | {"bert.embeddings.LayerNorm.gamma": twin})
    with pytest.raises(CheckpointError, match="mean the same weight"):
        open_folder(folder)
