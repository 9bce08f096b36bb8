"""All numbers that the next training step depends on, by names of no backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bertviz_core.weights import as_numpy


def named_variables(
    trained: Sequence[Any], random: Sequence[Any], optimizer: Sequence[Any]
) -> dict[str, Any]:
    """Gives each variable a name that lasts.

    Args:
        trained: weights that move; named by their path.
        random: states of dropout, in the order of the model.
        optimizer: variables of the optimiser, in its order.
    """
    weights = {f"weights/{variable.path}": variable for variable in trained}
    # Optimiser variables and states of dropout are numbered, not named alike.
    return weights | _numbered("random", random) | _numbered("optimizer", optimizer)


def read_state(variables: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The numbers of variables as they are now."""
    return {name: np.array(as_numpy(v)) for name, v in variables.items()}


def write_state(variables: Mapping[str, Any], state: Mapping[str, np.ndarray]) -> None:
    """Puts back what `read_state` gave.

    Raises:
        ValueError: another set of names.
    """
    if set(state) != set(variables):
        raise ValueError(
            "`state` must hold the names of these variables. Received: "
            f"{sorted(set(state) ^ set(variables))[:3]} too many or too few."
        )
    for name, variable in variables.items():
        variable.assign(state[name])


def _numbered(kind: str, variables: Sequence[Any]) -> dict[str, Any]:
    return {f"{kind}/{index:04}": v for index, v in enumerate(variables)}
