"""What differs: two sentences in one model, or one sentence in two models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import streamlit as st

from bertviz_core.analysis.comparison import (
    Alignment,
    AttentionDifference,
    align_tokens,
    attention_difference,
)
from bertviz_core.analysis.shown_attention import Places
from bertviz_core.experiments.attention_matrix import compare_heads
from bertviz_core.explorer import Explorer
from bertviz_core.figures.attention_pictures import difference_thumbnails
from bertviz_core.mask_text import normalise_masks
from bertviz_core.trace import Texts, TokenizedText
from pages.attention.controls import METHODS, View
from pages.attention.difference import show_difference
from pages.attention.maps import look_at_head, show_clickable
from pages.attention.matrix import measure_of, shown_attention, words_to_merge
from pages.attention.word_boundaries import words_of_other
from pages.shared.answers import ask
from pages.shared.choices import choose_linked, type_linked
from pages.shared.language import plain, t
from pages.shared.models import known_models, say_if_unread
from pages.shared.panel import panel
from pages.shared.text_pair import MOST_CHARACTERS

_WITH = ("sentence", "model")


# What is compared: a model, and what it reads.
_Side = tuple[str, Texts, TokenizedText]


@panel
def explore_differences(
    model: str, texts: Texts, tokenized: TokenizedText, view: View
) -> None:
    """Draws the other side, and the difference of the attention."""
    st.markdown(t("attention.compare_intro"))
    kind = choose_linked(
        st.segmented_control,
        t("attention.compare_with"),
        _WITH,
        key="attention_compare",
        required=True,
        format_func=lambda name: plain(f"attention.compare_{name}"),
    )
    other = _other_text(model) if kind == "sentence" else _other_model(model, texts)
    if other is None:
        return
    other_model, other_texts = other
    read = ask(Explorer.tokenize)(
        other_model, other_texts.text, other_texts.pair, cut=True
    )
    say_if_unread(other_model, read)
    read = words_of_other(read, is_same=other_texts == texts)
    sides = ((model, texts, tokenized), (other_model, other_texts, read))
    _show_heads(*sides)
    _show_matrix(*sides, view)


def _other_text(model: str) -> tuple[str, Texts] | None:
    typed = [
        type_linked(
            box.text_input,
            t(f"attention.other_{name}"),
            "",
            key=f"attention_compared_{key}",
            max_chars=MOST_CHARACTERS,
        )
        for box, name, key in zip(
            st.columns(2), ("sentence", "pair"), ("text", "pair"), strict=True
        )
    ]
    text, pair = (normalise_masks(one)[0].strip() for one in typed)
    if not text:
        st.info(t("attention.compare_empty"), icon=":material/edit:")
        return None
    return model, Texts(text, pair or None)


def _other_model(model: str, texts: Texts) -> tuple[str, Texts] | None:
    others = {k: entry.title for k, entry in known_models().items() if k != model}
    if not others:
        st.info(t("attention.no_other_model"), icon=":material/deployed_code:")
        return None
    chosen = choose_linked(
        st.selectbox,
        t("attention.other_model"),
        list(others),
        key="attention_compared_model",
        format_func=others.__getitem__,
    )
    return chosen, texts


def _show_heads(first: _Side, second: _Side) -> None:
    """Which head differs most; a click looks at it above."""
    distances = ask(compare_heads)(*first[:2], *second[:2])
    if np.isnan(distances).any():
        return  # no token in common: said below
    layer, head = np.unravel_index(distances.argmax(), distances.shape)
    show_clickable(
        distances,
        "differs",
        plain("attention.share_elsewhere"),
        t(
            "attention.map_described_differs",
            layer=layer + 1,
            head=head + 1,
            share=distances[layer, head],
        ),
    )


def _show_matrix(first: _Side, second: _Side, view: View) -> None:
    """The difference of the attention that is chosen above, word by word."""
    if _lacks_heads(second[0], view):
        return
    here = shown_attention("here", *first, view)
    there = shown_attention("there", *second, view)
    if here is None or there is None:
        return
    labels = here.places.labels, there.places.labels
    alignment = align_tokens(*labels)
    if not len(alignment.first):
        st.info(t("attention.nothing_in_common"), icon=":material/difference:")
        return
    found = attention_difference(here.values, there.values, alignment)
    options = view.options
    words = (words_to_merge(first[2], options), words_to_merge(second[2], options))
    sides = (*first[:2], *second[:2], words, options)
    show_difference(
        found.values,
        _places(here.places, labels[1], alignment),
        ask(difference_thumbnails)(*sides),
        sides,
        measure_of(view, found.values),
        layer=view.layer,
        head=view.head,
        title=plain("attention.second_less_first"),
        name="attention_difference",
        describe=lambda row, column, value: t(
            "attention.difference_described", row=row, column=column, value=value
        ),
        on_head=look_at_head,
    )
    _say_what_is_outside(found, alignment, here.values, there.values)


def _lacks_heads(model: str, view: View) -> bool:
    """Says so if the other model has no such layer or head, where one is asked for."""
    config = ask(Explorer.info)(model).config
    layers, heads = config.num_hidden_layers, config.num_attention_heads
    asks_layer, asks_head = METHODS[view.method]
    one = (view.layer if asks_layer else 0, view.head if asks_head else 0)
    asked = view.heads if view.method == "chosen" else (one,)
    lacks = any(layer >= layers or head >= heads for layer, head in asked)
    if lacks:
        st.warning(
            t("attention.no_such_head", model=model, layers=layers, heads=heads),
            icon=":material/block:",
        )
    return lacks


def _places(first: Places, second: tuple[str, ...], alignment: Alignment) -> Places:
    """Those of the first that the second has, too; with both names where two differ."""
    names = tuple(
        first.labels[i] if same else f"{first.labels[i]} / {second[j]}"
        for i, j, same in zip(
            alignment.first, alignment.second, alignment.is_same, strict=True
        )
    )
    kept = np.isin(np.arange(len(first)), alignment.first)
    return replace(first.select(kept), labels=names)


def _say_what_is_outside(
    found: AttentionDifference,
    alignment: Alignment,
    first: np.ndarray,
    second: np.ndarray,
) -> None:
    """What the rows of both sides give to places without a partner."""
    num_alone = len(alignment.only_first) + len(alignment.only_second)
    if num_alone:
        total_first = first[alignment.first].sum() or 1.0
        total_second = second[alignment.second].sum() or 1.0
        st.caption(
            t(
                "attention.difference_outside",
                alone=num_alone,
                first=found.outside_first.sum() / total_first,
                second=found.outside_second.sum() / total_second,
            )
        )
