"""Weaknesses of activation functions, each shown in a network small enough to see."""

from __future__ import annotations

import math

import streamlit as st

from bertviz_core.analysis.activations import ACTIVATIONS, largest_slope
from bertviz_core.analysis.small_networks import (
    GradientPath,
    gradient_through_layers,
    learn_two_weights,
    output_signs,
)
from bertviz_core.figures.small_networks import (
    NetworkWords,
    gradients_figure,
    means_figure,
    path_figure,
)
from bertviz_core.snippets import activations as snippets
from pages.activations.collapse import explore_collapse
from pages.activations.training import explore_training
from pages.activations.widgets import (
    choose_function,
    choose_functions,
    choose_one,
    choose_seed,
    slide,
)
from pages.activations.wording import LABELS, figure_words, number
from pages.shared.choices import choose_linked
from pages.shared.code import program
from pages.shared.export import show_figure
from pages.shared.language import plain, t
from pages.shared.markdown import Markdown, table
from pages.shared.panel import panel

DEEPEST = 50
_WIDTHS = ("1", "8", "32")
_NUM_INPUTS = 8


@panel
def explore_weaknesses() -> None:
    """Draws the choice of a weakness, and what shows it. One at a time is run."""
    weaknesses = {
        "vanishing": _explore_vanishing,
        "centre": _explore_centre,
        "dead": explore_training,
        "collapse": explore_collapse,
    }
    chosen = choose_one("act_weakness", list(weaknesses))
    st.markdown(t(f"activations.intro_{chosen}"))
    weaknesses[chosen]()


def _explore_vanishing() -> None:
    names = choose_functions(
        "act_deep_functions",
        ["sigmoid", "tanh", "relu", "elu", "gelu"],
        t("activations.usual_parameters"),
    )
    depth_box, weight_box, width_box, last_box = st.columns(4)
    depth = slide(depth_box, "depth", 1, DEEPEST, 20)
    weight = slide(weight_box, "weight", 0.1, 4.0, 1.0, 0.05)
    width = int(
        choose_linked(
            width_box.segmented_control,
            t("activations.width"),
            _WIDTHS,
            key="act_width",
            required=True,
            help=t("activations.width_help"),
        )
    )
    # What goes in: one number, or for wider layers the seed of the inputs.
    start, seed = 1.0, 0
    if width == 1:
        start = slide(last_box, "start", -8.0, 8.0, 1.0, 0.1)
    else:
        with last_box:
            seed = choose_seed("act_deep_seed", 0)
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
        gradients_figure(gradients, LABELS, figure_words(NetworkWords)),
        name="activations_gradients",
        description=t("activations.gradients_described", depth=depth),
        columns={back: list(range(depth + 1))}
        | {LABELS[name]: sizes.tolist() for name, sizes in gradients.items()},
        code=program(
            snippets.VANISHING,
            functions=tuple(names),
            depth=depth,
            weight=weight,
            width=width,
            seed=seed,
            start=start,
        ),
    )
    st.markdown(_product_table(paths, weight, width))
    st.caption(t("activations.bound_read"))
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


def _product_table(
    paths: dict[str, GradientPath], weight: float, width: int
) -> Markdown:
    """What each function leaves of the gradient, factor by factor for one neuron."""
    columns = ["function", "mean_slope", *(["product"] if width == 1 else [])]
    rows = []
    for name, path in paths.items():
        row = [LABELS[name], number(float(path.slopes.mean()))]
        if width == 1:
            row.append(_product((weight * path.slopes[::-1, 0]).tolist()))
        steepest = largest_slope(name)
        left = Markdown(f"**{number(float(path.gradients[-1]))}**")
        rows.append([*row, number(steepest), number(path.bound(steepest)), left])
    columns += ["steepest", "bound", "left"]
    return table([t(f"activations.column_{column}") for column in columns], rows)


def _product(factors: list[float]) -> Markdown:
    """The first factors of a product, and its last one."""
    said = [number(float(factor)) for factor in factors]
    if len(said) > 4:
        said = [*said[:3], Markdown("…"), said[-1]]
    return Markdown(" · ".join(said))


def _explore_centre() -> None:
    signs = {name: output_signs(name) for name in ACTIVATIONS}
    one_sided = {name: s.one_sided(_NUM_INPUTS) for name, s in signs.items()}
    show_figure(
        means_figure(signs, LABELS, figure_words(NetworkWords)),
        name="activations_means",
        description=t("activations.means_described"),
        columns={
            plain("activations.column_function"): [LABELS[name] for name in signs],
            plain("activations.column_mean"): [s.mean for s in signs.values()],
            plain("activations.column_deviation"): [
                s.deviation for s in signs.values()
            ],
            plain("activations.column_one_sided"): list(one_sided.values()),
        },
        code=program(snippets.MEANS, num_inputs=_NUM_INPUTS),
    )
    st.markdown(
        t(
            "activations.one_sided",
            count=_NUM_INPUTS,
            sigmoid=one_sided["sigmoid"],
            tanh=one_sided["tanh"],
        )
    )
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
        hint="usual_parameters",
    )
    num_steps = slide(
        steps_box, "num_steps", 5, 200, 40, key="act_zigzag_steps", hint=None
    )
    with seed_box:
        seed = choose_seed("act_zigzag_seed", 0)
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
        path_figure(paths, LABELS, figure_words(NetworkWords)),
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
