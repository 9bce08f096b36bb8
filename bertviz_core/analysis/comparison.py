"""Two texts, or one text in two models, side by side.

T1 and T2 tokens, P of them in pairs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bertviz_core.trace import FrozenArrays


@dataclass(frozen=True)
class Alignment(FrozenArrays):
    """Which token of one text stands for which of the other, left to right."""

    # Both: int [P], token indices, each rising.
    first: np.ndarray
    second: np.ndarray
    # bool [P]: both tokens are the same; false for one that was replaced ("he", "she").
    is_same: np.ndarray
    # Both: int, token indices without a partner.
    only_first: np.ndarray
    only_second: np.ndarray


@dataclass(frozen=True)
class AttentionDifference(FrozenArrays):
    """Second attention minus first, on tokens that both texts have."""

    values: np.ndarray  # float64 [..., P, P], in [-1, 1] for probabilities
    # Both: float64 [..., P], what a row gives to tokens without a partner, so that
    # nobody takes it for lost.
    outside_first: np.ndarray
    outside_second: np.ndarray

    @property
    def distances(self) -> np.ndarray:
        """Total variation of each two rows, mean over the rows, float64 `[...]`.

        0 the same attention, 1 nothing in common. Tokens without a partner count as
        one place, so that two rows that look at such tokens alone are alike.
        """
        moved = np.abs(self.values).sum(axis=-1)
        moved += np.abs(self.outside_second - self.outside_first)
        distances: np.ndarray = moved.mean(axis=-1) / 2
        return distances


def align_tokens(first: Sequence[str], second: Sequence[str]) -> Alignment:
    """Pairs the tokens of two texts.

    As many equal tokens as possible in an unchanged order; where several pairings
    have as many, the rightmost. Between two of these, what was replaced by as many
    tokens is paired in order; the rest has no partner.

    Source: The longest common subsequence by dynamic programming: Wagner and Fischer
    1974, "The String-to-String Correction Problem".
    """
    anchors = [*_common_subsequence(first, second), (len(first), len(second))]
    pairs: list[tuple[int, int]] = []
    end_first = end_second = 0
    for anchor_first, anchor_second in anchors:
        if anchor_first - end_first == anchor_second - end_second:
            pairs += zip(
                range(end_first, anchor_first),
                range(end_second, anchor_second),
                strict=True,
            )
        pairs.append((anchor_first, anchor_second))
        end_first, end_second = anchor_first + 1, anchor_second + 1
    in_first, in_second = np.array(pairs[:-1], np.int64).reshape(-1, 2).T.copy()
    is_same = [first[i] == second[j] for i, j in zip(in_first, in_second, strict=True)]
    return Alignment(
        first=in_first,
        second=in_second,
        is_same=np.array(is_same, bool),
        only_first=np.setdiff1d(np.arange(len(first)), in_first),
        only_second=np.setdiff1d(np.arange(len(second)), in_second),
    )


def attention_difference(
    first: np.ndarray, second: np.ndarray, alignment: Alignment
) -> AttentionDifference:
    """Subtracts attention on aligned tokens: what the second gives more.

    Args:
        first: float `[..., T1, T1]`.
        second: float `[..., T2, T2]`, the same axes before.
    """
    rows_first = first[..., alignment.first, :].astype(np.float64)
    rows_second = second[..., alignment.second, :].astype(np.float64)
    return AttentionDifference(
        values=rows_second[..., alignment.second] - rows_first[..., alignment.first],
        outside_first=rows_first[..., alignment.only_first].sum(axis=-1),
        outside_second=rows_second[..., alignment.only_second].sum(axis=-1),
    )


def _common_subsequence(
    first: Sequence[str], second: Sequence[str]
) -> Iterator[tuple[int, int]]:
    """Pairs of indices of equal tokens, left to right."""
    lengths = _common_lengths(first, second)
    pairs = []
    i, j = len(first), len(second)
    while i and j:
        if first[i - 1] == second[j - 1]:
            i, j = i - 1, j - 1
            pairs.append((i, j))
        elif lengths[i - 1, j] >= lengths[i, j - 1]:
            i -= 1
        else:
            j -= 1
    return reversed(pairs)


def _common_lengths(first: Sequence[str], second: Sequence[str]) -> np.ndarray:
    """Longest common subsequence of each two beginnings, int `[T1 + 1, T2 + 1]`."""
    ids = {token: index for index, token in enumerate(dict.fromkeys(second))}
    numbers = np.array([ids[token] for token in second], np.int64)
    lengths = np.zeros((len(first) + 1, len(second) + 1), np.int64)
    for row, token in enumerate(first):
        is_equal = numbers == ids.get(token, -1)
        step = np.maximum(lengths[row, 1:], lengths[row, :-1] + is_equal)
        lengths[row + 1, 1:] = np.maximum.accumulate(step)
    return lengths
