"""What every head does for one answer, beside where it looks."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.analysis.correlation import MapAgreement, map_agreement
from bertviz_core.experiments.ablation import ablate_heads, ablate_parts
from bertviz_core.experiments.attention_matrix import attention_mass
from bertviz_core.experiments.cause_results import ABLATED_PARTS
from bertviz_core.experiments.gradients import estimate_heads
from bertviz_core.explorer import Explorer
from bertviz_core.figures.attention_view import HeadMap
from bertviz_core.figures.value_map import value_map_figure
from bertviz_core.snippets import attention as programs
from bertviz_core.trace import Texts
from pages.attention.canvas import canvas_words
from pages.attention.canvas import head_map as clickable_map
from pages.attention.controls import HEAD, LAYER, select_head
from pages.attention.downloads import offer_map
from pages.attention.selection import current_selection
from pages.shared.answers import ask
from pages.shared.choices import choose_linked
from pages.shared.code import Program, program
from pages.shared.export import show_figure
from pages.shared.jobs import ask_job, is_short
from pages.shared.language import in_a_row, plain, t
from pages.shared.markdown import Markdown
from pages.shared.panel import panel
from pages.shared.watched_answer import Watched

_KINDS = ("heads", "parts")
_SHARES = ("mass", "differs")  # kinds of maps without negative numbers
_CHOSEN = "attention_chosen_in_map"


@panel
def explore_maps(model: str, texts: Texts, watched: Watched, num_tokens: int) -> None:
    """Draws the map of causes beside the map of attention."""
    st.markdown(t(_of("attention.maps_intro", watched), word=watched.name))
    mass = ask(attention_mass)(model, texts, watched.target.position)
    kind = choose_linked(
        st.segmented_control,
        t("attention.map_kind"),
        _KINDS,
        key="attention_map_kind",
        required=True,
        format_func=lambda name: plain(f"attention.map_{name}"),
    )
    config = ask(Explorer.info)(model).config
    layers, heads = config.num_hidden_layers, config.num_attention_heads
    # Half of the layers for every pass.
    passes = layers / 2 * (len(ABLATED_PARTS) if kind == "parts" else heads)
    at_once = is_short(model, passes, num_tokens)
    asked = (model, texts.text, watched.target, texts.pair)
    of = {"model": model, "text": texts.text, "pair": texts.pair, **watched.literals}
    if kind == "parts":
        parts = ask_job(
            "attention_ablate_parts",
            t("attention.compute_parts", count=layers),
            ask(ablate_parts).about(*asked, cut=True),
            at_once=at_once,
        )
        if parts is not None:
            _show_parts(parts.deltas, watched, program(programs.PART_MAP, **of))
        return
    exact = ask_job(
        "attention_ablate_heads",
        t("attention.compute_map", count=layers * heads),
        ask(ablate_heads).about(*asked, cut=True),
        at_once=at_once,
    )
    first, second = st.columns(2)
    with st.container():  # under the maps, which need not wait for it
        gradient = ask_job(
            "attention_estimate",
            t("attention.compute_estimate"),
            ask(estimate_heads).about(*asked, cut=True),
            at_once=True,
        )
    found = None
    if exact is not None and gradient is not None:
        found = map_agreement(exact.deltas, gradient.estimated_deltas, mass)
    saved = "" if found is None else _agreement_sentence(found)
    with first:
        if exact is not None:
            _show_heads(exact.deltas, watched, "exact", saved)
        elif gradient is not None:
            _show_heads(gradient.estimated_deltas, watched, "estimate", saved)
    with second:
        layer, head = np.unravel_index(mass.argmax(), mass.shape)
        show_clickable(
            mass,
            "mass",
            plain("attention.mass_short"),
            t(
                "attention.map_described_mass",
                layer=layer + 1,
                head=head + 1,
                share=mass[layer, head],
            ),
            saved,
            program(programs.HEAD_MAP, **of),
        )
    if found is not None:
        _show_agreement(found)


def _agreement_sentence(found: MapAgreement) -> str:
    """The same as `_show_agreement` in a sentence, as Markdown."""
    return t(
        "attention.agreement_saved",
        mass=Markdown(said_correlation(found.exact_and_mass)),
        gradient=Markdown(said_correlation(found.exact_and_gradient)),
    )


def said_correlation(value: float | None) -> str:
    """A rank correlation, or that there was no order to compare."""
    shown = {} if value is None else {"value": value}
    return t(f"attention.{'correlation' if shown else 'no_order'}", **shown)


def _show_agreement(found: MapAgreement) -> None:
    """The correlations of exact changes with attention and with the estimate."""
    values = {"mass": found.exact_and_mass, "gradient": found.exact_and_gradient}
    for box, (name, value) in zip(st.columns(2), values.items(), strict=True):
        title = f"attention.agreement_{name}"
        box.metric(t(title), said_correlation(value), help=t(f"{title}_help"))
    st.caption(t("attention.agreement_lesson"))


def _show_heads(values: np.ndarray, watched: Watched, kind: str, saved: str) -> None:
    # A number has no better side, an estimate helps nobody: the largest change counts.
    is_help = kind == "exact" and not watched.is_number
    helps = is_help and values.min() < 0
    place = values.argmin() if helps else np.abs(values).argmax()
    layer, head = np.unravel_index(place, values.shape)
    change = float(values[layer, head])
    told = "exact_no_help" if is_help and not helps else kind
    show_clickable(
        values,
        kind,
        plain(_of("attention.delta_short", watched)),
        t(
            _of(f"attention.map_described_{told}", watched),
            word=watched.name,
            layer=layer + 1,
            head=head + 1,
            change=change if watched.is_number else 100 * change,
        ),
        saved,
    )


def _of(key: str, watched: Watched) -> str:
    """The text for a number where the model says one, else for a probability."""
    return f"{key}_number" if watched.is_number else key


def show_clickable(
    values: np.ndarray,
    kind: str,
    title: str,
    description: str,
    saved: str = "",
    code: Program | None = None,
) -> None:
    """Draws a map whose cells choose the head that the pictures above show.

    Call it inside a fragment: it runs the page again after a click.

    Args:
        values: float `[L, N]`; shares in [0, 1] where `kind` is one of `_SHARES`.
        kind: "attention.map_title_" with it is the key of the heading.
        title: what the numbers are.
        description: what the map shows, as Markdown.
        saved: what the page says elsewhere of it and its files have to say, too.
        code: see `show_figure`.
    """
    key = f"attention_map_{kind}"
    heading = f"attention.map_title_{kind}"
    st.markdown(f"**{t(heading)}**")
    layer, head = st.session_state[LAYER] - 1, st.session_state[HEAD] - 1
    # A comparison has the heads of both models: a smaller one may lack this one.
    is_there = layer < values.shape[0] and head < values.shape[1]
    file = plain("attention.file_map_png", name=key)
    shown = HeadMap(
        values,
        {**canvas_words(), "legend_map": title, "png_file": file},
        layer if is_there else None,
        head if is_there else None,
        is_difference=kind not in _SHARES,
    )

    def follow() -> None:
        chosen = current_selection(key, *values.shape)
        look_at_head(chosen.layer, chosen.head)

    clickable_map(shown, key, follow)
    st.caption(description)
    told = in_a_row((description, saved))
    offer_map(shown, key, plain(heading), told, _columns(values, title), code)
    if st.session_state.pop(_CHOSEN, False):
        st.rerun()  # the pictures above show another head now


def look_at_head(layer: int, head: int) -> None:
    """Has the pictures above show a head, in a fragment that draws a clickable map."""
    select_head(layer, head)
    st.session_state[_CHOSEN] = True


def _show_parts(values: np.ndarray, watched: Watched, code: Program) -> None:
    layers = [str(index + 1) for index in range(len(values))]
    names = [plain(f"attention.part_{name}") for name in ("attention", "ffn", "both")]
    show_figure(
        value_map_figure(
            values,
            layers,
            names,
            title=plain(_of("attention.delta_short", watched)),
            row_title=plain("attention.layer"),
            column_title=plain("attention.part"),
            is_signed=True,
        ),
        name="attention_map_parts",
        description=t(_of("attention.map_described_parts", watched), word=watched.name),
        columns={plain("attention.layer"): layers}
        | dict(zip(names, values.T.tolist(), strict=True)),
        code=code,
    )


def _columns(values: np.ndarray, title: str) -> dict[str, list[float]]:
    """A row for every head."""
    layers, heads = np.indices(values.shape)
    return {
        plain("attention.layer"): (layers.ravel() + 1).tolist(),
        plain("attention.head"): (heads.ravel() + 1).tolist(),
        title: values.ravel().tolist(),
    }


def show_head_map(
    values: np.ndarray,
    title: str,
    *,
    name: str,
    description: str,
    code: Program | None = None,
) -> None:
    """Draws one number for every head, float `[L, N]`, none below 0."""
    rows, columns = (list(map(str, range(1, size + 1))) for size in values.shape)
    figure = value_map_figure(
        values,
        rows,
        columns,
        title=title,
        row_title=plain("attention.layer"),
        column_title=plain("attention.head"),
        is_signed=False,
    )
    show_figure(
        figure,
        name=name,
        description=description,
        columns=_columns(values, title),
        code=code,
    )
