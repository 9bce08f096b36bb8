"""Switch parts of the network off, and see what the model says then."""

from __future__ import annotations

import dataclasses

import streamlit as st

from bertviz_core.experiments.cause_results import Edge, SwitchedPrediction, Switches
from bertviz_core.experiments.switching import switch_off
from bertviz_core.explorer import Explorer
from bertviz_core.snippets import attention as programs
from bertviz_core.trace import Texts, TokenizedText
from pages.attention.before_after import show_before_and_after
from pages.attention.controls import choose_heads
from pages.attention.locked_tokens import choose_pair
from pages.shared.answers import ask
from pages.shared.choices import choose_linked
from pages.shared.code import program
from pages.shared.language import plain, t
from pages.shared.panel import panel
from pages.shared.watched_answer import Watched

_HEADS = "attention_off_heads"
# What of a layer is switched off, and the key of its row of buttons.
_LAYERS = {
    "off_whole": "attention_off_whole",
    "off_attention": "attention_off_layers",
    "off_feed_forward": "attention_off_feed_forward",
}
_CUT = "attention_cut_edge"
_PLACES = ("everywhere", "layer", "head")


@panel
def explore_switches(
    model: str,
    texts: Texts,
    tokenized: TokenizedText,
    watched: Watched,
    layer: int,
    head: int,
) -> None:
    """Draws the switches and the prediction before and after."""
    st.markdown(t("attention.switch_intro"))
    switches = _choose_switches(model, tokenized, layer, head)
    result = ask(switch_off)(
        model, texts.text, watched.target, switches, pair=texts.pair, cut=True
    )
    code = program(
        programs.SWITCHED_OFF,
        model=model,
        text=texts.text,
        pair=texts.pair,
        heads=switches.heads,
        attention=switches.attention,
        feed_forward=switches.feed_forward,
        edges=tuple(dataclasses.astuple(edge) for edge in switches.edges),
        **watched.literals,
    )
    show_before_and_after(result, model, watched, "attention_switched_off", code)
    _say_what_it_means(result, switches)


def _choose_switches(
    model: str, tokenized: TokenizedText, layer: int, head: int
) -> Switches:
    config = ask(Explorer.info)(model).config
    heads = choose_heads(config, _HEADS, ((layer, head),))
    layers = list(range(1, config.num_hidden_layers + 1))
    whole, attention, feed_forward = (
        {
            number - 1
            for number in box.pills(
                t(f"attention.{name}"),
                layers,
                selection_mode="multi",
                key=key,
                bind="query-params",
            )
        }
        for box, (name, key) in zip(st.columns(3), _LAYERS.items(), strict=True)
    )
    st.caption(t("attention.off_left"))
    return Switches(
        heads=heads,
        attention=tuple(sorted(whole | attention)),
        feed_forward=tuple(sorted(whole | feed_forward)),
        edges=_choose_edges(tokenized, layer, head),
    )


def _choose_edges(tokenized: TokenizedText, layer: int, head: int) -> tuple[Edge, ...]:
    if not st.toggle(t("attention.cut_edge"), key=_CUT, bind="query-params"):
        return ()
    row, column = choose_pair(tokenized, "edge_from", "edge_to")
    st.caption(t("attention.edge_help"))
    place = choose_linked(
        st.segmented_control,
        t("attention.edge_where"),
        _PLACES,
        key=f"{_CUT}_where",
        format_func=lambda name: plain(
            f"attention.edge_{name}", layer=layer + 1, head=head + 1
        ),
    )
    in_layer = None if place == "everywhere" else layer
    in_head = head if place == "head" else None
    return (Edge(row, column, in_layer, in_head),)


def _say_what_it_means(result: SwitchedPrediction, switches: Switches) -> None:
    if switches == Switches():
        st.info(t("attention.nothing_off"), icon=":material/toggle_on:")
        return
    if result.before.is_number:
        change = result.after.value - result.before.value
        st.caption(t("attention.number_moved", change=change))
        return
    smallest = 0.005  # half a point: nobody would see it in the bars
    change = result.delta_probability
    if abs(change) < smallest:
        key = "small_change"
    else:
        key = "large_fall" if change < 0 else "large_rise"
    st.caption(t(f"attention.{key}", points=100 * abs(change)))
