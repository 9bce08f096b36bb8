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
    """What a model reads; what is beyond its last position is left out.

    Args:
        text: the first text, masks written as `[MASK]`.
        pair: the second text; `None` for none.
    """

    text: str
    pair: str | None = None


@dataclass(frozen=True)
class TokenizedText(FrozenArrays):
    """One text, or a pair, as the model reads it.

    Args:
        text: the first text, as the user typed it.
        pair: the second text, or `None`.
        tokens: T word pieces, special tokens included, `##` kept.
        input_ids: int32 `[T]`.
        token_type_ids: int32 `[T]`; 0 first text, 1 second.
        offsets: int32 `[T, 2]`, first and past-the-last character of each
            token in its own text (`text` or `pair`); (0, 0) for a token that
            was added.
        word_ids: int32 `[T]`, index of the word within its text; -1 for a
            token that was added.
        unk_token_id, mask_token_id: from the vocabulary.
        num_tokens_uncut: tokens before anything was cut; more than T means
            that the end of the text was left out.
    """

    text: str
    pair: str | None
    tokens: tuple[str, ...]
    input_ids: np.ndarray
    token_type_ids: np.ndarray
    offsets: np.ndarray
    word_ids: np.ndarray
    unk_token_id: int
    mask_token_id: int
    num_tokens_uncut: int

    @property
    def num_tokens(self) -> int:
        """T."""
        return len(self.tokens)

    @property
    def was_cut(self) -> bool:
        """Whether the end of the text was left out."""
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

    Args:
        model_id: which model.
        tokenized: what went in.
        hidden_states: float32 `[L + 1, T, H]`, embedding output first.
        attention_probs: float32 `[L, N, Q, K]`; rows look, columns are looked
            at; rows sum to 1.
        pooled_output: float32 `[H]`.
        nsp_logits: float32 `[2]`; 0 = is next, 1 = random.
        class_logits: float32 `[num_labels]`.
        mlm_positions: int `[P]`, token indices where words were predicted.
        mlm_logits: float32 `[P, V]`, before softmax.
    """

    model_id: str
    tokenized: TokenizedText
    hidden_states: np.ndarray | None = None
    attention_probs: np.ndarray | None = None
    pooled_output: np.ndarray | None = None
    nsp_logits: np.ndarray | None = None
    class_logits: np.ndarray | None = None
    mlm_positions: np.ndarray | None = None
    mlm_logits: np.ndarray | None = None

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
        """The same trace with just these arrays.

        Args:
            parts: names of array fields; "mlm_logits" brings its positions.

        Raises:
            ValueError: a name that is not an array field.
        """
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
    """What the model would put at each mask, before any temperature.

    Args:
        tokenized: what went in.
        positions: int `[P]`, token indices of the masks, left to right.
        logits: float32 `[P, V]`, before softmax.
    """

    tokenized: TokenizedText
    positions: np.ndarray
    logits: np.ndarray


@dataclass(frozen=True)
class LoadReport:
    """What became of every weight of a checkpoint, by the checkpoint's names.

    Args:
        kind: "google" or "huggingface".
        loaded: weights that the model took.
        absent_parts: parts of BERT that the checkpoint lacks, of "pooler",
            "mlm", "nsp"; the model has no output for them.
        unused: weights of the checkpoint that the model has no place for.
        optimizer_slots: how many optimiser values were passed over.
        reshaped: weights stored in another layout or with another name form
            ("name: (2, 8) -> (8, 2)").
        notes: sentences about choices, as (template, details) pairs like a
            `BertVizError`, for instance which GELU the checkpoint means.
    """

    kind: str
    loaded: tuple[str, ...]
    absent_parts: tuple[str, ...]
    unused: tuple[str, ...]
    optimizer_slots: int
    reshaped: tuple[str, ...]
    notes: tuple[tuple[str, dict[str, str | int | float]], ...] = ()


@dataclass(frozen=True)
class ModelEntry:
    """A model that can be chosen.

    Args:
        model_id: a bundled name, a folder, a zip file or a hub name.
        title: what a picker shows.
        origin: "bundled", "cached" (downloaded before), "folder", "upload",
            "hub" (would be downloaded first), "trained" (by a visitor, here).
        language: "en", "zh", "multilingual" or "" when not known.
        size_bytes: of the weights on disk; 0 when not known.
    """

    model_id: str
    title: str
    origin: str
    language: str = ""
    size_bytes: int = 0


@dataclass(frozen=True)
class TrainedInputs:
    """What a classifier was given to learn from, where its files say so.

    Args:
        max_tokens: that its texts were cut to, special tokens counted; 0 where it
            is not known.
        has_pairs: whether it read two texts at a time; `None` where it is not
            known.
        text_column, pair_column: of the table that it learned from; "" where they
            are not known, or there is no second text.
    """

    max_tokens: int = 0
    has_pairs: bool | None = None
    text_column: str = ""
    pair_column: str = ""


@dataclass(frozen=True)
class ModelInfo:
    """A loaded model, described.

    Args:
        model_id: which model.
        config: its sizes.
        heads: parts that exist, of "pooler", "mlm", "nsp", "classifier".
        labels: class names of the classifier head, by class index.
        lower_case: whether the tokenizer folds case and accents.
        num_weights: how many numbers the model holds.
        report: what was loaded.
        trained_inputs: what its classifier learned from.
        precision: what it computes in, "float32" or "bfloat16".
    """

    model_id: str
    config: BertConfig
    heads: tuple[str, ...]
    labels: tuple[str, ...]
    lower_case: bool
    num_weights: int
    report: LoadReport
    trained_inputs: TrainedInputs = dataclasses.field(default_factory=TrainedInputs)
    precision: str = "float32"
