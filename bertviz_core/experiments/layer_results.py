"""What the lens and attribution find: frozen NumPy dataclasses.

L is the number of layers, T of tokens, S of places looked at, V the vocabulary.
Logarithms are natural unless a name says bits. Rank 1 is the best.
"""

from dataclasses import dataclass

import numpy as np

from bertviz_core.trace import FrozenArrays, TokenizedText


@dataclass(frozen=True)
class LogitLens(FrozenArrays):
    """Each layer's hidden states, read by the masked-word head.

    The head was trained on the last layer only: what it reads in the middle is a
    view through foreign glasses, not what the layer 'thinks'.
    """

    tokenized: TokenizedText  # the text
    positions: np.ndarray  # int [S], token indices looked at
    # int [L + 1, S, k], best words; index 0 is the embedding output, L the last layer,
    # which is the model's own answer.
    top_ids: np.ndarray
    top_tokens: tuple[tuple[tuple[str, ...], ...], ...]  # their pieces
    top_log_probs: np.ndarray  # float64 [L + 1, S, k]
    entropy_bits: np.ndarray  # float64 [L + 1, S]
    word_ids: np.ndarray  # int [W], words that were asked for
    word_log_probs: np.ndarray  # float64 [W, L + 1, S]
    word_ranks: np.ndarray  # int [W, L + 1, S]


@dataclass(frozen=True)
class Attribution(FrozenArrays):
    """How much each token contributes to an answer, by several methods."""

    tokenized: TokenizedText  # the text
    contrast: int | None  # the answer that it is compared with, or `None`
    # Log p of the target, less log p of the contrast; the number itself where the
    # classifier has one output.
    value: float
    methods: tuple[str, ...]  # names of the rows of `scores`
    # float64 [M, T]; above 0 the token supports the target. NaN where a method says
    # nothing: occlusion of added tokens and of the place that is predicted.
    # "gradient_norm" has no sign.
    scores: np.ndarray
    # `value` of the text with the baseline in every place of a word.
    baseline_value: float
    num_steps: int  # points on the way of integrated gradients from the baseline
    compared: np.ndarray  # int [S], token indices that the methods are compared on
    # float64 [M, M], Spearman correlation over those tokens; of sizes where one of the
    # two has no sign; NaN where there is no order.
    agreement: np.ndarray

    @property
    def completeness_error(self) -> float:
        """How far the sum of integrated gradients is off the change from the baseline.

        As a share of that change; 0 for an exact integral.

        Source: Sundararajan et al. 2017 (arXiv:1703.01365), proposition 1.
        """
        row = self.scores[self.methods.index("integrated_gradients")]
        change = self.value - self.baseline_value
        gap = abs(float(row.sum() - change))
        if change == 0:
            return 0.0 if gap == 0 else float("inf")
        return gap / abs(change)


@dataclass(frozen=True)
class RandomWeightsCheck(FrozenArrays):
    """The same attribution with the model's weights shuffled.

    A method that shows what the model learned must not say the same of a model
    that knows nothing.
    """

    own: Attribution  # with the model's own weights
    # float64 [M], for each method Spearman correlation of the two over `own.compared`;
    # NaN where there is no order. Near 1 is a warning.
    agreement: np.ndarray
