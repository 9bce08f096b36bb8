"""What every head does for one answer, beside where it looks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from bertviz_core.analysis.correlation import map_agreement
from bertviz_core.experiments.cause_results import AblationMap, PartAblation
from bertviz_core.figures.value_map import value_map_figure
from pages.ui.address import choose_linked
from pages.ui.answers import describe_model
from pages.ui.attention.answers import attention_mass, estimate_heads
from pages.ui.attention.target import Watched
from pages.ui.attention.texts import Texts
from pages.ui.errors import shown_to_user
from pages.ui.export import show_figure
from pages.ui.jobs import ask_job
from pages.ui.language import plain, t

if TYPE_CHECKING:
    import plotly.graph_objects as go

# Work that is done without asking: about a second on two cores.
_SHORT_WORK = 3e10
_KINDS = ("heads", "parts")


@st.fragment
def explore_maps(model: str, texts: Texts, watched: Watched, num_tokens: int) -> None:
    """Draws the map of causes beside the map of attention.

    Args:
        model: its id.
        texts: what it reads.
        watched: the answer to watch.
        num_tokens: of the texts.
    """
    st.markdown(t("attention.maps_intro", word=watched.name))
    with shown_to_user():
        mass = attention_mass(model, texts, watched.target.position)
        estimate = estimate_heads(model, texts, watched.target).estimated_deltas
        kind = choose_linked(
            st.segmented_control,
            t("attention.map_kind"),
            _KINDS,
            key="attention_map_kind",
            required=True,
            format_func=lambda name: plain(f"attention.map_{name}"),
        )
    if kind == "parts":
        _show_parts(_ask(model, texts, watched, num_tokens, "ablate_parts"), watched)
        return
    exact = _ask(model, texts, watched, num_tokens, "ablate_heads")
    first, second = st.columns(2)
    with first:
        if exact is None:
            _show_heads(estimate, watched, "estimate")
        else:
            _show_heads(exact.delta_probabilities, watched, "exact")
    with second:
        _show_mass(mass)
    if exact is not None:
        _compare(exact.delta_probabilities, estimate, mass)


def _ask(
    model: str, texts: Texts, watched: Watched, num_tokens: int, task: str
) -> AblationMap | None:
    config = describe_model(model).config
    layers, heads, hidden = (
        int(str(config[name]))
        for name in ("num_hidden_layers", "num_attention_heads", "hidden_size")
    )
    # Half of the layers for every head; 24 H^2 operations for a token in a layer.
    work = layers * heads * layers / 2 * num_tokens * 24 * hidden**2
    result: AblationMap | None = ask_job(
        f"attention_{task}",
        t("attention.compute_map", count=layers * heads),
        task,
        at_once=work < _SHORT_WORK,
        model=model,
        text=texts.text,
        target=watched.target,
        pair=texts.pair,
        cut=True,
    )
    return result


def _show_heads(values: np.ndarray, watched: Watched, kind: str) -> None:
    st.markdown(f"**{t(f'attention.map_title_{kind}')}**")
    worst = np.unravel_index(np.argmin(values), values.shape)
    show_figure(
        head_map(values, plain("attention.delta_short"), is_signed=True),
        name=f"attention_map_{kind}",
        description=t(
            f"attention.map_described_{kind}",
            word=watched.name,
            layer=int(worst[0]) + 1,
            head=int(worst[1]) + 1,
            points=100 * float(values[worst]),
        ),
        columns=head_columns(values, plain("attention.delta_short")),
    )


def _show_mass(mass: np.ndarray) -> None:
    st.markdown(f"**{t('attention.map_title_mass')}**")
    best = np.unravel_index(np.argmax(mass), mass.shape)
    show_figure(
        head_map(mass, plain("attention.mass_short"), is_signed=False),
        name="attention_map_mass",
        description=t(
            "attention.map_described_mass",
            layer=int(best[0]) + 1,
            head=int(best[1]) + 1,
            share=float(mass[best]),
        ),
        columns=head_columns(mass, plain("attention.mass_short")),
    )


def _show_parts(parts: AblationMap | None, watched: Watched) -> None:
    if not isinstance(parts, PartAblation):
        return
    values = parts.delta_probabilities
    layers = [str(index + 1) for index in range(len(values))]
    names = [plain(f"attention.part_{name}") for name in ("attention", "ffn", "both")]
    show_figure(
        value_map_figure(
            values,
            layers,
            names,
            title=plain("attention.delta_short"),
            row_title=plain("attention.layer"),
            column_title=plain("attention.part"),
            is_signed=True,
        ),
        name="attention_map_parts",
        description=t("attention.map_described_parts", word=watched.name),
        columns={
            plain("attention.layer"): layers,
            **{name: values[:, i].tolist() for i, name in enumerate(names)},
        },
    )


def _compare(exact: np.ndarray, estimate: np.ndarray, mass: np.ndarray) -> None:
    found = map_agreement(exact, estimate, mass)
    boxes = st.columns(2)
    for box, name, value in (
        (boxes[0], "mass", found.exact_and_mass),
        (boxes[1], "gradient", found.exact_and_gradient),
    ):
        box.metric(
            t(f"attention.agreement_{name}"),
            t("attention.no_order")
            if value is None
            else t("attention.correlation", value=value),
            help=t(f"attention.agreement_{name}_help"),
        )
    st.caption(t("attention.agreement_lesson"))


def head_columns(values: np.ndarray, name: str) -> dict[str, list[float]]:
    """One row for every head, for a CSV file.

    Args:
        values: float `[L, N]`.
        name: of their column.
    """
    layers, heads = np.indices(values.shape)
    return {
        plain("attention.layer"): (layers.ravel() + 1).tolist(),
        plain("attention.head"): (heads.ravel() + 1).tolist(),
        name: values.ravel().tolist(),
    }


def head_map(values: np.ndarray, title: str, is_signed: bool) -> go.Figure:
    """Draws one number for every head.

    Args:
        values: float `[L, N]`.
        title: what the numbers are.
        is_signed: has 0 in the middle of the scale.
    """
    return value_map_figure(
        values,
        [str(index + 1) for index in range(values.shape[0])],
        [str(index + 1) for index in range(values.shape[1])],
        title=title,
        row_title=plain("attention.layer"),
        column_title=plain("attention.head"),
        is_signed=is_signed,
    )
