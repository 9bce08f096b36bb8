"""What differs: two sentences in one model, or one sentence in two models."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.analysis.comparison import (
    Alignment,
    align_tokens,
    attention_difference,
)
from bertviz_core.figures.value_map import value_map_figure
from bertviz_core.mask_text import normalise_masks
from bertviz_core.trace import TokenizedText
from pages.ui.address import choose_linked
from pages.ui.answers import describe_model, tokenize
from pages.ui.attention.answers import attention_matrix
from pages.ui.attention.controls import View
from pages.ui.attention.texts import Texts
from pages.ui.errors import shown_to_user
from pages.ui.export import show_figure
from pages.ui.language import plain, t
from pages.ui.models import known_models

_WITH = ("sentence", "model")
_MOST_SHOWN = 64  # tokens on a side
_MOST_CHARACTERS = 1000


@st.fragment
def explore_differences(
    model: str, texts: Texts, tokenized: TokenizedText, view: View
) -> None:
    """Draws the other side, and the difference of the attention.

    Args:
        model: its id.
        texts: what it reads.
        tokenized: the same, in tokens.
        view: which attention is compared.
    """
    st.markdown(t("attention.compare_intro"))
    kind = choose_linked(
        st.segmented_control,
        t("attention.compare_with"),
        _WITH,
        key="attention_compare",
        required=True,
        format_func=lambda name: plain(f"attention.compare_{name}"),
    )
    with shown_to_user():
        other = _other_text(model) if kind == "sentence" else _other_model(model, texts)
        if other is None:
            return
        other_model, other_texts = other
        _show_difference(model, texts, tokenized, other_model, other_texts, view)


def _other_text(model: str) -> tuple[str, Texts] | None:
    typed = st.text_input(
        t("attention.other_sentence"),
        key="attention_compared_text",
        max_chars=_MOST_CHARACTERS,
        bind="query-params",
        persist_state="session",
    )
    text = normalise_masks(typed or "")[0].strip()
    if not text:
        st.info(t("attention.compare_empty"), icon=":material/edit:")
        return None
    return model, Texts(text, None)


def _other_model(model: str, texts: Texts) -> tuple[str, Texts] | None:
    others = [name for name in known_models() if name != model]
    if not others:
        st.info(t("attention.no_other_model"), icon=":material/deployed_code:")
        return None
    chosen = st.selectbox(
        t("attention.other_model"), others, key="attention_compared_model"
    )
    return (chosen, texts) if chosen else None


def _show_difference(
    model: str,
    texts: Texts,
    tokenized: TokenizedText,
    other_model: str,
    other_texts: Texts,
    view: View,
) -> None:
    config = describe_model(other_model).config
    layers, heads = (
        int(str(config[name])) for name in ("num_hidden_layers", "num_attention_heads")
    )
    asked = [(view.layer, view.head), *view.heads]
    if any(layer >= layers or head >= heads for layer, head in asked):
        st.warning(
            t("attention.no_such_head", model=other_model, layers=layers, heads=heads),
            icon=":material/block:",
        )
        return
    read = tokenize(other_model, other_texts.text, other_texts.pair, cut=True)
    alignment = align_tokens(tokenized.tokens, read.tokens)
    if not len(alignment.first):
        st.info(t("attention.nothing_in_common"), icon=":material/difference:")
        return
    first, second = (
        attention_matrix(name, words, view.method, view.layer, view.head, view.heads)
        for name, words in ((model, texts), (other_model, other_texts))
    )
    found = attention_difference(first, second, alignment)
    _draw(found.values, _names(tokenized, read, alignment), alignment)


def _names(
    tokenized: TokenizedText, read: TokenizedText, alignment: Alignment
) -> list[str]:
    return [
        tokenized.tokens[i] if same else f"{tokenized.tokens[i]} / {read.tokens[j]}"
        for i, j, same in zip(
            alignment.first, alignment.second, alignment.is_same, strict=True
        )
    ]


def _draw(values: np.ndarray, names: list[str], alignment: Alignment) -> None:
    values, names = values[:_MOST_SHOWN, :_MOST_SHOWN], names[:_MOST_SHOWN]
    most = np.unravel_index(np.argmax(np.abs(values)), values.shape)
    show_figure(
        value_map_figure(
            values,
            names,
            names,
            title=plain("attention.second_less_first"),
            row_title=plain("attention.from_token"),
            column_title=plain("attention.to_token"),
            is_signed=True,
        ),
        name="attention_difference",
        description=t(
            "attention.difference_described",
            row=names[int(most[0])],
            column=names[int(most[1])],
            value=float(values[most]),
            alone=len(alignment.only_first) + len(alignment.only_second),
        ),
        columns={
            plain("attention.from_token"): [a for a in names for _ in names],
            plain("attention.to_token"): [b for _ in names for b in names],
            plain("attention.second_less_first"): values.ravel().tolist(),
        },
    )
