"""Groups of feed-forward neurons that fire together over a text.

T tokens, I intermediate size, F factors.
"""

import warnings
from collections.abc import Sequence

import numpy as np

from bertviz_core.analysis.logit_rows import top_words
from bertviz_core.experiments.layer_steps import block_values
from bertviz_core.experiments.step_results import NeuronFactors
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import Progress, task, untold
from bertviz_core.trace import Trace

_MOST_ROUNDS = 200


@task()
def neuron_factors(
    explorer: Explorer,
    trace: Trace,
    num_factors: int,
    seed: int,
    layers: Sequence[int] | None = None,
    top_k: int = 10,
    progress: Progress = untold,
) -> NeuronFactors:
    """Finds groups of neurons, of some layers or all, that fire together over a text.

    Activations below 0 (GELU has small ones) are set to 0, as factors know no minus;
    the result says how much that left out.

    Source: Alammar 2021, "Ecco", for factors of activations; Lee and Seung 1999,
    "Learning the parts of objects by non-negative matrix factorization", Nature 401.
    scikit-learn's `NMF` finds them.
    """
    chosen = range(explorer.config.num_hidden_layers) if layers is None else layers
    if not len(chosen):
        raise ValueError("`layers` must name at least one layer.")
    every = []
    for index, layer in enumerate(chosen):
        progress(index / len(chosen) / 2, "neurons")
        every.append(block_values(explorer, trace, layer)["mlp.post"])
    activations = np.concatenate(every, axis=1).astype(np.float64)  # [T, layers * I]
    positive = np.maximum(activations, 0)
    progress(0.5, "nmf")
    weights, factors, num_rounds = _factorised(positive, num_factors, seed)
    top = top_words(factors, top_k)  # the largest of each row
    layer_of, neuron_of = np.divmod(top, explorer.config.intermediate_size)
    return NeuronFactors(
        tokens=trace.tokenized.tokens,
        weights=weights.T.copy(),
        top_neurons=np.stack([np.array(chosen)[layer_of], neuron_of], axis=-1),
        top_shares=np.take_along_axis(factors, top, axis=1),
        error=_share(positive - weights @ factors, positive),
        negative_share=_share(activations - positive, activations),
        num_iterations=num_rounds,
        seed=seed,
    )


def _factorised(
    matrix: np.ndarray, num_factors: int, seed: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """Weights `[R, F]` and factors `[F, C]`, the largest part first, and the rounds.

    Factors have length 1, or 0 where one died out.
    """
    # Here and not above: importing it takes a second that other tasks do not need.
    from sklearn.decomposition import NMF
    from sklearn.exceptions import ConvergenceWarning

    method = NMF(num_factors, init="random", random_state=seed, max_iter=_MOST_ROUNDS)
    with warnings.catch_warnings():
        # The page says how many rounds it took, and of how many.
        warnings.simplefilter("ignore", ConvergenceWarning)
        weights = method.fit_transform(matrix)
    lengths = np.linalg.norm(method.components_, axis=1)
    weights = weights * lengths
    factors = method.components_ / np.where(lengths > 0, lengths, 1.0)[:, None]
    order = np.argsort(-np.linalg.norm(weights, axis=0), kind="stable")
    return weights[:, order], factors[order], method.n_iter_


def _share(part: np.ndarray, whole: np.ndarray) -> float:
    """Length of a part of a matrix by that of the whole; 0 for nothing at all."""
    length = np.linalg.norm(whole)
    return float(np.linalg.norm(part) / length) if length else 0.0
