"""Several short sequences in one row, so that little of a batch is padding."""

from __future__ import annotations

import numpy as np


def pack_rows(
    lengths: np.ndarray,
    max_tokens: int,
    max_sequences: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Puts every sequence into a row; the longest first, then what still fits.

    Works on how many sequences there are of each length, so that it takes a few
    hundred steps for any number of them.

    Args:
        lengths: int `[S]`, each at most `max_tokens`.
        max_tokens: room in a row.
        max_sequences: in a row.
        rng: decides which of equally long sequences meet, and the order of rows.

    Returns:
        int64 `[R, max_sequences]`, indices into `lengths`; -1 where none.

    Source:
        Krell et al. 2021 (arXiv:2107.02027), "shortest-pack-first histogram
        packing", with the longest sequence that fits instead.
    """
    shuffled = rng.permutation(len(lengths))
    by_length = shuffled[np.argsort(lengths[shuffled], kind="stable")]
    counts = np.bincount(lengths, minlength=max_tokens + 1)
    next_of = np.append(0, np.cumsum(counts))[:-1]  # place in `by_length`
    blocks = [np.zeros((0, max_sequences), "int64")]
    while counts.any():
        recipe = _recipe(counts, max_tokens, max_sequences)
        used = np.bincount(recipe, minlength=max_tokens + 1)
        times = int((counts[recipe] // used[recipe]).min())
        block = np.full((times, max_sequences), -1, "int64")
        for column, length in enumerate(recipe):
            first = next_of[length]
            block[:, column] = by_length[first : first + times]
            next_of[length] += times
        counts = counts - times * used
        blocks.append(block)
    rows = np.concatenate(blocks)
    return rows[rng.permutation(len(rows))]


def _recipe(counts: np.ndarray, max_tokens: int, max_sequences: int) -> list[int]:
    """Lengths that fill one row, from what is left."""
    left, room = counts.copy(), max_tokens
    recipe: list[int] = []
    while len(recipe) < max_sequences:
        fitting = np.flatnonzero(left[: room + 1])
        if not len(fitting):
            break
        longest = int(fitting[-1])
        recipe.append(longest)
        left[longest] -= 1
        room -= longest
    return recipe
