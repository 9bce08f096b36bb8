"""What the heads do: measured on this text, named only with evidence."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.analysis.head_distances import order_by_likeness
from bertviz_core.analysis.head_profiles import (
    BROAD_THRESHOLD,
    LEAST_ROWS,
    SHARE_THRESHOLD,
)
from bertviz_core.experiments.attention_matrix import profile_heads
from bertviz_core.experiments.attention_results import CorpusProfile
from bertviz_core.experiments.corpus_profiles import corpus_profile
from bertviz_core.figures.head_likeness import head_likeness_figure
from bertviz_core.snippets import attention as programs
from bertviz_core.trace import Texts
from pages.attention.controls import View, choose_in_list, select_head
from pages.attention.grammar import show_grammar
from pages.attention.maps import place_of, show_head_map
from pages.shared.answers import ask
from pages.shared.choices import choose_named
from pages.shared.code import program
from pages.shared.export import download_csv, show_figure
from pages.shared.jobs import ask_job
from pages.shared.language import current_language, plain, t
from pages.shared.models import language_of
from pages.shared.panel import panel

# Measures that have a map; the ones that begin with "to_" are shares of attention.
SHOWN = (
    *("entropy_bits", "mean_distance", "to_previous", "to_next", "to_self", "to_cls"),
    *("to_separators", "to_same_word", "to_other_segment"),
)
_NUM_NEAR = 5


@panel
def explore_profile(model: str, texts: Texts, view: View) -> None:
    """Draws the measures of all heads, their names, and the heads like one."""
    where = choose_named(
        "attention.profile_where",
        ("here", "corpus", "grammar"),
        "profile",
        key="attention_profile_where",
    )
    if where == "grammar":
        show_grammar(model)
        return
    st.markdown(
        t(
            "attention.profile_intro",
            share=SHARE_THRESHOLD,
            broad=BROAD_THRESHOLD,
            rows=LEAST_ROWS,
        )
    )
    of: dict[str, Any] = {"model": model, "layer": view.layer, "head": view.head}
    if where == "corpus":
        template = programs.CORPUS_PROFILE
        of["language"] = language_of(model) or current_language()
        found = ask_job(
            "attention_profile",
            t("attention.profile_start"),
            ask(corpus_profile).about(model, of["language"]),
        )
    else:
        template = programs.PROFILE
        of |= {"text": texts.text, "pair": texts.pair}
        found = ask(profile_heads)(model, texts)
    if found is None:
        return
    profile = found.profile
    measured = [name for name in SHOWN if not np.isnan(profile.of(name)).all()]
    name = choose_in_list("measure", measured)
    values, title = profile.of(name), plain(f"attention.measure_{name}")
    show_head_map(
        "attention_measure_map",
        values,
        title,
        t(
            "attention.measure_described",
            measure=title,
            count=profile.num_texts,
            **place_of(values, int(np.nanargmax(values))),
        ),
        program(template, measure=name, **of),
    )
    _show_names(found, where)
    num_layers, num_heads = found.distances.shape[:2]
    if num_layers * num_heads > 1:  # else there is nothing to be like
        _show_near(found, view.layer, view.head)
        _show_likeness(found)


def _show_names(found: CorpusProfile, where: str) -> None:
    st.subheader(t("attention.names_title"), anchor=False)
    named = found.names()
    if not named:
        said = t(f"attention.no_names_{where}", rows=LEAST_ROWS)
        st.info(said, icon=":material/label_off:")
        return
    cells: dict[str, list[Any]] = {
        "head": [f"{one.layer + 1}·{one.head + 1}" for one in named],
        "name": [plain(f"attention.name_{_key(one.name)}") for one in named],
        "score": [one.score for one in named],
        "threshold": [one.threshold for one in named],
        "baseline": [one.baseline for one in named],
        "rows": [one.num_rows for one in named],
    }
    table = {plain(f"attention.{name}_column"): cells[name] for name in cells}
    st.dataframe(table, hide_index=True, alt=t("attention.names_title"))
    st.caption(t("attention.names_explained"))
    download_csv(table, "attention_named_heads")


def _show_near(found: CorpusProfile, layer: int, head: int) -> None:
    places = {"layer": layer + 1, "head": head + 1}
    st.subheader(t("attention.near_title", **places), anchor=False)
    st.caption(t("attention.near_explained"))
    show_head_map(
        "attention_distance_map",
        found.distances[layer, head],
        plain("attention.distance"),
        t("attention.distance_described", **places),
    )
    with st.container(horizontal=True):
        for near in found.nearest(layer, head, _NUM_NEAR):
            places = {"layer": near.layer + 1, "head": near.head + 1}
            is_chosen = st.button(
                t("attention.near_head", **places, distance=near.distance),
                key=f"attention_near_{near.layer}_{near.head}",
                on_click=select_head,
                args=(near.layer, near.head),
            )
            if is_chosen:
                st.rerun()  # a fragment runs alone: the pictures show another head now


def _show_likeness(found: CorpusProfile) -> None:
    """Every head against every other, so that groups of like heads can be seen."""
    # Made when it is opened: of 144 heads it is as large as the rest of the panel.
    box = st.expander(
        t("attention.likeness_title"),
        icon=":material/workspaces:",
        key="attention_likeness_box",
        on_change="rerun",
    )
    if not box.open:
        return
    num_heads = found.distances.shape[1]
    order = order_by_likeness(found.distances)
    names = [f"{place // num_heads + 1}·{place % num_heads + 1}" for place in order]
    distances = found.distances.reshape(len(order), -1)[np.ix_(order, order)]
    first, second = np.triu_indices(len(order), k=1)
    between = distances[first, second]
    most = int(between.argmin())
    title, side = plain("attention.distance"), plain("attention.head_column")
    with box:
        show_figure(
            head_likeness_figure(distances, names, title=title, side_title=side),
            name="attention_likeness",
            description=t(
                "attention.likeness_described",
                first=names[first[most]],
                second=names[second[most]],
                distance=float(between[most]),
            ),
            columns={
                side: [names[i] for i in first],
                plain("attention.other_head"): [names[i] for i in second],
                title: between.tolist(),
            },
        )


def _key(name: str) -> str:
    """A name of a head as part of a text's key."""
    return name.strip("[]").lower().replace(" ", "_")
