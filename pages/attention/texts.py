"""Where the words of a Chinese text end, as a visitor typed them."""

from __future__ import annotations

import streamlit as st

from bertviz_core.analysis.wordlists import is_cjk
from bertviz_core.chinese_words import with_words
from bertviz_core.errors import TextError
from bertviz_core.mask_text import normalise_masks
from bertviz_core.trace import TokenizedText
from pages.shared.choices import type_linked
from pages.shared.errors import shown_to_user
from pages.shared.language import t
from pages.shared.own_text import MOST_CHARACTERS

_WORDS = "attention_words", "attention_pair_words"


def own_words(tokenized: TokenizedText) -> TokenizedText:
    """Draws a box for the words of each text that has Chinese characters.

    Gives the same with the words that were typed; what does not fit the text is said,
    and leaves it as it was.
    """
    texts = dict(zip(_WORDS, (tokenized.text, tokenized.pair or ""), strict=True))
    asked = [key for key, text in texts.items() if is_cjk(text)]
    if not asked:
        return tokenized
    typed = dict.fromkeys(texts, "")
    for box, key in zip(st.columns(len(asked)), asked, strict=True):
        words = type_linked(
            box.text_input,
            f"attention.{key.removeprefix('attention_')}",
            "",
            key=key,
            max_chars=2 * MOST_CHARACTERS,
            placeholder=t("attention.words_example"),
            help=t("attention.words_help"),
        )
        typed[key] = normalise_masks(words)[0]
    with shown_to_user(stop=False):
        return with_words(tokenized, *typed.values())
    return tokenized


def words_of_other(read: TokenizedText, is_same: bool) -> TokenizedText:
    """The words of a text that is compared with one whose words were typed.

    It is the same text in another model, or else another text: that shows its words by
    its own spaces, which the model does not see.
    """
    typed = [normalise_masks(st.session_state.get(key) or "")[0] for key in _WORDS]
    if not any(typed):
        return read
    if not is_same:
        texts = (read.text.strip(), (read.pair or "").strip())
        typed = [text if is_cjk(text) and " " in text else "" for text in texts]
    try:
        return with_words(read, *typed)
    except TextError:  # said where they were typed
        return read
