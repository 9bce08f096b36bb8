"""Maps of the same points at every layer, so that points move and do not jump.

L + 1 states (embedding output first), M points, H numbers each, k axes of the map.
"""

import numpy as np

from bertviz_core.analysis.geometry import divided, fit_pca, procrustes, row_norms

ALIGNMENTS = ("shared", "procrustes")


def layer_maps(
    states: np.ndarray, num_axes: int = 2, alignment: str = "shared"
) -> tuple[np.ndarray, np.ndarray]:
    """Draws each layer's points on a map that stays comparable over layers.

    Each layer is centred first: what a layer adds to all points alike is not on
    the map. "shared" takes the same axes for all layers, those along which all
    layers together are widest; a layer with longer vectors counts for more.
    "procrustes" takes each layer's own widest axes, then turns and mirrors its map
    onto that of the layer before, unstretched.

    Args:
        states: float `[L + 1, M, H]`.
        num_axes: k, 2 or 3 for a picture; at most the smaller of M and H.
        alignment: of `ALIGNMENTS`.

    Returns:
        Where each point lies, float64 `[L + 1, M, k]`, in the units of the vectors;
        the share of each layer's variance that its map shows, float64 `[L + 1]`.
    """
    if alignment not in ALIGNMENTS:
        raise ValueError(
            f"`alignment` must be among {ALIGNMENTS}. Received: {alignment}."
        )
    if states.ndim != 3:
        raise ValueError(f"`states` must be [L, M, H]. Received: {states.shape}.")
    # In the states' own precision: 200 sentences' tokens are 256 MB in float32.
    centred = np.empty_like(states)
    for layer, vectors in enumerate(states):
        centred[layer] = vectors - vectors.mean(axis=0, dtype=np.float64)
    if alignment == "shared":
        axes = fit_pca(centred.reshape(-1, states.shape[2]), num_axes).axes
        return _shown(centred, [axes] * len(states))
    own = [fit_pca(layer, num_axes).axes for layer in centred]
    coordinates, explained = _shown(centred, own)
    for index in range(1, len(states)):
        coordinates[index] = procrustes(coordinates[index], coordinates[index - 1])
    return coordinates, explained


def _shown(
    centred: np.ndarray, axes: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    coordinates = np.stack([x @ a.T for x, a in zip(centred, axes, strict=True)])
    whole = np.array([(row_norms(layer) ** 2).sum() for layer in centred])
    on_map = (coordinates**2).sum(axis=(1, 2))
    return coordinates, divided(on_map, whole)
