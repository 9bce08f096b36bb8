"""The head of every page: its title, how to read it, and its new words."""

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from pages.shared.engine import HAS_ANSWERED
from pages.shared.language import t

# By page: names of `assets/locales/*/glossary.json`.
TERMS = {
    "home": ("token", "mask", "vocabulary"),
    "masked_word": (
        *("token", "logit", "temperature", "top_k", "top_p", "entropy"),
        *("effective_choices", "perplexity"),
    ),
    "attention": ("attention", "head", "special_tokens", "softmax", "rollout"),
    "embeddings": ("vector", "cosine", "pca", "tsne", "umap", "trustworthiness"),
    "layers": (
        *("vector", "layer", "weights", "signs", "layer_norm", "residual_stream"),
        *("neuron", "logit"),
    ),
    "read_model": (
        *("vector", "layer", "weights", "signs", "layer_norm", "softmax", "pooler"),
        "logit",
    ),
    "activations": (
        *("activation_function", "neuron", "slope", "gradient", "learning_rate"),
        *("normal_distribution", "saturated"),
    ),
    "pretraining": ("pre_training", "mask", "loss", "weights"),
    "fine_tune": (
        *("fine_tuning", "epoch", "validation", "test_rows", "cross_validation"),
        *("loss", "overfitting", "confidence", "spearman"),
    ),
    "models": ("checkpoint", "weights", "vocabulary", "token"),
}


# Pages that say in a sentence what they are about before all else.
_WITH_INTRO = ("activations", "fine_tune", "pretraining")


def page_head(page: str) -> None:
    """Draws one line: the title of a page, and what opens how to read it.

    That is three sentences and the new words; the picture comes first. On the first
    visit of a browser the sentences also stand below: see `assets/components/frame.js`.
    Call it before the page's own script: that imports what its figures need, and the
    visitor reads meanwhile.
    """
    told = {
        "app.what_you_see": f"{page}.what_you_see",
        "app.what_to_look_for": f"{page}.what_to_look_for",
        "app.what_it_does_not_prove": f"{page}.what_it_does_not_prove",
    }
    said = [f"**{t(title)}** {t(key)}" for title, key in told.items()]
    with st.container(horizontal=True, vertical_alignment="center", key="page_head"):
        st.title(t(f"{page}.title"), anchor=False, width="content")
        with st.popover(t("app.how_to_read"), icon=":material/menu_book:"):
            if page in _WITH_INTRO:
                st.markdown(t(f"{page}.intro"))
            # One element: each costs the server as much as ten lines of text.
            words = [
                f"**{t(f'glossary.{name}')}** — {t(f'glossary.{name}_meaning')}"
                for name in TERMS[page]
            ]
            title = f"**{t('glossary.title')}**"
            st.markdown("\n\n".join((*said, title, *words)))
    with st.container(border=True, key="first_visit"):
        st.markdown("  \n".join(said))


@contextmanager
def model_at_work(at_start_only: bool = False) -> Iterator[None]:
    """Says that the model starts, or thinks, while the block runs.

    `at_start_only`: the block is quick once the engine runs; a spinner costs a thread.
    """
    if at_start_only and HAS_ANSWERED.is_set():
        yield
        return
    busy = t("app.thinking") if HAS_ANSWERED.is_set() else t("app.starting")
    with st.spinner(busy):
        yield
