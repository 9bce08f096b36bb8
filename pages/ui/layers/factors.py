"""Groups of neurons that fire together over the text."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.experiments.neuron_factors import neuron_factors
from bertviz_core.experiments.step_results import NeuronFactors
from bertviz_core.explorer import Explorer
from bertviz_core.figures.layer_strip import named_bars_figure
from bertviz_core.figures.token_grid import token_grid_figure
from bertviz_core.figures.value_map import value_map_figure
from bertviz_core.snippets import layers as snippets
from pages.ui.address import choose_linked
from pages.ui.answers import ask
from pages.ui.code import show_code
from pages.ui.errors import shown_to_user
from pages.ui.export import show_figure
from pages.ui.jobs import ask_job
from pages.ui.language import plain, t
from pages.ui.text_pair import Texts

FACTOR = "layers_factor"
_BIGGEST_SEED = 2**31 - 1
_MOST_FACTORS = 12
_MOST_TOKENS = 64  # columns of the map that can be told apart
# Multiplications that take no longer than a click may: tokens * neurons * factors.
_SHORT_WORK = 2_000_000


@st.fragment
def explore_factors(model: str, texts: Texts) -> None:
    """Draws the settings, then each group over the tokens.

    Args:
        model: its id.
        texts: what it reads.
    """
    st.markdown(t("layers.factors_intro"))
    with shown_to_user():
        config = ask(Explorer.info)(model).config
        num_layers = config.num_hidden_layers
        count, layers, seed = _choose(num_layers)
        neurons = config.intermediate_size * (len(layers) if layers else num_layers)
        tokens = ask(Explorer.tokenize)(
            model, texts.text, texts.pair, cut=True
        ).num_tokens
        found: NeuronFactors | None = ask_job(
            "layers_factors",
            t("layers.factors_start"),
            ask(neuron_factors).about(model, texts, count, seed, layers),
            at_once=tokens * neurons * count < _SHORT_WORK,
        )
        if found is None:
            return
        _show_quality(found)
        _show_map(found)
        _show_factor(found, _choose_factor(count))
        show_code(
            snippets.FACTORS,
            name="layers_factors",
            model=model,
            text=texts.text,
            pair=texts.pair,
            num_factors=count,
            seed=seed,
            layers=layers,
        )


def _choose(num_layers: int) -> tuple[int, tuple[int, ...] | None, int]:
    boxes = st.columns(3)
    count = boxes[0].slider(
        t("layers.num_factors"),
        1,
        _MOST_FACTORS,
        4,
        key="layers_num_factors",
        help=t("layers.num_factors_help"),
        bind="query-params",
    )
    numbers = ["all", *(str(number + 1) for number in range(num_layers))]
    layer = choose_linked(
        boxes[1].selectbox,
        t("layers.factor_layer"),
        numbers,
        key="layers_factor_layer",
        format_func=_layer_name,
        help=t("layers.factor_layer_help"),
    )
    seed = boxes[2].number_input(
        t("layers.seed"),
        0,
        _BIGGEST_SEED,
        0,
        key="layers_seed",
        help=t("layers.seed_help"),
        bind="query-params",
    )
    layers = None if layer == "all" else (int(layer) - 1,)
    return count, layers, int(seed)


def _layer_name(number: str) -> str:
    if number == "all":
        return plain("layers.all_layers")
    return plain("layers.part_layer", number=number)


def _show_quality(found: NeuronFactors) -> None:
    boxes = st.columns(3)
    boxes[0].metric(
        t("layers.explained"),
        f"{1 - found.error**2:.1%}",
        help=t("layers.explained_help", error=found.error),
    )
    boxes[1].metric(
        t("layers.left_out"),
        f"{found.negative_share**2:.1%}",
        help=t("layers.left_out_help"),
    )
    boxes[2].metric(
        t("layers.iterations"),
        found.num_iterations,
        help=t("layers.iterations_help", seed=found.seed),
    )


def _show_map(found: NeuronFactors) -> None:
    names = [f"{i + 1} {piece}" for i, piece in enumerate(found.tokens)]
    rows = [str(index + 1) for index in range(len(found.weights))]
    if len(names) > _MOST_TOKENS:
        st.caption(t("layers.some_tokens", first=1, last=_MOST_TOKENS))
    show_figure(
        value_map_figure(
            found.weights[:, :_MOST_TOKENS],
            rows,
            names[:_MOST_TOKENS],
            title=plain("layers.share_of_factor"),
            row_title=plain("layers.factor"),
            column_title=plain("layers.one_token"),
            is_signed=False,
        ),
        name="layers_factors_map",
        description=t("layers.factors_described"),
        columns={plain("layers.one_token"): names}
        | {
            plain("layers.factor_number", number=row): weights.tolist()
            for row, weights in zip(rows, found.weights, strict=True)
        },
    )


def _choose_factor(count: int) -> int:
    numbers = [str(index + 1) for index in range(count)]
    chosen = choose_linked(
        st.pills, t("layers.choose_factor"), numbers, key=FACTOR, required=True
    )
    return int(chosen) - 1


def _show_factor(found: NeuronFactors, factor: int) -> None:
    weights, shares = found.weights[factor], found.top_shares[factor]
    best = int(np.argmax(weights))
    hints = [f"{weight:.3f}" for weight in weights]
    title = plain("layers.factor_number", number=factor + 1)
    show_figure(
        token_grid_figure(found.tokens, weights, hints, title=title),
        name="layers_factor_tokens",
        description=t(
            "layers.factor_described",
            number=factor + 1,
            token=f"{best + 1} {found.tokens[best]}",
        ),
        columns={
            plain("layers.one_token"): list(found.tokens),
            plain("layers.share_of_factor"): weights.tolist(),
        },
    )
    places = [
        plain("layers.neuron_place", layer=int(layer) + 1, number=int(neuron) + 1)
        for layer, neuron in found.top_neurons[factor]
    ]
    show_figure(
        named_bars_figure(places, shares, title=plain("layers.part_of_factor")),
        name="layers_factor_neurons",
        description=t("layers.factor_neurons_described", neuron=places[0]),
        columns={
            plain("layers.neuron"): places,
            plain("layers.part_of_factor"): shares.tolist(),
        },
    )
