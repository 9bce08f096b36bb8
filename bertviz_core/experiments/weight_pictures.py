"""The weights of a model by name: what their numbers look like, and the numbers."""

import numpy as np

from bertviz_core.experiments.read_model_results import WeightPicture
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import task
from bertviz_core.weights import as_numpy

NUM_INTERVALS = 60


@task()
def weight_picture(explorer: Explorer, name: str) -> WeightPicture:
    """Counts the numbers of one weight, by its path of `names.Weight.ours`."""
    values = weight_values(explorer, name).astype(np.float64)
    counts, edges = np.histogram(values, bins=NUM_INTERVALS)
    return WeightPicture(
        shape=values.shape,
        mean=float(values.mean()),
        spread=float(values.std()),
        low=float(values.min()),
        high=float(values.max()),
        counts=counts,
        edges=edges,
    )


@task()
def weight_values(explorer: Explorer, name: str) -> np.ndarray:
    """The numbers of one weight, float32 in our shape; see `weight_picture`."""
    for weight in explorer.loaded.model.weights:
        if weight.path == name:
            return as_numpy(weight).astype(np.float32)
    raise ValueError(f"`name` must be that of a weight. Received: {name}.")
