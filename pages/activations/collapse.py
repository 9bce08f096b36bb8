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
from bertviz_core.figures.small_networks import NetworkWords, collapse_figure
from bertviz_core.snippets import activations as snippets
from pages.activations.formulas import column, matrix
from pages.activations.widgets import choose_function, choose_seed, slide
from pages.activations.wording import LABELS, figure_words, number
from pages.shared.code import Program, program
from pages.shared.export import show_figure
from pages.shared.language import plain, t
from pages.shared.markdown import Markdown

_ALONG = np.linspace(-3, 3, 121)


def explore_collapse() -> None:
    """Draws the layers with their numbers, the one layer, and both at work."""
    depth_box, *input_boxes, function_box, seed_box = st.columns(5)
    depth = slide(depth_box, "num_layers", 2, 6, 3, key="act_linear_depth", hint=None)
    inputs = np.array(
        [
            slide(
                box,
                "input_number",
                -3.0,
                3.0,
                default,
                0.1,
                key=f"act_linear_x{index}",
                label=t("activations.input_number", index=index),
                hint=None,
            )
            for box, index, default in zip(
                input_boxes, (1, 2), (1.0, -0.5), strict=True
            )
        ]
    )
    functions = list(ACTIVATIONS)
    name = choose_function(
        function_box,
        "in_between",
        functions,
        key="act_linear_function",
        hint="in_between_help",
        first=functions.index("relu"),
    )
    with seed_box:
        seed = choose_seed("act_linear_seed", 26)
    layers = linear_layers(depth, seed)
    # Each formula in braces, so that a line breaks between them.
    formulas = (
        f"${{W_{index}={matrix(layer.kernel.tolist())}}}$ "
        f"${{b_{index}={column(layer.bias.tolist())}}}$"
        for index, layer in enumerate(layers, start=1)
    )
    st.markdown(" ".join(formulas))
    one = collapse(layers)
    product = "".join(f"W_{index}" for index in range(depth, 0, -1))
    kernel = Markdown(f"$W={product}={matrix(one.kernel.tolist())}$")
    bias = Markdown(f"$b={column(one.bias.tolist())}$")
    st.markdown(t("activations.one_layer", kernel=kernel, bias=bias))
    st.markdown(_walk(layers, one, inputs, name))
    code = program(
        snippets.COLLAPSE,
        depth=depth,
        seed=seed,
        inputs=tuple(inputs.tolist()),
        function=name,
    )
    _show(layers, one, inputs, name, code)


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
    layers: tuple[LinearLayer, ...],
    one: LinearLayer,
    inputs: np.ndarray,
    name: str,
    code: Program,
) -> None:
    points = np.stack([_ALONG, np.full(len(_ALONG), inputs[1])], axis=1)  # [P, 2]
    stack = run_layers(layers, points)[-1][:, 0]
    collapsed = run_layers((one,), points)[-1][:, 0]
    bent = run_layers(layers, points, name)[-1][:, 0]
    label = LABELS[name]
    words = figure_words(NetworkWords)
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
        code=code,
    )
