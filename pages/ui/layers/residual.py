"""The residual stream: how long it is, and what each half of a layer adds."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.experiments.residual_stream import residual_stream
from bertviz_core.experiments.step_results import ResidualStream
from bertviz_core.explorer import Explorer
from bertviz_core.figures.layer_lines import lines_figure
from bertviz_core.figures.value_map import value_map_figure
from bertviz_core.snippets import layers
from pages.ui.address import choose_linked
from pages.ui.answers import ask
from pages.ui.code import show_code
from pages.ui.errors import shown_to_user
from pages.ui.export import show_figure
from pages.ui.jobs import ask_job
from pages.ui.language import plain, t
from pages.ui.text_pair import Texts

LENGTHS = ("residual_norms", "attention_norms", "middle_norms", "feed_forward_norms")
COSINES = ("attention_cosines", "feed_forward_cosines")
# Multiplications: 180 tokens in BERT-base just fit.
_SHORT_WORK = 5e10
_MOST_TOKENS = 64  # columns that can be told apart


@st.fragment
def follow_residual(model: str, texts: Texts, token: int) -> None:
    """Draws the lengths for one token, and one measure for all of them.

    Args:
        model: its id.
        texts: what it reads.
        token: index of the token that is followed.
    """
    st.markdown(t("layers.residual_intro"))
    with shown_to_user():
        stream = _ask(model, texts)
        if stream is None:
            return
        order = "pre" if stream.pre_norm else "post"
        st.caption(t(f"layers.residual_{order}"))
        _show_token(stream, token)
        _show_all(stream, token)
        show_code(
            layers.RESIDUAL,
            name="layers_residual",
            model=model,
            text=texts.text,
            pair=texts.pair,
            token=token,
        )


def _ask(model: str, texts: Texts) -> ResidualStream | None:
    """At once where that takes no longer than a click may, else as a job."""
    config = ask(Explorer.info)(model).config
    num_layers, hidden = config.num_hidden_layers, config.hidden_size
    tokens = ask(Explorer.tokenize)(model, texts.text, texts.pair, cut=True).num_tokens
    # 12 H^2 weights in a layer; to pack them for the first time takes as long as 400
    # tokens.
    if num_layers * 12 * hidden**2 * (tokens + 400) < _SHORT_WORK:
        return ask(residual_stream)(model, texts)
    found: ResidualStream | None = ask_job(
        "layers_residual",
        t("layers.residual_start"),
        ask(residual_stream).about(model, texts),
    )
    return found


def _show_token(stream: ResidualStream, token: int) -> None:
    numbers = _layers(stream)
    name = f"{token + 1} {stream.tokens[token]}"
    lengths = {
        plain(f"layers.measure_{key}"): getattr(stream, key)[:, token]
        for key in LENGTHS
    }
    attention, feed_forward = (
        getattr(stream, key)[:, token]
        for key in ("attention_norms", "feed_forward_norms")
    )
    show_figure(
        lines_figure(
            lengths,
            numbers,
            x_title=plain("layers.layer"),
            y_title=plain("layers.length"),
        ),
        name="layers_residual",
        description=t(
            "layers.residual_described",
            token=name,
            first=float(stream.residual_norms[0, token]),
            last=float(stream.output_norms[-1, token]),
            attention=int(np.argmax(attention)) + 1,
            feed_forward=int(np.argmax(feed_forward)) + 1,
        ),
        columns={plain("layers.layer"): numbers}
        | {
            plain(f"layers.measure_{key}"): getattr(stream, key)[:, token].tolist()
            for key in (*LENGTHS, "output_norms", *COSINES)
        },
    )


def _show_all(stream: ResidualStream, token: int) -> None:
    """One measure at every layer and token; of a long text those around ours."""
    key = choose_linked(
        st.selectbox,
        t("layers.measure"),
        ("attention_norms", "feed_forward_norms", *COSINES, "residual_norms"),
        key="layers_measure",
        format_func=lambda name: plain(f"layers.measure_{name}"),
    )
    first = max(0, min(token - _MOST_TOKENS // 2, len(stream.tokens) - _MOST_TOKENS))
    last = min(first + _MOST_TOKENS, len(stream.tokens))
    if last - first < len(stream.tokens):
        st.caption(t("layers.some_tokens", first=first + 1, last=last))
    values = getattr(stream, key)
    shown = values[:, first:last]
    numbers, title = _layers(stream), plain(f"layers.measure_{key}")
    names = [f"{i + 1} {stream.tokens[i]}" for i in range(len(stream.tokens))]
    show_figure(
        value_map_figure(
            shown,
            numbers,
            names[first:last],
            title=title,
            row_title=plain("layers.layer"),
            column_title=plain("layers.one_token"),
            is_signed=key in COSINES,
        ),
        name="layers_residual_map",
        description=t(f"layers.described_{key}"),
        columns={plain("layers.one_token"): names}
        | {
            plain("layers.part_layer", number=number): row.tolist()
            for number, row in enumerate(values, start=1)
        },
    )


def _layers(stream: ResidualStream) -> list[str]:
    return [str(index + 1) for index in range(len(stream.residual_norms))]
