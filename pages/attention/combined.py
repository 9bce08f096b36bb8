"""Several ways to put all heads together, side by side, and how far they agree."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import streamlit as st

from bertviz_core.analysis.correlation import spearman
from bertviz_core.analysis.shown_attention import ShownAttention
from bertviz_core.explorer import Explorer
from bertviz_core.figures.value_map import value_map_figure
from bertviz_core.trace import Texts, TokenizedText
from pages.attention.controls import View
from pages.attention.maps import said_correlation
from pages.attention.matrix import measure_of, shown_attention
from pages.attention.token_table import PairColumns
from pages.shared.answers import ask
from pages.shared.export import show_figure
from pages.shared.language import plain, t
from pages.shared.panel import panel

WAYS = ("mean", "max", "rollout")
_MOST_DRAWN = 40  # tokens; more are not legible in a third of the page


@panel
def explore_combinations(
    model: str, texts: Texts, tokenized: TokenizedText, view: View
) -> None:
    """Draws the mean, the maximum and the rollout of all heads beside each other."""
    st.markdown(t("attention.combine_intro"))
    last = ask(Explorer.info)(model).config.num_hidden_layers - 1
    ways = {
        way: shown_attention(
            f"combine_{way}",
            model,
            texts,
            tokenized,
            replace(view, method=way, layer=last),
        )
        for way in WAYS
    }
    found = {way: shown for way, shown in ways.items() if shown is not None}
    if not all(len(shown.places) for shown in found.values()):
        st.info(t("attention.nothing_to_show"), icon=":material/visibility_off:")
        return
    measures = [
        measure_of(replace(view, method=way), shown.values)
        for way, shown in found.items()
    ]
    unit, top = measures[0].unit, max(measure.top for measure in measures)
    for box, (way, shown) in zip(st.columns(len(WAYS)), found.items(), strict=False):
        with box:
            _show(way, shown, unit, top)
    st.caption(t("attention.combine_scale", unit=unit, top=top))
    if tokenized.num_tokens > _MOST_DRAWN:
        st.caption(t("attention.combine_cut", count=_MOST_DRAWN))
    _show_agreement(found)


def _show(way: str, shown: ShownAttention, unit: str, top: float) -> None:
    """A map on the scale that all have, and the token that is looked at most."""
    title = plain(f"attention.combine_{way}")
    labels = shown.places.labels
    received = shown.values.mean(axis=0)
    most = int(received.argmax())
    drawn = list(labels[:_MOST_DRAWN])
    show_figure(
        value_map_figure(
            shown.values[:_MOST_DRAWN, :_MOST_DRAWN],
            drawn,
            drawn,
            title=title,
            row_title=plain("attention.from_token"),
            column_title=plain("attention.to_token"),
            is_signed=False,
            marks=[[""] * len(drawn)] * len(drawn),  # a third of a page is narrow
            top=top,
            unit=unit,
        ),
        name=f"attention_combine_{way}",
        description=t(
            "attention.combine_described",
            token=labels[most],
            share=float(received[most]),
        ),
        columns=PairColumns(labels, shown.values, title),
    )


def _show_agreement(found: dict[str, ShownAttention]) -> None:
    st.markdown(t("attention.combine_agreement"))
    pairs = list(combinations(found, 2))
    for box, (first, second) in zip(st.columns(len(WAYS)), pairs, strict=False):
        agreement = spearman(found[first].values, found[second].values)
        box.metric(
            t(
                "attention.combine_pair",
                first=plain(f"attention.combine_{first}"),
                second=plain(f"attention.combine_{second}"),
            ),
            said_correlation(agreement),
            help=t("attention.combine_pair_help"),
        )
