"""What changes the text on the masked-word page: words that are clicked or inserted.

The text box and the clickable words show one state, that of `own_text`: a text with
masks that remembers what they hide.
"""

from __future__ import annotations

import streamlit as st

from bertviz_core.chinese_words import characters_along
from bertviz_core.mask_text import MASK, MaskedText, fill_mask, split_words, toggle_mask
from pages.shared.language import t
from pages.shared.markdown import escape
from pages.shared.own_text import EXAMPLES, change_sentence, read_text

WORDS = "masked_words"
EARLIER = "masked_earlier"

# More would be a wall of buttons; the longest text of BERT has 512 pieces.
MOST_WORDS = 200
_ONE_ROW = 20  # candidates; more scroll sideways

_HIDES_NOTHING = "masked_hides_nothing"
_INSERTED = "masked_inserted"


def go_back_to(texts: tuple[MaskedText, ...]) -> None:
    """Takes the chosen one of earlier texts; undo leads back from it."""
    chosen = st.session_state[EARLIER]
    st.session_state[EARLIER] = None
    read_text()
    if chosen is not None:
        change_sentence(texts[chosen])


def take_two_masks(language: str) -> None:
    """Replaces the text by an example with two masks."""
    two = (text for text, _ in EXAMPLES[language] if text.count(MASK) == 2)
    change_sentence(next(two))


def toggle_words(shown: MaskedText, num_characters: int = 1) -> None:
    """Hides the words that were clicked, or puts them back.

    `shown` is the text as it stood there when they were clicked. A Chinese character
    takes `num_characters` along, itself counted.
    """
    current = read_text()
    if current.text != shown.text:
        return  # The text was edited in the same moment: the words moved.
    selected = set(st.session_state[WORDS])
    words = split_words(current.text, MOST_WORDS)
    clicked = [i for i, word in enumerate(words) if word.is_mask != (i in selected)]
    if num_characters > 1 and len(clicked) == 1:
        clicked = characters_along(words, clicked[0], num_characters)
    masked = current
    # From the end: what is put back may join the word before it.
    for word_index in reversed(clicked):
        masked = toggle_mask(masked, word_index)
    if masked != current:
        change_sentence(masked)
    st.session_state[_HIDES_NOTHING] = masked == current and bool(clicked)


def take_notice() -> bool:
    """Whether the last click was on a mask that hides nothing; true once."""
    return bool(st.session_state.pop(_HIDES_NOTHING, False))


def offer_insertion(
    shown: MaskedText, masks: range, words: tuple[str, ...], key: str
) -> None:
    """Draws a button for each word: a click writes it where neighbouring masks stand.

    It replaces `masks` of the text that is `shown`.
    """
    labels = [str(escape(word, 40)) for word in words]
    st.pills(
        t("masked_word.insert"),
        range(len(words)),
        format_func=labels.__getitem__,
        key=key,
        help=t("masked_word.insert_help"),
        on_change=_insert,
        args=(shown, masks, words, key),
        wrap=len(words) <= _ONE_ROW,
    )


def _insert(shown: MaskedText, masks: range, words: tuple[str, ...], key: str) -> None:
    choice = st.session_state[key]
    st.session_state[key] = None
    if choice is None or read_text().text != shown.text:
        return
    masked = fill_mask(shown, masks[0], words[choice])
    for _ in masks[1:]:
        # The next mask has the same number, now that one is gone.
        masked = fill_mask(masked, masks[0], "")
    change_sentence(masked)
    st.session_state[_INSERTED] = True


def take_insertion() -> bool:
    """Whether a candidate was just inserted; true once."""
    return bool(st.session_state.pop(_INSERTED, False))
