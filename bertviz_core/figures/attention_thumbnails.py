"""All heads at once, small: a thumbnail of each, the strongest links of each row.

L layers, N heads, T tokens. Rows look, columns are looked at.
"""

from dataclasses import dataclass

import numpy as np

from bertviz_core.trace import FrozenArrays

THUMBNAIL_SIZE = 32  # pixels each way; 144 heads take 147 kB
LINKS_PER_ROW = 8


@dataclass(frozen=True)
class StrongestLinks(FrozenArrays):
    """The strongest links of every row of every head of one layer."""

    targets: np.ndarray  # uint16 [N, T, R], tokens looked at, strongest first
    weights: np.ndarray  # float32 [N, T, R]
    sums: np.ndarray  # float32 [N, T], of whole rows


def grid_thumbnails(
    attention_probs: np.ndarray, size: int = THUMBNAIL_SIZE, is_difference: bool = False
) -> np.ndarray:
    """Makes a small picture of every head.

    Where a head has more tokens than pixels, a pixel is the largest weight of its
    area: a single strong cell, which a mean would hide, stays visible.

    Args:
        attention_probs: float `[L, N, Q, K]`; in [0, 1], or in [-1, 1] for
            differences.
        size: pixels each way, at most.
        is_difference: keep the sign; the largest magnitude of an area counts.

    Returns:
        uint8 `[L, N, min(Q, size), min(K, size)]`. 255 √weight, so that small weights
        keep their steps; differences 128 + 127 √|weight| with their sign.
    """
    small = _strongest_of_areas(_strongest_of_areas(attention_probs, 2, size), 3, size)
    root = np.sign(small) * np.sqrt(np.abs(np.clip(small, -1, 1)))
    if is_difference:
        return np.rint(128 + 127 * root).astype(np.uint8)
    return np.rint(255 * np.clip(root, 0, 1)).astype(np.uint8)


def strongest_links(
    layer_probs: np.ndarray, num_links: int = LINKS_PER_ROW
) -> StrongestLinks:
    """Picks the strongest links of every row of a layer's heads.

    Args:
        layer_probs: float `[N, Q, K]`; differences count by magnitude.
        num_links: R, at most K.
    """
    num_links = min(num_links, layer_probs.shape[-1])
    order = np.empty((*layer_probs.shape[:-1], num_links), np.intp)
    sizes = np.abs(layer_probs)
    for link in range(num_links):  # twenty times as fast as sorting rows of 512
        best = sizes.argmax(axis=-1, keepdims=True)
        order[..., link : link + 1] = best
        np.put_along_axis(sizes, best, -1, axis=-1)
    weights = np.take_along_axis(layer_probs, order, axis=-1)
    return StrongestLinks(
        order.astype(np.uint16),
        weights.astype(np.float32),
        layer_probs.sum(axis=-1).astype(np.float32),
    )


def _strongest_of_areas(values: np.ndarray, axis: int, size: int) -> np.ndarray:
    """Shrinks an axis to at most `size` areas, each its value of largest magnitude."""
    length = values.shape[axis]
    if length <= size:
        return values
    starts = np.arange(size) * length // size
    highest = np.maximum.reduceat(values, starts, axis=axis)
    lowest = np.minimum.reduceat(values, starts, axis=axis)
    return np.where(highest >= -lowest, highest, lowest)
