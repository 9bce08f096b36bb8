"""The first few words that the model would put at a mask."""

from __future__ import annotations

from dataclasses import dataclass

from bertviz_core.analysis.sampling import rank_order, softmax
from bertviz_core.trace import MaskPredictions


@dataclass(frozen=True)
class Guess:
    """One word and its chance.

    Args:
        token: a word piece, `##` kept.
        probability: in [0, 1].
    """

    token: str
    probability: float


def best_guesses(
    predictions: MaskPredictions, vocabulary: tuple[str, ...], num_guesses: int
) -> list[list[Guess]]:
    """The likeliest words, best first.

    Args:
        predictions: of a model.
        vocabulary: its word pieces, by id.
        num_guesses: at least 1.

    Returns:
        A list for each mask, left to right.
    """
    best = []
    for logits in predictions.logits:
        probs = softmax(logits)
        ids = rank_order(logits)[:num_guesses]
        best.append([Guess(vocabulary[i], float(probs[i])) for i in ids])
    return best
