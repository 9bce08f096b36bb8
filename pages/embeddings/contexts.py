"""Where the bundled sentences have a token in a similar context."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from bertviz_core.experiments.embedding_results import Context, SimilarContexts
from bertviz_core.experiments.similar_contexts import (
    searched_sentences,
    similar_contexts,
)
from bertviz_core.explorer import Explorer
from bertviz_core.snippets import embeddings as programs
from pages.embeddings.figures import layer_name
from pages.shared.answers import ask
from pages.shared.choices import choose_linked
from pages.shared.export import download_csv
from pages.shared.jobs import ask_soon
from pages.shared.language import t
from pages.shared.markdown import Markdown, escape
from pages.shared.models import language_of
from pages.shared.own_text import choose_piece_in_focus, read_by, type_sentence
from pages.shared.panel import panel
from pages.shared.tools import program, show_tools

KEY = "embeddings_contexts"
_LENGTH = 20  # tokens of a bundled sentence, about


@panel
def explore_contexts(model: str) -> None:
    """Draws the sentence, the choice of its token and of a layer, and what is alike."""
    st.markdown(t("embeddings.contexts_intro"))
    texts = type_sentence(model)
    read = read_by(model, texts)
    token = choose_piece_in_focus(read)
    if read.is_added[token]:
        st.info(t("embeddings.contexts_added"), icon=":material/touch_app:")
        return
    num_layers = ask(Explorer.info)(model).config.num_hidden_layers
    layers = {str(layer): layer_name(layer) for layer in range(num_layers + 1)}
    layer = choose_linked(
        st.selectbox,
        "glossary.layer",
        list(layers),
        str(num_layers),
        key=f"{KEY}_layer",
        format_func=layers.__getitem__,
    )
    language = language_of(model)
    text = " || ".join(filter(None, (texts.text, texts.pair)))
    point = int((~read.is_added[:token]).sum())  # among those of the text alone
    found = _ask(model, language, text, int(layer), point)
    if found is None:
        return
    _show(found, read.tokens[token])
    where = {"text": text, "layer": int(layer), "point": point}
    code = program(programs.CONTEXTS, model, language=language, **where)
    show_tools(KEY, code, download=lambda: download_csv(_columns(found), KEY))


def _ask(
    model: str, language: str, text: str, layer: int, point: int
) -> SimilarContexts | None:
    searched = searched_sentences(language)
    own = ((text,), "token")
    question = ask(similar_contexts).about(
        model, *own, model, searched, "token", layer, point
    )
    label = "embeddings.search_contexts"
    return ask_soon(KEY, question, len(searched), _LENGTH, label)


def _show(found: SimilarContexts, token: str) -> None:
    layer = layer_name(found.layer)
    title = t("embeddings.contexts_title", token=token, layer=layer)
    st.subheader(title, anchor=False)
    rows = [f"{one.cosine:.3f} · {_marked(one)}" for one in found.contexts]
    st.markdown("\n".join(f"{rank}. {row}" for rank, row in enumerate(rows, start=1)))
    counts = {"tokens": found.num_tokens, "sentences": found.num_sentences}
    mean = found.mean_cosine
    st.caption(t("embeddings.contexts_searched", **counts, layer=layer, mean=mean))


def _columns(found: SimilarContexts) -> dict[str, Sequence[object]]:
    return {
        "embeddings.rank_column": list(range(1, len(found.contexts) + 1)),
        "embeddings.layer_axis": [layer_name(found.layer)] * len(found.contexts),
        "embeddings.token": [one.token for one in found.contexts],
        "embeddings.text": [
            one.before + one.token + one.after for one in found.contexts
        ],
        "embeddings.token_start": [len(one.before) for one in found.contexts],
        "embeddings.cosine": [one.cosine for one in found.contexts],
    }


def _marked(one: Context) -> Markdown:
    """A sentence, its token with a ground of its own."""
    # `escape` takes away the spaces beside the token.
    left = " " * one.before.endswith(" ")
    right = " " * one.after.startswith(" ")
    token = f":primary-background[**{escape(one.token)}**]"
    return Markdown(f"{escape(one.before)}{left}{token}{right}{escape(one.after)}")
