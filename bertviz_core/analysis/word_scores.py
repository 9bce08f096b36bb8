"""Scores of word pieces as scores of words.

T tokens, W words.
"""

import numpy as np

from bertviz_core.analysis.attention import group_words
from bertviz_core.trace import TokenizedText


def word_scores(
    text: TokenizedText, scores: np.ndarray
) -> tuple[list[str], np.ndarray]:
    """Adds up the scores `[T]` of the pieces of each word, in the order of the text.

    For integrated gradients the sum is what the word as a whole is worth; for
    occlusion it is the sum of what each piece alone is worth.

    Returns:
        W words as they are written, added tokens by their names; and float64 `[W]`,
        NaN where no piece has a score.
    """
    if scores.shape != (text.num_tokens,):
        raise ValueError(
            f"`scores` must be [{text.num_tokens}]. Received: {scores.shape}."
        )
    groups = group_words(text.word_ids, text.token_type_ids)
    first = np.unique(groups, return_index=True)[1]
    last = np.append(first[1:], text.num_tokens) - 1
    names = [_name(text, int(i), int(j)) for i, j in zip(first, last, strict=True)]
    known = ~np.isnan(scores)
    sums = np.add.reduceat(np.where(known, scores, 0.0), first)
    counts = np.add.reduceat(known.astype(int), first)
    return names, np.where(counts > 0, sums, np.nan)


def _name(text: TokenizedText, first: int, last: int) -> str:
    if text.word_ids[first] < 0:
        return text.tokens[first]
    source = text.text if text.token_type_ids[first] == 0 else text.pair or ""
    start, end = int(text.offsets[first, 0]), int(text.offsets[last, 1])
    return source[start:end]
