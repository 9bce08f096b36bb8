"""From logits to a choice: temperature, top-k, top-p, draws. NumPy in and out.

Everything is computed in float64, whatever the model used, so that sums and
comparisons hold to the digits that are shown.

V is the number of words in the vocabulary.
"""

import math

import numpy as np


def rank_order(logits: np.ndarray) -> np.ndarray:
    """Token ids from the most to the least likely, int64 `[V]`.

    Equal logits are ordered by id, so the order is the same on every machine.
    """
    return np.argsort(-_as_floats(logits), kind="stable")


def softmax(logits: np.ndarray, temperature: float = 1.0) -> np.ndarray:
    """Turns logits into probabilities, float64 `[V]`, sums to 1.

    Args:
        logits: float `[V]`.
        temperature: at least 0. 1 leaves the model's own probabilities, less
            sharpens, more flattens. 0 is the limit: all probability on the
            largest logit, shared where several are the largest.

    Source: Hinton et al. 2015 (arXiv:1503.02531), section 2.
    """
    logits = _as_floats(logits)
    if not 0 <= temperature < math.inf:
        raise ValueError(
            f"`temperature` must be at least 0. Received: temperature={temperature}."
        )
    # A difference or quotient beyond the range of float64 is -inf: weight 0.
    with np.errstate(over="ignore", under="ignore"):
        below_best = logits - logits.max()
        if temperature == 0:
            weights = (below_best == 0).astype(np.float64)
        else:
            weights = np.exp(below_best / temperature)
    return weights / weights.sum()


def sampling_distribution(
    logits: np.ndarray,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
) -> np.ndarray:
    """Probabilities of a draw: temperature first, then top-k, then top-p.

    Top-p reads the distribution that top-k left, made to sum to 1 again. The most
    likely word always stays; what is left out has 0. For the rest see `softmax`.

    Args:
        top_k: keep this many of the most likely words; `None` keeps all.
        top_p: in (0, 1]; keep the fewest of the most likely words that reach
            this probability together.

    Source: Fan et al. 2018 (arXiv:1805.04833) for top-k; Holtzman et al. 2020
    (arXiv:1904.09751), section 3.1, for top-p. The order is that of Hugging Face's
    `generate`.
    """
    if top_k is not None and top_k < 1:
        raise ValueError(f"`top_k` must be at least 1. Received: top_k={top_k}.")
    if not 0 < top_p <= 1:
        raise ValueError(f"`top_p` must be in (0, 1]. Received: top_p={top_p}.")
    probs = softmax(logits, temperature)
    if top_k is None and top_p == 1:
        return probs
    order = rank_order(logits)
    ordered = probs[order]
    if top_k is not None:
        ordered[top_k:] = 0.0
        ordered /= ordered.sum()
    if top_p < 1:
        before = np.cumsum(ordered) - ordered
        before[0] = 0.0  # the most likely word stays, whatever was rounded
        ordered[before >= top_p] = 0.0
        ordered /= ordered.sum()
    probs = np.empty_like(ordered)
    probs[order] = ordered
    return probs


def entropy_bits(probs: np.ndarray) -> np.ndarray:
    """Uncertainty of each row `[..., V]` in bits; of n equally likely words log2(n).

    Source: Shannon 1948, "A Mathematical Theory of Communication", section 6.
    """
    logs = np.log2(probs, out=np.zeros_like(probs), where=probs > 0)
    # A certain word gives -0.0, which would be shown with its sign.
    return np.abs(np.einsum("...v,...v->...", probs, logs))


def effective_choices(probs: np.ndarray) -> float:
    """How many equally likely words would be as uncertain, 2 to the entropy."""
    return float(2.0 ** entropy_bits(probs))


def draw_tokens(probs: np.ndarray, num_draws: int, seed: int) -> np.ndarray:
    """Draws token ids with replacement, int64 `[num_draws]`, in the order of drawing.

    More draws with the same seed begin with the same ones. A word of probability 0 is
    never drawn.
    """
    cumulative = np.cumsum(probs)
    uniform = np.random.default_rng(seed).random(num_draws) * cumulative[-1]
    ids = np.searchsorted(cumulative, uniform, side="right")
    # Rounding can lift a product to the total itself, past the last word.
    return np.minimum(ids, np.flatnonzero(probs)[-1])


def count_interval(probs: np.ndarray, num_draws: int) -> tuple[np.ndarray, np.ndarray]:
    """The fewest and the most draws of each word in 95 % or more of such experiments.

    Exact binomial quantiles, with as much of the rest as possible on either side: the
    normal curve would promise negative counts to rare words. Both are inside, int64
    `[M]`.
    """
    cumulative = np.cumsum(_binomial(probs, num_draws), axis=1)  # [M, num_draws + 1]
    low = (cumulative < 0.025).sum(axis=1)
    high = (cumulative < 0.975).sum(axis=1)
    return low, np.minimum(high, num_draws)


def _binomial(probs: np.ndarray, num_draws: int) -> np.ndarray:
    """Probability of each count, float64 `[M, num_draws + 1]`."""
    counts = np.arange(num_draws + 1)
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(counts[1:]))])
    log_ways = log_factorial[-1] - log_factorial - log_factorial[::-1]
    p = probs[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        # 0 * log(0) counts as 0: drawing an impossible word no time is certain.
        log_hits = np.where(counts == 0, 0.0, counts * np.log(p))
        log_misses = np.where(counts[::-1] == 0, 0.0, counts[::-1] * np.log1p(-p))
    return np.exp(log_ways + log_hits + log_misses)


def _as_floats(logits: np.ndarray) -> np.ndarray:
    logits = np.asarray(logits, np.float64)
    if logits.ndim != 1 or not logits.size or not np.isfinite(logits).all():
        raise ValueError(
            f"`logits` must be a row of finite numbers. Received: shape={logits.shape}."
        )
    return logits
