"""Several ways to put all heads together, side by side, and how far they agree."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import streamlit as st

from bertviz_core.analysis.correlation import spearman
from bertviz_core.trace import Texts, TokenizedText
from pages.attention.controls import View, grid_of
from pages.attention.maps import said_correlation, show_map
from pages.attention.matrix import measure_of, shown_attention
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
    last = grid_of(model)[0] - 1
    found = {}
    for way in WAYS:
        asked = replace(view, method=way, layer=last)
        shown = shown_attention(f"combine_{way}", model, texts, tokenized, asked)
        if shown is not None:
            found[way] = shown
    if not all(len(shown.places) for shown in found.values()):
        st.info(t("attention.nothing_to_show"), icon=":material/visibility_off:")
        return
    measures = [
        measure_of(replace(view, method=way), shown.values)
        for way, shown in found.items()
    ]
    # One scale for all.
    unit, top = measures[0].unit, max(measure.top for measure in measures)
    ends = plain("attention.from_token"), plain("attention.to_token")
    names = {way: plain(f"attention.combine_{way}") for way in found}
    for box, (way, shown) in zip(st.columns(len(WAYS)), found.items(), strict=False):
        labels, received = shown.places.labels, shown.values.mean(axis=0)
        most = int(received.argmax())
        with box:
            show_map(
                f"attention_combine_{way}",
                shown.values,
                labels,
                labels,
                (names[way], *ends),
                t(
                    "attention.combine_described",
                    token=labels[most],
                    share=float(received[most]),
                ),
                most=_MOST_DRAWN,
                # A third of a page is narrow: no number is written.
                marks=[[""] * len(labels[:_MOST_DRAWN])] * len(labels[:_MOST_DRAWN]),
                top=top,
                unit=unit,
            )
    st.caption(t("attention.combine_scale", unit=unit, top=top))
    if tokenized.num_tokens > _MOST_DRAWN:
        st.caption(t("attention.combine_cut", count=_MOST_DRAWN))
    st.markdown(t("attention.combine_agreement"))
    pairs = combinations(found, 2)
    for box, (one, other) in zip(st.columns(len(WAYS)), pairs, strict=False):
        box.metric(
            t("attention.combine_pair", first=names[one], second=names[other]),
            said_correlation(spearman(found[one].values, found[other].values)),
            help=t("attention.combine_pair_help"),
        )
