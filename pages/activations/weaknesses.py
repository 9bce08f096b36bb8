"""Weaknesses of activation functions, each shown in a network small enough to see."""

import math
from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.analysis.activations import ACTIVATIONS, largest_slope
from bertviz_core.analysis.small_networks import (
    GradientPath,
    LinearLayer,
    collapse,
    gradient_through_layers,
    learn_two_weights,
    linear_layers,
    output_signs,
    run_layers,
)
from bertviz_core.figures.small_networks import (
    collapse_figure,
    gradients_figure,
    means_figure,
    path_figure,
)
from bertviz_core.snippets import activations as snippets
from pages.activations.widgets import (
    LABELS,
    choose_function,
    choose_functions,
    choose_seed,
    number,
    slide,
)
from pages.shared.choices import choose_linked
from pages.shared.export import show_figure
from pages.shared.language import Markdown, plain, t, table, words_of
from pages.shared.panel import Program, program

_ALONG = np.linspace(-3, 3, 121)


def explore_collapse() -> None:
    """Draws the layers with their numbers, the one layer, and both at work."""
    depth_box, *input_boxes, function_box, seed_box = st.columns(5)
    depth = slide(depth_box, "num_layers", 2, 6, 3, key="act_linear_depth")
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
            )
            for box, index, default in zip(
                input_boxes, (1, 2), (1.0, -0.5), strict=True
            )
        ]
    )
    name = choose_function(
        function_box, "in_between", list(ACTIVATIONS), "relu", key="act_linear_function"
    )
    seed = choose_seed(seed_box, "act_linear_seed", 26)
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
    st.markdown(_walk_through(layers, one, inputs, name))
    code = program(
        snippets.COLLAPSE,
        depth=depth,
        seed=seed,
        inputs=tuple(inputs.tolist()),
        function=name,
    )
    _show_collapse(layers, one, inputs, name, code)


def matrix(rows: list[list[float]]) -> str:
    """A matrix, two digits after the point."""
    # "z": what rounds to zero has no sign.
    lines = r"\\".join("&".join(f"{cell:z.2f}" for cell in row) for row in rows)
    return rf"\begin{{pmatrix}}{lines}\end{{pmatrix}}"


def column(cells: list[float]) -> str:
    """A column vector, two digits after the point."""
    return matrix([[cell] for cell in cells])


def _walk_through(
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


def _show_collapse(
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
    words = words_of("activations")
    show_figure(
        collapse_figure(_ALONG, stack, collapsed, bent, len(layers), label, words),
        name="activations_collapse",
        description=t("activations.collapse_described", name=label),
        columns={
            "activations.figure_input": _ALONG,
            words("stack").format(count=len(layers)): stack.tolist(),
            words("collapsed"): collapsed.tolist(),
            words("with_function").format(name=label): bent.tolist(),
        },
        code=code,
    )


DEEPEST = 50
_WIDTHS = ("1", "8", "32")
_NUM_INPUTS = 8


def explore_vanishing() -> None:
    """Draws how large the gradient still is at each layer on its way back."""
    names = choose_functions(
        "act_deep_functions",
        ["sigmoid", "tanh", "relu", "elu", "gelu"],
        t("activations.usual_parameters"),
    )
    depth_box, weight_box, width_box, last_box = st.columns(4)
    depth = slide(depth_box, "depth", 1, DEEPEST, 20)
    weight = slide(weight_box, "weight", 0.1, 4.0, 1.0, 0.05)
    widget, label = width_box.segmented_control, "activations.width"
    width = int(choose_linked(widget, label, _WIDTHS, required=True))
    # What goes in: one number, or for wider layers the seed of the inputs.
    start, seed = 1.0, 0
    if width == 1:
        start = slide(last_box, "start", -8.0, 8.0, 1.0, 0.1)
    else:
        seed = choose_seed(last_box, "act_deep_seed", 0)
    if not names:
        st.info(t("activations.choose_some"), icon=":material/touch_app:")
        return
    how: dict[str, Any] = {"width": width, "seed": seed, "start": start}
    paths = {
        name: gradient_through_layers(name, depth, weight, **how) for name in names
    }
    back = plain("activations.column_layers_back")
    gradients = {name: path.gradients for name, path in paths.items()}
    show_figure(
        gradients_figure(gradients, LABELS, words_of("activations")),
        name="activations_gradients",
        description=t("activations.gradients_described", depth=depth),
        columns={back: list(range(depth + 1))}
        | {LABELS[name]: sizes.tolist() for name, sizes in gradients.items()},
        code=program(
            snippets.VANISHING, functions=names, depth=depth, weight=weight, **how
        ),
    )
    st.markdown(_product_table(paths, weight, width))
    st.caption(t("activations.bound_read"))
    if width == 1 and start < 0 and "elu" in names:
        elu, leaky = (
            float(gradient_through_layers(name, 1, weight, start=start).slopes[0, 0])
            for name in ("elu", "leaky_relu")
        )
        slopes = {"elu": number(elu), "leaky": number(leaky)}
        st.caption(t("activations.elu_flat", z=weight * start, **slopes))


def _product_table(
    paths: dict[str, GradientPath], weight: float, width: int
) -> Markdown:
    """What each function leaves of the gradient, factor by factor for one neuron."""
    # The last ones may be beyond the edge of a phone.
    columns = ["function", "left", "bound", "steepest", "mean_slope"]
    columns += ["product"] * (width == 1)
    rows = []
    for name, path in paths.items():
        steepest = largest_slope(name)
        left = Markdown(f"**{number(float(path.gradients[-1]))}**")
        row = [LABELS[name], left, number(path.bound(steepest)), number(steepest)]
        rows.append([*row, number(float(path.slopes.mean()))])
        if width == 1:
            rows[-1].append(_product((weight * path.slopes[::-1, 0]).tolist()))
    return table([t(f"activations.column_{column}") for column in columns], rows)


def _product(factors: list[float]) -> Markdown:
    """The first factors of a product, and its last one."""
    said = [number(float(factor)) for factor in factors]
    if len(said) > 4:
        said = [*said[:3], Markdown("…"), said[-1]]
    return Markdown("\u00a0·\u00a0".join(said))  # in one line


def explore_centre() -> None:
    """Draws where the outputs lie, and the zigzag of weights that follows from it."""
    signs = {name: output_signs(name) for name in ACTIVATIONS}
    one_sided = {name: s.one_sided(_NUM_INPUTS) for name, s in signs.items()}
    show_figure(
        means_figure(signs, LABELS, words_of("activations")),
        name="activations_means",
        description=t("activations.means_described"),
        columns={
            "activations.column_function": [LABELS[name] for name in signs],
            "activations.column_mean": [s.mean for s in signs.values()],
            "activations.column_deviation": [s.deviation for s in signs.values()],
            "activations.column_one_sided": list(one_sided.values()),
        },
        code=program(snippets.MEANS, num_inputs=_NUM_INPUTS),
    )
    places = {"count": _NUM_INPUTS, "sigmoid": one_sided["sigmoid"]}
    st.markdown(t("activations.one_sided", **places, tanh=one_sided["tanh"]))
    st.subheader(t("activations.zigzag_title"), anchor=False)
    st.markdown(t("activations.zigzag_intro"))
    _explore_zigzag()


def _explore_zigzag() -> None:
    function_box, steps_box, seed_box = st.columns(3)
    name = choose_function(
        function_box,
        "beside_tanh",
        [name for name in ACTIVATIONS if name != "tanh"],
        key="act_zigzag",
        help=t("activations.usual_parameters"),
    )
    num_steps = slide(steps_box, "num_steps", 5, 200, 40, key="act_zigzag_steps")
    seed = choose_seed(seed_box, "act_zigzag_seed", 0)
    paths = {
        one: learn_two_weights(one, num_steps=num_steps, seed=seed)
        for one in (name, "tanh")
    }
    for one, path in paths.items():
        st.markdown(
            t(
                "activations.zigzag_measured",
                name=LABELS[one],
                together=path.num_one_sided,
                steps=len(path.weights) - 1,
                distance=number(float(path.distances[-1])),
                start=math.hypot(*path.goal),
            )
        )
    show_figure(
        path_figure(paths, LABELS, words_of("activations")),
        name="activations_path",
        description=t("activations.path_described", name=LABELS[name]),
        columns={
            plain("activations.column_weight", name=LABELS[one], index=index + 1): (
                path.weights[:, index].tolist()
            )
            for one, path in paths.items()
            for index in (0, 1)
        },
        code=program(snippets.ZIGZAG, function=name, num_steps=num_steps, seed=seed),
    )
