"""Several ways to put all heads together, side by side, and how far they agree."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import streamlit as st

from bertviz_core.analysis.correlation import spearman
from bertviz_core.experiments.attention_matrix import MOST_FLOWING
from bertviz_core.trace import Texts, TokenizedText
from pages.attention.controls import View, grid_of
from pages.attention.maps import said_correlation
from pages.attention.matrix import measure_of, shown_attention
from pages.shared.export import show_map
from pages.shared.language import plain, t
from pages.shared.panel import panel

WAYS = ("mean", "max", "rollout", "flow")
_TIED = 5e-4  # nearer shares look the same
_MOST_DRAWN = 40  # tokens; more are not legible in half of the page


@panel
def explore_combinations(
    model: str, texts: Texts, tokenized: TokenizedText, view: View
) -> None:
    """Draws mean, maximum, rollout and flow of all heads beside each other."""
    st.markdown(t("attention.combine_intro"))
    last = grid_of(model)[0] - 1
    found = {}
    can_flow = tokenized.num_tokens <= MOST_FLOWING
    for way in WAYS if can_flow else WAYS[:-1]:
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
    names = {way: plain(f"attention.combine_{way}") for way in found}
    boxes = [box for _ in range(2) for box in st.columns(2)]
    for box, (way, shown) in zip(boxes, found.items(), strict=False):
        labels, received = shown.places.labels, shown.values.mean(axis=0)
        best = np.flatnonzero(received > received.max() - _TIED)
        with box:
            show_map(
                f"attention_combine_{way}",
                shown.values,
                labels,
                labels,
                (names[way], "attention.from_token", "attention.to_token"),
                t(
                    f"attention.combine_{'tied' if len(best) > 1 else 'described'}",
                    token=labels[best[0]],
                    count=len(best),
                    share=float(received.max()),
                ),
                most=_MOST_DRAWN,
                # Half of a page is narrow: no number is written.
                marks=[[""] * len(labels[:_MOST_DRAWN])] * len(labels[:_MOST_DRAWN]),
                top=top,
                unit=unit,
            )
    st.caption(t("attention.combine_scale", unit=unit, top=top))
    if not can_flow:
        st.caption(t("attention.combine_flow_long", most=MOST_FLOWING))
    elif "flow" in found:
        spread = float(np.ptp(found["flow"].values, axis=0).max())
        st.caption(t("attention.combine_flow_rows", spread=spread))
    if tokenized.num_tokens > _MOST_DRAWN:
        st.caption(t("attention.combine_cut", count=_MOST_DRAWN))
    st.markdown(t("attention.combine_agreement"))
    boxes = [box for _ in range(2) for box in st.columns(3)]
    for box, (one, other) in zip(boxes, combinations(found, 2), strict=False):
        box.metric(
            t("attention.combine_pair", first=names[one], second=names[other]),
            said_correlation(spearman(found[one].values, found[other].values)),
            help=t("attention.combine_pair_help"),
        )
