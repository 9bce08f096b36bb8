"""How long the texts are in tokens, and how much a maximum length cuts off."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from bertviz_core.finetune.dataset import Dataset
from bertviz_core.trace import FrozenArrays

# Texts tokenized at once: bounds memory, and a step is still milliseconds.
_BATCH_ROWS = 1_000
# Lengths are padded to multiples of 8 in training, so that nothing is saved below.
_STEP = 8


class Pieces(Protocol):
    """What is asked of a tokenizer."""

    unk_token_id: int

    def encode_many(self, texts: Sequence[str]) -> list[list[int]]:
        """Piece ids of many texts at once, without special tokens."""


@dataclass(frozen=True)
class Lengths(FrozenArrays):
    """Tokens of every row.

    Args:
        num_tokens: int32 `[R]`, special tokens counted, nothing cut.
        num_unknown: int32 `[R]`, those that are [UNK].
        num_special: tokens that are added to each row: 2, or 3 for a pair.
    """

    num_tokens: np.ndarray
    num_unknown: np.ndarray
    num_special: int

    def percentile(self, percent: float) -> int:
        """The length that so many percent of rows do not exceed."""
        return int(np.percentile(self.num_tokens, percent, method="inverted_cdf"))

    def share_cut(self, max_tokens: int) -> float:
        """Share of rows, in [0, 1], that lose tokens at this maximum."""
        return float((self.num_tokens > max_tokens).mean())

    def share_tokens_cut(self, max_tokens: int) -> float:
        """Share of all tokens, in [0, 1], that this maximum cuts off."""
        lost = np.maximum(self.num_tokens - max_tokens, 0).sum()
        return float(lost / self.num_tokens.sum())

    def default_max_tokens(self, max_position_embeddings: int) -> int:
        """The length that 95 % of rows keep to, in steps of 8.

        Args:
            max_position_embeddings: of the model; no more than that.
        """
        rounded = math.ceil(self.percentile(95) / _STEP) * _STEP
        return min(rounded, max_position_embeddings)

    @property
    def share_unknown(self) -> float:
        """Share of tokens, in [0, 1], special ones left out, that are [UNK]."""
        num_own = self.num_tokens.sum() - self.num_special * len(self.num_tokens)
        return float(self.num_unknown.sum() / num_own) if num_own else 0.0


def measure_lengths(dataset: Dataset, tokenizer: Pieces) -> Lengths:
    """Tokenizes every row once.

    Args:
        dataset: R rows.
        tokenizer: a `BertTokenizer`.
    """
    sizes, unknown = _count(dataset.texts, tokenizer)
    num_special = 2
    if dataset.pairs is not None:
        more, more_unknown = _count(dataset.pairs, tokenizer)
        sizes, unknown, num_special = sizes + more, unknown + more_unknown, 3
    return Lengths(sizes + num_special, unknown, num_special)


def _count(texts: Sequence[str], tokenizer: Pieces) -> tuple[np.ndarray, np.ndarray]:
    sizes = np.zeros(len(texts), "int32")
    unknown = np.zeros(len(texts), "int32")
    for start in range(0, len(texts), _BATCH_ROWS):
        rows = tokenizer.encode_many(texts[start : start + _BATCH_ROWS])
        for index, ids in enumerate(rows, start):
            sizes[index] = len(ids)
            unknown[index] = ids.count(tokenizer.unk_token_id)
    return sizes, unknown
