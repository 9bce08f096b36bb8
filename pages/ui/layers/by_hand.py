"""Layer norm by hand: move a vector's mean, spread its numbers, watch the result."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.analysis.layer_norm import (
    LayerNormSteps,
    change_vector,
    layer_norm_steps,
)
from bertviz_core.experiments.step_results import NormInput
from bertviz_core.experiments.token_numbers import norm_input_at, steps_for_one_token
from bertviz_core.figures.layer_lines import lines_figure, norm_formulas
from bertviz_core.figures.layer_strip import strip_figure
from bertviz_core.snippets import layers
from bertviz_core.trace import TokenizedText
from pages.ui.address import choose_linked
from pages.ui.answers import ask
from pages.ui.code import show_code
from pages.ui.errors import shown_to_user
from pages.ui.export import show_figure
from pages.ui.language import in_a_row, plain, t
from pages.ui.layers.wording import step_name
from pages.ui.linked import choose_following
from pages.ui.text_pair import Texts

# Small enough to check on paper: mean 1, variance 4.5.
SMALL = (3.0, -1.0, 4.0, 0.0, 2.0, -3.0, 1.0, 2.0)
_EPSILONS = (1e-12, 1e-5, 1e-3, 0.1, 1.0)
_FEW = 32  # numbers that can be drawn as points
_FELT = 1e-3  # a smaller difference of outputs is none for who looks


@st.fragment
def norm_by_hand(
    model: str, texts: Texts, tokenized: TokenizedText, token: int
) -> None:
    """Draws the sliders, the vector before and after, and the arithmetic.

    Args:
        model: its id; asked only for a vector of its own.
        texts: what it reads.
        tokenized: the same, in tokens.
        token: index of the token that is followed.
    """
    st.markdown(t("layers.by_hand_intro"))
    with shown_to_user():
        source = choose_linked(
            st.segmented_control,
            t("layers.by_hand_vector"),
            ("small", "real"),
            key="layers_by_hand",
            required=True,
            format_func=lambda name: plain(f"layers.by_hand_{name}"),
        )
        if source == "small":
            vector = np.array(SMALL)
            gamma, beta = np.ones_like(vector), np.zeros_like(vector)
            own, norm = _EPSILONS[0], ""
        else:
            real = _real(model, texts, tokenized, token)
            vector, gamma, beta = real.vector, real.gamma, real.beta
            own, norm = real.epsilon, real.step
        shift, scale, epsilon = _choose_change(source, own)
        changed = change_vector(vector, shift, scale)
        found = layer_norm_steps(changed, gamma, beta, epsilon)
        has_weights = source == "real"
        _show(vector, found, has_weights)
        # Its own ε, too: changed alone, it changes the output as well.
        unchanged = layer_norm_steps(vector, gamma, beta, own)
        is_own = f"{epsilon:g}" == f"{own:g}"
        _say_what_it_means(found, unchanged, (shift, scale), is_own, beta)
        _show_formulas(found, gamma, beta)
        places: dict[str, Any] = {"vector": SMALL}
        if source == "real":
            places = {"model": model, "text": texts.text, "pair": texts.pair}
            places |= {"step": norm, "token": token}
        show_code(
            layers.NORM if source == "real" else layers.NORM_OF_SMALL,
            name="layers_norm",
            **places,
            shift=shift,
            scale=scale,
            epsilon=epsilon,
        )


def _show_formulas(found: LayerNormSteps, gamma: np.ndarray, beta: np.ndarray) -> None:
    with st.expander(t("layers.by_hand_numbers"), icon=":material/calculate:"):
        for formula in norm_formulas(found, float(gamma[0]), float(beta[0])):
            st.latex(formula)


def _real(model: str, texts: Texts, tokenized: TokenizedText, token: int) -> NormInput:
    norms = {
        step.name: step_name(step)
        for step in ask(steps_for_one_token)(model, texts)
        if step.operation.endswith("_norm")
    }
    chosen = choose_linked(
        st.selectbox,
        t("layers.by_hand_norm"),
        list(norms),
        key="layers_by_hand_norm",
        format_func=norms.__getitem__,
    )
    found = ask(norm_input_at)(model, texts, chosen, token)
    st.caption(
        t(
            "layers.by_hand_of_token",
            token=f"{token + 1} {tokenized.tokens[token]}",
            epsilon=found.epsilon,
        )
    )
    return found


def _choose_change(source: str, own: float) -> tuple[float, float, float]:
    boxes = st.columns(3)
    shift = boxes[0].slider(
        t("layers.shift"),
        -5.0,
        5.0,
        0.0,
        0.1,
        key="layers_shift",
        help=t("layers.shift_help"),
        bind="query-params",
    )
    scale = boxes[1].slider(
        t("layers.scale"),
        -3.0,
        3.0,
        1.0,
        0.05,
        key="layers_scale",
        help=t("layers.scale_help"),
        bind="query-params",
    )
    # What is usual here comes first.
    epsilons = [own, *(value for value in _EPSILONS if value != own)]
    epsilon = choose_following(
        boxes[2].selectbox,
        t("layers.epsilon"),
        [f"{value:g}" for value in epsilons],
        f"{own:g}",
        key=f"layers_epsilon_{source}",
        help=t("layers.epsilon_help"),
    )
    return shift, scale, float(epsilon)


def _show(vector: np.ndarray, found: LayerNormSteps, has_weights: bool) -> None:
    rows = {
        plain("layers.vector_before"): vector,
        plain("layers.vector_changed"): found.vector,
        plain("layers.vector_normed"): found.normed,
    }
    if has_weights:
        rows[plain("layers.vector_output")] = found.output
    numbers = [str(index + 1) for index in range(len(vector))]
    if len(vector) <= _FEW:
        figure = lines_figure(
            rows,
            numbers,
            x_title=plain("layers.dimension"),
            y_title=plain("layers.value"),
        )
    else:
        figure = strip_figure(
            np.stack(list(rows.values())),
            list(rows),
            title=plain("layers.value"),
            row_title="",
            column_title=plain("layers.dimension"),
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
        columns={plain("layers.dimension"): numbers}
        | {name: row.tolist() for name, row in rows.items()},
    )


def _say_what_it_means(
    found: LayerNormSteps,
    unchanged: LayerNormSteps,
    change: tuple[float, float],
    is_own_epsilon: bool,
    beta: np.ndarray,
) -> None:
    """Says what the change did.

    Args:
        found: of the changed vector.
        unchanged: of the vector itself with the model's own epsilon.
        change: shift and scale.
        is_own_epsilon: whether that is what `found` has, too.
        beta: what the norm adds.
    """
    difference = float(np.abs(found.output - unchanged.output).max())
    is_untouched = change == (0, 1)
    if is_untouched and is_own_epsilon:
        st.info(t("layers.norm_unchanged"), icon=":material/tune:")
    elif change[1] == 0:
        st.info(t("layers.norm_flat"), icon=":material/horizontal_rule:")
    elif change[1] < 0:
        _say_mirrored(found, unchanged, beta)
    elif difference < _FELT:
        key = "layers.norm_same_epsilon" if is_untouched else "layers.norm_same"
        st.success(t(key), icon=":material/check:")
    else:
        st.info(t("layers.norm_epsilon", difference=difference), icon=":material/info:")


def _say_mirrored(
    found: LayerNormSteps, unchanged: LayerNormSteps, beta: np.ndarray
) -> None:
    key = "layers.norm_mirrored_beta" if beta.any() else "layers.norm_mirrored"
    # A true mirror image would cancel all of it.
    difference = float(np.abs(found.scaled + unchanged.scaled).max())
    epsilon = (
        t("layers.norm_mirrored_epsilon", difference=difference)
        if difference >= _FELT
        else ""
    )
    st.info(in_a_row([t(key), epsilon]), icon=":material/flip:")
