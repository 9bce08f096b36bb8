"""Every head for a browser that draws a chosen one before the page has answered.

Short texts travel whole and exact; BERT-base up to 22 tokens, the bundled models up to
39. Of longer ones each row keeps its strongest cells in 256 steps, and the mean of the
others: good for a picture, not for a number, which comes with the page's answer. All
heads of BERT-base exactly would be 9 MB at 128 tokens.

L layers, N heads, S rows and columns of what is shown.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bertviz_core.figures.attention_thumbnails import THUMBNAIL_SIZE
from bertviz_core.trace import FrozenArrays

MOST_EXACT_BYTES = 300_000
# With the rest of a view and the script below 0.5 MB at 128 tokens, and 4 MB at 512.
_SKETCH_BYTES, _SKETCH_TOKENS, _SKETCH_GROWTH = 100_000, 128, 1.5
_MOST_CELLS = 16  # of a row; more would not be seen


@dataclass(frozen=True)
class HeldHeads(FrozenArrays):
    """All heads, exact or as a sketch. Without either, thumbnails say as much."""

    key: str  # another one for other numbers
    # float32 [L, N, S, S]; `None` where that is too much.
    exact: np.ndarray | None = None
    # uint8, or uint16 beyond 256 columns, [L, N, S, R]: the columns of the strongest
    # cells of each row, in no order; `None` beside `exact`.
    targets: np.ndarray | None = None
    # uint8 [L, N, S, R], what stands there: 255 √weight.
    levels: np.ndarray | None = None
    # uint8 [L, N, S], likewise the mean of the other cells of the row.
    rests: np.ndarray | None = None


def hold_heads(layers: Sequence[np.ndarray]) -> HeldHeads:
    """Makes what a browser holds of all heads, L times float `[N, S, S]` in [0, 1]."""
    digest = hashlib.blake2b(digest_size=8)
    for layer in layers:
        digest.update(layer.astype(np.float32).tobytes())
    key = digest.hexdigest()
    num_rows, size = len(layers) * len(layers[0]) * len(layers[0][0]), len(layers[0][0])
    if 4 * num_rows * size <= MOST_EXACT_BYTES:
        return HeldHeads(key, np.stack(layers).astype(np.float32))
    if size <= THUMBNAIL_SIZE:  # a thumbnail has a pixel for each cell
        return HeldHeads(key)
    num_cells = _cells_per_row(num_rows, size)
    sketches = [_sketch(layer, num_cells) for layer in layers]
    return HeldHeads(key, None, *map(np.stack, zip(*sketches, strict=True)))


def _cells_per_row(num_rows: int, size: int) -> int:
    most = _SKETCH_BYTES * (size / _SKETCH_TOKENS) ** _SKETCH_GROWTH
    cell = 1 + _index_type(size).itemsize
    return int(np.clip((most / num_rows - 1) / cell, 1, _MOST_CELLS))


def _index_type(size: int) -> np.dtype:
    return np.dtype(np.uint8 if size <= 256 else np.uint16)


def _sketch(
    layer: np.ndarray, num_cells: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns and levels `[N, S, R]` of the strongest, `[N, S]` of the others' mean."""
    size = layer.shape[-1]
    others = size - num_cells
    columns = np.argpartition(layer, others, axis=-1)[..., others:]
    strongest = np.take_along_axis(layer, columns, axis=-1)
    rests = (layer.sum(-1) - strongest.sum(-1)) / others
    return columns.astype(_index_type(size)), _levels(strongest), _levels(rests)


def _levels(weights: np.ndarray) -> np.ndarray:
    """The same steps as those of thumbnails."""
    return np.rint(255 * np.sqrt(np.clip(weights, 0, 1))).astype(np.uint8)
