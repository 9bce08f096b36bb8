"""The norms of a layer: where they stand, and one by hand, to move and to spread."""

import functools

import numpy as np
import streamlit as st

from bertviz_core.analysis.layer_norm import (
    LayerNormSteps,
    change_vector,
    layer_norm_steps,
)
from bertviz_core.experiments.step_results import NormInput
from bertviz_core.experiments.token_numbers import norm_input_at, steps_for_one_token
from bertviz_core.explorer import Explorer
from bertviz_core.figures.layer_diagram import layer_boxes, layer_diagram
from bertviz_core.figures.layer_strip import strip_figure
from bertviz_core.figures.lines import lines_figure
from bertviz_core.figures.number_formulas import norm_formulas
from bertviz_core.snippets import layers
from pages.layers.wording import numbered, step_name
from pages.shared.answers import ask
from pages.shared.choices import choose_linked, choose_named, choose_number
from pages.shared.export import show_figure
from pages.shared.language import in_a_row, plain, t
from pages.shared.own_text import Reading
from pages.shared.panel import Program, panel, program


@panel
def compare_orders(model: str) -> None:
    """Draws a layer of BERT and one of its successors, and says which one this is."""
    is_pre = ask(Explorer.info)(model).config.pre_norm
    for column, order in zip(st.columns(2, gap="large"), ("post", "pre"), strict=True):
        is_this = (order == "pre") == is_pre
        boxes = layer_boxes(order == "pre")
        with column:
            st.subheader(t(f"layers.order_{order}"), anchor=False)
            st.caption(t("layers.order_this" if is_this else "layers.order_other"))
            show_figure(
                layer_diagram(order == "pre", lambda name: plain(f"layers.box_{name}")),
                name=f"layers_order_{order}",
                description=t(f"layers.order_{order}_described"),
                columns={
                    "layers.box": [plain(f"layers.box_{box.kind}") for box in boxes],
                    "layers.box_where": [
                        plain(
                            "layers.on_stream"
                            if box.is_on_stream
                            else "layers.beside_stream"
                        )
                        for box in boxes
                    ],
                },
            )
    st.markdown(t("layers.orders_why"))


# Small enough to check on paper: mean 1, variance 4.5.
SMALL = (3.0, -1.0, 4.0, 0.0, 2.0, -3.0, 1.0, 2.0)
_EPSILONS = (1e-12, 1e-5, 1e-3, 0.1, 1.0)
_FEW = 32  # numbers that can be drawn as points
_FELT = 1e-3  # a smaller difference of outputs is none for who looks


@panel
def norm_by_hand(read: Reading) -> None:
    """Draws the sliders, the vector before and after, and the arithmetic.

    Asks the model only for a vector of its own.
    """
    source = choose_named("layers.by_hand", ("small", "real"))
    if source == "small":
        ones, zeros = np.ones(len(SMALL)), np.zeros(len(SMALL))
        norm = NormInput("", np.array(SMALL), ones, zeros, _EPSILONS[0])
        code = functools.partial(program, layers.NORM_OF_SMALL, vector=SMALL)
    else:
        norm = _real(read)
        of = (layers.NORM, *read.asked)
        code = functools.partial(program, *of, step=norm.step, token=read.token)
    first, second, last = st.columns(3)
    shift = choose_number(first.slider, "layers.shift", -5.0, 5.0, 0.0, step=0.1)
    scale = choose_number(second.slider, "layers.scale", -3.0, 3.0, 1.0, step=0.05)
    # What is usual here comes first.
    epsilons = [*dict.fromkeys(f"{value:g}" for value in (norm.epsilon, *_EPSILONS))]
    label, key = "layers.epsilon", f"layers_epsilon_{source}"
    epsilon = float(choose_linked(last.selectbox, label, epsilons, key=key))
    changed = change_vector(norm.vector, shift, scale)
    found = layer_norm_steps(changed, norm.gamma, norm.beta, epsilon)
    _show(norm, found, code(shift=shift, scale=scale, epsilon=epsilon))
    _say_what_it_means(norm, found, shift, scale, epsilon)
    with st.expander(t("layers.by_hand_numbers"), icon=":material/calculate:"):
        for formula in norm_formulas(found, float(norm.gamma[0]), float(norm.beta[0])):
            st.latex(formula)


def _real(read: Reading) -> NormInput:
    steps = ask(steps_for_one_token)(*read.asked)
    norms = {
        step.name: step_name(step) for step in steps if step.operation.endswith("_norm")
    }
    chosen = choose_linked(st.selectbox, "layers.by_hand_norm", norms)
    found = ask(norm_input_at)(*read.asked, chosen, read.token)
    name = numbered(read.tokenized.tokens)[read.token]
    st.caption(t("layers.by_hand_of_token", token=name, epsilon=found.epsilon))
    return found


def _show(norm: NormInput, found: LayerNormSteps, code: Program) -> None:
    vector = norm.vector
    rows = {
        plain("layers.vector_before"): vector,
        plain("layers.vector_changed"): found.vector,
        plain("layers.vector_normed"): found.normed,
    }
    if norm.step:  # a vector of the model has weights
        rows[plain("layers.vector_output")] = found.output
    numbers = [str(index + 1) for index in range(len(vector))]
    value, dimension = plain("layers.value"), plain("layers.dimension")
    if len(vector) <= _FEW:
        figure = lines_figure(rows, numbers, x_title=dimension, y_title=value)
    else:
        figure = strip_figure(
            np.stack(list(rows.values())),
            list(rows),
            title=value,
            row_title="",
            column_title=dimension,
            is_signed=True,
        )
    show_figure(
        figure,
        name="layers_by_hand_figure",
        description=t(
            "layers.by_hand_described",
            mean=float(vector.mean()),
            deviation=float(vector.std()),
            changed_mean=found.mean,
            changed_deviation=float(np.sqrt(found.variance)),
            normed_mean=float(found.normed.mean()),
            normed_deviation=float(found.normed.std()),
        ),
        columns={dimension: numbers, **rows},
        code=code,
    )


def _say_what_it_means(
    norm: NormInput, found: LayerNormSteps, shift: float, scale: float, epsilon: float
) -> None:
    # With its own ε: changed alone, it changes the output as well.
    unchanged = layer_norm_steps(norm.vector, norm.gamma, norm.beta, norm.epsilon)
    difference = float(np.abs(found.output - unchanged.output).max())
    is_untouched = (shift, scale) == (0, 1)
    if is_untouched and f"{epsilon:g}" == f"{norm.epsilon:g}":
        st.info(t("layers.norm_unchanged"), icon=":material/tune:")
    elif scale == 0:
        st.info(t("layers.norm_flat"), icon=":material/horizontal_rule:")
    elif scale < 0:
        key = "layers.norm_mirrored_beta" if norm.beta.any() else "layers.norm_mirrored"
        # A true mirror image would cancel all of it.
        rest = float(np.abs(found.scaled + unchanged.scaled).max())
        more = (
            "" if rest < _FELT else t("layers.norm_mirrored_epsilon", difference=rest)
        )
        st.info(in_a_row([t(key), more]), icon=":material/flip:")
    elif difference < _FELT:
        key = "layers.norm_same_epsilon" if is_untouched else "layers.norm_same"
        st.success(t(key), icon=":material/check:")
    else:
        st.info(t("layers.norm_epsilon", difference=difference), icon=":material/info:")
