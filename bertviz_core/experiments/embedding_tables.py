"""The input sum of a text taken apart, and the table of positions."""

from typing import Any

import numpy as np

from bertviz_core.analysis.geometry import divided
from bertviz_core.analysis.layer_norm import layer_norm
from bertviz_core.analysis.position_geometry import PositionGeometry, position_geometry
from bertviz_core.experiments.embedding_results import InputSum
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import task
from bertviz_core.weights import as_numpy

_PARTS = ("word", "position", "token_type")


@task()
def take_input_apart(
    explorer: Explorer, text: str, pair: str | None = None
) -> InputSum:
    """Splits what enters the first block into word, position and segment.

    All vectors are those of the pass; beside them stands how far a layer norm
    written out in NumPy is from the model's.

    Source: Devlin et al. 2019 (arXiv:1810.04805), figure 2.
    """
    tokenized = explorer.tokenize(text, pair, cut=True)
    found = explorer.forward.embed(**tokenized.inputs, keep=(*_PARTS, "sum", "norm"))
    normed, summed = found["norm"][0], found["sum"][0]  # [T, H]
    parts = np.stack([found[name].reshape(summed.shape) for name in _PARTS])
    norm = explorer.loaded.model.embeddings.layer_norm
    gain, bias = _as_float32(norm.gamma), _as_float32(norm.beta)
    wide = summed.astype(np.float64)
    means, deviations = wide.mean(axis=1), wide.std(axis=1)
    by_hand = layer_norm(wide, gain, bias, norm.epsilon)
    part_norms = np.linalg.norm(parts.astype(np.float64), axis=2)
    sum_norms = np.linalg.norm(wide, axis=1)
    products = np.einsum("pth,th->pt", parts.astype(np.float64), wide)
    return InputSum(
        tokenized=tokenized,
        parts=parts,
        summed=summed,
        normed=normed,
        means=means,
        deviations=deviations,
        gain=gain,
        bias=bias,
        epsilon=norm.epsilon,
        part_norms=part_norms,
        sum_norms=sum_norms,
        normed_norms=np.linalg.norm(normed.astype(np.float64), axis=1),
        cosines=divided(products, part_norms * sum_norms),
        shares=divided(products, sum_norms**2),
        largest_difference=float(np.abs(by_hand - normed).max()),
    )


@task()
def measure_positions(explorer: Explorer) -> PositionGeometry:
    """Measures a model's position embeddings."""
    return position_geometry(position_table(explorer))


def position_table(explorer: Explorer) -> np.ndarray:
    """Copies a model's position embeddings, float32 `[P, H]`."""
    return _as_float32(explorer.loaded.model.embeddings.position_embeddings)


def _as_float32(variable: Any) -> np.ndarray:
    # A copy: the model may be trained on while the picture is looked at.
    return np.array(as_numpy(variable), np.float32)
