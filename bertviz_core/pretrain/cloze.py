"""Everyday sentences with a gap, and words that a person would put there."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bertviz_core.errors import DatasetError
from bertviz_core.model.compiled import CompiledForward
from bertviz_core.tokenizer import BertTokenizer


@dataclass(frozen=True)
class ClozeItem:
    """One sentence.

    Args:
        text: with one `[MASK]`.
        answers: whole words that make sense there, thought of before any model
            was asked.
        judged: more of them, found sensible by judges who were shown the guesses
            of several models among other words, without being told whose they are.
    """

    text: str
    answers: tuple[str, ...]
    judged: tuple[str, ...] = ()


@dataclass(frozen=True)
class ClozeScores:
    """How often a sensible word is guessed.

    Args:
        top1, top5: share of the sentences with one of their answers first, or
            among the first five.
        judged_top1, judged_top5: the same with the judged words as well.
        guesses: the first five words for each sentence.
    """

    top1: float
    top5: float
    judged_top1: float
    judged_top5: float
    guesses: tuple[tuple[str, ...], ...]


def read_cloze(path: Path) -> tuple[ClozeItem, ...]:
    """Reads sentences from JSON: a list of {"text": …, "answers": […]}.

    An object may have a list "judged" as well, see `ClozeItem`.

    Raises:
        DatasetError: not such a file, or a sentence without exactly one `[MASK]`.
    """
    try:
        items = tuple(map(_item, json.loads(path.read_text(encoding="utf-8"))))
        if not items:
            raise ValueError("an empty list")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DatasetError(
            "The file {name} does not hold cloze sentences. Write a JSON list of "
            'objects with "text" and "answers".',
            name=path.name,
        ) from error
    for item in items:
        if item.text.count("[MASK]") != 1 or not item.answers:
            raise DatasetError(
                "A cloze sentence needs one [MASK] and at least one answer. Received: "
                "{text}. Mend it in the file.",
                text=item.text[:80],
            )
    return items


def _item(row: dict[str, Any]) -> ClozeItem:
    words = row["answers"], row.get("judged", [])
    if not all(isinstance(some, list) for some in words):
        raise TypeError("answers")  # a string would be read letter by letter
    return ClozeItem(str(row["text"]), *(tuple(map(str, some)) for some in words))


def score_cloze(
    forward: CompiledForward, tokenizer: BertTokenizer, items: tuple[ClozeItem, ...]
) -> ClozeScores:
    """Lets a model fill the gaps; punctuation and word pieces compete, too.

    Args:
        forward: of a model with the head "mlm".
        tokenizer: of the model.
        items: at least one sentence.
    """
    texts = [tokenizer.encode(item.text) for item in items]
    max_tokens = max(text.num_tokens for text in texts)
    ids = np.full((len(texts), max_tokens), tokenizer.pad_token_id, "int32")
    mask = np.zeros_like(ids)
    for row, text in enumerate(texts):
        ids[row, : text.num_tokens] = text.input_ids
        mask[row, : text.num_tokens] = 1
    places = np.flatnonzero(ids == tokenizer.mask_token_id)
    inputs = {"input_ids": ids, "attention_mask": mask, "mlm_positions": places}
    logits = forward(inputs, ("mlm_logits",))["mlm_logits"]
    logits = logits[:, : tokenizer.vocab_size]  # the rest belongs to no word
    best = np.argsort(-logits, axis=1, kind="stable")[:, :5]
    guesses = tuple(tuple(tokenizer.vocabulary[i] for i in row) for row in best)
    pairs = list(zip(guesses, items, strict=True))

    def share(count: int, judged: bool) -> float:
        return float(
            np.mean(
                [
                    not {*item.answers, *(item.judged if judged else ())}.isdisjoint(
                        words[:count]
                    )
                    for words, item in pairs
                ]
            )
        )

    return ClozeScores(
        share(1, False), share(5, False), share(1, True), share(5, True), guesses
    )
