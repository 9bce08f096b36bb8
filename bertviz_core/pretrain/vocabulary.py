"""Learning a WordPiece vocabulary from text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tokenizers import trainers

from bertviz_core.errors import TrainingError
from bertviz_core.tokenizer import BertTokenizer
from bertviz_core.trace import SPECIAL_TOKENS

# Below this not even the letters have a place each.
SMALLEST_VOCABULARY = 64


def train_vocabulary(
    texts: Iterable[str],
    vocab_size: int,
    lower_case: bool,
    max_characters: int | None = None,
) -> tuple[str, ...]:
    """Learns the word pieces that a text is best cut into.

    Starts from single characters and joins the commonest neighbours within a
    word until the vocabulary is full; Chinese characters stay single. Chance
    decides between equally common neighbours, so that two calls may differ in rare
    pieces and in the order of ids.

    Args:
        texts: any number of paragraphs, read once.
        vocab_size: word pieces at most; a short text yields fewer.
        lower_case: folds case and accents.
        max_characters: keeps that many of the commonest characters; text with
            others is `[UNK]`. `None` keeps all.

    Returns:
        The pieces by id; the five special tokens come first.

    Raises:
        TrainingError: `vocab_size` leaves no room for the letters.

    Source:
        Schuster and Nakajima 2012, "Japanese and Korean voice search", as built
        into Hugging Face `tokenizers`, which joins by frequency.
    """
    if vocab_size < SMALLEST_VOCABULARY:
        raise TrainingError(
            "The vocabulary is too small. Received: vocab_size={vocab_size}. Give at "
            "least {smallest}.",
            vocab_size=vocab_size,
            smallest=SMALLEST_VOCABULARY,
        )
    options: dict[str, Any] = (
        {} if max_characters is None else {"limit_alphabet": max_characters}
    )
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocab_size,
        special_tokens=list(SPECIAL_TOKENS),
        show_progress=False,
        **options,
    )
    # A tokenizer without a vocabulary: it normalises and cuts into words.
    untrained = BertTokenizer(SPECIAL_TOKENS, lower_case=lower_case)
    return untrained.learn_vocabulary(texts, trainer)
