"""Two predictions over the whole vocabulary, side by side. NumPy in and out.

V is the number of words in the vocabulary. Logarithms are natural unless a name
says bits. Rank 1 is the best.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bertviz_core.analysis.logit_rows import log_softmax
from bertviz_core.analysis.sampling import rank_order
from bertviz_core.trace import FrozenArrays

_MOST_FOUND = 20


@dataclass(frozen=True)
class PredictionComparison(FrozenArrays):
    """What changes between sentence A and sentence B, word by word."""

    log_probs_a: np.ndarray  # float64 [V]
    log_probs_b: np.ndarray  # float64 [V]
    # float64 [V], log p in B less log p in A: above 0 the word is likelier in B, by the
    # factor `exp(shift)`.
    shifts: np.ndarray
    ranks_a: np.ndarray  # int64 [V]
    ranks_b: np.ndarray  # int64 [V]
    # Jensen-Shannon divergence of the two; 0 = the same, 1 = no word in common.
    divergence_bits: float


def compare_predictions(
    logits_a: np.ndarray, logits_b: np.ndarray
) -> PredictionComparison:
    """Compares the predictions at two masks, logits `[V]` of one vocabulary.

    A large shift says what the model learned of its texts, stereotypes among
    it; it says nothing about people.

    Source: Kurita et al. 2019 (arXiv:1906.07337), section 2, for log-probability
    differences as a measure of association; Lin 1991, "Divergence measures based on the
    Shannon entropy", for the divergence.
    """
    if logits_a.ndim != 1 or logits_a.shape != logits_b.shape:
        raise ValueError(
            "The two predictions must be rows of one length. "
            f"Received: {logits_a.shape}, {logits_b.shape}."
        )
    log_probs_a, log_probs_b = log_softmax(logits_a), log_softmax(logits_b)
    return PredictionComparison(
        log_probs_a=log_probs_a,
        log_probs_b=log_probs_b,
        shifts=log_probs_b - log_probs_a,
        ranks_a=ranks(logits_a),
        ranks_b=ranks(logits_b),
        divergence_bits=_divergence_bits(log_probs_a, log_probs_b),
    )


def ranks(logits: np.ndarray) -> np.ndarray:
    """Place of every word, 1 for the best; equals are ordered by id, `[V]`."""
    order = rank_order(logits)
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(1, len(order) + 1)
    return places


def most_shifted(
    comparison: PredictionComparison, count: int, least_prob: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Ids of the words that gain most in A, and in B; the largest shift first.

    A word must reach the least probability in A or in B: without a limit the list is
    full of words that are next to impossible in both. Words that do not shift are in
    neither.
    """
    largest = np.maximum(comparison.log_probs_a, comparison.log_probs_b)
    counted = np.exp(largest) >= least_prob
    shifts = np.where(counted, comparison.shifts, 0.0)
    toward_a = np.argsort(shifts, kind="stable")[:count]
    toward_b = np.argsort(-shifts, kind="stable")[:count]
    return toward_a[shifts[toward_a] < 0], toward_b[shifts[toward_b] > 0]


def find_words(vocabulary: Sequence[str], query: str) -> np.ndarray:
    """Ids of the words that a search finds, int64 `[m]`, at most 20.

    The word itself comes first, then words that begin with the query, then those
    that hold it; in each group by id. Case does not count; `##` is not searched
    unless it is typed. Nothing finds nothing.
    """
    wanted = query.strip().casefold()
    groups: tuple[list[int], ...] = ([], [], [])
    for index, token in enumerate(vocabulary if wanted else ()):
        folded = token.casefold()
        if not wanted.startswith("##"):
            folded = folded.removeprefix("##")
        if token.casefold() == wanted:
            groups[0].append(index)
        elif folded.startswith(wanted):
            groups[1].append(index)
        elif wanted in folded:
            groups[2].append(index)
    return np.array([*groups[0], *groups[1], *groups[2]][:_MOST_FOUND], np.int64)


def _divergence_bits(log_probs_a: np.ndarray, log_probs_b: np.ndarray) -> float:
    middle = np.logaddexp(log_probs_a, log_probs_b) - np.log(2)
    halves = [
        (np.exp(log_probs) * (log_probs - middle)).sum()
        for log_probs in (log_probs_a, log_probs_b)
    ]
    # Rounding can go below 0 for two equal predictions.
    return max(0.0, float(sum(halves) / 2 / np.log(2)))
