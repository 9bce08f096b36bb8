"""What two savings of pre-training bring on the machine that runs the app."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import streamlit as st

from bertviz_core.experiments.training_costs import (
    BLOCKS_TOGETHER,
    NUM_BLOCKS,
    PASSED_BYTES,
    Cost,
    decoding_costs,
    remat_costs,
)
from bertviz_core.figures.bars import named_bars_figure
from bertviz_core.trace import Texts
from pages.pretraining.objective import choose_draw
from pages.shared.answers import ask
from pages.shared.export import show_figure
from pages.shared.jobs import ask_job
from pages.shared.language import plain, t
from pages.shared.markdown import table
from pages.shared.panel import panel

_MEGABYTE = 1e6


@panel
def show_decoding(model: str, texts: Texts) -> None:
    """Draws the button, and what the decoder takes at some places and at all."""
    st.markdown(t("objective.decode_intro"))
    rate, seed = choose_draw()
    found = ask_job(
        "decoding_costs",
        t("objective.measure"),
        ask(decoding_costs).about(model, texts.text, texts.pair, seed=seed, rate=rate),
    )
    if found is None:
        return
    st.markdown(
        t(
            "objective.decoded",
            rows=found.num_rows,
            tokens=found.num_tokens,
            places=found.num_places,
            words=found.num_words,
        )
    )
    costs = {"gathered": found.gathered, "everywhere": found.everywhere}
    _show_costs("decoding_costs", "decode", costs)
    st.caption(t("objective.decoded_same", difference=found.difference))


@panel
def show_blocks_anew() -> None:
    """Draws the button, and what a gradient takes in each way."""
    sizes = {"count": NUM_BLOCKS, "together": BLOCKS_TOGETHER}
    st.markdown(t("objective.anew_intro", **sizes))
    found = ask_job("remat_costs", t("objective.measure"), ask(remat_costs).about())
    if found is None:
        return
    _show_costs("remat_costs", "anew", found)
    if (kept := found["kept"].num_bytes) is not None:
        times = kept / NUM_BLOCKS / PASSED_BYTES
        st.markdown(t("objective.anew_read", times=times, **sizes))


def _show_costs(name: str, kind: str, costs: Mapping[str, Cost]) -> None:
    """A table of all costs, and bars of the memory, or of the time where none is told.

    Args:
        name: of the figure.
        kind: with "_" and a name of `costs`, the key of its text.
        costs: by name, the first one what others are held against.
    """
    names = [plain(f"objective.{kind}_{way}") for way in costs]
    seconds = np.array([cost.seconds for cost in costs.values()])
    told = [cost.num_bytes for cost in costs.values() if cost.num_bytes is not None]
    columns = {plain("objective.milliseconds"): 1000 * seconds}
    if told:
        columns[plain("objective.megabytes")] = np.array(told) / _MEGABYTE
    rows = [
        [way, *(f"{numbers[index]:,.1f}" for numbers in columns.values())]
        for index, way in enumerate(names)
    ]
    st.markdown(table([plain("objective.way"), *columns], rows))
    title, shown = list(columns.items())[-1]
    most, least = int(shown.argmax()), int(shown.argmin())
    show_figure(
        named_bars_figure(names, shown, title=title),
        name=name,
        description=t(
            "objective.costs_described",
            most=names[most],
            least=names[least],
            times=float(shown[most] / shown[least]),
            measure=title,
        ),
        columns={plain("objective.way"): names}
        | {title: numbers.tolist() for title, numbers in columns.items()},
    )
