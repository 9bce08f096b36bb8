"""A sentence to compare with: a text with one of its words changed."""

from __future__ import annotations

import numpy as np

from bertviz_core.experiments.lens import read_layers
from bertviz_core.explorer import Explorer
from bertviz_core.mask_text import split_words
from pages.shared.answers import ask

# The best-known pairs; of any other text the model itself says what to change.
_OTHERS = {
    "married": "divorced", "Paris": "Rome", "doctor": "nurse", "nurse": "doctor",
}  # fmt: skip
_MOST_TOKENS = 64


def with_a_word_changed(model: str, text: str) -> str:
    """The text with one word replaced by the one that the model finds likeliest.

    "" where the model has no masked-word head, or the text is long.
    """
    if "mlm" not in ask(Explorer.info)(model).heads:
        return ""
    for word in split_words(text):
        if word.text in _OTHERS:
            return text[: word.start] + _OTHERS[word.text] + text[word.end :]
    read = ask(Explorer.tokenize)(model, text, cut=True)
    if read.was_cut or read.num_tokens > _MOST_TOKENS:
        return ""
    lens = ask(read_layers)(model, text, word_ids=())
    read, best = lens.tokenized, (-np.inf, text)
    for place, position in enumerate(lens.positions):
        start, end = read.offsets[position]
        own = text[start:end]
        is_whole = (read.word_ids == read.word_ids[position]).sum() == 1
        if not is_whole or not own.isalnum():
            continue
        for token, log_prob in zip(
            lens.top_tokens[-1][place], lens.top_log_probs[-1, place], strict=True
        ):
            if token.isalnum() and token != read.tokens[position]:
                new = token.capitalize() if own.istitle() else token
                best = max(best, (log_prob, text[:start] + new + text[end:]))
    return best[1]
