"""What the model says where parts are switched off, or tokens look less far."""

from __future__ import annotations

import dataclasses

import numpy as np
import streamlit as st

from bertviz_core.experiments.cause_results import (
    Edge,
    SparsePattern,
    Switches,
)
from bertviz_core.experiments.sparsity import predict_sparsely
from bertviz_core.experiments.switching import switch_off
from bertviz_core.snippets import attention as programs
from bertviz_core.trace import Texts, TokenizedText
from pages.attention.canvas import View, choose_heads, grid_of
from pages.attention.maps import show_clickable
from pages.attention.pictures import choose_pair
from pages.shared.answers import ask
from pages.shared.choices import (
    choose_linked,
    choose_number,
    choose_several,
    switch_linked,
)
from pages.shared.export import show_map
from pages.shared.language import plain, t
from pages.shared.panel import panel
from pages.shared.tools import program
from pages.shared.watched_answer import Watched, show_before_and_after

# What of a layer is switched off, and the key of its row of buttons.
_PARTS = {
    "off_whole": "attention_off_whole",
    "off_attention": "attention_off_layers",
    "off_feed_forward": "attention_off_feed_forward",
}
_SMALLEST = 0.005  # half a point: nobody would see it in the bars
_DOT = "•"  # an arrow that is left, for colour alone says nothing to some
_MOST_DRAWN = 64  # tokens on a side of the pattern's picture
# Of a sparse pattern: the least, the most and the usual number.
_PATTERN = {
    "window": (0, 64, 2),
    "stride": (0, 64, 0),
    "num_global": (0, 16, 1),
    "block": (1, 32, 1),
}


@panel
def explore_switches(
    model: str, texts: Texts, watched: Watched, tokenized: TokenizedText, view: View
) -> None:
    """Draws the switches and the prediction before and after."""
    st.markdown(t("attention.switch_intro"))
    switches = _choose_switches(model, texts, tokenized, view)
    result = ask(switch_off)(
        model, texts.text, watched.target, switches, pair=texts.pair, cut=True
    )
    code = program(
        programs.SWITCHED_OFF,
        model,
        texts,
        heads=switches.heads,
        attention=switches.attention,
        feed_forward=switches.feed_forward,
        edges=tuple(dataclasses.astuple(edge) for edge in switches.edges),
        **watched.literals,
    )
    show_before_and_after(result, model, watched, "attention_switched_off", code)
    if switches == Switches():
        st.info(t("attention.nothing_off"), icon=":material/toggle_on:")
    elif result.before.is_number:
        change = result.after.value - result.before.value
        st.caption(t("attention.number_moved", change=change))
    else:
        change = result.delta_probability
        key = "large_fall" if change < 0 else "large_rise"
        key = "small_change" if abs(change) < _SMALLEST else key
        st.caption(t(f"attention.{key}", points=100 * abs(change)))


def _choose_switches(
    model: str, texts: Texts, tokenized: TokenizedText, view: View
) -> Switches:
    heads = choose_heads(model, "attention_off_heads", ((view.layer, view.head),))
    layers = [str(layer + 1) for layer in range(grid_of(model)[0])]
    chosen = (
        choose_several(f"attention.{name}", layers, key=key, widget=box.pills)
        for box, (name, key) in zip(
            st.columns(len(_PARTS)), _PARTS.items(), strict=True
        )
    )
    whole, attention, feed_forward = ({int(n) - 1 for n in one} for one in chosen)
    st.caption(t("attention.off_left"))
    return Switches(
        heads=heads,
        attention=tuple(sorted(whole | attention)),
        feed_forward=tuple(sorted(whole | feed_forward)),
        edges=_choose_edges(model, texts, tokenized, view),
    )


def _choose_edges(
    model: str, texts: Texts, tokenized: TokenizedText, view: View
) -> tuple[Edge, ...]:
    if not switch_linked("attention.cut_edge", key="attention_cut_edge"):
        return ()
    row, column = choose_pair(model, texts, tokenized, view, "edge_to")
    st.caption(t("attention.edge_help"))
    layer, head = view.layer, view.head
    places = {"layer": layer + 1, "head": head + 1}
    place = choose_linked(
        st.segmented_control,
        "attention.edge_where",
        ("everywhere", "layer", "head"),
        key="attention_cut_edge_where",
        format_func=lambda name: plain(f"attention.edge_{name}", **places),
    )
    in_layer = None if place == "everywhere" else layer
    return (Edge(row, column, in_layer, head if place == "head" else None),)


@panel
def explore_patterns(
    model: str, texts: Texts, watched: Watched, tokenized: TokenizedText, view: View
) -> None:
    """Draws the settings of a sparse pattern, and the prediction under it."""
    st.markdown(t("attention.sparse_intro"))
    chosen = {}
    for box, name in zip(st.columns(len(_PATTERN)), _PATTERN, strict=True):
        label = f"attention.sparse_{name}"
        chosen[name] = choose_number(
            *(box.number_input, t(label), *_PATTERN[name]),
            key=f"attention_sparse_{name}",
            help=t(f"{label}_help"),
        )
    pattern = SparsePattern(**chosen)
    result = ask(predict_sparsely)(
        model, texts.text, watched.target, pattern, pair=texts.pair, cut=True
    )
    show_before_and_after(result, model, watched, "attention_sparse_answer")
    first, second = st.columns(2)
    with first:
        show_map(
            "attention_sparse_edges",
            result.edges,
            tokenized.tokens,
            tokenized.tokens,
            ("attention.may_look", "attention.from_token", "attention.to_token"),
            t("attention.edges_described", share=result.kept_share),
            most=_MOST_DRAWN,
            digits=0,
            marks=np.where(result.edges, _DOT, "")[:_MOST_DRAWN, :_MOST_DRAWN].tolist(),
        )
    with second:
        show_clickable(
            result.cut_mass,
            "cut",
            plain("attention.cut_mass"),
            t("attention.cut_mass_described", share=float(result.cut_mass.mean())),
            (view.layer, view.head),
        )
