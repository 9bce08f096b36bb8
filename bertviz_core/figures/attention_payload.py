"""How the attention component gets its view: a header, and arrays behind it.

128 tokens of BERT-base take 0.4 MB, 512 tokens 2.3 MB, and another head of the same
text 0.15 and 1.4 MB; all of its attention would be 9 and 151 MB.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bertviz_core.figures.attention_held import HeldHeads
from bertviz_core.figures.attention_view import AttentionView, HeadMap
from bertviz_core.figures.payload import pack


def view_payload(
    view: AttentionView,
    turn: int = 0,
    attention_probs: np.ndarray | None = None,
    holds: str | None = None,
    asked: str = "",
) -> bytes:
    """Writes what the component reads.

    Args:
        view: what to show.
        turn: of the visitor's last selection that the view takes account of; 0 makes
            the component take the view's selection.
        attention_probs: float `[L, N, T, T]`, every head, for a saved file that
            nobody answers.
        holds: key of what the browser says that it holds of all heads. Where it is
            that of the view, only the shown head travels.
        asked: another word than before asks to be told when the view is shown.
    """
    links = view.links
    measured = view.measured
    header = {
        "mode": "heads",
        "name": measured.name,
        "unit": measured.unit,
        "filters": measured.filters,
        "top": view.top,
        "isOneHead": measured.has_head,
        "heads": view.heads,
        "spans": view.spans,
        "firstTokens": view.token_numbers,
        "text": view.text_key,
        "held": None if view.held is None else view.held.key,
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
        "asked": asked,
        **_common(view, view.thumbnails.shape[:2], turn),
    }
    return pack(header, _parts(view, attention_probs, holds))


def _parts(
    view: AttentionView, attention_probs: np.ndarray | None, holds: str | None
) -> dict[str, np.ndarray]:
    """The arrays of a view, but for those that the browser holds."""
    held, links = view.held, view.links
    parts = {"matrix": view.matrix.astype(np.float32)}
    if held is None or held.key != holds:
        parts["thumbnails"] = view.thumbnails
        parts |= {} if held is None else _held_parts(held)
    # Who has every head exactly has the links of all of them.
    if links is not None and (held is None or held.exact is None):
        parts |= {
            "linkTargets": links.targets,
            "linkWeights": links.weights,
            "linkSums": links.sums,
        }
    if attention_probs is not None:
        parts["everyHead"] = attention_probs.astype(np.float32)
    return parts


def _held_parts(held: HeldHeads) -> dict[str, np.ndarray]:
    """Every head, for the script `held.js`."""
    parts = {
        "everyHead": held.exact,
        "heldTargets": held.targets,
        "heldLevels": held.levels,
        "heldRests": held.rests,
    }
    return {name: part for name, part in parts.items() if part is not None}


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
        "isDistance": head_map.is_distance,
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
