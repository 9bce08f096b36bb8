"""The glossary: the new words of each page and their meaning, folded up at its top."""

from __future__ import annotations

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
    ),
    "attention": ("attention", "head", "special_tokens"),
    "embeddings": ("vector", "cosine", "pca", "tsne", "umap", "trustworthiness"),
    "layers": (
        "vector",
        "layer",
        "weights",
        "signs",
        "residual_stream",
        "neuron",
        "logit",
    ),
    "read_model": ("vector", "layer", "weights", "signs", "logit"),
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
