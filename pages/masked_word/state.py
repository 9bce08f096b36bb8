"""The text of the masked-word page, and everything that changes it.

The text box and the clickable words show one state: a text with masks that
remembers what they hide. Callbacks change it, a run of the page only reads it. The
text is in the address, and the hidden words beside it.
"""

from __future__ import annotations

import streamlit as st

from bertviz_core.chinese_words import characters_along
from bertviz_core.mask_text import (
    MASK,
    MaskedText,
    carry_originals,
    fill_mask,
    remember_masks,
    split_words,
    toggle_mask,
)
from pages.shared.choices import as_linked, put_into_address
from pages.shared.own_text import watch_boxes

TEXT = "masked_text"
WORDS = "masked_words"
EXAMPLE = "masked_example"
EARLIER = "masked_earlier"
INSERT = "masked_insert"
# In the address of a link from another page: a text to open. Under `TEXT` it would not
# do: where it is the page's first example, Streamlit takes the one of an earlier visit.
OPEN_TEXT = "open_text"
# In the address only: what the masks hide, left to right.
HIDDEN = "masked_hidden"

MOST_STEPS = 50
# More would be a wall of buttons; the longest text of BERT has 512 pieces.
MOST_WORDS = 200

_MEMORY = "masked_memory"
_HISTORY = "masked_history"
_HIDES_NOTHING = "masked_hides_nothing"
_INSERTED = "masked_inserted"

EXAMPLES = {
    "en": (
        "They were married and had three [MASK].",
        "She is a very good [MASK] player.",
        "He was born in [MASK] 1950 in New [MASK], United States.",
        "The doctor said that [MASK] was tired.",
        "The nurse said that [MASK] was tired.",
        "I have never [MASK] such a big fish.",
        "Paris is the capital of [MASK].",
    ),
    "zh": (
        "他是一名[MASK]国足球运动员。",
        "他们结婚后生了三个孩[MASK]。",
        "这部电[MASK]在二〇一〇年上映。",
        "医生告诉她，[MASK]的父亲生病了。",
        "我们一[MASK]去吃饭吧。",
        "北[MASK]是中国的首都。",
        "床前明月[MASK]，疑是地上[MASK]。",
    ),
}
watch_boxes((TEXT,), [examples[:1] for examples in EXAMPLES.values()])


def take_arriving_text() -> None:
    """Makes the text of a link the one that is looked at. Call it before the box."""
    if OPEN_TEXT in st.query_params:
        st.session_state[TEXT] = st.query_params.pop(OPEN_TEXT)


def read_text() -> MaskedText:
    """The text as the widget has it now, with what its masks hide."""
    text = st.session_state.get(TEXT) or ""
    before = st.session_state.get(_MEMORY)
    if before is None:
        masked = _from_address(text)
    else:
        masked = carry_originals(before, text)
        if masked.text != before.text:
            _add_step(before)
    st.session_state[_MEMORY] = masked
    return masked


def write_address(masked: MaskedText, example: str) -> str:
    """Keeps the text and the hidden words in the address, for a reload or a link.

    Returns:
        What there is no room for: "not", the text, "hidden_not", its hidden words,
        or "".
    """
    text = st.session_state.get(TEXT) or ""
    hidden = masked.originals if any(masked.originals) else ()
    written = as_linked(text, {HIDDEN: hidden})
    hidden_fits = written is not None
    if not hidden_fits:
        written = as_linked(text)
    put_into_address(
        {
            TEXT: [] if written is None or text == example else [written],
            HIDDEN: hidden if hidden_fits else [],
        }
    )
    return "" if hidden_fits else "not" if written is None else "hidden_not"


def can_undo() -> bool:
    """Whether there is an earlier text."""
    return bool(st.session_state.get(_HISTORY))


def undo() -> None:
    """Goes back to the text before the last change."""
    read_text()  # what was typed in the same moment is that change
    *history, last = st.session_state[_HISTORY]
    st.session_state[_HISTORY] = tuple(history)
    _show(last)


def earlier_texts() -> tuple[MaskedText, ...]:
    """Texts before this one, the newest first, each once."""
    now = st.session_state.get(_MEMORY)
    history = reversed(st.session_state.get(_HISTORY, ()))
    return tuple(masked for masked in dict.fromkeys(history) if masked != now)


def go_back_to(texts: tuple[MaskedText, ...]) -> None:
    """Takes the chosen one of earlier texts; undo leads back from it."""
    chosen = st.session_state[EARLIER]
    st.session_state[EARLIER] = None
    read_text()
    if chosen is not None:
        _change_to(texts[chosen])


def take_example(language: str) -> None:
    """Replaces the text by the chosen example."""
    read_text()
    example_index = st.session_state[EXAMPLE]
    if example_index is not None:
        _change_to(remember_masks(EXAMPLES[language][example_index]))
    st.session_state[EXAMPLE] = None


def take_two_masks(language: str) -> None:
    """Replaces the text by an example with two masks."""
    read_text()
    two = (text for text in EXAMPLES[language] if text.count(MASK) == 2)
    _change_to(remember_masks(next(two)))


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
        _change_to(masked)
    st.session_state[_HIDES_NOTHING] = masked == current and bool(clicked)


def take_notice() -> bool:
    """Whether the last click was on a mask that hides nothing; says it once."""
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
    _change_to(masked)
    st.session_state[_INSERTED] = True


def take_insertion() -> bool:
    """Whether a candidate was just inserted; says it once."""
    return bool(st.session_state.pop(_INSERTED, False))


def _from_address(text: str) -> MaskedText:
    masked = remember_masks(text)
    hidden = st.query_params.get_all(HIDDEN)
    if len(hidden) != len(masked.originals):
        return masked
    return MaskedText(masked.text, tuple(map(_usable, hidden)))


def _usable(hidden: str) -> str:
    """A hidden word of an address; one that holds a mask could never be put back."""
    is_word = hidden.strip() and not remember_masks(hidden).originals
    return hidden if is_word else ""


def _change_to(masked: MaskedText) -> None:
    _add_step(st.session_state.get(_MEMORY) or masked)
    _show(masked)


def _add_step(masked: MaskedText) -> None:
    history = (*st.session_state.get(_HISTORY, ()), masked)
    st.session_state[_HISTORY] = history[-MOST_STEPS:]


def _show(masked: MaskedText) -> None:
    st.session_state[TEXT] = masked.text
    st.session_state[_MEMORY] = masked
