"""From an attention matrix to the one that is shown: merge, leave out, cut off.

S places of what is shown, as rows and as columns; each stands for a token, or for a
word.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bertviz_core.analysis.attention import (
    group_words,
    merge_labels,
    merge_words,
    segment_tokens,
    share_of_row,
    threshold_mass,
    threshold_weight,
)
from bertviz_core.trace import FrozenArrays, TokenizedText

# What a row or column is: an ordinary word, or one that carries a sign.
WORD, SPECIAL, MASK, UNKNOWN = "word", "special", "mask", "unknown"


@dataclass(frozen=True)
class AttentionOptions:
    """How attention is to be shown. The defaults show it as it is."""

    merge_words: bool = False  # makes one row and column of the pieces of a word
    hide_special: bool = False  # leaves [CLS] and [SEP] out
    # Whose looking is shown, 0 or 1; `None` for both texts. Other rows are 0.
    from_segment: int | None = None
    # Who is shown as looked at, likewise; other columns are 0.
    to_segment: int | None = None
    renormalise: bool = False  # divides each row by what is left of it
    least_weight: float = 0.0  # smaller weights become 0
    mass: float = 1.0  # of each row, the largest weights that reach this share stay
    # Weights below this share of the largest become 0; for numbers that do not end at
    # 1.
    least_share: float = 0.0


@dataclass(frozen=True)
class Places(FrozenArrays):
    """What the rows are, and the columns."""

    labels: tuple[str, ...]  # what each is called
    kinds: tuple[str, ...]  # `WORD`, `SPECIAL`, `MASK` or `UNKNOWN`
    segments: np.ndarray  # int, 0 first text, 1 second
    first_tokens: np.ndarray  # int, index of its first token in the text
    num_tokens: np.ndarray  # int, how many tokens it stands for
    groups: np.ndarray  # int, the same for pieces of one word, see `group_words`

    def __len__(self) -> int:
        return len(self.labels)

    def select(self, kept: np.ndarray) -> Places:
        """Those that a bool array marks."""
        indices = np.flatnonzero(kept)
        return Places(
            tuple(self.labels[i] for i in indices),
            tuple(self.kinds[i] for i in indices),
            self.segments[indices],
            self.first_tokens[indices],
            self.num_tokens[indices],
            self.groups[indices],
        )

    def place_of(self, token: int) -> int | None:
        """Where a token of the text is shown; `None` where it is left out."""
        offsets = token - self.first_tokens
        found = np.flatnonzero((offsets >= 0) & (offsets < self.num_tokens))
        return int(found[0]) if len(found) else None


@dataclass(frozen=True)
class ShownAttention(FrozenArrays):
    """What a picture shows."""

    values: np.ndarray  # float [S, S], rows look
    places: Places  # what each row, and each column, stands for
    # Share of the weight of the rows shown that options took away, in [0, 1]; 0 after
    # `renormalise`, which spreads it over the rest.
    left_out: float


def show_attention(
    matrix: np.ndarray, tokenized: TokenizedText, options: AttentionOptions
) -> ShownAttention:
    """Applies the options, in the order of their fields.

    Args:
        matrix: float `[T, T]`, at least 0; `[W, W]` where words are to be merged and
            their pieces were put together already.
    """
    matrix, places = _of_words(matrix, tokenized, options)
    kept = _kept(places, options)
    selected = _selected(matrix, places, options)
    values = _cut_off(selected, options)
    looks = segment_tokens(places.segments, options.from_segment)
    whole = (selected if options.renormalise else matrix[kept & looks]).sum()
    left_out = float(np.clip(1 - values.sum() / whole, 0, 1)) if whole > 0 else 0.0
    return ShownAttention(values, places.select(kept), left_out)


def show_heads(
    heads: np.ndarray, tokenized: TokenizedText, options: AttentionOptions
) -> np.ndarray:
    """Applies the options to each head of `[..., T, T]` as `show_attention` does."""
    heads, places = _of_words(heads, tokenized, options)
    return _cut_off(_selected(heads, places, options), options)


def _of_words(
    attention: np.ndarray, tokenized: TokenizedText, options: AttentionOptions
) -> tuple[np.ndarray, Places]:
    """What is to be filtered, and what its rows are."""
    places = _places(tokenized)
    if not options.merge_words:
        return attention, places
    groups = group_words(tokenized.word_ids, tokenized.token_type_ids)
    if attention.shape[-1] == len(groups):
        attention = merge_words(attention, groups)
    return attention, _merged(places, tokenized, groups)


def _kept(places: Places, options: AttentionOptions) -> np.ndarray:
    is_special = np.array([kind == SPECIAL for kind in places.kinds], bool)
    return ~(is_special & options.hide_special)


def _selected(
    attention: np.ndarray, places: Places, options: AttentionOptions
) -> np.ndarray:
    kept = _kept(places, options)
    looks, seen = (
        segment_tokens(places.segments, segment)[kept]
        for segment in (options.from_segment, options.to_segment)
    )
    # Row after row in memory, so that sums are alike for one head and for many.
    values = np.ascontiguousarray(attention[..., kept, :][..., kept])
    if not (looks.all() and seen.all()):
        values = values * np.outer(looks, seen)
    return share_of_row(values) if options.renormalise else values


def _cut_off(values: np.ndarray, options: AttentionOptions) -> np.ndarray:
    if options.least_weight > 0:
        values = threshold_weight(values, options.least_weight)
    if options.mass < 1:
        values = threshold_mass(values, options.mass)
    if options.least_share > 0:
        largest = values.max(axis=(-2, -1), keepdims=True, initial=0)
        values = threshold_weight(values, options.least_share * largest)
    return values


def _places(tokenized: TokenizedText) -> Places:
    kinds = np.full(tokenized.num_tokens, WORD, dtype=object)
    kinds[tokenized.is_unknown] = UNKNOWN
    kinds[tokenized.mask_positions] = MASK
    kinds[tokenized.is_special] = SPECIAL
    return Places(
        tokenized.tokens,
        tuple(kinds.tolist()),
        tokenized.token_type_ids,
        np.arange(tokenized.num_tokens),
        np.ones(tokenized.num_tokens, int),
        group_words(tokenized.word_ids, tokenized.token_type_ids),
    )


def _merged(places: Places, tokenized: TokenizedText, groups: np.ndarray) -> Places:
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    return Places(
        merge_labels(tokenized.tokens, groups),
        tuple(places.kinds[i] for i in starts),
        places.segments[starts],
        starts,
        np.diff(np.append(starts, len(groups))),
        groups[starts],
    )
