import json
import pickle
import re
import struct

import numpy as np
import pytest

from bertviz_core.checkpoints.assign import plan
from bertviz_core.checkpoints.catalogue import BUNDLED_FOLDER
from bertviz_core.checkpoints.folder import open_folder
from bertviz_core.checkpoints.library import open_model
from bertviz_core.errors import CheckpointError, ConfigError, TokenizerError
from tests.core.checkpoint_copies import (
    NUM_LABELS,
    google_copy,
    hf_copy,
    refusal_of,
    weights_of_hf,
    without_part,
)

POOLER = "bert.pooler.dense.weight"
HEADER_SIZE = struct.Struct("<Q")
BILLION = 10**9


def refusal(folder, kind=CheckpointError):
    return refusal_of(open_model, str(folder), kind=kind)


@pytest.mark.parametrize(
    ("absent", "kind", "said"),
    [
        ("config.json", CheckpointError, "has no config"),
        ("model.safetensors", CheckpointError, "contains no weights"),
        ("vocab.txt", TokenizerError, "no vocabulary"),
        ("bert_model.ckpt.index", CheckpointError, ".index"),
    ],
)
def test_a_folder_that_lacks_a_file(tmp_path, absent, kind, said):
    copy = google_copy if absent.startswith("bert_model") else hf_copy
    assert said in refusal(copy(tmp_path, without=[absent]), kind)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "weights.PKL"])
def test_a_pickle_is_never_opened(tmp_path, name):
    class Bomb:
        def __reduce__(self):
            return open, (str(tmp_path / "exploded"), "w")

    folder = hf_copy(tmp_path, without=["model.safetensors"])
    (folder / name).write_bytes(pickle.dumps(Bomb()))
    sentence = refusal(folder)
    assert name in sentence
    assert "architectures" in sentence  # the class that makes no weights up
    (folder / "model.safetensors").write_bytes(pickle.dumps(Bomb()))
    assert "damaged" in refusal(folder)
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize("kept", [0, 5, 1000, -1])
def test_a_truncated_safetensors_file(tmp_path, kept):
    folder = hf_copy(tmp_path)
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:kept])
    assert "model.safetensors is damaged or incomplete" in refusal(folder)


def test_weights_that_cannot_be_opened_say_why_and_not_where(tmp_path):
    folder = hf_copy(tmp_path, without=["model.safetensors"])
    (folder / "model.safetensors").mkdir()
    assert "Received: Is a directory." in refusal(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"shape": [10**12, 10**12]},
        {"shape": [31, 30]},
        {"shape": "abc"},
        {"data_offsets": [0, 2**62]},
        {"dtype": "F64"},
        {"dtype": "NONSENSE"},
    ],
)
def test_a_safetensors_header_that_lies(tmp_path, change):
    folder = hf_copy(tmp_path)
    path = folder / "model.safetensors"
    data = path.read_bytes()
    (size,) = HEADER_SIZE.unpack(data[:8])
    header = json.loads(data[8 : 8 + size])
    header[POOLER].update(change)
    new = json.dumps(header).encode()
    path.write_bytes(HEADER_SIZE.pack(len(new)) + new + data[8 + size :])
    assert "damaged" in refusal(folder)
    path.write_bytes(HEADER_SIZE.pack(10**18) + b"{}")
    assert "damaged" in refusal(folder)


def test_a_safetensors_header_that_would_fill_the_memory_is_not_read(tmp_path):
    folder = hf_copy(tmp_path)
    path = folder / "model.safetensors"
    data = path.read_bytes()
    (size,) = HEADER_SIZE.unpack(data[:8])
    header = data[8 : 8 + size] + b" " * 8_000_000
    path.write_bytes(HEADER_SIZE.pack(len(header)) + header + data[8 + size :])
    assert f"{len(header)} bytes of index" in refusal(folder)


@pytest.mark.parametrize("text", ["", "[1, 2]", "[" * 99_999])
def test_a_config_that_is_no_json_object(tmp_path, text):
    folder = hf_copy(tmp_path)
    (folder / "config.json").write_text(text)
    assert "config.json" in refusal(folder, ConfigError)


@pytest.mark.parametrize(
    ("name", "size"), [("config.json", 4_000_001), ("vocab.txt", 32_000_001)]
)
def test_a_text_file_that_is_far_too_large(tmp_path, name, size):
    folder = hf_copy(tmp_path)
    with (folder / name).open("wb") as file:
        file.truncate(size)  # sparse: takes no room
    assert "much larger than expected" in refusal(folder, ConfigError)


@pytest.mark.parametrize(
    ("name", "value", "kind", "said"),
    [
        # Terabytes, or an endless loop, if it were built before it is compared.
        ("vocab_size", 2**31 - 1, CheckpointError, "2147483647"),
        ("hidden_size", 6 * 10**8, CheckpointError, "600000000"),
        ("intermediate_size", 2**31 - 1, CheckpointError, "2147483647"),
        ("max_position_embeddings", 2**31 - 1, CheckpointError, "2147483647"),
        ("type_vocab_size", 2**31 - 1, CheckpointError, "2147483647"),
        ("num_hidden_layers", 2**31 - 1, CheckpointError, "=2147483647; the weights"),
        # Fewer would silently drop a layer.
        ("num_hidden_layers", 2, CheckpointError, "=2; the weights have 3 layers"),
        ("vocab_size", 62, CheckpointError, "(62, 30) ≠ (61, 30)"),
        ("hidden_size", -30, ConfigError, "hidden_size"),
        ("model_type", "roberta", ConfigError, "roberta"),
        (
            "id2label",
            {str(number): str(number) for number in range(50_001)},
            CheckpointError,
            "50001; the limit is 50000",
        ),
    ],
)
def test_a_config_that_is_absurd_or_contradicts_the_weights(
    tmp_path, name, value, kind, said
):
    assert said in refusal(hf_copy(tmp_path, config={name: value}), kind)


def test_one_weight_cannot_speak_for_a_billion_layers(tmp_path):
    name = f"bert.encoder.layer.{BILLION - 1}.x"
    weights = weights_of_hf() | {name: np.ones(1, "float32")}
    folder = hf_copy(tmp_path, weights, {"num_hidden_layers": BILLION})
    said = f"num_hidden_layers={BILLION}; the weights have {len(weights)} layers"
    assert said in refusal(folder)


@pytest.mark.parametrize("copy", [hf_copy, google_copy])
def test_far_too_many_weights_are_refused(tmp_path, monkeypatch, copy):
    monkeypatch.setattr("bertviz_core.checkpoints.stored.MAX_NAMES", 30)
    sentence = refusal(copy(tmp_path))
    assert "too many weights" in sentence
    assert "the limit is 30" in sentence


def test_far_too_many_layers_are_refused(tmp_path, monkeypatch):
    monkeypatch.delattr("bertviz_core.model.bert.Bert.__init__")
    weights, opening = weights_of_hf(), "bert.encoder.layer.0."
    for name in [name for name in weights if name.startswith(opening)]:
        for layer in range(129):
            weights[name.replace(".0.", f".{layer}.", 1)] = weights[name]
    sentence = refusal(hf_copy(tmp_path, weights, {"num_hidden_layers": 129}))
    assert "num_hidden_layers=129; the limit is 128" in sentence


def test_a_vocabulary_that_no_model_has_is_refused(tmp_path):
    weights = weights_of_hf()
    weights["bert.embeddings.word_embeddings.weight"] = np.zeros((10**6, 1), "float16")
    sentence = refusal(hf_copy(tmp_path, weights, {"vocab_size": 10**6}))
    assert "vocab_size=1000000; the limit is 750000" in sentence


def test_a_missing_weight_is_named_and_of_many_the_first_few(tmp_path):
    opening = "bert.encoder.layer.1."
    sentence = refusal(hf_copy(tmp_path, without_part(weights_of_hf(), opening)))
    assert f"{opening}attention.self.query.weight" in sentence
    assert sentence.count(opening) == 3
    assert "(+13)" in sentence


def with_part(name, *shape):
    return weights_of_hf() | {name: np.ones(shape, "float32")}


def changed(values):
    """Two numbers of the pooler are these."""
    weights = weights_of_hf()
    weights[POOLER] = weights[POOLER].astype(values.dtype)
    weights[POOLER][3, 4:6] = values
    return weights


@pytest.mark.parametrize(
    ("weights", "names", "said"),
    [
        # A head that is only partly there.
        *(
            (without_part(weights_of_hf(), name), None, name)
            for name in (
                *("bert.pooler.dense.bias", "cls.predictions.bias"),
                "cls.seq_relationship.bias",
            )
        ),
        (with_part("classifier.bias", NUM_LABELS), None, "classifier.weight"),
        (with_part("classifier.weight", NUM_LABELS, 30), None, "classifier.bias"),
        (
            with_part("classifier.weight", NUM_LABELS, 30)
            | with_part("classifier.bias", NUM_LABELS),
            {"0": "a", "1": "b"},
            "2 names; the weights have 11 classes",
        ),
        (with_part("classifier.bias", 50_001), None, "too many classes"),
        # What no BERT has.
        ({"wte.weight": np.ones((7, 5), "float32")}, None, "wte.weight"),
        (with_part("x" * 501, 1), None, "501 letters"),
        (weights_of_hf() | {POOLER: np.ones((30, 30), "int32")}, None, "I32"),
        # No numbers: infinite ones whose sum would be a warning, one beyond float32.
        (changed(np.float32([np.nan, 0])), None, f"{POOLER}.*finite"),
        (changed(np.float32([np.inf, -np.inf])), None, f"{POOLER}.*finite"),
        (changed(np.float64([1e300, 0])), None, f"{POOLER}.*finite"),
    ],
)
def test_weights_that_do_not_make_a_bert_are_named(tmp_path, weights, names, said):
    config = {"architectures": None, "id2label": names}
    assert re.search(said, refusal(hf_copy(tmp_path, weights, config)))


def test_a_vocabulary_too_long_is_refused_before_a_tokenizer_is_built(
    tmp_path, monkeypatch
):
    monkeypatch.delattr("bertviz_core.tokenizer.BertTokenizer.__init__")
    folder = hf_copy(tmp_path)
    with (folder / "vocab.txt").open("a") as file:
        file.write("one\nmore\n" + "\n" * 100)  # blank lines at the end do not count
    assert "63 word pieces for 61 word embeddings" in refusal(folder)
    (folder / "vocab.txt").unlink()
    vocab = {str(number): number for number in range(1_000)}
    (folder / "tokenizer.json").write_text(json.dumps({"model": {"vocab": vocab}}))
    assert "1000 word pieces for 61 word embeddings" in refusal(folder)


def test_a_model_beyond_the_limit_or_the_memory_is_not_built(monkeypatch):
    checkpoint = open_folder(BUNDLED_FOLDER / "bert-mini-en")
    plan(checkpoint)
    monkeypatch.setenv("BERTVIZ_MAX_MODEL_MB", "10")
    with pytest.raises(CheckpointError, match="MB of weights; the limit here is 10 MB"):
        plan(checkpoint)
    monkeypatch.delenv("BERTVIZ_MAX_MODEL_MB")
    monkeypatch.setattr("bertviz_core.checkpoints.assign.free_memory", lambda: 10**7)
    with pytest.raises(CheckpointError, match="not enough memory"):
        plan(checkpoint)


@pytest.mark.parametrize(
    "index",
    [
        {"weight_map": {"a": "../model.safetensors"}},
        {"weight_map": {"a": "/etc/passwd"}},
        {"weight_map": {"a": "absent.safetensors"}},
        {"weight_map": {"a": ["model.safetensors"]}},
        {"weight_map": {}},
        {"weight_map": [1]},
        {},
    ],
)
def test_an_index_of_shards_that_leads_elsewhere(tmp_path, index):
    folder = hf_copy(tmp_path)
    (folder / "model.safetensors").rename(tmp_path / "model.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert "Download or copy it again" in refusal(folder)


def test_a_shard_that_repeats_a_weight(tmp_path):
    folder = hf_copy(tmp_path)
    data = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").unlink()
    names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    for name in names:
        (folder / name).write_bytes(data)
    index = {"weight_map": dict(zip("ab", names, strict=True))}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert "in two files" in refusal(folder)


def test_a_google_folder_with_two_unrelated_checkpoints(tmp_path):
    folder = google_copy(tmp_path)
    for path in list(folder.glob("bert_model.ckpt*")):
        for name in ("first", "second"):
            new = path.name.replace("bert_model.ckpt", name)
            (folder / new).write_bytes(path.read_bytes())
        path.unlink()
    assert "first, second" in refusal(folder)


@pytest.mark.tensorflow
def test_what_tensorflow_writes_that_is_no_checkpoint_of_bert(tmp_path):
    import tensorflow as tf

    folder = google_copy(tmp_path)
    prefix = str(folder / "bert_model.ckpt")
    reader = tf.train.load_checkpoint(prefix)
    tensors = {
        name: tf.constant(reader.get_tensor(name))
        for name in reader.get_variable_to_shape_map()
    }
    tensors["bert/pooler/dense/bias"] = tf.as_string(tensors["bert/pooler/dense/bias"])
    of_version_2 = {"layer/kernel/.ATTRIBUTES/VARIABLE_VALUE": tf.ones([3, 4])}
    for saved, said in ((tensors, "damaged"), (of_version_2, "TensorFlow 2")):
        tf.raw_ops.SaveV2(
            prefix=prefix,
            tensor_names=list(saved),
            shape_and_slices=[""] * len(saved),
            tensors=list(saved.values()),
        )
        assert said in refusal(folder)
