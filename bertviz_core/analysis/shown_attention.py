"""From an attention matrix to the one that is shown: merge, leave out, cut off.

Q rows and K columns of what is shown; each stands for a token, or for a word.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bertviz_core.analysis.attention import (
    group_words,
    merge_labels,
    merge_words,
    segment_tokens,
    select_tokens,
    threshold_mass,
    threshold_weight,
)
from bertviz_core.trace import FrozenArrays, TokenizedText

# What a row or column is: an ordinary word, or one that carries a sign.
WORD, SPECIAL, MASK, UNKNOWN = "word", "special", "mask", "unknown"


@dataclass(frozen=True)
class AttentionOptions:
    """How attention is to be shown. The defaults show it as it is.

    Args:
        merge_words: makes one row and column of the pieces of a word.
        hide_special: leaves [CLS] and [SEP] out.
        renormalise: divides each row by what is left of it.
        from_segment: whose looking is shown, 0 or 1; `None` for both texts.
        to_segment: who is shown as looked at, likewise.
        least_weight: smaller weights become 0.
        mass: of each row, the largest weights that reach this share stay.
    """

    merge_words: bool = False
    hide_special: bool = False
    renormalise: bool = False
    from_segment: int | None = None
    to_segment: int | None = None
    least_weight: float = 0.0
    mass: float = 1.0


@dataclass(frozen=True)
class Axis(FrozenArrays):
    """The rows, or the columns, of what is shown.

    Args:
        labels: what each is called.
        kinds: `WORD`, `SPECIAL`, `MASK` or `UNKNOWN`.
        segments: int, 0 first text, 1 second.
        first_tokens: int, index of its first token in the text.
        num_tokens: int, how many tokens it stands for.
    """

    labels: tuple[str, ...]
    kinds: tuple[str, ...]
    segments: np.ndarray
    first_tokens: np.ndarray
    num_tokens: np.ndarray

    def __len__(self) -> int:
        return len(self.labels)

    def select(self, kept: np.ndarray) -> Axis:
        """Those that a bool array marks."""
        indices = np.flatnonzero(kept)
        return Axis(
            tuple(self.labels[i] for i in indices),
            tuple(self.kinds[i] for i in indices),
            self.segments[indices],
            self.first_tokens[indices],
            self.num_tokens[indices],
        )

    def place_of(self, token: int) -> int | None:
        """Where a token of the text is shown; `None` where it is left out."""
        offsets = token - self.first_tokens
        found = np.flatnonzero((offsets >= 0) & (offsets < self.num_tokens))
        return int(found[0]) if len(found) else None


@dataclass(frozen=True)
class ShownAttention(FrozenArrays):
    """What a picture shows.

    Args:
        values: float `[Q, K]`.
        rows: who looks.
        columns: who is looked at.
        left_out: share of all weight that options took away, in [0, 1]; 0 after
            `renormalise`, which spreads it over the rest.
    """

    values: np.ndarray
    rows: Axis
    columns: Axis
    left_out: float


def show_attention(
    matrix: np.ndarray, tokenized: TokenizedText, options: AttentionOptions
) -> ShownAttention:
    """Applies the options, in the order of their fields.

    Args:
        matrix: float `[T, T]`, at least 0.
        tokenized: the text.
        options: what to do.
    """
    axis = _axis(tokenized)
    if options.merge_words:
        groups = group_words(tokenized.word_ids, tokenized.token_type_ids)
        matrix = merge_words(matrix, groups)
        axis = _merged(axis, tokenized, groups)
    rows, columns = (
        segment_tokens(axis.segments, segment) & _may_stay(axis, options)
        for segment in (options.from_segment, options.to_segment)
    )
    values = select_tokens(matrix, rows, columns, options.renormalise)
    whole = matrix[rows].sum()
    if options.least_weight > 0:
        values = threshold_weight(values, options.least_weight)
    if options.mass < 1:
        values = threshold_mass(values, options.mass)
    left_out = 0.0
    if not options.renormalise and whole > 0:
        left_out = float(np.clip(1 - values.sum() / whole, 0, 1))
    return ShownAttention(values, axis.select(rows), axis.select(columns), left_out)


def _axis(tokenized: TokenizedText) -> Axis:
    kinds = np.full(tokenized.num_tokens, WORD, dtype=object)
    kinds[tokenized.is_unknown] = UNKNOWN
    kinds[tokenized.mask_positions] = MASK
    kinds[tokenized.is_special] = SPECIAL
    return Axis(
        tokenized.tokens,
        tuple(kinds.tolist()),
        tokenized.token_type_ids,
        np.arange(tokenized.num_tokens),
        np.ones(tokenized.num_tokens, int),
    )


def _merged(axis: Axis, tokenized: TokenizedText, groups: np.ndarray) -> Axis:
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    return Axis(
        merge_labels(tokenized.tokens, groups),
        tuple(axis.kinds[i] for i in starts),
        axis.segments[starts],
        starts,
        np.diff(np.append(starts, len(groups))),
    )


def _may_stay(axis: Axis, options: AttentionOptions) -> np.ndarray:
    is_special = np.array([kind == SPECIAL for kind in axis.kinds], bool)
    return ~(is_special & options.hide_special)
