"""Pre-training to look at: how a tiny run's loss falls below two simple guessers.

Dashes say what colours say.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from bertviz_core.experiments.tiny_results import TinyRun
from bertviz_core.figures.activations import figure, layout, line

# Mean over the places M that are to be guessed, from the text without them.
LOSS_FORMULA = r"L = -\frac{1}{|M|} \sum_{i \in M} \ln p(w_i \mid x_{\setminus M})"
_HEIGHT = 340  # pixels


@dataclass(frozen=True)
class TinyWords:
    """What the figure says, in the reader's language."""

    step: str = "step"
    loss: str = "loss (nats)"
    network: str = "the network"
    chance: str = "every word equally likely"
    frequency: str = "words by how often they occur"


ENGLISH = TinyWords()


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


def tiny_loss_figure(run: TinyRun, words: TinyWords = ENGLISH) -> go.Figure:
    """Draws the loss so far beside those of chance and of word frequencies.

    Args:
        run: whole, or as far as it is; the axis is that of the whole run.
        words: the texts on the figure.
    """
    known = [look for look in run.looks if look.loss is not None]
    steps = np.array([look.num_steps for look in known])
    losses = np.array([look.loss for look in known], float)
    ends = np.array([0, run.num_steps])
    traces = [
        {
            **line(steps, losses),
            "name": words.network,
            "mode": "lines+markers",
            "marker": {"size": 7},
        },
        {**line(ends, np.full(2, run.chance_loss), "dot"), "name": words.chance},
        {**line(ends, np.full(2, run.frequency_loss), "dash"), "name": words.frequency},
    ]
    made = layout(words.step, words.loss, height=_HEIGHT)
    made["xaxis"] |= {"range": [0, run.num_steps]}
    made["yaxis"] |= {"rangemode": "tozero"}
    return figure(traces, made)
