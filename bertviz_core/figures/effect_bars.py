"""What was measured beside what was estimated, or was before: bars with marks.

F is the number of names.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.layer_strip import named_bars_figure

_BESIDE = 0.46  # of a row
_ROOM = 12  # pixels that a row needs beyond its bar


def effect_bars_figure(
    names: Sequence[str],
    measured: np.ndarray,
    estimated: np.ndarray,
    *,
    title: str,
    measured_name: str,
    estimated_name: str,
) -> go.Figure:
    """Draws a bar for what was measured, and a diamond for what it is held against.

    Args:
        names: F names, at least one, the first one on top.
        measured: float `[F]`.
        estimated: float `[F]`, in the same unit: an estimate, or what was before.
        title: what the numbers are.
        measured_name: of the bars, in the legend.
        estimated_name: of the diamonds.

    Raises:
        ValueError: not one number of each kind for each name.
    """
    if estimated.shape != measured.shape:
        raise ValueError(
            f"`estimated` must have {len(measured)} entries. "
            f"Received: shape={estimated.shape}."
        )
    made = named_bars_figure(names, measured, title=title)
    bars = made.data[0]
    bars.name = measured_name
    # A bar and its diamond side by side: neither covers the other, nor the number.
    bars.width, bars.offset, bars.constraintext = _BESIDE, -_BESIDE, "none"
    made.layout.height += _ROOM * len(names)
    made.add_trace(
        {
            "type": "scatter",
            "mode": "markers",
            "name": estimated_name,
            "x": estimated.astype(np.float32),
            "y": np.arange(len(names)) + _BESIDE / 2,
            "customdata": bars.customdata,
            "hovertemplate": "%{customdata}: %{x:.6g}<extra></extra>",
            "marker": {
                "symbol": "diamond-open",
                "size": 11,
                "color": "#E66100",
                "line": {"width": 2},
            },
        }
    )
    # Above the bars: below they would push the title of the axis away.
    made.update_layout(
        showlegend=True,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        margin={"t": 36},
    )
    return made
