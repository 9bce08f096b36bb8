"""The residual stream, and how alike the layers see the tokens of the text."""

import numpy as np
import streamlit as st

from bertviz_core.analysis.layer_similarity import FORMULA
from bertviz_core.experiments.residual_stream import layer_similarity, residual_stream
from bertviz_core.experiments.step_results import ResidualStream
from bertviz_core.explorer import Explorer
from bertviz_core.snippets import layers
from bertviz_core.trace import Texts
from pages.layers.wording import numbered
from pages.shared.answers import answer, ask, ask_job
from pages.shared.choices import choose_named
from pages.shared.export import show_curves, show_map
from pages.shared.language import plain, t
from pages.shared.own_text import Reading
from pages.shared.panel import Program, panel, program


@panel
def compare_layers(model: str, texts: Texts) -> None:
    """Draws every two layers against each other."""
    st.latex(FORMULA)
    found = ask(layer_similarity)(model, texts)
    names = [plain("layers.part_embeddings")]
    names += [
        plain("layers.part_layer", number=number) for number in range(1, len(found))
    ]
    # What each layer makes new: the less it is like the one before it.
    steps = np.diag(found, k=1)
    least = 0 if np.isnan(steps).all() else int(np.nanargmin(steps))
    show_map(
        "layers_similarity",
        found,
        names,
        names,
        ("layers.similarity", "", ""),
        t(
            "layers.similarity_described",
            first=names[least],
            second=names[least + 1],
            least=float(steps[least]),
            ends=float(found[0, -1]),
        ),
        table={"layers.layer": names, **dict(zip(names, found, strict=True))},
        code=program(layers.SIMILARITY, model, texts),
        digits=3,
        is_paired=True,
    )


LENGTHS = ("residual_norms", "attention_norms", "middle_norms", "feed_forward_norms")
COSINES = ("attention_cosines", "feed_forward_cosines")
# Multiplications: 180 tokens in BERT-base just fit.
_SHORT_WORK = 5e10
_MOST_TOKENS = 64  # columns that can be told apart


@panel
def follow_residual(read: Reading) -> None:
    """Draws the lengths for one token, and one measure for all of them."""
    model, texts, token = *read.asked, read.token
    config = ask(Explorer.info)(model).config
    weights = 12 * config.hidden_size**2 * config.num_hidden_layers
    stream: ResidualStream | None
    question = ask(residual_stream).about(model, texts)
    # To pack the weights for the first time takes as long as 400 tokens.
    if weights * (read.tokenized.num_tokens + 400) < _SHORT_WORK:
        stream = answer(question)
    else:
        stream = ask_job("layers_residual", "layers.residual_start", question)
    if stream is None:
        return
    sums = stream.sum_norms
    normed = np.stack([stream.middle_norms, stream.output_norms])
    lengths = {"low": sums.min(), "high": sums.max()}
    lengths |= {"normed_low": normed.min(), "normed_high": normed.max()}
    st.caption(t(f"layers.residual_{'pre' if stream.pre_norm else 'post'}", **lengths))
    _show_token(stream, token)
    _show_all(stream, token, program(layers.RESIDUAL, model, texts, token=token))


def _show_token(stream: ResidualStream, token: int) -> None:
    lengths, others = (
        {f"layers.measure_{key}": getattr(stream, key)[:, token] for key in keys}
        for keys in (LENGTHS, ("output_norms", *COSINES))
    )
    show_curves(
        lengths,
        "layers.layer",
        _layers(stream),
        "layers.length",
        name="layers_residual",
        description=t(
            "layers.residual_described",
            token=numbered(stream.tokens)[token],
            first=float(stream.residual_norms[0, token]),
            last=float(stream.output_norms[-1, token]),
            attention=int(np.argmax(stream.attention_norms[:, token])) + 1,
            feed_forward=int(np.argmax(stream.feed_forward_norms[:, token])) + 1,
        ),
        more=others,
    )


def _show_all(stream: ResidualStream, token: int, code: Program) -> None:
    """One measure at every layer and token; of a long text those around ours."""
    key = choose_named(
        "layers.measure",
        ("attention_norms", "feed_forward_norms", *COSINES, "residual_norms"),
        widget=st.selectbox,
    )
    first = max(0, min(token - _MOST_TOKENS // 2, len(stream.tokens) - _MOST_TOKENS))
    last = min(first + _MOST_TOKENS, len(stream.tokens))
    if last - first < len(stream.tokens):
        st.caption(t("layers.some_tokens", first=first + 1, last=last))
    values, names = getattr(stream, key), numbered(stream.tokens)
    layer_names = [plain("layers.part_layer", number=n) for n in _layers(stream)]
    show_map(
        "layers_residual_map",
        values[:, first:last],
        _layers(stream),
        names[first:last],
        (f"layers.measure_{key}", "layers.layer", "layers.one_token"),
        t(f"layers.described_{key}"),
        table={
            "layers.one_token": names,
            **dict(zip(layer_names, values, strict=True)),
        },
        code=code,
        is_signed=key in COSINES,
    )


def _layers(stream: ResidualStream) -> list[str]:
    return [str(index + 1) for index in range(len(stream.residual_norms))]
