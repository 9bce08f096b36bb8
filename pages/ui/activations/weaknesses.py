"""Weaknesses of activation functions, each shown in a network small enough to see."""

from __future__ import annotations

import math

import streamlit as st

from bertviz_core.analysis.activations import ACTIVATIONS
from bertviz_core.analysis.small_networks import (
    GradientPath,
    LearningPath,
    gradient_through_layers,
    learn_two_weights,
    output_signs,
)
from bertviz_core.figures.small_networks import (
    gradients_figure,
    means_figure,
    path_figure,
)
from bertviz_core.snippets import activations as snippets
from pages.ui.activations.choosing import choose_functions, choose_one, choose_seed
from pages.ui.activations.collapse import explore_collapse
from pages.ui.activations.training import explore_training
from pages.ui.activations.wording import LABELS, network_words, number
from pages.ui.code import show_code
from pages.ui.errors import shown_to_user
from pages.ui.export import show_figure
from pages.ui.language import plain, t
from pages.ui.markdown import Markdown

DEEPEST = 50
_WIDTHS = ("1", "8", "32")
_WEAKNESSES = ("vanishing", "centre", "dead", "collapse")
_NUM_INPUTS = 8


@st.fragment
def explore_weaknesses() -> None:
    """Draws the choice of a weakness, and what shows it. One at a time is run."""
    with shown_to_user():
        chosen = choose_one("act_weakness", _WEAKNESSES)
        st.markdown(t(f"activations.intro_{chosen}"))
        {
            "vanishing": _explore_vanishing,
            "centre": _explore_centre,
            "dead": explore_training,
            "collapse": explore_collapse,
        }[chosen]()


def _explore_vanishing() -> None:
    names, depth, weight, width, start, seed = _choose_network()
    if not names:
        st.info(t("activations.choose_some"), icon=":material/touch_app:")
        return
    paths = {
        name: gradient_through_layers(
            name, depth, weight, width=width, seed=seed, start=start
        )
        for name in names
    }
    back = plain("activations.column_layers_back")
    gradients = {name: path.gradients for name, path in paths.items()}
    show_figure(
        gradients_figure(gradients, LABELS, network_words()),
        name="activations_gradients",
        description=t("activations.gradients_described", depth=depth),
        columns={back: list(range(depth + 1))}
        | {LABELS[name]: sizes.tolist() for name, sizes in gradients.items()},
    )
    st.markdown(_product_table(paths, weight, width))
    show_code(
        snippets.VANISHING,
        name="activations_gradients",
        functions=tuple(names),
        depth=depth,
        weight=weight,
        width=width,
        seed=seed,
        start=start,
    )
    ceiling = number((weight / 4) ** depth)
    if width == 1 and "sigmoid" in names:
        st.caption(t("activations.sigmoid_ceiling", depth=depth, ceiling=ceiling))
    if width == 1 and start < 0 and "elu" in names:
        _say_how_flat_elu_is(weight, start)


def _say_how_flat_elu_is(weight: float, start: float) -> None:
    elu, leaky = (
        gradient_through_layers(name, 1, weight, start=start).slopes[0, 0]
        for name in ("elu", "leaky_relu")
    )
    st.caption(
        t(
            "activations.elu_flat",
            z=weight * start,
            elu=number(float(elu)),
            leaky=number(float(leaky)),
        )
    )


def _choose_network() -> tuple[list[str], int, float, int, float, int]:
    names = choose_functions(
        "act_deep_functions",
        ["sigmoid", "tanh", "relu", "elu", "gelu"],
        t("activations.usual_parameters"),
    )
    depth_box, weight_box, width_box, last_box = st.columns(4)
    depth = depth_box.slider(
        t("activations.depth"),
        1,
        DEEPEST,
        20,
        key="act_depth",
        bind="query-params",
        help=t("activations.depth_help"),
    )
    weight = weight_box.slider(
        t("activations.weight"),
        0.1,
        4.0,
        1.0,
        0.05,
        key="act_weight",
        bind="query-params",
        help=t("activations.weight_help"),
    )
    width = width_box.segmented_control(
        t("activations.width"),
        _WIDTHS,
        default=_WIDTHS[0],
        required=True,
        key="act_width",
        bind="query-params",
        help=t("activations.width_help"),
    )
    with last_box:
        start, seed = _choose_start(is_narrow=width == "1")
    return names, depth, weight, int(width), start, seed


def _choose_start(is_narrow: bool) -> tuple[float, int]:
    """What goes in: one number, or for wider layers the seed of the inputs."""
    if not is_narrow:
        return 1.0, choose_seed("act_deep_seed", 0)
    start = st.slider(
        t("activations.start"),
        -8.0,
        8.0,
        1.0,
        0.1,
        key="act_start",
        bind="query-params",
        help=t("activations.start_help"),
    )
    return start, 0


def _product_table(paths: dict[str, GradientPath], weight: float, width: int) -> str:
    """What each function leaves of the gradient, factor by factor for one neuron."""
    header = [t("activations.column_function"), t("activations.column_mean_slope")]
    header += [t("activations.column_product")] if width == 1 else []
    rows = [[*header, t("activations.column_left")]]
    rows.append(["---"] * len(rows[0]))
    for name, path in paths.items():
        row = [LABELS[name], number(float(path.slopes.mean()))]
        if width == 1:
            row.append(_product((weight * path.slopes[::-1, 0]).tolist()))
        rows.append([*row, f"**{number(float(path.gradients[-1]))}**"])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _product(factors: list[float]) -> str:
    """The first factors of a product, and its last one."""
    said = [number(float(factor)) for factor in factors]
    if len(said) > 4:
        said = [*said[:3], Markdown("…"), said[-1]]
    return " · ".join(said)


def _explore_centre() -> None:
    signs = {name: output_signs(name) for name in ACTIVATIONS}
    show_figure(
        means_figure(signs, LABELS, network_words()),
        name="activations_means",
        description=t("activations.means_described"),
        columns={
            plain("activations.column_function"): [LABELS[name] for name in signs],
            plain("activations.column_mean"): [s.mean for s in signs.values()],
            plain("activations.column_deviation"): [
                s.deviation for s in signs.values()
            ],
            plain("activations.column_one_sided"): [
                s.one_sided(_NUM_INPUTS) for s in signs.values()
            ],
        },
    )
    st.markdown(
        t(
            "activations.one_sided",
            count=_NUM_INPUTS,
            sigmoid=signs["sigmoid"].one_sided(_NUM_INPUTS),
            tanh=signs["tanh"].one_sided(_NUM_INPUTS),
        )
    )
    show_code(snippets.MEANS, name="activations_means", num_inputs=_NUM_INPUTS)
    st.subheader(t("activations.zigzag_title"), anchor=False)
    st.markdown(t("activations.zigzag_intro"))
    _explore_zigzag()


def _explore_zigzag() -> None:
    function_box, steps_box, seed_box = st.columns(3)
    name = function_box.selectbox(
        t("activations.beside_tanh"),
        [name for name in ACTIVATIONS if name != "tanh"],
        format_func=LABELS.__getitem__,
        key="act_zigzag",
        bind="query-params",
        help=t("activations.usual_parameters"),
    )
    num_steps = steps_box.slider(
        t("activations.num_steps"),
        5,
        200,
        40,
        key="act_zigzag_steps",
        bind="query-params",
    )
    with seed_box:
        seed = choose_seed("act_zigzag_seed", 0)
    _show_paths(name, num_steps, seed)
    show_code(
        snippets.ZIGZAG,
        name="activations_path",
        function=name,
        num_steps=num_steps,
        seed=seed,
    )


def _show_paths(name: str, num_steps: int, seed: int) -> None:
    paths = {
        one: learn_two_weights(one, num_steps=num_steps, seed=seed)
        for one in (name, "tanh")
    }
    for path_name, path in paths.items():
        st.markdown(_zigzag_sentence(LABELS[path_name], path))
    show_figure(
        path_figure(paths, LABELS, network_words()),
        name="activations_path",
        description=t("activations.path_described", name=LABELS[name]),
        columns={
            plain("activations.column_weight", name=LABELS[one], index=index + 1): (
                path.weights[:, index].tolist()
            )
            for one, path in paths.items()
            for index in (0, 1)
        },
    )


def _zigzag_sentence(label: str, path: LearningPath) -> str:
    return t(
        "activations.zigzag_measured",
        name=label,
        together=path.num_one_sided,
        steps=len(path.weights) - 1,
        distance=number(float(path.distances[-1])),
        start=math.hypot(*path.goal),
    )
