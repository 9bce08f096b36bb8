"""Rows of logits over the vocabulary: log-probabilities, best words, ranks.

NumPy in and out, computed in float64. R is the number of rows, V the vocabulary.
"""

import numpy as np


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Natural logarithms of the probabilities of each row, float64 `[..., V]`."""
    shifted = np.asarray(logits, np.float64)
    shifted = shifted - shifted.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def softmax_rows(logits: np.ndarray) -> np.ndarray:
    """Probabilities of each row of logits, float64 `[..., V]`; a row sums to 1."""
    shifted = np.asarray(logits, np.float64)
    # Changes no probability, and no power is too large for a number.
    shifted = shifted - shifted.max(axis=-1, keepdims=True)
    powers = np.exp(shifted)
    return powers / powers.sum(axis=-1, keepdims=True)


def top_words(logits: np.ndarray, count: int) -> np.ndarray:
    """Ids of the best words of each row `[R, V]`, best first; equals go by their id.

    A logit of `-inf` is of a word that may not be chosen. Gives `[R, min(count, V)]`.
    """
    num_words = logits.shape[1]
    if count >= num_words:
        return np.argsort(-logits, axis=1, kind="stable")
    # The smallest value that is still among the best: its equals compete by id.
    least = -np.partition(-logits, count - 1, axis=1)[:, count - 1]
    best = np.empty((len(logits), count), np.int64)
    for row, floor in enumerate(least):
        ids = np.flatnonzero(logits[row] >= floor)
        best[row] = ids[np.argsort(-logits[row, ids], kind="stable")[:count]]
    return best


def ranks_of(logits: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Place of a word in each row `[R, V]`, 1 for the best; equals go by their id."""
    value = np.take_along_axis(logits, ids[:, None], axis=1)  # [R, 1]
    above = (logits > value).sum(axis=1)
    ties = (logits == value) & (np.arange(logits.shape[1]) < ids[:, None])
    return above + ties.sum(axis=1) + 1


def entropy_bits_of(log_probs: np.ndarray) -> np.ndarray:
    """Uncertainty in bits of rows of natural logarithms of probabilities `[..., V]`.

    0 for a certain word, log2(V) for none better.

    Source: Shannon 1948, "A Mathematical Theory of Communication", section 6.
    """
    probs = np.exp(log_probs)
    terms = probs * np.where(probs > 0, log_probs, 0.0)
    return np.abs(terms.sum(axis=-1)) / np.log(2)
