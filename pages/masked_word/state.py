"""What changes the text on the masked-word page: words that are clicked or inserted.

The text box and the clickable words show one state, that of `own_text`: a text with
masks that remembers what they hide.
"""

from __future__ import annotations

import streamlit as st

from bertviz_core.chinese_words import characters_along
from bertviz_core.mask_text import MASK, MaskedText, fill_mask, split_words, toggle_mask
from pages.shared.own_text import EXAMPLES, change_sentence, read_text

WORDS = "masked_words"
EARLIER = "masked_earlier"
INSERT = "masked_insert"

# More would be a wall of buttons; the longest text of BERT has 512 pieces.
MOST_WORDS = 200

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


def insert_word(
    shown: MaskedText, mask_indices: range, words: tuple[str, ...], key: str
) -> None:
    """Writes the clicked whole word where neighbouring masks stand.

    It replaces the masks `mask_indices`; the widget holds an index into `words`.
    """
    choice = st.session_state[key]
    st.session_state[key] = None
    if choice is None or read_text().text != shown.text:
        return
    masked = fill_mask(shown, mask_indices[0], words[choice])
    for _ in mask_indices[1:]:
        # The next mask has the same number, now that one is gone.
        masked = fill_mask(masked, mask_indices[0], "")
    change_sentence(masked)
    st.session_state[_INSERTED] = True


def take_insertion() -> bool:
    """Whether a candidate was just inserted; true once."""
    return bool(st.session_state.pop(_INSERTED, False))
