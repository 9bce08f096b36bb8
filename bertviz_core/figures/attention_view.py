"""What the attention component is sent: one head exactly, all heads small.

L layers, N heads, T tokens. Rows look, columns are looked at. 128 tokens of BERT-base
take 0.3 MB, 512 tokens 1.5 MB; all of its attention would be 9 and 151 MB.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bertviz_core.figures.payload import pack
from bertviz_core.trace import FrozenArrays

THUMBNAIL_SIZE = 32  # pixels each way; 144 heads take 147 kB
LINKS_PER_ROW = 8
SCALES = ("linear", "log", "row")
# Signs that name what is no word of the text: a mask to fill, an added token.
SIGNS = {"mask": "▢", "special": "◆", "word": ""}


@dataclass(frozen=True)
class StrongestLinks(FrozenArrays):
    """The strongest links of every row of every head of one layer.

    Args:
        targets: uint16 `[N, T, R]`, tokens looked at, strongest first.
        weights: float32 `[N, T, R]`.
    """

    targets: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True)
class AttentionView(FrozenArrays):
    """One state of the attention component.

    Args:
        tokens: T pieces or words, as they are shown.
        kinds: T of "word", "mask", "special".
        segments: int `[T]`; 0 first text, 1 second.
        thumbnails: uint8 `[L, N, h, w]`, from `grid_thumbnails`.
        matrix: float32 `[T, T]`, the shown head.
        words: texts of the interface; `locales/…/attention_view.json`.
        layer, head: the shown head, from 0; the screen counts from 1.
        links: of the shown layer, for lines of several heads; `None` leaves the
            lines to the shown head.
        from_token, to_token: locked at first; `None` is every token.
        scale: "linear", "log" or "row" (each row up to its largest weight).
        threshold: lines below it are not drawn.
        is_difference: weights may be negative; diverging colours.
        is_lying: lines go between two rows of tokens, not two columns.

    Raises:
        ValueError: sizes do not fit together, or a scale or kind is unknown.
    """

    tokens: tuple[str, ...]
    kinds: tuple[str, ...]
    segments: np.ndarray
    thumbnails: np.ndarray
    matrix: np.ndarray
    words: Mapping[str, str]
    layer: int = 0
    head: int = 0
    links: StrongestLinks | None = None
    from_token: int | None = None
    to_token: int | None = None
    scale: str = "linear"
    threshold: float = 0.05
    is_difference: bool = False
    is_lying: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        size = len(self.tokens)
        lengths = (len(self.kinds), len(self.segments), *self.matrix.shape)
        if size == 0 or lengths != (size,) * 4:
            raise ValueError(
                f"{size} tokens need as many kinds, segments, rows and columns. "
                f"Received: {lengths}."
            )
        if self.thumbnails.ndim != 4 or self.thumbnails.dtype != np.uint8:
            raise ValueError(
                "`thumbnails` must be uint8 [L, N, h, w]. Received: "
                f"{self.thumbnails.dtype} {self.thumbnails.shape}."
            )
        if self.scale not in SCALES or not set(self.kinds) <= set(SIGNS):
            raise ValueError(
                f"`scale` must be among {SCALES}, `kinds` among {tuple(SIGNS)}. "
                f"Received: {self.scale}, {sorted(set(self.kinds))}."
            )

    @property
    def labels(self) -> tuple[str, ...]:
        """Tokens with the sign of their kind."""
        pairs = zip(self.tokens, self.kinds, strict=True)
        return tuple(f"{SIGNS[kind]}{token}" for token, kind in pairs)


@dataclass(frozen=True)
class HeadMap(FrozenArrays):
    """One number for every head, as a grid.

    Args:
        values: float `[L, N]`.
        words: texts of the interface.
        layer, head: the chosen head, from 0.
        is_difference: values may be negative; diverging colours, up to the largest
            magnitude. Otherwise values lie in [0, 1].
    """

    values: np.ndarray
    words: Mapping[str, str]
    layer: int = 0
    head: int = 0
    is_difference: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.values.ndim != 2 or not self.values.size:
            raise ValueError(f"`values` must be [L, N]. Received: {self.values.shape}.")

    @property
    def limit(self) -> float:
        """The value at the end of the scale."""
        largest = float(np.abs(self.values).max()) if self.is_difference else 1.0
        return largest or 1.0


def grid_thumbnails(
    attention_probs: np.ndarray,
    size: int = THUMBNAIL_SIZE,
    is_difference: bool = False,
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
    order = np.argsort(-np.abs(layer_probs), axis=-1, kind="stable")[..., :num_links]
    weights = np.take_along_axis(layer_probs, order, axis=-1)
    return StrongestLinks(order.astype(np.uint16), weights.astype(np.float32))


def token_kinds(tokens: Sequence[str], mask_token: str = "[MASK]") -> tuple[str, ...]:
    """The kind of each token by its spelling: "[CLS]" and "[SEP]" are special."""
    kinds = {mask_token: "mask", "[CLS]": "special", "[SEP]": "special"}
    return tuple(kinds.get(token, "word") for token in tokens)


def view_payload(
    view: AttentionView, turn: int = 0, attention_probs: np.ndarray | None = None
) -> bytes:
    """Writes what the component reads.

    Args:
        view: what to show.
        turn: of the visitor's last selection that the view takes account of; 0 makes
            the component take the view's selection.
        attention_probs: float `[L, N, T, T]`, every head, for a saved file that
            nobody answers.
    """
    links = view.links
    header = {
        "mode": "heads",
        "labels": view.labels,
        "segments": view.segments.tolist(),
        "numTokens": len(view.tokens),
        "thumbnailSize": view.thumbnails.shape[2:],
        "linksPerRow": 0 if links is None else links.targets.shape[-1],
        "from": view.from_token,
        "to": view.to_token,
        "threshold": view.threshold,
        "scale": view.scale,
        "isLying": view.is_lying,
        **_common(view, view.thumbnails.shape[:2], turn),
    }
    parts = {
        "matrix": view.matrix.astype(np.float32),
        "thumbnails": view.thumbnails,
    }
    if links is not None:
        parts |= {"linkTargets": links.targets, "linkWeights": links.weights}
    if attention_probs is not None:
        parts["everyHead"] = attention_probs.astype(np.float32)
    return pack(header, parts)


def map_payload(head_map: HeadMap, turn: int = 0) -> bytes:
    """Writes a map of one number a head; see `view_payload`."""
    header = {
        "mode": "map",
        "labels": (),
        "from": None,
        "to": None,
        "scale": "linear",
        "threshold": 0,
        "isLying": False,
        "limit": head_map.limit,
        **_common(head_map, head_map.values.shape, turn),
    }
    return pack(header, {"values": head_map.values.astype(np.float32)})


def _common(
    view: AttentionView | HeadMap, grid: Sequence[int], turn: int
) -> dict[str, Any]:
    return {
        "numLayers": grid[0],
        "numHeads": grid[1],
        "layer": view.layer,
        "head": view.head,
        "isDifference": view.is_difference,
        "turn": turn,
        "words": dict(view.words),
    }


def _strongest_of_areas(values: np.ndarray, axis: int, size: int) -> np.ndarray:
    """Shrinks an axis to at most `size` areas, each its value of largest magnitude."""
    length = values.shape[axis]
    if length <= size:
        return values
    starts = np.arange(size) * length // size
    highest = np.maximum.reduceat(values, starts, axis=axis)
    lowest = np.minimum.reduceat(values, starts, axis=axis)
    return np.where(highest >= -lowest, highest, lowest)
