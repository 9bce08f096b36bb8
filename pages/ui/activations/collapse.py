"""Linear layers, however many, are one linear layer."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.analysis.activations import ACTIVATIONS
from bertviz_core.analysis.small_networks import (
    LinearLayer,
    collapse,
    linear_layers,
    run_layers,
)
from bertviz_core.figures.small_networks import collapse_figure
from bertviz_core.snippets import activations as snippets
from pages.ui.activations.choosing import choose_seed
from pages.ui.activations.formulas import column, matrix
from pages.ui.activations.wording import LABELS, network_words, number
from pages.ui.code import show_code
from pages.ui.export import show_figure
from pages.ui.language import plain, t
from pages.ui.markdown import Markdown

_ALONG = np.linspace(-3, 3, 121)


def explore_collapse() -> None:
    """Draws the layers with their numbers, the one layer, and both at work."""
    layers, name, inputs, seed = _choose_layers()
    st.markdown(_all_layers(layers))
    one = collapse(layers)
    st.markdown(_one_layer(one, len(layers)))
    st.markdown(_walk(layers, one, inputs, name))
    _show(layers, one, inputs, name)
    show_code(
        snippets.COLLAPSE,
        name="activations_collapse",
        depth=len(layers),
        seed=seed,
        inputs=tuple(inputs.tolist()),
        function=name,
    )


def _choose_layers() -> tuple[tuple[LinearLayer, ...], str, np.ndarray, int]:
    depth_box, first_box, second_box, function_box, seed_box = st.columns(5)
    depth = depth_box.slider(
        t("activations.num_layers"),
        2,
        6,
        3,
        key="act_linear_depth",
        bind="query-params",
    )
    inputs = [
        box.slider(
            t("activations.input_number", index=index),
            -3.0,
            3.0,
            default,
            0.1,
            key=f"act_linear_x{index}",
            bind="query-params",
        )
        for box, index, default in ((first_box, 1, 1.0), (second_box, 2, -0.5))
    ]
    name = function_box.selectbox(
        t("activations.in_between"),
        list(ACTIVATIONS),
        index=list(ACTIVATIONS).index("relu"),
        format_func=LABELS.__getitem__,
        key="act_linear_function",
        bind="query-params",
        help=t("activations.in_between_help"),
    )
    with seed_box:
        seed = choose_seed("act_linear_seed", 26)
    return linear_layers(depth, seed), name, np.array(inputs), seed


def _all_layers(layers: tuple[LinearLayer, ...]) -> str:
    """Every layer's numbers, each in braces, so that a line breaks between them."""
    return " ".join(
        f"${{W_{index}={matrix(layer.kernel.tolist())}}}$ "
        f"${{b_{index}={column(layer.bias.tolist())}}}$"
        for index, layer in enumerate(layers, start=1)
    )


def _one_layer(one: LinearLayer, depth: int) -> str:
    product = "".join(f"W_{index}" for index in range(depth, 0, -1))
    return t(
        "activations.one_layer",
        kernel=Markdown(f"$W={product}={matrix(one.kernel.tolist())}$"),
        bias=Markdown(f"$b={column(one.bias.tolist())}$"),
    )


def _walk(
    layers: tuple[LinearLayer, ...], one: LinearLayer, inputs: np.ndarray, name: str
) -> str:
    """One input through all layers, through the one, and with the function."""
    steps = [inputs, *(out[0] for out in run_layers(layers, inputs[None]))]
    direct = one.kernel @ inputs + one.bias
    bent = run_layers(layers, inputs[None], name)[-1][0]
    arrow = r"\;\to\;"
    return t(
        "activations.walk",
        steps=Markdown(f"${arrow.join(column(step.tolist()) for step in steps)}$"),
        one=Markdown(f"${column(inputs.tolist())}{arrow}{column(direct.tolist())}$"),
        difference=number(float(np.abs(steps[-1] - direct).max())),
        name=LABELS[name],
        bent=Markdown(f"${column(bent.tolist())}$"),
    )


def _show(
    layers: tuple[LinearLayer, ...], one: LinearLayer, inputs: np.ndarray, name: str
) -> None:
    points = np.stack([_ALONG, np.full(len(_ALONG), inputs[1])], axis=1)  # [P, 2]
    stack = run_layers(layers, points)[-1][:, 0]
    collapsed = run_layers((one,), points)[-1][:, 0]
    bent = run_layers(layers, points, name)[-1][:, 0]
    label = LABELS[name]
    words = network_words()
    show_figure(
        collapse_figure(
            _ALONG, stack, collapsed, bent, len(layers), label, words=words
        ),
        name="activations_collapse",
        description=t("activations.collapse_described", name=label),
        columns={
            plain("activations.figure_input"): _ALONG.tolist(),
            words.stack.format(count=len(layers)): stack.tolist(),
            words.collapsed: collapsed.tolist(),
            words.with_function.format(name=label): bent.tolist(),
        },
    )
