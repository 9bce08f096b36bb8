"""What the engine said about the inside of the layers, kept by model and text."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.experiments.cause_results import (
    SwitchedPrediction,
    Switches,
    Target,
)
from bertviz_core.experiments.step_results import (
    LayerStep,
    NeuronActivations,
    NeuronWords,
    NormInput,
    PartNumbers,
    ResidualStream,
    StepTable,
    StrongNeurons,
)
from pages.ui.engine import client
from pages.ui.text_pair import Texts


@st.cache_data(max_entries=32, show_spinner=False)
def layer_steps(model: str, texts: Texts) -> tuple[LayerStep, ...]:
    """Every operation in its order; one forward pass for a new text."""
    return client().layer_steps(model, texts.text, pair=texts.pair, cut=True)


# One token in a layer of BERT-base takes 1 MB for 512 tokens, 0.1 MB for a sentence.
@st.cache_data(max_entries=256, max_size="32MB", show_spinner=False)
def part_numbers(model: str, texts: Texts, part: str, token: int) -> PartNumbers:
    """What every step of a part computed for one token."""
    return client().part_numbers(
        model, texts.text, part, token, pair=texts.pair, cut=True
    )


# At most 64 tokens: 0.8 MB for the neurons of BERT-base.
@st.cache_data(max_entries=64, max_size="32MB", show_spinner=False)
def step_table(model: str, texts: Texts, step: str, token: int, head: int) -> StepTable:
    """What a step computed for the tokens around one."""
    return client().step_table(
        model, texts.text, step, token, head, pair=texts.pair, cut=True
    )


@st.cache_data(max_entries=32, show_spinner=False)
def residual_stream(model: str, texts: Texts) -> ResidualStream:
    """Lengths of the residual and of both updates."""
    return client().residual_stream(model, texts.text, pair=texts.pair, cut=True)


@st.cache_data(max_entries=32, show_spinner=False)
def layer_similarity(model: str, texts: Texts) -> np.ndarray:
    """How alike every two layers see the tokens, `[L + 1, L + 1]`."""
    return client().layer_similarity(model, texts.text, texts.pair, cut=True)


@st.cache_data(max_entries=64, show_spinner=False)
def norm_input(model: str, texts: Texts, step: str, token: int) -> NormInput:
    """What a layer norm got for one token."""
    return client().norm_input(
        model, texts.text, step, token, pair=texts.pair, cut=True
    )


@st.cache_data(max_entries=64, show_spinner=False)
def strongest_neurons(
    model: str, texts: Texts, layer: int, token: int, num_neurons: int, order: str
) -> StrongNeurons:
    """The strongest neurons at a token."""
    return client().strongest_neurons(
        model, texts.text, layer, token, num_neurons, order, pair=texts.pair, cut=True
    )


@st.cache_data(max_entries=64, show_spinner=False)
def neuron_activations(
    model: str, texts: Texts, layer: int, neuron: int
) -> NeuronActivations:
    """One neuron at every token."""
    return client().neuron_activations(
        model, texts.text, layer, neuron, pair=texts.pair, cut=True
    )


@st.cache_data(max_entries=128, show_spinner=False)
def neuron_words(
    model: str, texts: Texts, layer: int, neuron: int, token: int | None, top_k: int
) -> NeuronWords:
    """Words that a neuron speaks for and against."""
    return client().neuron_words(
        model, texts.text, layer, neuron, token, top_k, pair=texts.pair, cut=True
    )


@st.cache_data(max_entries=128, show_spinner=False)
def switch_neurons_off(
    model: str, texts: Texts, target: Target, neurons: tuple[tuple[int, int], ...]
) -> SwitchedPrediction:
    """One prediction with neurons switched off."""
    switches = Switches(neurons=neurons)
    return client().switch_off(
        model, texts.text, target, switches, texts.pair, cut=True
    )
