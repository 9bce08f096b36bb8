"""The picture of the whole model on its way to the component that draws it.

`assets/components/whole_model/data.js` reads what is written here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from bertviz_core.experiments.whole_model import (
    OpenedFeedForward,
    OpenedHead,
    OpenedLayer,
    WholeModel,
)
from bertviz_core.figures.payload import pack

_MOST_WORDS = 12
Opened = OpenedLayer | OpenedHead | OpenedFeedForward | Mapping[str, np.ndarray]


def whole_model_payload(picture: WholeModel, **header: Any) -> bytes:
    """Packs the picture; `header` is what else goes along: its id, words, file name."""
    tokenized = picture.tokenized
    num_layers, num_shown, _ = picture.shares.shape
    shown = slice(picture.first, picture.first + num_shown)
    flat = [word for level in picture.guesses for row in level for word in row]
    names = {word: index for index, word in enumerate(dict.fromkeys(flat))}
    arrays = {
        name: getattr(picture, name).astype("float32").ravel()
        for name in ("shares", "attention", "reached", "looked", "guess_probs")
    }
    arrays["guess_words"] = np.array([names[word] for word in flat], "uint16")
    said = {
        "numLayers": num_layers,
        "numTokens": tokenized.num_tokens,
        "first": picture.first,
        "focus": picture.focus,
        "tokens": tokenized.tokens[shown],
        "segments": tokenized.token_type_ids[shown].tolist(),
        "isMask": (tokenized.input_ids == tokenized.mask_token_id)[shown].tolist(),
        "isAdded": tokenized.is_added[shown].tolist(),
        "numGuesses": picture.guess_probs.shape[-1],
        "guesses": list(names),
    }
    return pack({**said, **header}, arrays)


def answer_payload(
    told: Mapping[str, Any], opened: Opened | None, words: Sequence[str] = ()
) -> bytes:
    """Packs what the picture is told besides, and what an opened part shows.

    Args:
        told: plain values.
        opened: one of the results of `experiments.whole_model`; several vectors are
            one after the other. `None` where nothing is open.
        words: by the index of a score; the likeliest of "logits" travel along.
    """
    values: dict[str, Any] = {}
    if isinstance(opened, Mapping):
        values = dict(opened)
    elif opened is not None:
        values = {field.name: getattr(opened, field.name) for field in fields(opened)}
    arrays = {k: v for k, v in values.items() if isinstance(v, np.ndarray)}
    said = {k: v for k, v in values.items() if k not in arrays}
    if "logits" in arrays:
        best = np.argsort(-arrays["logits"], kind="stable")[:_MOST_WORDS].tolist()
        said |= {"best": best, "words": [words[index] for index in best]}
    return pack(
        {**told, "opened": None if opened is None else said},
        {k: v.astype("float32").ravel() for k, v in arrays.items()},
    )
