"""Sentences that an epoch reads more often: those with certain words.

Encyclopedias hardly know "I" and "you". What there is of them can be read often.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bertviz_core.errors import TrainingError
from bertviz_core.pretrain.corpus import EncodedCorpus


def sentence_weights(
    corpus: EncodedCorpus,
    by_word: Mapping[str, float],
    ids: Mapping[str, int],
    max_tokens: int | None = None,
) -> np.ndarray:
    """How often an epoch reads each sentence alone, beside its document.

    Args:
        corpus: the text; of held-out documents nothing is read.
        by_word: for sentences with a word; of several words the highest counts.
        ids: id of each piece of the vocabulary.
        max_tokens: longer sentences are not read alone; `None` for any length.

    Returns:
        float64 `[num_sentences]`.

    Raises:
        TrainingError: a word is not one piece of the vocabulary.
    """
    for word in by_word:
        if word not in ids:
            raise TrainingError(
                "The settings weigh sentences with a word that is not one piece of "
                "the vocabulary. Received: {word}. Take a word of vocab.txt.",
                word=word[:60],
            )
    weights = np.zeros(len(corpus.sentence_starts) - 1)
    if not by_word:  # spares reading all of the text
        return weights
    of_ids = np.zeros(len(ids))
    for word, weight in by_word.items():
        of_ids[ids[word]] = weight
    places = np.flatnonzero((of_ids > 0)[corpus.tokens])
    owners = np.searchsorted(corpus.sentence_starts, places, "right") - 1
    np.maximum.at(weights, owners, of_ids[corpus.tokens[places]])
    is_left_out = np.repeat(corpus.is_held_out, np.diff(corpus.document_starts))
    if max_tokens is not None:
        is_left_out |= np.diff(corpus.sentence_starts) > max_tokens
    return np.where(is_left_out, 0.0, weights)
