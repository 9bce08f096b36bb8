"""What pre-training makes smaller, as formulas, and how surely it keeps blocks."""

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.drawing import figure, layout, marked_line

# Mean over the places M that are to be guessed, from the text without them.
LOSS_FORMULA = r"L = -\frac{1}{|M|} \sum_{i \in M} \ln p(w_i \mid x_{\setminus M})"
# Source: Zhang and He 2020 (arXiv:2010.13369), equation 6, algorithm 1.
DROP_FORMULA = (
    r"\theta(t) = (1 - \bar\theta)\, e^{-\gamma t / T} + \bar\theta, \qquad "
    r"p_\ell(t) = 1 - \tfrac{\ell}{L}\,(1 - \theta(t))"
)
_HEIGHT = 300  # pixels


def objective_formulas(
    losses: np.ndarray, num_places: int, nsp_loss: float | None, total: float
) -> tuple[str, str]:
    """What pre-training makes smaller, in letters and with the numbers of one text.

    P is the room for places to guess in a row, s whether the second text is the next.
    Losses are in nats.
    """
    letters = r"L = \frac{1}{P} \sum_{i \in M} -\ln p(w_i \mid x_{\setminus M})"
    numbers = rf"L = \frac{{{losses.sum():.4f}}}{{{num_places}}}"
    if nsp_loss is not None:
        letters, numbers = rf"{letters} - \ln p(s)", f"{numbers} + {nsp_loss:.4f}"
    return letters, f"{numbers} = {total:.4f}"


def keep_rate_figure(
    shares: np.ndarray,
    rates: np.ndarray,
    now: tuple[float, float],
    *,
    x_title: str,
    y_title: str,
) -> go.Figure:
    """Draws how surely the last block is kept over a training, and at one moment."""
    made = layout(x_title, y_title, height=_HEIGHT, showlegend=False)
    made["xaxis"] |= {"tickformat": ".0%", "range": [0, 1]}
    made["yaxis"] |= {"tickformat": ".0%", "range": [0, 1.05]}
    return figure([marked_line(shares, rates, now, "circle")], made)
