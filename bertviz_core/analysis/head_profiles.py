"""What each head does, measured: where it looks, how widely, how far.

A measure is a number for each query row; a profile is its mean over rows. Rows of
all tokens count, also those of [CLS] and [SEP], and each row of each text counts
alike, so that a long text weighs more than a short one. A measure that has no
meaning for a row leaves it out: the first token has no previous one. How many rows
counted is kept beside each mean.

L layers, N heads, M measures, Q = K = T tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bertviz_core.analysis.sampling import entropy_bits
from bertviz_core.trace import FrozenArrays

# Name of each measure to its unit and the rows it has a meaning for.
MEASURES = (
    "entropy_bits",  # 0 = one token, log2(T) = all alike; all rows
    "evenness",  # entropy / log2 of what a row may see; rows that see two or more
    "mean_distance",  # tokens, |query - key| weighted by attention; all rows
    "to_previous",  # this and all below: shares of 1; rows with a previous token
    "to_next",  # rows with a next token
    "to_self",  # all rows
    "to_cls",  # to every [CLS]: the first token, and any that was typed; all rows
    "to_separators",  # to every [SEP]; all rows
    "to_other_segment",  # rows of a pair
    "to_same_word",  # to the same word elsewhere; rows of a word that occurs again
)

# A head gets a name where more than half of its attention goes to one kind of
# place (Clark et al. 2019, arXiv:1906.04341, sections 3.1 and 3.2, speak of heads
# that put "more than half" there), and where that is also at least twice what even
# attention would give: in a text of three tokens a third goes anywhere.
SHARE_THRESHOLD = 0.5
TIMES_BASELINE = 2.0
# Nine tenths of the bits of even attention. Ours: the literature has no fixed line.
BROAD_THRESHOLD = 0.9
LEAST_ROWS = 5  # fewer rows name no head

HEAD_NAMES = {
    "previous token": "to_previous",
    "next token": "to_next",
    "itself": "to_self",
    "[CLS]": "to_cls",
    "[SEP]": "to_separators",
    "same word elsewhere": "to_same_word",
    "broad": "evenness",
}
# Names of what ties words of a text to each other.
RELATIONS = ("previous token", "next token", "same word elsewhere")


@dataclass(frozen=True)
class HeadProfile(FrozenArrays):
    """Every measure of every head, added up over rows, so that texts can be added."""

    # float64 [M, L, N] by the order of `MEASURES`, sums over the rows that count.
    totals: np.ndarray
    # float64 [M], the same for attention spread evenly over all that each row may see.
    even_totals: np.ndarray
    num_rows: np.ndarray  # int64 [M], rows that count
    num_texts: int  # how many texts

    def __add__(self, other: HeadProfile) -> HeadProfile:
        return HeadProfile(
            self.totals + other.totals,
            self.even_totals + other.even_totals,
            self.num_rows + other.num_rows,
            self.num_texts + other.num_texts,
        )

    @property
    def values(self) -> np.ndarray:
        """Means, float64 `[M, L, N]`; NaN without a row, as of another segment."""
        with np.errstate(invalid="ignore"):
            return self.totals / self.num_rows[:, None, None]

    @property
    def baselines(self) -> np.ndarray:
        """Means of attention spread evenly, float64 `[M]`."""
        with np.errstate(invalid="ignore"):
            return self.even_totals / self.num_rows

    def of(self, measure: str) -> np.ndarray:
        """One measure of all heads, float64 `[L, N]`."""
        return self.values[MEASURES.index(measure)]


@dataclass(frozen=True)
class NamedHead:
    """A name for a head, with the evidence for it."""

    layer: int  # from 0
    head: int  # from 0
    name: str  # of `HEAD_NAMES`
    score: float  # the measure that the name rests on
    threshold: float  # the least score for this name on these texts
    baseline: float  # the score of attention spread evenly
    num_rows: int  # rows that were measured


def head_profile(
    attention: np.ndarray,
    input_ids: np.ndarray,
    token_type_ids: np.ndarray,
    is_special: np.ndarray,
    is_word: np.ndarray,
    edges: np.ndarray | None = None,
) -> HeadProfile:
    """Measures one text.

    Args:
        attention: float `[L, N, T, T]`, rows sum to 1; [CLS] first, no padding.
        input_ids: int `[T]`.
        token_type_ids: int `[T]`; both 0 and 1 occur in a pair.
        is_special: bool `[T]`, [CLS] and [SEP].
        is_word: bool `[T]`, tokens whose equal ids mean equal words: neither special
            nor [UNK] nor [MASK].
        edges: bool `[T, T]`, what a row may see in a sparse model; `None` for all.
    """
    num_tokens = attention.shape[-1]
    if edges is None:
        edges = np.ones((num_tokens, num_tokens), bool)
    shares = _share_columns(input_ids, token_type_ids, is_special, is_word)
    distance = np.abs(np.subtract.outer(range(num_tokens), range(num_tokens)))
    can_be_uneven = edges.sum(axis=-1) > 1
    rows = np.stack([np.ones(num_tokens, bool), can_be_uneven, *_rows_of(shares)])
    weights = np.stack([distance, *shares]).reshape(len(shares) + 1, -1)
    bits = np.where(can_be_uneven, np.log2(np.maximum(edges.sum(axis=-1), 2)), 1)

    def totals(layer: np.ndarray) -> np.ndarray:
        """[N, T, T] to [M, N]."""
        wide = layer.astype(np.float64)
        entropy = entropy_bits(wide)  # [N, T]
        evenness = (entropy / bits)[:, can_be_uneven].sum(axis=-1)
        linear = weights @ wide.reshape(len(wide), -1).T  # [M - 2, N]
        return np.stack([entropy.sum(axis=-1), evenness, *linear])

    even = edges / edges.sum(axis=-1, keepdims=True)
    return HeadProfile(
        totals=np.stack([totals(layer) for layer in attention], axis=1),
        even_totals=totals(even[None])[:, 0],
        num_rows=rows.sum(axis=-1),
        num_texts=1,
    )


def name_heads(profile: HeadProfile) -> tuple[NamedHead, ...]:
    """Names the heads whose measure passes its threshold; the others stay nameless.

    The threshold of a share is `SHARE_THRESHOLD` or `TIMES_BASELINE` times the
    baseline, whichever is more; that of "broad" is `BROAD_THRESHOLD` of evenness,
    and its baseline is 1, as nothing is more even than even attention. A measure over
    fewer than `LEAST_ROWS` rows names nothing. A head can have several names.

    Returns:
        By layer and head, the highest score first.
    """
    named = []
    for name, measure in HEAD_NAMES.items():
        index = MEASURES.index(measure)
        num_rows = int(profile.num_rows[index])
        if num_rows < LEAST_ROWS:
            continue
        baseline = float(profile.baselines[index])
        threshold = max(SHARE_THRESHOLD, TIMES_BASELINE * baseline)
        if measure == "evenness":
            threshold = BROAD_THRESHOLD
        scores = profile.values[index]
        for layer, head in np.argwhere(scores >= threshold).tolist():
            score = float(scores[layer, head])
            named.append(
                NamedHead(layer, head, name, score, threshold, baseline, num_rows)
            )
    return tuple(sorted(named, key=lambda one: (one.layer, one.head, -one.score)))


def telling_head(named: Sequence[NamedHead]) -> NamedHead | None:
    """The head that has the most to show on a text; `None` where none has such a name.

    It is the one that gives the largest share of its attention to one of `RELATIONS`,
    of equals the first. Attention to [CLS], [SEP] or the token itself ties no words to
    each other, and heads that look at everything alike show nothing.
    """
    telling = [one for one in named if one.name in RELATIONS]
    return max(telling, key=lambda one: one.score, default=None)


def _share_columns(
    input_ids: np.ndarray,
    token_type_ids: np.ndarray,
    is_special: np.ndarray,
    is_word: np.ndarray,
) -> np.ndarray:
    """1 where attention counts, float64 `[M - 3, T, T]`, from "to_previous" on."""
    num_tokens = len(input_ids)
    ids, segments = np.asarray(input_ids), np.asarray(token_type_ids)
    ones = np.ones(num_tokens, bool)
    is_cls = ids == ids[0]
    same_word = (ids[:, None] == ids) & is_word[:, None] & is_word
    kinds: Sequence[np.ndarray] = (
        np.eye(num_tokens, k=-1),
        np.eye(num_tokens, k=1),
        np.eye(num_tokens),
        np.outer(ones, is_cls),
        np.outer(ones, is_special & ~is_cls),
        segments[:, None] != segments,
        same_word & ~np.eye(num_tokens, dtype=bool),
    )
    return np.stack(kinds).astype(np.float64)


def _rows_of(shares: np.ndarray) -> list[np.ndarray]:
    """Rows that count, bool `[T]` for "mean_distance" and each share."""
    all_rows = np.ones(shares.shape[-1], bool)
    # A text without [SEP] gives 0 to it; no previous token is another matter.
    counted: np.ndarray = np.any(shares, axis=-1)
    by_name = dict(zip(MEASURES[3:], counted, strict=True))
    for name in ("to_self", "to_cls", "to_separators"):
        by_name[name] = all_rows
    return [all_rows, *by_name.values()]
