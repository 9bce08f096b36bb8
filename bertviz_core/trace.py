"""The values that cross between processes: frozen dataclasses of NumPy arrays.

Nothing here knows Keras or a page; importing it is cheap. Arrays are made
read-only, because one trace serves several pictures.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from bertviz_core.config import BertConfig
from bertviz_core.tasks import task

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
# Where `Bert` and `Trace` have the logits of a head.
LOGITS = {"mlm": "mlm_logits", "nsp": "nsp_logits", "classifier": "class_logits"}
Arrays = dict[str, np.ndarray]


class FrozenArrays:
    """Makes every array of a dataclass read-only, also after unpickling."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self.__post_init__()


@dataclass(frozen=True)
class Texts:
    """What a model reads; what is beyond its last position is left out."""

    text: str  # the first text, masks written as [MASK]
    pair: str | None = None  # the second text; `None` for none


@dataclass(frozen=True)
class TokenizedText(FrozenArrays):
    """One text, or a pair, as the model reads it."""

    text: str  # the first text, as the user typed it
    pair: str | None  # the second text, or `None`
    tokens: tuple[str, ...]  # T word pieces, special tokens included, `##` kept
    input_ids: np.ndarray  # int32 [T]
    token_type_ids: np.ndarray  # int32 [T]; 0 first text, 1 second
    # int32 [T, 2], first and past-the-last character of each token in its own text
    # (`text` or `pair`), no character of which a part was cut off; (0, 0) for a token
    # that was added.
    offsets: np.ndarray
    # int32 [T], index of the word within its text; -1 for a token that was added.
    word_ids: np.ndarray
    unk_token_id: int  # from the vocabulary
    mask_token_id: int  # from the vocabulary
    # Tokens before anything was cut; more than T means that the end of the text was
    # left out.
    num_tokens_uncut: int

    @property
    def num_tokens(self) -> int:
        """T."""
        return len(self.tokens)

    @property
    def was_cut(self) -> bool:
        return self.num_tokens_uncut > self.num_tokens

    @property
    def inputs(self) -> dict[str, np.ndarray]:
        """What `CompiledForward` takes, `[1, T]` each: a text alone has no padding."""
        return {
            "input_ids": self.input_ids[None],
            "token_type_ids": self.token_type_ids[None],
        }

    @property
    def mask_positions(self) -> np.ndarray:
        """Token indices of the masks, int `[P]`."""
        return np.flatnonzero(self.input_ids == self.mask_token_id)

    @property
    def is_unknown(self) -> np.ndarray:
        """Bool `[T]`: the vocabulary has no pieces for this word."""
        return self.input_ids == self.unk_token_id

    @property
    def is_word(self) -> np.ndarray:
        """Bool `[T]`: a piece with a meaning of its own, none of the special tokens.

        Two [UNK] stand for two words, as do two [MASK]: that their ids are equal says
        nothing.
        """
        return ~np.isin(self.tokens, SPECIAL_TOKENS)

    @property
    def is_special(self) -> np.ndarray:
        """Bool `[T]`: [CLS] and [SEP], also those that the user typed.

        The model cannot tell them from the ones that the tokenizer added.
        """
        return np.isin(self.tokens, ("[CLS]", "[SEP]"))

    @property
    def is_added(self) -> np.ndarray:
        """Bool `[T]`: added by the tokenizer, so not a place of the text."""
        return self.word_ids < 0


@dataclass(frozen=True)
class Trace(FrozenArrays):
    """One forward pass of one text.

    A part is `None` where it was not asked for, or where the checkpoint has no
    such head.
    """

    model_id: str  # which model
    tokenized: TokenizedText  # what went in
    # float32 [L + 1, T, H], embedding output first.
    hidden_states: np.ndarray | None = None
    # float32 [L, N, Q, K]; rows look, columns are looked at; rows sum to 1.
    attention_probs: np.ndarray | None = None
    pooled_output: np.ndarray | None = None  # float32 [H]
    nsp_logits: np.ndarray | None = None  # float32 [2]; 0 = is next, 1 = random
    class_logits: np.ndarray | None = None  # float32 [num_labels]
    # int [P], token indices where words were predicted.
    mlm_positions: np.ndarray | None = None
    mlm_logits: np.ndarray | None = None  # float32 [P, V], before softmax

    @property
    def attention(self) -> np.ndarray:
        """`attention_probs` of a whole trace, which always has them.

        Raises:
            ValueError: this is a part of one.
        """
        if self.attention_probs is None:
            raise ValueError("A whole trace always has its attention.")
        return self.attention_probs

    @task()
    def only(self, parts: tuple[str, ...]) -> Trace:
        """The same trace with just these arrays; "mlm_logits" brings its positions."""
        unknown = set(parts) - set(TRACE_PARTS)
        if unknown:
            raise ValueError(f"`parts` must be among {TRACE_PARTS}. Received: {parts}.")
        kept = {name: getattr(self, name) for name in parts}
        if "mlm_logits" in parts:
            kept["mlm_positions"] = self.mlm_positions
        return Trace(self.model_id, self.tokenized, **kept)


TRACE_PARTS = (
    "hidden_states",
    "attention_probs",
    "pooled_output",
    "nsp_logits",
    "class_logits",
    "mlm_logits",
)


@dataclass(frozen=True)
class MaskPredictions(FrozenArrays):
    """What the model would put at each mask, before any temperature."""

    tokenized: TokenizedText  # what went in
    positions: np.ndarray  # int [P], token indices of the masks, left to right
    logits: np.ndarray  # float32 [P, V], before softmax


@dataclass(frozen=True)
class LoadReport:
    """What became of every weight of a checkpoint, by the checkpoint's names."""

    kind: str  # "google" or "huggingface"
    loaded: tuple[str, ...]  # weights that the model took
    # Parts of BERT that the checkpoint lacks, of "pooler", "mlm", "nsp"; the model has
    # no output for them.
    absent_parts: tuple[str, ...]
    unused: tuple[str, ...]  # weights of the checkpoint that the model has no place for
    optimizer_slots: int  # how many optimiser values were passed over
    # Weights stored in another layout or with another name form ("name: (2, 8) -> (8,
    # 2)").
    reshaped: tuple[str, ...]
    # Sentences about choices, as (template, details) pairs like a `BertVizError`, for
    # instance which GELU the checkpoint means.
    notes: tuple[tuple[str, dict[str, str | int | float]], ...] = ()


@dataclass(frozen=True)
class ModelEntry:
    """A model that can be chosen."""

    model_id: str  # a bundled name, a folder, a zip file or a hub name
    title: str  # what a picker shows
    # "bundled", "cached" (downloaded before), "folder", "upload", "hub" (would be
    # downloaded first), "trained" (by a visitor, here).
    origin: str
    language: str = ""  # "en", "zh", "multilingual" or "" when not known
    size_bytes: int = 0  # of the weights on disk; 0 when not known


@dataclass(frozen=True)
class TrainedInputs:
    """What a classifier was given to learn from, where its files say so."""

    # That its texts were cut to, special tokens counted; 0 where it is not known.
    max_tokens: int = 0
    # Whether it read two texts at a time; `None` where it is not known.
    has_pairs: bool | None = None
    # Both: of the table that it learned from; "" where they are not known, or there is
    # no second text.
    text_column: str = ""
    pair_column: str = ""


@dataclass(frozen=True)
class ModelInfo:
    """A loaded model, described."""

    model_id: str  # which model
    config: BertConfig  # its sizes
    heads: tuple[str, ...]  # parts that exist, of "pooler", "mlm", "nsp", "classifier"
    labels: tuple[str, ...]  # class names of the classifier head, by class index
    lower_case: bool  # whether the tokenizer folds case and accents
    num_weights: int  # how many numbers the model holds
    report: LoadReport  # what was loaded
    # What its classifier learned from.
    trained_inputs: TrainedInputs = dataclasses.field(default_factory=TrainedInputs)
    precision: str = "float32"  # what it computes in, "float32" or "bfloat16"
