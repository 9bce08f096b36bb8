"""Whole words for one mask: several characters, or several pieces, at once."""

from __future__ import annotations

import unicodedata

import numpy as np

from bertviz_core.analysis.logit_rows import log_softmax
from bertviz_core.errors import TextError
from bertviz_core.experiments.masked_rows import (
    Progress,
    Row,
    all_word_logits,
    mask_position,
    piece_names,
    require_masks,
)
from bertviz_core.experiments.scoring import word_rows
from bertviz_core.experiments.word_results import WholeWords
from bertviz_core.explorer import Explorer
from bertviz_core.trace import TokenizedText

KINDS = ("characters", "pieces")
MOST_PIECES = 8


def find_whole_words(
    explorer: Explorer,
    text: str,
    num_pieces: int,
    kind: str = "characters",
    mask_index: int = 0,
    pair: str | None = None,
    beam: int = 32,
    progress: Progress | None = None,
) -> WholeWords:
    """Finds the likeliest words of a given number of pieces.

    The mask becomes as many masks. From the left, each of the best `beam`
    beginnings is written and the next piece predicted, all in one batch; a word's
    score is that of `scoring.score_words`.

    Args:
        explorer: of a model with the masked-word head.
        text: with at least one mask; the other masks stay.
        num_pieces: of the word, 1 to `MOST_PIECES`.
        kind: "characters" builds words of Chinese characters; punctuation,
            letters and digits are left out. "pieces" builds words of an
            alphabet: one beginning and `##` pieces, letters only.
        mask_index: which mask, left to right.
        pair: the second text.
        beam: beginnings kept at each piece, and most words found.
        progress: told after each piece; may raise to cancel.

    Raises:
        CheckpointError: the model has no masked-word head.
        TextError: no mask, a text that gets too long, or a vocabulary without
            such pieces.
        ValueError: an unknown kind, or a number outside its range.

    Source:
        Cui et al. 2021 (arXiv:1906.08101) for masking whole Chinese words; the
        score as in Kauf and Ivanova 2023 (arXiv:2305.10588).
    """
    if kind not in KINDS or not 1 <= num_pieces <= MOST_PIECES or beam < 1:
        raise ValueError(
            f"`kind` must be among {KINDS}, `num_pieces` from 1 to {MOST_PIECES}, "
            f"`beam` at least 1. Received: {kind}, {num_pieces}, {beam}."
        )
    tokenized = require_masks(explorer, text, pair)
    position = mask_position(tokenized, mask_index)
    choices = _choices(explorer, kind)
    search = _Beam(beam)
    for place in range(num_pieces):
        rows = [_row_at(tokenized, position, ids, num_pieces) for ids in search.ids]
        log_probs = log_softmax(all_word_logits(explorer, rows))
        search.extend(log_probs, choices[min(place, 1)], place + 1 == num_pieces)
        if progress is not None:
            progress((place + 1) / num_pieces, "whole word")
    kept = _is_written_so(explorer, search.ids)
    ids = search.ids[kept]
    return WholeWords(
        model_id=explorer.model_id,
        tokenized=tokenized,
        position=position,
        ids=ids,
        tokens=tuple(piece_names(explorer, row) for row in ids),
        log_probs=search.log_probs[kept],
        bound=search.bound,
    )


class _Beam:
    """The best beginnings so far, best first: `ids` and `log_probs` `[M, n]`."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.ids = np.empty((1, 0), np.int64)
        self.log_probs = np.empty((1, 0))
        # A longer word is never likelier than its beginning: no beginning that was
        # dropped can have led to anything above this.
        self.bound = -np.inf

    def extend(self, log_probs: np.ndarray, choices: np.ndarray, is_last: bool) -> None:
        """Adds one of the chosen pieces to each beginning; keeps the best."""
        totals = self.log_probs.sum(axis=1)[:, None] + log_probs[:, choices]
        order = np.argsort(-totals, axis=None, kind="stable")
        kept, dropped = order[: self.size], order[self.size : self.size + 1]
        if len(dropped) and not is_last:
            self.bound = max(self.bound, float(totals.ravel()[dropped[0]]))
        beginning, choice = np.divmod(kept, len(choices))
        new = choices[choice]
        added = log_probs[beginning, new]
        self.ids = np.concatenate([self.ids[beginning], new[:, None]], axis=1)
        self.log_probs = np.concatenate(
            [self.log_probs[beginning], added[:, None]], axis=1
        )


def _choices(explorer: Explorer, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Ids that a word may begin with, and those that may follow."""
    vocabulary = explorer.tokenizer.vocabulary
    if kind == "characters":
        begin = [i for i, piece in enumerate(vocabulary) if _is_ideograph(piece)]
        follow = begin
    else:
        begin = [
            i
            for i, piece in enumerate(vocabulary)
            if piece.isalpha() and not _is_ideograph(piece)
        ]
        follow = [
            i
            for i, piece in enumerate(vocabulary)
            if piece.startswith("##")
            and piece[2:].isalpha()
            and not _is_ideograph(piece[2:])
        ]
    if not begin or not follow:
        raise TextError(
            "The vocabulary of the model {model} has no pieces to build such words "
            "of. Received: {kind}. Choose the other kind or another model.",
            model=explorer.model_id,
            kind=kind,
        )
    return np.array(begin), np.array(follow)


def _is_ideograph(piece: str) -> bool:
    name = unicodedata.name(piece, "") if len(piece) == 1 else ""
    return name.startswith(("CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH"))


def _row_at(tokenized: TokenizedText, position: int, ids: np.ndarray, size: int) -> Row:
    """The text with a beginning written and the rest of the word masked."""
    word = [*ids.tolist(), *[tokenized.mask_token_id] * (size - len(ids))]
    return word_rows(tokenized, position, word)[len(ids)]


def _is_written_so(explorer: Explorer, ids: np.ndarray) -> np.ndarray:
    """Which words the tokenizer cuts into these very pieces, bool `[M]`.

    A model never saw "play" + "##ing" where "playing" is a piece of its own.
    """
    words = [
        "".join(piece.removeprefix("##") for piece in piece_names(explorer, row))
        for row in ids
    ]
    cut = explorer.tokenizer.encode_many(words)
    return np.array(
        [found == row.tolist() for found, row in zip(cut, ids, strict=True)]
    )
