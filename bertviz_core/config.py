"""Model configuration, field for field as in `bert_config.json`."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertviz_core.errors import ConfigError, reason_of

# Hugging Face's names for the same curves; one name each in this project.
ACTIVATION_ALIASES = {
    "gelu": "gelu",  # x * Phi(x), through erf
    "gelu_python": "gelu",
    "gelu_new": "gelu_new",  # the tanh approximation
    "gelu_pytorch_tanh": "gelu_new",
    "gelu_fast": "gelu_new",
    "gelu_tanh": "gelu_new",
    "relu": "relu",
    "swish": "swish",
    "silu": "swish",
}

_POSITIVE = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "max_position_embeddings",
    "type_vocab_size",
)
_SPARSE = ("sparse_window", "sparse_stride", "sparse_global")
_OWN = ("pre_norm", "sparse_block", *_SPARSE)
_RATES = ("hidden_dropout_prob", "attention_probs_dropout_prob")
# How a model is trained, no part of what it computes with the weights it has.
_OF_TRAINING = (*_RATES, "initializer_range")
# Of a vocabulary, and of another file of text. The longest vocabulary in use (500,000
# pieces in a tokenizer.json) is 17 MB. JSON takes 25 times as much in memory.
_MAX_VOCABULARY_BYTES, _MAX_BYTES = 32_000_000, 4_000_000
_LARGEST_SIZE = 2**31 - 1  # ids and positions are int32


@dataclass(frozen=True)
class BertConfig:
    """Sizes and rates of one BERT. Names are those of Google's JSON file.

    Raises:
        ConfigError: if a size is not a positive int32, a rate lies outside [0, 1),
            the activation is unknown, a constant is not a number, or the sizes
            contradict each other.

    Source: google-research/bert, `modeling.py`, `BertConfig`. `layer_norm_eps` is
    Hugging Face's name for a constant of Google's code; `pre_norm` and the `sparse_`
    fields are ours: all 0 is full attention, see `model/sparse.py`.
    """

    vocab_size: int
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu"  # "gelu" (erf), "gelu_new" (tanh), "relu", "swish"
    hidden_dropout_prob: float = 0.1  # in [0, 1)
    attention_probs_dropout_prob: float = 0.1  # in [0, 1)
    max_position_embeddings: int = 512  # tokens
    type_vocab_size: int = 2
    initializer_range: float = 0.02  # standard deviation
    layer_norm_eps: float = 1e-12
    pre_norm: bool = False  # True: norm before each block, and one at the end
    sparse_block: int = 1  # tokens that count as one place in the pattern below
    sparse_window: int = 0  # blocks to each side that a token sees
    sparse_stride: int = 0  # it also sees every n-th block; 0: none
    sparse_global: int = 0  # first blocks, which see all and are seen by all

    def __post_init__(self) -> None:
        for name in _POSITIVE:
            _require_size(name, getattr(self, name))
        for name in _RATES:
            _require_rate(name, getattr(self, name))
        _require_small("initializer_range", self.initializer_range)
        _require_small("layer_norm_eps", self.layer_norm_eps)
        if not isinstance(self.pre_norm, bool):
            raise ConfigError(
                "pre_norm must be true or false. "
                "Received: pre_norm={received}. Check config.json.",
                received=_short(self.pre_norm),
            )
        _require_size("sparse_block", self.sparse_block)
        for name in _SPARSE:
            if getattr(self, name) != 0:
                _require_size(name, getattr(self, name))
        object.__setattr__(self, "hidden_act", _activation(self.hidden_act))
        if self.hidden_size % self.num_attention_heads:
            raise ConfigError(
                "hidden_size must be a multiple of num_attention_heads. "
                "Received: hidden_size={hidden_size}, "
                "num_attention_heads={num_attention_heads}. "
                "Check config.json.",
                hidden_size=self.hidden_size,
                num_attention_heads=self.num_attention_heads,
            )

    @property
    def head_size(self) -> int:
        """Width of one attention head, D = H / N."""
        return self.hidden_size // self.num_attention_heads

    @property
    def own_fields(self) -> dict[str, Any]:
        """What makes this another computation than BERT's; empty for a plain BERT."""
        return {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name in _OWN and getattr(self, field.name) != field.default
        }

    @property
    def is_sparse(self) -> bool:
        """Whether a token sees some of the others only."""
        return any(getattr(self, name) for name in _SPARSE)

    def differing_fields(self, other: BertConfig) -> tuple[str, ...]:
        """Names of what keeps two models from taking each other's weights.

        Rates of dropout and of drawing weights are free.
        """
        return tuple(
            field.name
            for field in dataclasses.fields(self)
            if field.name not in _OF_TRAINING
            and getattr(self, field.name) != getattr(other, field.name)
        )

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON holds them: BERT's all, ours where they say something."""
        fields = dataclasses.asdict(self)
        own = self.own_fields
        return {k: v for k, v in fields.items() if k not in _OWN or k in own}

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any], source: str) -> BertConfig:
        """Takes the fields we know of Google's or Hugging Face's JSON, and no others.

        Raises:
            ConfigError: no BERT config, or a kind of BERT that this code
                does not compute (relative positions, a decoder).
        """
        _require_plain_bert(raw, source)
        known = {field.name for field in dataclasses.fields(cls)}
        return cls(**{key: value for key, value in raw.items() if key in known})

    @classmethod
    def from_json_file(cls, path: Path) -> BertConfig:
        """Reads a Google or Hugging Face config.

        Raises:
            ConfigError: the file is absent, is not JSON, or see `from_dict`.
        """
        return cls.from_dict(read_json_object(path), path.name)


def require_text_size(path: Path) -> None:
    """Refuses a file too large for a config or vocabulary, with a `ConfigError`."""
    is_vocabulary = path.name in ("vocab.txt", "tokenizer.json")
    most = _MAX_VOCABULARY_BYTES if is_vocabulary else _MAX_BYTES
    if path.is_file() and path.stat().st_size > most:
        raise ConfigError(
            "The file {name} is much larger than expected. Received: {size} bytes. Get "
            "a fresh copy from the model's source.",
            name=path.name,
            size=path.stat().st_size,
        )


def read_json_object(path: Path) -> dict[str, Any]:
    """Reads a JSON file that must hold an object.

    Raises:
        ConfigError: absent, unreadable, far too large, or no object.
    """
    require_text_size(path)
    try:
        raw = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(
            "The file {name} cannot be read as JSON. Received: {reason}. Get a fresh "
            "copy from the model's source.",
            name=path.name,
            reason=reason_of(error),
        ) from error
    if not isinstance(raw, dict):
        raise ConfigError(
            "The file {name} must hold a JSON object. Received: {kind}. Get a fresh "
            "copy from the model's source.",
            name=path.name,
            kind=type(raw).__name__,
        )
    return raw


def _require_plain_bert(raw: Mapping[str, Any], source: str) -> None:
    if "vocab_size" not in raw:
        raise ConfigError(
            "{source} has no vocab_size, so it does not describe a BERT. Choose the "
            "folder that contains a BERT's config.json or bert_config.json.",
            source=source,
        )
    # Keys whose other values mean arithmetic that this project does not do.
    expected = {
        "model_type": "bert",
        "position_embedding_type": "absolute",
        "is_decoder": False,
        "add_cross_attention": False,
    }
    for key, value in expected.items():
        if raw.get(key, value) != value:
            raise ConfigError(
                "{source} does not describe a plain BERT encoder. Received: "
                "{key}={received}. Choose a BERT checkpoint.",
                source=source,
                key=key,
                received=_short(raw[key]),
            )


def _activation(name: Any) -> str:
    """Our name of the curve."""
    if not isinstance(name, str) or name not in ACTIVATION_ALIASES:
        raise ConfigError(
            "BERT Explorer does not know this activation function. Received: "
            "hidden_act={received}. Use one of: {known}.",
            received=_short(name),
            known=", ".join(ACTIVATION_ALIASES),
        )
    return ACTIVATION_ALIASES[name]


def _require_size(name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ConfigError(
            "{name} must be a whole number of at least 1. "
            "Received: {name}={received}. Check config.json.",
            name=name,
            received=_short(value),
        )
    if value > _LARGEST_SIZE:
        raise ConfigError(
            "{name} must be at most {largest}. "
            "Received: {name}={received}. Check config.json.",
            name=name,
            largest=_LARGEST_SIZE,
            received=_short(value),
        )


def _require_rate(name: str, value: Any) -> None:
    if not _is_number(value) or not 0 <= value < 1:
        raise ConfigError(
            "{name} must be at least 0 and below 1. "
            "Received: {name}={received}. Check config.json.",
            name=name,
            received=_short(value),
        )


def _require_small(name: str, value: Any) -> None:
    if not _is_number(value) or not 0 <= value <= 1:
        raise ConfigError(
            "{name} must be a number from 0 to 1. "
            "Received: {name}={received}. Check config.json.",
            name=name,
            received=_short(value),
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _short(value: Any) -> str:
    """As much of a value as a sentence can hold."""
    try:
        return str(value)[:60]
    except ValueError:  # Python writes no whole number of over 4300 digits
        return "a number of thousands of digits"
