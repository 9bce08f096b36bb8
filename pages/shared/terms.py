"""The new words of a page and their meaning, folded up at its top."""

from __future__ import annotations

from pages.shared.language import t

# By page: its words, and what each means; all are keys.
TERMS = {
    "attention": {
        "attention.term_attention": "attention.help_attention",
        "attention.term_head": "attention.help_head",
        "attention.term_special": "attention.help_special",
    },
    "layers": {
        "layers.term_vector": "layers.help_vector",
        "layers.term_layer": "layers.help_layer",
        "layers.term_weights": "layers.help_weights",
        "layers.term_signs": "layers.help_signs",
        "layers.term_residual": "layers.help_residual",
        "layers.term_neuron": "layers.help_neuron",
        "layers.term_logit": "layers.help_logit",
    },
    "embeddings": {
        "embeddings.term_vector": "embeddings.meaning_vector",
        "embeddings.term_cosine": "embeddings.meaning_cosine",
        "embeddings.term_pca": "embeddings.meaning_pca",
        "embeddings.term_tsne": "embeddings.meaning_tsne",
        "embeddings.term_trustworthiness": "embeddings.meaning_trustworthiness",
    },
    "masked_word": {
        "masked_word.term_token": "masked_word.help_token",
        "masked_word.term_logit": "masked_word.help_logit",
        "masked_word.term_temperature": "masked_word.help_temperature",
        "masked_word.term_top_k": "masked_word.help_top_k",
        "masked_word.term_top_p": "masked_word.help_top_p",
        "masked_word.term_entropy": "masked_word.help_entropy",
        "masked_word.term_choices": "masked_word.help_choices",
    },
    "activations": {
        "activations.term_activation": "activations.help_activation",
        "activations.term_neuron": "activations.help_neuron",
        "activations.term_slope": "activations.help_slope",
        "activations.term_gradient": "activations.help_gradient",
        "activations.term_training": "activations.help_training",
        "activations.term_normal": "activations.help_normal",
        "activations.term_saturated": "activations.help_saturated",
    },
}


def terms_of(page: str) -> str:
    """The words of a page and their meaning, for who never heard of them.

    Args:
        page: a key of `TERMS`.
    """
    # One element: each costs the server as much as ten lines of text.
    said = (f"**{t(word)}** — {t(said)}" for word, said in TERMS[page].items())
    return "\n\n".join(said)
