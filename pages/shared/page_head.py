"""The head of every page: its title, how to read it, and its new words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from pages.shared.engine import has_answered
from pages.shared.language import t

# By page: names of `assets/locales/*/glossary.json`.
TERMS = {
    "home": ("token", "mask", "vocabulary"),
    "masked_word": (
        "token",
        "logit",
        "temperature",
        "top_k",
        "top_p",
        "entropy",
        "effective_choices",
        "perplexity",
    ),
    "attention": ("attention", "head", "special_tokens", "softmax", "rollout"),
    "embeddings": ("vector", "cosine", "pca", "tsne", "umap", "trustworthiness"),
    "layers": (
        "vector",
        "layer",
        "weights",
        "signs",
        "layer_norm",
        "residual_stream",
        "neuron",
        "logit",
    ),
    "read_model": (
        "vector",
        "layer",
        "weights",
        "signs",
        "layer_norm",
        "softmax",
        "pooler",
        "logit",
    ),
    "activations": (
        "activation_function",
        "neuron",
        "slope",
        "gradient",
        "learning_rate",
        "normal_distribution",
        "saturated",
    ),
    "pretraining": ("pre_training", "mask", "loss", "weights"),
    "fine_tune": (
        "fine_tuning",
        "epoch",
        "validation",
        "test_rows",
        "cross_validation",
        "loss",
        "overfitting",
        "confidence",
        "spearman",
    ),
    "models": ("checkpoint", "weights", "vocabulary", "token"),
}


def terms_of(page: str) -> str:
    """The terms of a page and their meaning."""
    # One element: each costs the server as much as ten lines of text.
    return "\n\n".join(
        f"**{t(f'glossary.{name}')}** — {t(f'glossary.{name}_meaning')}"
        for name in TERMS[page]
    )


# Pages that say in a sentence what they are about before all else.
_WITH_INTRO = ("activations", "fine_tune", "pretraining")


def page_head(page: str) -> None:
    """Draws one line: the title of a page, and what opens how to read it.

    That is three sentences and the new words; the picture comes first.

    Before the page's own script: that imports what its figures need, and the visitor
    reads meanwhile.
    """
    with st.container(horizontal=True, vertical_alignment="center", key="page_head"):
        st.title(t(f"{page}.title"), anchor=False, width="content")
        with st.popover(t("app.how_to_read"), icon=":material/menu_book:"):
            if page in _WITH_INTRO:
                st.markdown(t(f"{page}.intro"))
            _say_how_to_read(page)
            st.markdown(f"**{t('glossary.title')}**\n\n{terms_of(page)}")


def _say_how_to_read(page: str) -> None:
    pieces = (
        (t("app.what_you_see"), t(f"{page}.what_you_see")),
        (t("app.what_to_look_for"), t(f"{page}.what_to_look_for")),
        (t("app.what_it_does_not_prove"), t(f"{page}.what_it_does_not_prove")),
    )
    st.markdown("\n\n".join(f"**{name}** {said}" for name, said in pieces))


@contextmanager
def model_at_work(at_start_only: bool = False) -> Iterator[None]:
    """Says that the model starts, or thinks, while the block runs.

    `at_start_only`: the block is quick once the engine runs, and a spinner costs a
    thread.
    """
    if at_start_only and has_answered():
        yield
        return
    busy = t("app.thinking") if has_answered() else t("app.starting")
    with st.spinner(busy):
        yield
