"""Layer drop: how surely each block is kept as a training goes on."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.figures.bars import named_bars_figure
from bertviz_core.figures.pretraining import DROP_FORMULA, keep_rate_figure
from bertviz_core.snippets import pretraining as snippets
from bertviz_core.training.schedule import DROP_SPEED, keep_rate, keep_rates
from pages.shared.choices import choose_number
from pages.shared.export import show_figure
from pages.shared.language import plain, t
from pages.shared.panel import panel
from pages.shared.tools import program

_NUM_STEPS = 1000  # of the curve


@panel
def show_layer_drop() -> None:
    """Draws the sliders, the curve, and the blocks at the chosen moment."""
    st.markdown(t("objective.drop_intro"))
    st.latex(DROP_FORMULA)
    boxes = st.columns(4)
    final = choose_number(
        *(boxes[0].slider, t("objective.drop_final"), 0.05, 1.0, 0.5),
        key="drop_final",
        step=0.05,
    )
    speed = choose_number(
        *(boxes[1].slider, t("objective.drop_speed"), 1, 200, int(DROP_SPEED)),
        key="drop_speed",
        help=t("objective.drop_speed_help", speed=DROP_SPEED),
    )
    num_layers = choose_number(
        *(boxes[2].slider, t("objective.drop_layers"), 1, 24, 12), key="drop_layers"
    )
    step = choose_number(
        *(boxes[3].slider, t("objective.drop_now"), 0, _NUM_STEPS, _NUM_STEPS // 100),
        key="drop_now",
        help=t("objective.drop_now_help", count=_NUM_STEPS),
    )
    curve = [keep_rate(s, _NUM_STEPS, final, speed) for s in range(_NUM_STEPS + 1)]
    choices = {"final": final, "speed": speed, "num_layers": num_layers, "step": step}
    code = program(snippets.LAYER_DROP, num_steps=_NUM_STEPS, **choices)
    shares, share = np.linspace(0, 1, _NUM_STEPS + 1), step / _NUM_STEPS
    show_figure(
        keep_rate_figure(
            shares,
            np.array(curve),
            (share, curve[step]),
            x_title=plain("objective.drop_share"),
            y_title=plain("objective.drop_last"),
        ),
        name="drop_curve",
        description=t("objective.drop_described", share=share, rate=curve[step]),
        columns={
            plain("objective.drop_share"): shares.tolist(),
            plain("objective.drop_last"): curve,
        },
        code=code,
    )
    _show_blocks(keep_rates(num_layers, curve[step]))


def _show_blocks(rates: np.ndarray) -> None:
    names = [plain("objective.block", number=n) for n in range(1, len(rates) + 1)]
    title = plain("objective.drop_by_block")
    show_figure(
        named_bars_figure(names, 100 * rates, title=title),
        name="drop_blocks",
        description=t(
            "objective.blocks_described",
            first=float(rates[0]),
            last=float(rates[-1]),
            kept=float(rates.sum()),
            count=len(rates),
        ),
        columns={plain("objective.block_column"): names, title: (100 * rates).tolist()},
    )
