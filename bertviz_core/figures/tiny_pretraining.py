"""What pre-training makes smaller, as formulas."""

from __future__ import annotations

import numpy as np

# Mean over the places M that are to be guessed, from the text without them.
LOSS_FORMULA = r"L = -\frac{1}{|M|} \sum_{i \in M} \ln p(w_i \mid x_{\setminus M})"


def objective_formulas(
    losses: np.ndarray, num_places: int, nsp_loss: float | None, total: float
) -> tuple[str, str]:
    """What pre-training makes smaller, in letters and with the numbers of one text.

    P is the room for places to guess in a row, s whether the second text is the next.

    Args:
        losses: float `[M]`, nats.
        num_places: P.
        nsp_loss: of the second text; `None` without one.
        total: of all.
    """
    letters = r"L = \frac{1}{P} \sum_{i \in M} -\ln p(w_i \mid x_{\setminus M})"
    numbers = rf"L = \frac{{{losses.sum():.4f}}}{{{num_places}}}"
    if nsp_loss is not None:
        letters, numbers = rf"{letters} - \ln p(s)", f"{numbers} + {nsp_loss:.4f}"
    return letters, f"{numbers} = {total:.4f}"
