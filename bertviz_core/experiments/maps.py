"""Maps that bend space to keep neighbours together, with what they are worth."""

from __future__ import annotations

import numpy as np

from bertviz_core.analysis.geometry import fit_pca
from bertviz_core.analysis.map_quality import map_quality
from bertviz_core.experiments.embedding_results import DrawnMap
from bertviz_core.experiments.masked_rows import Progress

# The library begins each call with 250 slow steps, which are exaggerated in the first
# stage, and tells the divergence only after a later one.
_STEPS_A_STAGE = 300
_EXAGGERATION = 12.0
_NOISE = 0.1  # of the start's standard deviation
MIN_POINTS = 5


def tsne_map(
    points: np.ndarray,
    seed: int = 0,
    progress: Progress | None = None,
    perplexity: float = 30.0,
    num_stages: int = 4,
    num_neighbours: int = 10,
    num_axes: int = 2,
    start: np.ndarray | None = None,
    checked_rows: np.ndarray | None = None,
) -> DrawnMap:
    """Draws a map by t-SNE, from the PCA map, and measures it.

    Every point is drawn; distances between groups and sizes of groups on such a
    map mean nothing. The library cannot be stopped while it works, so it works in
    stages of 300 steps, each beginning where the last ended, with progress between.
    Differs from one long call: the momentum is 0.5 in the first 250 steps of each
    stage, not of the first alone.

    Args:
        points: float `[M, H]`, M at least `MIN_POINTS`.
        seed: 0 begins at the start itself; any other first moves its points by
            Gaussian noise of this seed, a tenth as wide as the start. Nothing else
            in the method is random.
        progress: told the share of the stages done; may raise to cancel.
        perplexity: about how many neighbours each point has; brought down to
            (M - 1) / 3 in a small cloud.
        num_stages: of 300 steps, at least 1.
        num_neighbours: of the quality, brought below M / 2.
        num_axes: 2 or 3.
        start: float `[M, num_axes]`, a map to begin with, as that of the layer
            before; only its shape counts. `None` for the PCA map.
        checked_rows: int `[m]`, points whose neighbours are checked for the quality
            of a large map; `None` for all.

    Raises:
        ValueError: fewer points, fewer than one stage, or another number of axes.

    Source:
        van der Maaten and Hinton 2008, "Visualizing data using t-SNE"; Kobak and
        Berens 2019 (doi:10.1038/s41467-019-13056-x) for the start from PCA.
    """
    num_points = len(points)
    if num_points < MIN_POINTS or num_stages < 1:
        raise ValueError(
            f"`points` must be {MIN_POINTS} or more, and `num_stages` 1 or more. "
            f"Received: {num_points} points, num_stages={num_stages}."
        )
    if num_axes not in (2, 3):
        raise ValueError(f"`num_axes` must be 2 or 3. Received: {num_axes}.")
    perplexity = min(perplexity, (num_points - 1) / 3)
    positions = _start(points, num_axes) if start is None else _shrunk(start)
    positions = _moved(positions, seed)
    divergence = float("nan")
    for stage in range(num_stages):
        positions, divergence = _stage(points, positions, perplexity, stage)
        if progress is not None:
            progress((stage + 1) / num_stages, "drawing the map")
    neighbours = min(num_neighbours, (num_points - 1) // 2)
    return DrawnMap(
        method="tsne",
        positions=positions.astype(np.float64),
        seed=seed,
        perplexity=perplexity,
        num_steps=num_stages * _STEPS_A_STAGE,
        divergence=divergence,
        quality=map_quality(points, positions, neighbours, checked_rows),
    )


def _start(points: np.ndarray, num_axes: int) -> np.ndarray:
    """The PCA map; a cloud with fewer axes than asked for stays flat."""
    pca = fit_pca(points, min(num_axes, *points.shape))
    start = np.zeros((len(points), num_axes))
    start[:, : len(pca.variances)] = pca.project(points)
    return _shrunk(start)


def _shrunk(start: np.ndarray) -> np.ndarray:
    """Small: a start of size 1 slows the method down."""
    spread = float(start.std(axis=0).max())
    scaled: np.ndarray = (start / spread * 1e-4 if spread > 0 else start).astype("f4")
    return scaled


def _moved(start: np.ndarray, seed: int) -> np.ndarray:
    """Another start for every seed but 0.

    The library draws its random numbers for a start alone, and here the start is
    given: its own seed would change nothing.
    """
    if seed == 0:
        return start
    noise = np.random.default_rng(seed).normal(size=start.shape)
    moved: np.ndarray = start + _NOISE * start.std(axis=0).max() * noise
    return moved.astype(start.dtype)


def _stage(
    points: np.ndarray, start: np.ndarray, perplexity: float, stage: int
) -> tuple[np.ndarray, float]:
    # Here and not above: importing it takes a second that other tasks do not need.
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    method = TSNE(
        n_components=start.shape[1],
        perplexity=perplexity,
        early_exaggeration=_EXAGGERATION if stage == 0 else 1.0,
        # The library's own rule, held fixed over stages.
        learning_rate=max(len(points) / _EXAGGERATION / 4, 50.0),
        max_iter=_STEPS_A_STAGE,
        init=start,
    )
    # One thread: several add the same numbers in another order each time.
    with threadpool_limits(limits=1, user_api="openmp"):
        positions = method.fit_transform(np.asarray(points, np.float32))
    return positions, float(method.kl_divergence_)
