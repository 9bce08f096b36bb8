import dataclasses
import itertools
import json
import math

import pytest

from bertviz_core.config import ACTIVATION_ALIASES, BertConfig, read_json_object
from bertviz_core.errors import ConfigError
from tests.core.random_models import PRE_NORM

SIZES = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "max_position_embeddings",
    "type_vocab_size",
)
RATES = ("hidden_dropout_prob", "attention_probs_dropout_prob")
CONSTANTS = ("initializer_range", "layer_norm_eps")
# BERT-base as Google's uncased_L-12_H-768_A-12/bert_config.json has it.
GOOGLE = {
    "attention_probs_dropout_prob": 0.1,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "hidden_size": 768,
    "initializer_range": 0.02,
    "intermediate_size": 3072,
    "max_position_embeddings": 512,
    "num_attention_heads": 12,
    "num_hidden_layers": 12,
    "type_vocab_size": 2,
    "vocab_size": 30522,
}


def test_defaults_are_bert_base():
    assert BertConfig(vocab_size=30522) == BertConfig(**GOOGLE)


def test_head_size_is_the_share_of_one_head():
    assert BertConfig(7, hidden_size=42, num_attention_heads=3).head_size == 14


NOT_SIZES = (0, -3, True, 12.0, "12", None, [12], math.nan)
NOT_RATES = (-0.1, 1, 1.0, math.nan, math.inf, False, "0.1", None)
NOT_CONSTANTS = (-1e-12, math.nan, math.inf, True, "1e-12", None)


@pytest.mark.parametrize(
    ("names", "values", "said"),
    [
        (SIZES, NOT_SIZES, "must be a whole number"),
        (SIZES, (2**31, 10**5000), "must be at most 2147483647"),
        (RATES, NOT_RATES, "must be at least 0 and below 1"),
        (CONSTANTS, NOT_CONSTANTS, "must be a number from 0 to 1"),
        (("pre_norm",), (1, 0, "true", None), "must be true or false"),
        (("num_attention_heads",), (7,), "hidden_size=768"),
    ],
)
def test_a_value_that_cannot_be_is_named(names, values, said):
    for name, value in itertools.product(names, values):
        with pytest.raises(ConfigError, match=said) as caught:
            BertConfig(**GOOGLE | {name: value})
        assert name in str(caught.value)


def test_a_rate_may_be_zero_or_almost_one():
    config = BertConfig(7, hidden_dropout_prob=0, attention_probs_dropout_prob=0.999)
    assert config.hidden_dropout_prob == 0


def test_each_curve_has_one_name_here():
    names = {
        "gelu": ["gelu", "gelu_python"],
        "gelu_new": ["gelu_new", "gelu_fast", "gelu_tanh", "gelu_pytorch_tanh"],
        "relu": ["relu"],
        "swish": ["swish", "silu"],
    }
    for meant, spellings in names.items():
        for written in spellings:
            assert BertConfig(7, hidden_act=written).hidden_act == meant
    assert len(ACTIVATION_ALIASES) == 9


@pytest.mark.parametrize("value", ["mish", "GELU", "", None, ["gelu"], "x" * 9_999])
def test_an_unknown_activation_is_named(value):
    with pytest.raises(ConfigError, match="gelu_new") as caught:
        BertConfig(7, hidden_act=value)
    assert f"hidden_act={value}"[:50] in str(caught.value)
    assert len(str(caught.value)) < 400


def test_unknown_keys_and_the_plain_values_of_others_are_no_matter():
    raw = GOOGLE | {"directionality": "bidi", "pad_token_id": 0, "model_type": "bert"}
    raw |= {"position_embedding_type": "absolute", "is_decoder": False}
    assert BertConfig.from_dict(raw, "config.json") == BertConfig(**GOOGLE)


def test_a_config_survives_json(tmp_path):
    config = dataclasses.replace(
        PRE_NORM, hidden_act="swish", initializer_range=0.03, sparse_window=3
    )
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config.to_dict()))
    assert BertConfig.from_json_file(path) == config


def test_a_config_without_a_vocabulary_is_not_a_bert():
    raw = {key: value for key, value in GOOGLE.items() if key != "vocab_size"}
    with pytest.raises(ConfigError, match=r"gpt\.json has no vocab_size"):
        BertConfig.from_dict(raw, "gpt.json")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("model_type", "roberta"),
        ("model_type", ["bert"]),
        ("position_embedding_type", "relative_key"),
        ("is_decoder", True),
        ("add_cross_attention", True),
    ],
)
def test_another_kind_of_model_is_refused(key, value):
    with pytest.raises(ConfigError, match="not describe a plain BERT") as caught:
        BertConfig.from_dict(GOOGLE | {key: value}, "config.json")
    assert f"{key}={value}" in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"vocab_size: 3",
        b"\xff\xfe{\x00}\x00",
        b'{"vocab_size": "\xe9"}',
        b"[" * 100_000,
        b'{"vocab_size": ' + b"9" * 5000 + b"}",
    ],
    ids=["empty", "half", "yaml", "utf-16", "latin-1", "deep", "long-number"],
)
def test_what_is_not_json_is_refused(tmp_path, content):
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"config\.json cannot be read as JSON"):
        read_json_object(path)


def test_json_that_is_no_object_is_refused_as_is_what_is_no_file(tmp_path):
    path = tmp_path / "config.json"
    for content in ("[]", "3", "null"):
        path.write_text(content)
        with pytest.raises(ConfigError, match=r"must hold a JSON object\. Received"):
            read_json_object(path)
    (broken := tmp_path / "broken.json").write_text('{\n"a" 1}')
    absent = tmp_path / "absent.json"
    for path, why in (absent, "No such"), (tmp_path, "directory"), (broken, "line 2"):
        with pytest.raises(ConfigError, match=f"cannot be read as JSON.*{why}"):
            BertConfig.from_json_file(path)


def test_a_byte_order_mark_is_no_error(tmp_path):
    """Windows editors write one."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps(GOOGLE), encoding="utf-8-sig")
    assert BertConfig.from_json_file(path) == BertConfig(**GOOGLE)
