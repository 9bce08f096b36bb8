"""What differs: ways to put all heads together, two sentences, or two models."""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import numpy as np
import streamlit as st

from bertviz_core.analysis.comparison import (
    Alignment,
    align_tokens,
    attention_difference,
)
from bertviz_core.analysis.correlation import spearman
from bertviz_core.analysis.shown_attention import Places
from bertviz_core.experiments.attention_matrix import MOST_FLOWING, compare_heads
from bertviz_core.explorer import Explorer
from bertviz_core.figures.attention_pictures import difference_heads
from bertviz_core.trace import Texts
from pages.attention.canvas import (
    METHODS,
    View,
    attention_canvas,
    current_look,
    grid_of,
    key_of_tokens,
    take_click,
)
from pages.attention.causes import (
    look_at_head,
    place_of,
    said_correlation,
    show_clickable,
)
from pages.attention.matrix import (
    measure_of,
    shown_attention,
    words_of_other,
    words_to_merge,
)
from pages.attention.pictures import Sides, offer_difference, picture_of
from pages.shared.answers import ask
from pages.shared.choices import choose_linked, choose_named
from pages.shared.export import show_map
from pages.shared.language import plain, t
from pages.shared.models import known_models, say_if_unread
from pages.shared.own_text import Reading, type_other, with_a_word_changed
from pages.shared.panel import panel

WAYS = ("mean", "max", "rollout", "flow")
_TIED = 5e-4  # nearer shares look the same
_MOST_DRAWN = 40  # tokens; more are not legible in half of the page


@panel
def explore_combinations(read: Reading, view: View) -> None:
    """Draws mean, maximum, rollout and flow of all heads beside each other."""
    st.markdown(t("attention.combine_intro"))
    last = grid_of(read.model)[0] - 1
    found = {}
    can_flow = read.tokenized.num_tokens <= MOST_FLOWING
    for way in WAYS if can_flow else WAYS[:-1]:
        asked = replace(view, method=way, layer=last)
        shown = shown_attention(f"combine_{way}", read, asked)
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
    if read.tokenized.num_tokens > _MOST_DRAWN:
        st.caption(t("attention.combine_cut", count=_MOST_DRAWN))
    st.markdown(t("attention.combine_agreement"))
    box = st.container(horizontal=True)
    for one, other in combinations(found, 2):
        box.metric(
            t("attention.combine_pair", first=names[one], second=names[other]),
            said_correlation(spearman(found[one].values, found[other].values)),
            help=t("attention.combine_pair_help"),
            width="content",
        )


@panel
def explore_differences(read: Reading, view: View) -> None:
    """Draws the other side, and the difference of the attention."""
    st.markdown(t("attention.compare_intro"))
    kind = choose_named("attention.compare", ("sentence", "model"))
    asked = (_other_text if kind == "sentence" else _other_model)(*read.asked)
    if asked is None:
        return
    model, texts = asked
    tokenized = ask(Explorer.tokenize)(model, texts.text, texts.pair, cut=True)
    say_if_unread(model, tokenized)
    other = Reading(model, texts, tokenized)
    other = words_of_other(other, is_same=texts == read.texts)
    distances = ask(compare_heads)(*read.asked, *other.asked)
    if not np.isnan(distances).any():  # else no token is in common: said below
        most = place_of(distances, int(distances.argmax()))
        told, title = t("attention.map_described_differs", **most), "share_elsewhere"
        framed = view.layer, view.head
        show_clickable(distances, "differs", plain(f"attention.{title}"), told, framed)
    title = plain("attention.second_less_first")
    show_matrix(read, other, view, title, look_at_head)


def _other_text(model: str, texts: Texts) -> tuple[str, Texts] | None:
    offered = with_a_word_changed(model, texts.text)
    boxes = {"sentence": ("text", offered), "pair": ("pair", texts.pair or "")}
    text, pair = [
        type_other(f"attention.other_{name}", first, f"attention_compared_{key}", box)
        for box, (name, (key, first)) in zip(st.columns(2), boxes.items(), strict=True)
    ]
    if not text:
        st.info(t("attention.compare_empty"), icon=":material/edit:")
        return None
    return model, Texts(text, pair or None)


def _other_model(model: str, texts: Texts) -> tuple[str, Texts] | None:
    others = {k: entry.title for k, entry in known_models().items() if k != model}
    if not others:
        st.info(t("attention.no_other_model"), icon=":material/deployed_code:")
        return None
    return choose_linked(st.selectbox, "attention.compared_model", others), texts


def show_matrix(
    first: Reading,
    second: Reading,
    view: View,
    title: str,
    on_head: Callable[[int, int], None],
) -> None:
    """Draws the difference of the attention of two sides, word by word.

    `title` says which side is taken from which; `on_head` is called with the layer and
    the head that were chosen in the grid, from 0, before the page runs.
    """
    if _lacks_heads(second.model, view):
        return
    here = shown_attention("here", first, view)
    there = shown_attention("there", second, view)
    if here is None or there is None:
        return
    labels = here.places.labels, there.places.labels
    alignment = align_tokens(*labels)
    if not len(alignment.first):
        st.info(t("attention.nothing_in_common"), icon=":material/difference:")
        return
    found = attention_difference(here.values, there.values, alignment)
    options = view.options
    first_words, second_words = (
        words_to_merge(one.tokenized, options) for one in (first, second)
    )
    sides = (*first.asked, *second.asked, (first_words, second_words), options)
    places = _places(here.places, labels[1], alignment)
    _draw(found.values, places, sides, view, title, on_head)
    alone = len(alignment.only_first) + len(alignment.only_second)
    if alone:  # what the rows of both sides give to places without a partner
        first_sum = here.values[alignment.first].sum() or 1.0
        second_sum = there.values[alignment.second].sum() or 1.0
        shares = {
            "first": found.outside_first.sum() / first_sum,
            "second": found.outside_second.sum() / second_sum,
        }
        st.caption(t("attention.difference_outside", alone=alone, **shares))


def _lacks_heads(model: str, view: View) -> bool:
    """Says so if the other model has no such layer or head, where one is asked for."""
    layers, heads = grid_of(model)
    asks_layer, asks_head = METHODS[view.method]
    one = (view.layer if asks_layer else 0, view.head if asks_head else 0)
    asked = view.heads if view.method == "chosen" else (one,)
    if all(layer < layers and head < heads for layer, head in asked):
        return False
    said = t("attention.no_such_head", model=model, layers=layers, heads=heads)
    st.warning(said, icon=":material/block:")
    return True


def _places(first: Places, second: tuple[str, ...], alignment: Alignment) -> Places:
    """Those of the first that the second has, too; with both names where two differ."""
    both = zip(alignment.first, alignment.second, alignment.is_same, strict=True)
    names = tuple(
        first.labels[i] if same else f"{first.labels[i]} / {second[j]}"
        for i, j, same in both
    )
    kept = np.isin(np.arange(len(first)), alignment.first)
    return replace(first.select(kept), labels=names)


def _draw(
    values: np.ndarray,
    places: Places,
    sides: Sides,
    view: View,
    title: str,
    on_head: Callable[[int, int], None],
) -> None:
    """The grid of heads, the heatmap and the lines of a difference."""
    name = "attention_difference"
    thumbnails = ask(difference_heads)(*sides, in_small=True)
    num_layers, num_heads = thumbnails.shape[:2]
    measure = measure_of(view, values)
    picture = picture_of(
        name,
        places,
        values,
        thumbnails,
        key_of_tokens(places.labels, places.segments),
        current_look(name, (view.layer, view.head), num_heads),
        # The other model may be a smaller one, where many heads were put together.
        layer=min(view.layer, num_layers - 1),
        head=min(view.head, num_heads - 1),
        is_difference=True,
        measure=replace(
            measure,
            name=f"{title} · {measure.name}",
            difference=title,
            unit=plain("attention_view.unit_difference", unit=measure.unit),
        ),
    )

    def follow() -> None:
        if (clicked := take_click(name, num_layers, num_heads)) is not None:
            on_head(*clicked)

    attention_canvas(picture, name, follow)
    row, column = np.unravel_index(np.abs(values).argmax(), values.shape)
    ends = {"row": places.labels[row], "column": places.labels[column]}
    value = float(values[row, column])
    st.caption(t("attention.difference_described", value=value, **ends))
    offer_difference(picture, name, sides)
