"""t-SNE and UMAP: maps that keep neighbours together, with their quality."""

import warnings
from typing import Any

import numpy as np

from bertviz_core.analysis.geometry import fit_pca
from bertviz_core.analysis.map_quality import map_quality
from bertviz_core.experiments.map_results import NEIGHBOURHOODS, DrawnMap
from bertviz_core.quiet import not_found
from bertviz_core.tasks import Progress, untold

# The library begins each call with 250 slow steps, which are exaggerated in the first
# stage: a stage has more.
_STEPS_A_STAGE = 300
_EXAGGERATION = 12.0
_NOISE = 0.1  # of the start's standard deviation
# UMAP's own: of epochs, and of the noise that keeps points apart at its start.
_EPOCHS, _EPOCHS_OF_MANY, _MANY = 500, 200, 10_000
_SPECK = 1e-4
MIN_POINTS = 5


def draw_map(
    points: np.ndarray,
    method: str,
    seed: int,
    progress: Progress,
    neighbourhood: float | None,
    num_stages: int,
    **others: Any,
) -> DrawnMap:
    """Draws a map by one of `NEIGHBOURHOODS`, see `tsne_map` and `umap_map`.

    Args:
        neighbourhood: perplexity or `n_neighbors`; `None` for the usual one.
        num_stages: of t-SNE alone.
        others: what both take.
    """
    if method not in NEIGHBOURHOODS:
        known = tuple(NEIGHBOURHOODS)
        raise ValueError(f"`method` must be among {known}. Received: {method}.")
    near = neighbourhood or NEIGHBOURHOODS[method]
    if method == "umap":
        return umap_map(points, seed, progress, int(near), **others)
    return tsne_map(points, seed, progress, near, num_stages, **others)


def tsne_map(
    points: np.ndarray,
    seed: int = 0,
    progress: Progress = untold,
    perplexity: float = 30.0,
    num_stages: int = 4,
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
        perplexity: about how many neighbours each point has; brought down to
            (M - 1) / 3 in a small cloud.
        num_stages: of 300 steps, at least 1.
        num_axes: 2 or 3.
        start: float `[M, num_axes]`, a map to begin with, as that of the layer
            before; only its shape counts. `None` for the PCA map.
        checked_rows: int `[m]`, points whose neighbours are checked for the quality
            of a large map; `None` for all.

    Source: van der Maaten and Hinton 2008, "Visualizing data using t-SNE"; Kobak and
    Berens 2019 (doi:10.1038/s41467-019-13056-x) for the start from PCA.
    """
    _require_points(points, num_axes)
    if num_stages < 1:
        raise ValueError(f"`num_stages` must be 1 or more. Received: {num_stages}.")
    perplexity = min(perplexity, (len(points) - 1) / 3)
    # Small: a start of size 1 slows the method down.
    positions = _moved(_start(points, num_axes, start, 1e-4), seed)
    for stage in range(num_stages):
        positions = _stage(points, positions, perplexity, stage)
        progress((stage + 1) / num_stages, "drawing the map")
    return DrawnMap(
        method="tsne",
        coordinates=positions,
        seed=seed,
        neighbourhood=perplexity,
        num_steps=num_stages * _STEPS_A_STAGE,
        quality=map_quality(points, positions, rows=checked_rows),
    )


def umap_map(
    points: np.ndarray,
    seed: int = 0,
    progress: Progress = untold,
    n_neighbors: int = 15,
    num_axes: int = 2,
    start: np.ndarray | None = None,
    checked_rows: np.ndarray | None = None,
) -> DrawnMap:
    """Draws a map by UMAP, from the PCA map, and measures it.

    Each point's distances are scaled by those to its own neighbours: distances
    between groups, sizes of groups and how dense they look mean little. Differs from
    the library's usual call: nearest neighbours are found exactly, not about.

    Args:
        points: float `[M, H]`, M at least `MIN_POINTS`.
        seed: of which pairs are drawn, and of the start, see `tsne_map`.
        n_neighbors: that count for each point, itself among them; brought down to
            M - 1 in a small cloud.
        num_axes: see `tsne_map`, as for all arguments from here on.
        start: float `[M, num_axes]`, or `None`.
        checked_rows: int `[m]`, or `None`.

    Source: McInnes, Healy and Melville 2018 (arXiv:1802.03426).
    """
    _require_points(points, num_axes)
    vectors = np.asarray(points, np.float32)
    positions = _moved(_start(points, num_axes, start, 1.0), seed)
    # The library divides by the width of each axis, which may be 0.
    noise = np.random.default_rng(seed).normal(scale=_SPECK, size=positions.shape)
    n_neighbors = min(n_neighbors, len(points) - 1)
    num_steps = _EPOCHS if len(points) <= _MANY else _EPOCHS_OF_MANY
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it cannot place new points later
        positions = _umap_class()(
            n_neighbors=n_neighbors,
            n_components=num_axes,
            n_epochs=num_steps,
            init=(positions + noise).astype("f4"),
            random_state=seed,
            n_jobs=1,
            precomputed_knn=_nearest(vectors, n_neighbors),
            tqdm_kwds=_told(progress, num_steps),
        ).fit_transform(vectors)
    return DrawnMap(
        method="umap",
        coordinates=positions,
        seed=seed,
        neighbourhood=n_neighbors,
        num_steps=num_steps,
        quality=map_quality(points, positions, rows=checked_rows),
    )


def _umap_class() -> Any:
    # Its package imports TensorFlow where that is installed, for a class that is
    # not used here.
    with not_found(("umap.parametric_umap",)), warnings.catch_warnings():
        warnings.simplefilter("ignore", ImportWarning)
        from umap import UMAP
    return UMAP


def _nearest(points: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The nearest points of each, itself first: indices and distances `[M, count]`."""
    from sklearn.neighbors import NearestNeighbors

    wide = points.astype(np.float64)  # rounding would separate equal points
    table = NearestNeighbors(n_neighbors=count - 1, algorithm="brute").fit(wide)
    distances, indices = table.kneighbors()
    distances = np.pad(distances, ((0, 0), (1, 0))).astype(np.float32)
    return np.column_stack([np.arange(len(points)), indices]), distances


def _told(progress: Progress, num_steps: int) -> dict[str, Any]:
    """Has the library's bar tell how far it is; what `progress` raises ends it."""

    class Told:
        def write(self, text: str) -> None:
            if (step := text.strip()).isdecimal():
                progress(int(step) / num_steps, "drawing the map")

        def flush(self) -> None: ...

    # Each step counts: otherwise a thread moves the bar.
    often = {"mininterval": 0.2, "miniters": 1}
    return {"disable": False, "file": Told(), "bar_format": "{n}", **often}


def _require_points(points: np.ndarray, num_axes: int) -> None:
    if len(points) < MIN_POINTS:
        raise ValueError(
            f"`points` must be {MIN_POINTS} or more. Received: {len(points)}."
        )
    if num_axes not in (2, 3):
        raise ValueError(f"`num_axes` must be 2 or 3. Received: {num_axes}.")


def _start(
    points: np.ndarray, num_axes: int, start: np.ndarray | None, spread: float
) -> np.ndarray:
    """A map so wide to begin with; that of PCA has no width on axes it lacks."""
    if start is None:
        pca = fit_pca(points, min(num_axes, *points.shape))
        start = np.zeros((len(points), num_axes))
        start[:, : len(pca.variances)] = pca.project(points)
    width = float(start.std(axis=0).max())
    scaled: np.ndarray = (start / width * spread if width > 0 else start).astype("f4")
    return scaled


def _moved(start: np.ndarray, seed: int) -> np.ndarray:
    """Another start for every seed but 0.

    That of scikit-learn draws random numbers for a start alone, and here the start is
    given: its own seed would change nothing.
    """
    if seed == 0:
        return start
    noise = np.random.default_rng(seed).normal(size=start.shape)
    moved: np.ndarray = start + _NOISE * start.std(axis=0).max() * noise
    return moved.astype(start.dtype)


def _stage(
    points: np.ndarray, start: np.ndarray, perplexity: float, stage: int
) -> np.ndarray:
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
        positions: np.ndarray = method.fit_transform(np.asarray(points, np.float32))
    return positions
