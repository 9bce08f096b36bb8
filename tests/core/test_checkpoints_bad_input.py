"""A checkpoint that is wrong in any way is refused in one sentence."""

import json
import pickle
import struct

import numpy as np
import pytest

from bertviz_core.checkpoints import limits
from bertviz_core.checkpoints.assign import load, plan
from bertviz_core.checkpoints.folder import open_folder
from bertviz_core.checkpoints.library import open_model
from bertviz_core.errors import (
    BertVizError,
    CheckpointError,
    ConfigError,
    TokenizerError,
)
from tests.core.checkpoint_copies import (
    NUM_LABELS,
    google_copy,
    hf_copy,
    weights_of_hf,
    without_part,
)

POOLER = "bert.pooler.dense.weight"
HEADER_SIZE = struct.Struct("<Q")


def refusal(folder, kind=CheckpointError):
    """The sentence, which must be one, and must not be a traceback's."""
    with pytest.raises(kind) as caught:
        open_model(str(folder))
    sentence = str(caught.value)
    assert "Traceback" not in sentence
    assert "\n" not in sentence
    assert len(sentence) < 900
    return sentence


def edit_header(folder, edit):
    """Rewrites the JSON header of a safetensors file, keeping the data."""
    path = folder / "model.safetensors"
    data = path.read_bytes()
    (size,) = HEADER_SIZE.unpack(data[:8])
    header = json.loads(data[8 : 8 + size])
    edit(header)
    new = json.dumps(header).encode()
    path.write_bytes(HEADER_SIZE.pack(len(new)) + new + data[8 + size :])


def test_a_folder_without_config(tmp_path):
    folder = hf_copy(tmp_path, without=["config.json"])
    assert "config.json" in refusal(folder)


def test_an_empty_folder(tmp_path):
    assert "has no config" in refusal(tmp_path)


def test_a_folder_without_weights(tmp_path):
    folder = hf_copy(tmp_path, without=["model.safetensors"])
    assert "holds no weights" in refusal(folder)


def test_a_folder_without_vocabulary(tmp_path):
    folder = hf_copy(tmp_path, without=["vocab.txt"])
    assert "no vocabulary" in refusal(folder, TokenizerError)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "weights.PKL"])
def test_a_pickle_is_never_opened(tmp_path, name):
    class Bomb:
        def __reduce__(self):
            return open, (str(tmp_path / "exploded"), "w")

    folder = hf_copy(tmp_path, without=["model.safetensors"])
    (folder / name).write_bytes(pickle.dumps(Bomb()))
    sentence = refusal(folder)
    assert name in sentence
    assert "pickle" in sentence
    assert "safetensors" in sentence
    assert "architectures" in sentence  # the class that makes no weights up
    assert not (tmp_path / "exploded").exists()


def test_a_pickle_in_the_clothes_of_safetensors(tmp_path):
    folder = hf_copy(tmp_path)
    (folder / "model.safetensors").write_bytes(pickle.dumps(weights_of_hf()))
    assert "damaged" in refusal(folder)


@pytest.mark.parametrize("kept", [0, 5, 1000, 50_000, -1])
def test_a_truncated_safetensors_file(tmp_path, kept):
    folder = hf_copy(tmp_path)
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:kept])
    assert "model.safetensors is damaged or cut short" in refusal(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"shape": [10**12, 10**12]},
        {"shape": [31, 30]},
        {"data_offsets": [0, 2**62]},
        {"dtype": "F64"},
        {"dtype": "NONSENSE"},
        {"shape": "abc"},
    ],
)
def test_a_safetensors_header_that_lies(tmp_path, change):
    folder = hf_copy(tmp_path)
    edit_header(folder, lambda header: header[POOLER].update(change))
    assert "damaged" in refusal(folder)


def test_a_safetensors_file_with_a_header_of_a_quintillion_bytes(tmp_path):
    folder = hf_copy(tmp_path)
    (folder / "model.safetensors").write_bytes(HEADER_SIZE.pack(10**18) + b"{}")
    assert "damaged" in refusal(folder)


def test_weights_that_are_not_floats(tmp_path):
    weights = {name: array.astype("int32") for name, array in weights_of_hf().items()}
    assert "I32" in refusal(hf_copy(tmp_path, weights))


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", "null", '"text"', "[" * 99_999])
def test_a_config_that_is_no_json_object(tmp_path, text):
    folder = hf_copy(tmp_path)
    (folder / "config.json").write_text(text)
    assert "config.json" in refusal(folder, ConfigError)


def test_a_config_that_is_far_too_large(tmp_path):
    folder = hf_copy(tmp_path)
    with (folder / "config.json").open("wb") as file:
        file.truncate(10**10)  # sparse: takes no room
    assert "far too large" in refusal(folder, ConfigError)


def test_a_vocabulary_that_is_far_too_large(tmp_path):
    folder = hf_copy(tmp_path)
    with (folder / "vocab.txt").open("wb") as file:
        file.truncate(10**10)
    assert "far too large" in refusal(folder, ConfigError)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("vocab_size", 2**31 - 1),
        ("hidden_size", 6 * 10**8),
        ("intermediate_size", 2**31 - 1),
        ("max_position_embeddings", 2**31 - 1),
        ("type_vocab_size", 2**31 - 1),
        ("num_hidden_layers", 2**31 - 1),
    ],
)
def test_absurd_sizes_are_refused_before_anything_is_built(tmp_path, name, value):
    """Each would take terabytes, or an endless loop, if it were built first."""
    sentence = refusal(hf_copy(tmp_path, config={name: value}))
    assert str(value) in sentence


@pytest.mark.parametrize(
    ("name", "value"),
    [("vocab_size", "many"), ("hidden_size", -30), ("num_attention_heads", 0)],
)
def test_sizes_that_are_no_sizes(tmp_path, name, value):
    sentence = refusal(hf_copy(tmp_path, config={name: value}), ConfigError)
    assert name in sentence


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("vocab_size", 62),
        ("hidden_size", 36),
        ("intermediate_size", 38),
        ("max_position_embeddings", 18),
        ("type_vocab_size", 6),
    ],
)
def test_a_config_that_contradicts_the_weights(tmp_path, name, value):
    sentence = refusal(hf_copy(tmp_path, config={name: value}))
    assert "does not fit its config" in sentence
    assert str(value) in sentence


@pytest.mark.parametrize("layers", [2, 4])
def test_a_config_with_other_layers_than_the_weights(tmp_path, layers):
    """Fewer would silently drop a layer."""
    folder = hf_copy(tmp_path, config={"num_hidden_layers": layers})
    sentence = refusal(folder)
    assert f"num_hidden_layers={layers}" in sentence
    assert "3 layers" in sentence


def test_one_weight_cannot_speak_for_a_billion_layers(tmp_path):
    weights = weights_of_hf() | {
        "bert.encoder.layer.999999998.x": np.ones(1, "float32")
    }
    folder = hf_copy(tmp_path, weights, {"num_hidden_layers": 999_999_999})
    sentence = refusal(folder)
    assert "num_hidden_layers=999999999" in sentence
    assert f"{len(weights)} layers" in sentence


@pytest.mark.parametrize("copy", [hf_copy, google_copy])
def test_far_too_many_weights_are_refused(tmp_path, monkeypatch, copy):
    folder = copy(tmp_path)
    monkeypatch.setattr("bertviz_core.checkpoints.stored.MAX_NAMES", 30)
    sentence = refusal(folder)
    assert "far too many weights" in sentence
    assert "at most 30" in sentence


def many_layers_copy(folder, num_layers):
    """A copy of `hf_tiny` with its first layer again and again."""
    weights, opening = weights_of_hf(), "bert.encoder.layer.0."
    for name in [name for name in weights if name.startswith(opening)]:
        for layer in range(num_layers):
            new = name.replace(".0.", f".{layer}.", 1)
            weights[new] = weights[name]
    return hf_copy(folder, weights, {"num_hidden_layers": num_layers})


def test_far_too_many_layers_are_refused(tmp_path, monkeypatch):
    assert len(plan(open_folder(many_layers_copy(tmp_path / "a", 48))).weights) > 700
    monkeypatch.setattr("bertviz_core.model.bert.Bert.__init__", None)
    sentence = refusal(many_layers_copy(tmp_path / "b", limits.MAX_LAYERS + 1))
    assert "num_hidden_layers=129" in sentence
    assert "at most 128" in sentence


@pytest.mark.parametrize(
    ("layers", "vocabulary", "classes"),
    [
        (24, 30_522, 2),
        (12, 119_547, 1_000),
        (12, 250_002, 9_000),
        (48, 501_153, 30_000),
    ],
)
def test_sizes_of_real_models_are_taken(layers, vocabulary, classes):
    limits.require_usual_sizes("a-model", layers, vocabulary)
    limits.require_few_classes("a-model", classes)


def test_a_vocabulary_that_no_model_has_is_refused(tmp_path):
    """Ten million lines, and as many tiny word embeddings."""
    weights = weights_of_hf()
    weights["bert.embeddings.word_embeddings.weight"] = np.zeros((10**7, 1), "float16")
    sentence = refusal(hf_copy(tmp_path, weights, {"vocab_size": 10**7}))
    assert "vocab_size=10000000" in sentence
    assert "at most 750000" in sentence


def test_far_too_many_class_names_are_refused(tmp_path):
    names = {str(number): str(number) for number in range(50_001)}
    sentence = refusal(hf_copy(tmp_path, config={"id2label": names}))
    assert "50001, of which BERT Explorer takes at most 50000" in sentence


def test_far_too_many_classes_without_names_are_refused(tmp_path):
    extra = {
        "classifier.weight": np.ones((50_001, 30), "float32"),
        "classifier.bias": np.ones(50_001, "float32"),
    }
    folder = hf_copy(tmp_path, weights_of_hf() | extra, {"architectures": None})
    assert "too many classes" in refusal(folder)


def test_google_sizes_are_compared_too(tmp_path):
    folder = google_copy(tmp_path, config={"intermediate_size": 46})
    sentence = refusal(folder)
    assert "(28, 46) ≠ (28, 45)" in sentence


def test_a_missing_weight_is_named(tmp_path):
    name = "bert.encoder.layer.1.attention.self.value.bias"
    sentence = refusal(hf_copy(tmp_path, without_part(weights_of_hf(), name)))
    assert name in sentence


def test_of_many_missing_weights_the_first_few_are_named(tmp_path):
    opening = "bert.encoder.layer.1."
    sentence = refusal(hf_copy(tmp_path, without_part(weights_of_hf(), opening)))
    assert sentence.count(opening) == 3
    assert "(+13)" in sentence


@pytest.mark.parametrize(
    "name",
    [
        "bert.pooler.dense.bias",
        "cls.predictions.bias",
        "cls.predictions.transform.LayerNorm.weight",
        "cls.seq_relationship.bias",
    ],
)
def test_a_head_that_is_only_partly_there(tmp_path, name):
    sentence = refusal(hf_copy(tmp_path, without_part(weights_of_hf(), name)))
    assert name in sentence


@pytest.mark.parametrize("half", ["classifier.weight", "classifier.bias"])
def test_half_a_classifier(tmp_path, half):
    shape = (NUM_LABELS, 30) if half == "classifier.weight" else (NUM_LABELS,)
    extra = {half: np.ones(shape, "float32")}
    folder = hf_copy(tmp_path, weights_of_hf() | extra, {"architectures": None})
    assert "classifier" in refusal(folder)


def test_class_names_that_do_not_fit_the_classifier(tmp_path):
    extra = {
        "classifier.weight": np.ones((NUM_LABELS, 30), "float32"),
        "classifier.bias": np.ones(NUM_LABELS, "float32"),
    }
    config = {"architectures": None, "id2label": {"0": "a", "1": "b", "2": "c"}}
    folder = hf_copy(tmp_path, weights_of_hf() | extra, config)
    sentence = refusal(folder)
    assert "3 names" in sentence
    assert f"{NUM_LABELS} classes" in sentence


def test_weights_of_another_kind_of_model(tmp_path):
    weights = {"wte.weight": np.ones((7, 5), "float32")}
    assert "wte.weight" in refusal(hf_copy(tmp_path, weights))


def test_a_config_of_another_kind_of_model(tmp_path):
    folder = hf_copy(tmp_path, config={"model_type": "roberta"})
    assert "roberta" in refusal(folder, ConfigError)


def test_a_weight_with_an_endless_name(tmp_path):
    weights = weights_of_hf() | {"x" * 501: np.ones(1, "float32")}
    assert "501 letters" in refusal(hf_copy(tmp_path, weights))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_no_numbers(tmp_path, value):
    weights = weights_of_hf()
    weights[POOLER][3, 4] = value
    sentence = refusal(hf_copy(tmp_path, weights))
    assert POOLER in sentence
    assert "finite" in sentence


def test_weights_of_both_infinities_are_refused_without_a_warning(tmp_path):
    weights = weights_of_hf()
    weights[POOLER][3, 4], weights[POOLER][3, 5] = np.inf, -np.inf
    assert "finite" in refusal(hf_copy(tmp_path, weights))


def test_a_number_beyond_float32(tmp_path):
    weights = weights_of_hf()
    weights[POOLER] = weights[POOLER].astype("float64")
    weights[POOLER][3, 4] = 1e300
    assert "finite" in refusal(hf_copy(tmp_path, weights))


def test_a_vocabulary_longer_than_the_embeddings(tmp_path):
    folder = hf_copy(tmp_path)
    with (folder / "vocab.txt").open("a") as file:
        file.write("one\nmore\n")
    sentence = refusal(folder)
    assert "63 word pieces for 61 word embeddings" in sentence


def without_tokenizer(monkeypatch):
    def build(*_, **__):
        raise AssertionError("a tokenizer was built")

    monkeypatch.setattr("bertviz_core.tokenizer.BertTokenizer.__init__", build)


def test_a_vocabulary_too_long_is_refused_before_a_tokenizer_is_built(
    tmp_path, monkeypatch
):
    folder = hf_copy(tmp_path)
    with (folder / "vocab.txt").open("a") as file:
        file.writelines(f"{number}\n" for number in range(100_000))
        file.write("\n" * 100)  # blank lines at the end do not count
    without_tokenizer(monkeypatch)
    assert "100061 word pieces for 61 word embeddings" in refusal(folder)


def test_so_is_one_in_a_tokenizer_json(tmp_path, monkeypatch):
    folder = hf_copy(tmp_path, without=["vocab.txt"])
    vocab = {str(number): number for number in range(1_000)}
    (folder / "tokenizer.json").write_text(json.dumps({"model": {"vocab": vocab}}))
    without_tokenizer(monkeypatch)
    assert "1000 word pieces for 61 word embeddings" in refusal(folder)


def test_a_model_beyond_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr("bertviz_core.checkpoints.assign.MAX_NUM_WEIGHTS", 20_000)
    with pytest.raises(CheckpointError, match="too large"):
        plan(open_folder(hf_copy(tmp_path)))


@pytest.mark.parametrize(
    "index",
    [
        {"weight_map": {"a": "../../model.safetensors"}},
        {"weight_map": {"a": "/etc/passwd"}},
        {"weight_map": {"a": "absent.safetensors"}},
        {"weight_map": {"a": ["model.safetensors"]}},
        {"weight_map": {}},
        {"weight_map": [1]},
        {},
    ],
)
def test_an_index_of_shards_that_leads_elsewhere(tmp_path, index):
    folder = hf_copy(tmp_path, without=["model.safetensors"])
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    refusal(folder)


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


@pytest.mark.parametrize("kept", [0, 100, 30_000])
def test_a_truncated_google_data_file(tmp_path, kept):
    folder = google_copy(tmp_path)
    path = folder / "bert_model.ckpt.data-00000-of-00001"
    path.write_bytes(path.read_bytes()[:kept])
    assert "damaged or cut short" in refusal(folder)


@pytest.mark.parametrize("kept", [0, 100, 1900])
def test_a_truncated_google_index(tmp_path, kept):
    folder = google_copy(tmp_path)
    path = folder / "bert_model.ckpt.index"
    path.write_bytes(path.read_bytes()[:kept])
    assert "damaged or cut short" in refusal(folder)


def test_a_google_data_file_with_a_flipped_bit(tmp_path):
    folder = google_copy(tmp_path)
    path = folder / "bert_model.ckpt.data-00000-of-00001"
    data = bytearray(path.read_bytes())
    data[31_000] ^= 0x10
    path.write_bytes(data)
    assert "damaged or cut short" in refusal(folder)


def test_a_google_folder_without_index(tmp_path):
    folder = google_copy(tmp_path, without=["bert_model.ckpt.index"])
    assert ".index" in refusal(folder)


def test_a_google_folder_with_two_unrelated_checkpoints(tmp_path):
    folder = google_copy(tmp_path)
    for path in list(folder.glob("bert_model.ckpt*")):
        for name in ("first", "second"):
            new = path.name.replace("bert_model.ckpt", name)
            (folder / new).write_bytes(path.read_bytes())
        path.unlink()
    assert "first, second" in refusal(folder)


@pytest.mark.tensorflow
def test_a_checkpoint_of_tensorflow_2(tmp_path):
    import tensorflow as tf

    folder = google_copy(tmp_path)
    for path in list(folder.glob("bert_model.ckpt*")):
        path.unlink()
    tf.raw_ops.SaveV2(
        prefix=str(folder / "bert_model.ckpt"),
        tensor_names=["layer/kernel/.ATTRIBUTES/VARIABLE_VALUE"],
        shape_and_slices=[""],
        tensors=[tf.ones([3, 4])],
    )
    assert "TensorFlow 2" in refusal(folder)


def test_a_path_that_is_no_folder_and_no_name(tmp_path):
    assert "no model of this name" in refusal(tmp_path / "absent")


@pytest.mark.parametrize("name", ["../secrets", "a/b/c", "a@../b", "", "a b", "\x00"])
def test_names_with_tricks(name):
    with pytest.raises(BertVizError) as caught:
        open_model(name)
    assert "no model of this name" in str(caught.value)


@pytest.mark.tensorflow
def test_a_google_weight_that_is_no_float(tmp_path):
    import tensorflow as tf

    folder = google_copy(tmp_path)
    reader = tf.train.load_checkpoint(str(folder / "bert_model.ckpt"))
    tensors = {
        name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()
    }
    name = "bert/pooler/dense/bias"
    tensors[name] = tf.as_string(tensors[name])
    tf.raw_ops.SaveV2(
        prefix=str(folder / "bert_model.ckpt"),
        tensor_names=list(tensors),
        shape_and_slices=[""] * len(tensors),
        tensors=[tf.constant(value) for value in tensors.values()],
    )
    with pytest.raises(CheckpointError, match="damaged"):
        load(open_folder(folder))
