"""The picture of the whole model on its way to the component that draws it.

`assets/components/whole_model/data.js` reads what is written here.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bertviz_core.experiments.whole_model import Opened, WholeModel
from bertviz_core.figures.payload import pack

_MOST_WORDS = 12


def whole_model_payload(
    picture: WholeModel,
    inside: Mapping[str, Opened] | None = None,
    vocabulary: Sequence[str] = (),
    **header: Any,
) -> bytes:
    """Packs the picture.

    Args:
        inside: what is inside of its parts by their names, for a saved file.
        vocabulary: by the index of a score.
        header: what else goes along: its id, words, file name.
    """
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
    inside = inside or {}
    parts = {name: _taken_apart(one, vocabulary) for name, one in inside.items()}
    for name, (_, numbers) in parts.items():
        arrays |= {f"{name}/{key}": array for key, array in numbers.items()}
    opened = {name: plain for name, (plain, _) in parts.items()}
    return pack({**said, **header, "inside": opened}, arrays)


def answer_payload(
    told: Mapping[str, Any], opened: Opened | None, words: Sequence[str] = ()
) -> bytes:
    """Packs what the picture is told besides, and what an opened part shows.

    Args:
        opened: one of the results of `experiments.whole_model`; several vectors are
            one after the other. `None` where nothing is open.
        words: by the index of a score; the likeliest of "logits" travel along.
    """
    if opened is None:
        return pack({**told, "opened": None}, {})
    said, arrays = _taken_apart(opened, words)
    return pack({**told, "opened": said}, arrays)


def _taken_apart(
    opened: Opened, words: Sequence[str]
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Plain values and arrays; the likeliest words of scores are said."""
    arrays = {k: v for k, v in opened.items() if isinstance(v, np.ndarray)}
    said = {k: v for k, v in opened.items() if k not in arrays}
    if "logits" in arrays:
        best = np.argsort(-arrays["logits"], kind="stable")[:_MOST_WORDS].tolist()
        said |= {"best": best, "words": [words[index] for index in best]}
    return said, {k: v.astype("float32").ravel() for k, v in arrays.items()}
