"""Feed-forward neurons: the strongest at a token, their words, one switched off."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import streamlit as st

from bertviz_core.experiments.neurons import (
    neuron_activations,
    strongest_neurons,
    words_of_neuron,
    words_of_neuron_here,
)
from bertviz_core.experiments.step_results import StrongNeurons
from bertviz_core.explorer import Explorer
from bertviz_core.figures.layer_strip import named_bars_figure, strip_figure
from bertviz_core.snippets import layers
from bertviz_core.trace import Texts, TokenizedText
from pages.layers.effects import rank_all_neurons
from pages.layers.neuron_off import switch_off_here
from pages.layers.wording import numbered
from pages.shared.answers import ask
from pages.shared.choices import choose_linked, whole_number
from pages.shared.code import program
from pages.shared.export import show_figure
from pages.shared.language import plain, t
from pages.shared.panel import panel

LAYER = "layers_neuron_layer"
NEURON = "layers_neuron"
_OTHER = "layers_other_neuron"
_ASKED = "layers_neuron_asked"  # where the chosen neuron was the strongest
_NUM_STRONGEST = 10
_NUM_WORDS = 8


@panel
def explore_neurons(
    model: str, texts: Texts, tokenized: TokenizedText, token: int
) -> None:
    """Draws the strongest neurons, and all about one of them."""
    st.markdown(t("layers.neurons_intro"))
    config = ask(Explorer.info)(model).config
    name = numbered(tokenized.tokens)[token]
    layer, order = _choose_layer(config.num_hidden_layers)
    strong = ask(strongest_neurons)(model, texts, layer, token, _NUM_STRONGEST, order)
    _show_strongest(strong, name)
    _start_anew((model, texts, token, layer), strong)
    neuron = _choose_neuron(strong, config.intermediate_size)
    _show_over_text(model, texts, layer, neuron)
    _show_words(model, texts, strong, neuron, name)
    watched = switch_off_here(model, texts, name, token, (layer, neuron))
    if watched is not None:
        rank_all_neurons(
            model,
            texts,
            tokenized.num_tokens,
            watched,
            lambda layer, number: _open(layer, number, (model, texts, token)),
        )


def _open(layer: int, neuron: int, where: tuple[Hashable, ...]) -> None:
    """Makes a neuron of any layer the one that is looked at. For callbacks."""
    st.session_state[LAYER] = str(layer + 1)
    st.session_state[NEURON] = str(neuron + 1)
    st.session_state[_ASKED] = (*where, layer)  # or the strongest is chosen anew


def _choose_layer(num_layers: int) -> tuple[int, str]:
    """The last layer first: what its neurons say comes nearest to words."""
    left, right = st.columns(2)
    numbers = [str(number) for number in range(num_layers, 0, -1)]
    layer = choose_linked(
        left.selectbox,
        t("layers.neuron_layer"),
        numbers,
        key=LAYER,
        help=t("layers.neuron_layer_help"),
    )
    order = choose_linked(
        right.selectbox,
        t("layers.neuron_order"),
        ("activation", "contribution"),
        key="layers_neuron_order",
        format_func=lambda name: plain(f"layers.order_by_{name}"),
        help=t("layers.neuron_order_help"),
    )
    return int(layer) - 1, order


def _show_strongest(strong: StrongNeurons, token: str) -> None:
    names = [f"{index + 1}" for index in strong.neurons.tolist()]
    is_by_activation = strong.order == "activation"
    values = strong.activations if is_by_activation else strong.contributions
    show_figure(
        named_bars_figure(
            [plain("layers.neuron_number", number=name) for name in names],
            values,
            title=plain(f"layers.axis_{strong.order}"),
        ),
        name="layers_strongest",
        description=t(
            "layers.strongest_described",
            token=token,
            layer=strong.layer + 1,
            neuron=names[0],
            value=float(values[0]),
        ),
        columns={
            plain("layers.neuron"): names,
            plain("layers.axis_activation"): strong.activations.tolist(),
            plain("layers.axis_contribution"): strong.contributions.tolist(),
        },
    )


def _start_anew(asked: tuple[Hashable, ...], strong: StrongNeurons) -> None:
    """A neuron's number means another one elsewhere: the strongest is chosen again."""
    before = st.session_state.get(_ASKED)
    if before is not None and before != asked:
        st.session_state[NEURON] = str(strong.neurons[0] + 1)
    st.session_state[_ASKED] = asked


def _choose_neuron(strong: StrongNeurons, size: int) -> int:
    """One of the strongest, or any other by its number."""
    numbers = [str(index + 1) for index in strong.neurons.tolist()]
    for kept in (st.session_state.get(NEURON), st.query_params.get(NEURON)):
        if kept and kept not in numbers and 1 <= whole_number(kept, 0) <= size:
            numbers.append(kept)
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    chosen = choose_linked(
        left.pills,
        t("layers.choose_neuron"),
        numbers,
        key=NEURON,
        required=True,
        help=t("layers.choose_neuron_help"),
    )
    right.number_input(
        t("layers.other_neuron"),
        1,
        size,
        value=None,
        key=_OTHER,
        placeholder=t("layers.neuron_range", size=size),
        on_change=_take_other,
    )
    return int(chosen) - 1


def _take_other() -> None:
    number = st.session_state[_OTHER]
    if number is not None:
        st.session_state[NEURON] = str(number)
    st.session_state[_OTHER] = None


def _show_over_text(model: str, texts: Texts, layer: int, neuron: int) -> None:
    found = ask(neuron_activations)(model, texts, layer, neuron)
    names = numbered(found.tokens)
    best = int(np.argmax(found.activations))
    rows = [plain("layers.before_activation"), plain("layers.after_activation")]
    st.subheader(
        t("layers.neuron_title", layer=layer + 1, number=neuron + 1), anchor=False
    )
    show_figure(
        strip_figure(
            np.stack([found.inputs, found.activations]),
            rows,
            names,
            title=plain("layers.value"),
            row_title="",
            column_title="",
            is_signed=True,
        ),
        name="layers_neuron_tokens",
        description=t(
            "layers.neuron_tokens_described",
            token=names[best],
            value=float(found.activations[best]),
            count=int((found.activations > 0).sum()),
            total=len(names),
        ),
        columns={
            plain("layers.one_token"): names,
            rows[0]: found.inputs.tolist(),
            rows[1]: found.activations.tolist(),
        },
    )


def _show_words(
    model: str, texts: Texts, strong: StrongNeurons, neuron: int, token: str
) -> None:
    """The words that a neuron speaks for, and those it speaks against."""
    has_head = "mlm" in ask(Explorer.info)(model).heads
    readings = ("head", "embedding") if has_head else ("embedding",)
    reading = choose_linked(
        st.segmented_control,
        t("layers.reading"),
        readings,
        key="layers_reading",
        required=True,
        format_func=lambda name: plain(f"layers.reading_{name}"),
    )
    st.caption(t(f"layers.reading_{reading}_explained", token=token))
    place = (strong.layer, neuron)
    if reading == "head":
        template = layers.NEURONS
        found = ask(words_of_neuron_here)(
            model, texts, *place, strong.token, _NUM_WORDS
        )
    else:
        template = layers.NEURONS_BY_WEIGHTS
        found = ask(words_of_neuron)(model, *place, _NUM_WORDS)
    code = program(
        template,
        model=model,
        text=texts.text,
        pair=texts.pair,
        layer=strong.layer,
        token=strong.token,
        num_neurons=_NUM_STRONGEST,
        order=strong.order,
        neuron=neuron,
        num_words=_NUM_WORDS,
    )
    for box, side in zip(st.columns(2), ("promoted", "suppressed"), strict=True):
        words = getattr(found, f"{side}_tokens")
        changes = getattr(found, f"{side}_changes")
        with box:
            st.markdown(f"**{t(f'layers.{side}')}**")
            show_figure(
                named_bars_figure(words, changes, title=plain("layers.logit_change")),
                name=f"layers_{side}",
                description=t(
                    f"layers.{side}_described",
                    word=words[0],
                    value=float(changes[0]),
                ),
                columns={
                    plain("layers.word"): list(words),
                    plain("layers.logit_change"): changes.tolist(),
                },
                code=code if side == "suppressed" else None,
            )
