"""Groups of neurons that fire together over the text."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.experiments.neuron_factors import neuron_factors
from bertviz_core.experiments.step_results import NeuronFactors
from bertviz_core.explorer import Explorer
from bertviz_core.figures.bars import named_bars_figure
from bertviz_core.figures.token_grid import token_grid_figure
from bertviz_core.snippets import layers as snippets
from bertviz_core.trace import Texts
from pages.layers.wording import neuron_names, numbered
from pages.shared.answers import ask
from pages.shared.choices import choose_linked, choose_number
from pages.shared.export import show_figure, show_map
from pages.shared.jobs import ask_job
from pages.shared.language import plain, t
from pages.shared.panel import panel, show_numbers
from pages.shared.tools import Program, program

FACTOR = "layers_factor"
_BIGGEST_SEED = 2**31 - 1
_MOST_FACTORS = 12
_MOST_TOKENS = 64  # columns of the map that can be told apart
# Multiplications that take no longer than a click may: tokens * neurons * factors.
_SHORT_WORK = 2_000_000


@panel
def explore_factors(model: str, texts: Texts, num_tokens: int) -> None:
    """Draws the settings, then each group over the tokens."""
    st.markdown(t("layers.factors_intro"))
    config = ask(Explorer.info)(model).config
    num_layers = config.num_hidden_layers
    count, layers, seed = _choose(num_layers)
    neurons = config.intermediate_size * (len(layers) if layers else num_layers)
    found = ask_job(
        "layers_factors",
        "layers.factors_start",
        ask(neuron_factors).about(model, texts, count, seed, layers),
        at_once=num_tokens * neurons * count < _SHORT_WORK,
    )
    if found is None:
        return
    _show_quality(found)
    _show_map(found)
    code = program(
        snippets.FACTORS, model, texts, num_factors=count, seed=seed, layers=layers
    )
    _show_factor(found, code)


def _choose(num_layers: int) -> tuple[int, tuple[int, ...] | None, int]:
    boxes = st.columns(3)
    count = choose_number(
        *(boxes[0].slider, "layers.num_factors", 1, _MOST_FACTORS, 4),
        key="layers_num_factors",
    )
    numbers = ["all", *(str(number + 1) for number in range(num_layers))]
    layer = choose_linked(
        boxes[1].selectbox,
        "layers.factor_layer",
        numbers,
        key="layers_factor_layer",
        format_func=lambda number: (
            plain("layers.all_layers")
            if number == "all"
            else plain("layers.part_layer", number=number)
        ),
    )
    seed = choose_number(
        *(boxes[2].number_input, "layers.seed", 0, _BIGGEST_SEED, 0), key="layers_seed"
    )
    layers = None if layer == "all" else (int(layer) - 1,)
    return count, layers, seed


def _show_quality(found: NeuronFactors) -> None:
    show_numbers(
        {
            "layers.explained": f"{1 - found.error**2:.1%}",
            "layers.left_out": f"{found.negative_share**2:.1%}",
            "layers.iterations": str(found.num_iterations),
        },
        error=found.error,
        seed=found.seed,
    )


def _show_map(found: NeuronFactors) -> None:
    names = numbered(found.tokens)
    rows = [str(index + 1) for index in range(len(found.weights))]
    if len(names) > _MOST_TOKENS:
        st.caption(t("layers.some_tokens", first=1, last=_MOST_TOKENS))
    groups = [plain("layers.factor_number", number=row) for row in rows]
    show_map(
        "layers_factors_map",
        found.weights,
        rows,
        names,
        ("layers.share_of_factor", "layers.factor", "layers.one_token"),
        t("layers.factors_described"),
        most=_MOST_TOKENS,
        table={
            "layers.one_token": names,
            **dict(zip(groups, found.weights, strict=True)),
        },
    )


def _show_factor(found: NeuronFactors, code: Program) -> None:
    numbers = [str(index + 1) for index in range(len(found.weights))]
    number = choose_linked(
        st.pills, "layers.choose_factor", numbers, key=FACTOR, required=True
    )
    factor = int(number) - 1
    weights, shares = found.weights[factor], found.top_shares[factor]
    hints = [f"{weight:.3f}" for weight in weights]
    title = plain("layers.factor_number", number=number)
    show_figure(
        token_grid_figure(found.tokens, weights, hints, title=title),
        name="layers_factor_tokens",
        description=t(
            "layers.factor_described",
            number=number,
            token=numbered(found.tokens)[int(np.argmax(weights))],
        ),
        columns={
            "layers.one_token": list(found.tokens),
            "layers.share_of_factor": weights,
        },
    )
    places = neuron_names(found.top_neurons[factor])
    show_figure(
        named_bars_figure(places, shares, title=plain("layers.part_of_factor")),
        name="layers_factor_neurons",
        description=t("layers.factor_neurons_described", neuron=places[0]),
        columns={"layers.neuron": places, "layers.part_of_factor": shares},
        code=code,
    )
