"""What the heads do: measured on this text, named only with evidence."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import streamlit as st

from bertviz_core.analysis.head_distances import order_by_likeness
from bertviz_core.analysis.head_profiles import (
    BROAD_THRESHOLD,
    SHARE_THRESHOLD,
    HeadProfile,
)
from bertviz_core.experiments.attention_matrix import profile_heads
from bertviz_core.experiments.attention_results import CorpusProfile
from bertviz_core.experiments.corpus_profiles import corpus_profile
from bertviz_core.figures.head_likeness import head_likeness_figure
from bertviz_core.snippets import attention as programs
from bertviz_core.trace import Texts
from pages.attention.controls import select_head
from pages.attention.maps import show_head_map
from pages.shared.answers import ask
from pages.shared.choices import choose_linked
from pages.shared.code import Program, program
from pages.shared.export import Columns, download_csv, show_figure
from pages.shared.jobs import ask_job
from pages.shared.language import current_language, plain, t
from pages.shared.models import language_of
from pages.shared.panel import panel

# Measures that have a map; the ones that begin with "to_" are shares of attention.
SHOWN = (
    "entropy_bits",
    "mean_distance",
    "to_previous",
    "to_next",
    "to_self",
    "to_cls",
    "to_separators",
    "to_same_word",
    "to_other_segment",
)
_NUM_NEAR = 5


@panel
def explore_profile(model: str, texts: Texts, layer: int, head: int) -> None:
    """Draws the measures of all heads, their names, and the heads like one."""
    st.markdown(
        t("attention.profile_intro", share=SHARE_THRESHOLD, broad=BROAD_THRESHOLD)
    )
    where = choose_linked(
        st.segmented_control,
        t("attention.profile_where"),
        ("here", "corpus"),
        key="attention_profile_where",
        required=True,
        format_func=lambda name: plain(f"attention.profile_{name}"),
    )
    place = {"model": model, "layer": layer, "head": head}
    if where == "corpus":
        language = language_of(model) or current_language()
        found = ask_job(
            "attention_profile",
            t("attention.profile_start"),
            ask(corpus_profile).about(model, language),
        )
        code = functools.partial(
            program, programs.CORPUS_PROFILE, language=language, **place
        )
    else:
        found = ask(profile_heads)(model, texts)
        code = functools.partial(
            program, programs.PROFILE, text=texts.text, pair=texts.pair, **place
        )
    if found is None:
        return
    _show_measure(found.profile, code)
    _show_names(found, where)
    num_layers, num_heads = found.distances.shape[:2]
    if num_layers * num_heads > 1:  # else there is nothing to be like
        _show_near(found, layer, head)
        _show_likeness(found)


def _show_measure(profile: HeadProfile, code: Callable[..., Program]) -> None:
    measured = [name for name in SHOWN if not np.isnan(profile.of(name)).all()]
    name = choose_linked(
        st.selectbox,
        t("attention.measure"),
        measured,
        key="attention_measure",
        format_func=lambda key: plain(f"attention.measure_{key}"),
    )
    values = profile.of(name)
    title = plain(f"attention.measure_{name}")
    layer, head = np.unravel_index(np.nanargmax(values), values.shape)
    show_head_map(
        values,
        title,
        name="attention_measure_map",
        description=t(
            "attention.measure_described",
            measure=title,
            layer=layer + 1,
            head=head + 1,
            value=values[layer, head],
            count=profile.num_texts,
        ),
        code=code(measure=name),
    )


def _show_names(found: CorpusProfile, where: str) -> None:
    st.subheader(t("attention.names_title"), anchor=False)
    named = found.names()
    if not named:
        st.info(t(f"attention.no_names_{where}"), icon=":material/label_off:")
        return
    table: Columns = {
        plain("attention.head_column"): [
            f"{one.layer + 1}·{one.head + 1}" for one in named
        ],
        plain("attention.name_column"): [
            plain(f"attention.name_{_key(one.name)}") for one in named
        ],
        plain("attention.score_column"): [one.score for one in named],
        plain("attention.threshold_column"): [one.threshold for one in named],
        plain("attention.baseline_column"): [one.baseline for one in named],
        plain("attention.rows_column"): [one.num_rows for one in named],
    }
    st.dataframe(table, hide_index=True, alt=t("attention.names_title"))
    st.caption(t("attention.names_explained"))
    download_csv(table, "attention_named_heads")


def _show_near(found: CorpusProfile, layer: int, head: int) -> None:
    st.subheader(
        t("attention.near_title", layer=layer + 1, head=head + 1), anchor=False
    )
    st.caption(t("attention.near_explained"))
    show_head_map(
        found.distances[layer, head],
        plain("attention.distance"),
        name="attention_distance_map",
        description=t("attention.distance_described", layer=layer + 1, head=head + 1),
    )
    with st.container(horizontal=True):
        for near in found.nearest(layer, head, _NUM_NEAR):
            is_chosen = st.button(
                t(
                    "attention.near_head",
                    layer=near.layer + 1,
                    head=near.head + 1,
                    distance=near.distance,
                ),
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
    if box.open:
        with box:
            _draw_likeness(found)


def _draw_likeness(found: CorpusProfile) -> None:
    num_heads = found.distances.shape[1]
    order = order_by_likeness(found.distances)
    names = [f"{place // num_heads + 1}·{place % num_heads + 1}" for place in order]
    distances = found.distances.reshape(len(order), -1)[np.ix_(order, order)]
    first, second = np.triu_indices(len(order), k=1)
    between = distances[first, second]
    most = int(between.argmin())
    show_figure(
        head_likeness_figure(
            distances,
            names,
            title=plain("attention.distance"),
            side_title=plain("attention.head_column"),
        ),
        name="attention_likeness",
        description=t(
            "attention.likeness_described",
            first=names[first[most]],
            second=names[second[most]],
            distance=float(between[most]),
        ),
        columns={
            plain("attention.head_column"): [names[i] for i in first],
            plain("attention.other_head"): [names[i] for i in second],
            plain("attention.distance"): between.tolist(),
        },
    )


def _key(name: str) -> str:
    """A name of a head as part of a text's key."""
    return name.strip("[]").lower().replace(" ", "_")
