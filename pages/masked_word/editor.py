"""The top of the masked-word page: text box, examples, words to click."""

from __future__ import annotations

from collections import Counter

import streamlit as st

from bertviz_core.chinese_words import is_character
from bertviz_core.mask_text import MaskedText, Word, normalise_masks, split_words
from pages.masked_word import state
from pages.shared.choices import choose_linked
from pages.shared.language import listed, plain, t
from pages.shared.markdown import Markdown, escape
from pages.shared.own_text import (
    TEXT,
    can_undo,
    draw_box,
    draw_button,
    earlier_texts,
    offer_examples,
    read_text,
    say_what_is_left_out,
    sentence_of_visit,
    undo,
)
from pages.shared.panel import button

# Wire values of a widget's options must differ, also for "the" and "the".
_INVISIBLE = "\u2060"
_MOST_IN_ROWS = 40  # words; more scroll sideways
# How many Chinese characters one click hides.
_SIZE = "masked_click_size"


def edit_text(model: str) -> MaskedText:
    """Draws the text box and the words below it, both of one state.

    It may be empty or hold no mask.
    """
    texts = sentence_of_visit(model)
    draw_box()
    masked = read_text()
    _draw_buttons(model)
    if spellings := normalise_masks(st.session_state[TEXT] or "")[1]:
        shown = Markdown(listed(escape(s, 20) for s in spellings[:5]))
        st.caption(t("masked_word.understood", spellings=shown))
    say_what_is_left_out()
    if texts.pair:
        st.caption(t("masked_word.pair_is_not_read", pair=texts.pair))
    if masked.text.strip():
        _draw_words(masked)
    return masked


def _draw_buttons(model: str) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        draw_button()
        button("masked_word.undo", "masked_undo", "undo", undo, disabled=not can_undo())
        _draw_history()
        offer_examples(model)


def _draw_history() -> None:
    """Earlier texts to go back to, once there are any."""
    earlier = earlier_texts()
    if not earlier:
        return
    st.selectbox(
        t("masked_word.earlier"),
        range(len(earlier)),
        index=None,
        format_func=_names(earlier).__getitem__,
        key=state.EARLIER,
        placeholder=t("masked_word.choose_earlier"),
        label_visibility="collapsed",
        on_change=state.go_back_to,
        args=(earlier,),
        width=240,
    )


def _names(texts: tuple[MaskedText, ...]) -> list[str]:
    """What each text is called: those that read alike tell what they hide."""
    times = Counter(masked.text for masked in texts)
    names: list[str] = []
    for masked in texts:
        name = masked.text
        if times[name] > 1:
            hidden = [original or "?" for original in masked.originals]
            name = f"{name} ({listed(hidden)})"
        while name in names:  # a hidden word may be a question mark
            name += _INVISIBLE
        names.append(name)
    return names


def _draw_words(masked: MaskedText) -> None:
    words = split_words(masked.text, state.MOST_WORDS + 1)
    is_cut = len(words) > state.MOST_WORDS
    words = words[: state.MOST_WORDS]
    if not words:
        return
    if any(is_character(word.text) for word in words):
        _choose_size()
    labels = _labels(words, masked.originals)
    st.session_state[state.WORDS] = [i for i, word in enumerate(words) if word.is_mask]
    st.pills(
        t("masked_word.words"),
        range(len(words)),
        selection_mode="multi",
        format_func=labels.__getitem__,
        key=state.WORDS,
        help=t("masked_word.words_help"),
        on_change=_toggle,
        args=(masked,),
        wrap=len(words) <= _MOST_IN_ROWS,
    )
    if is_cut:
        st.caption(t("masked_word.first_words_only", count=state.MOST_WORDS))
    if state.take_notice():
        st.info(t("masked_word.hides_nothing"), icon=":material/info:")


def _toggle(shown: MaskedText) -> None:
    # Asked here: a size chosen just before the click has not been drawn yet.
    state.toggle_words(shown, int(st.session_state.get(_SIZE) or 1))


def _choose_size() -> None:
    """How many Chinese characters one click hides: a word has one to four."""
    choose_linked(
        st.segmented_control,
        "masked_word.click_hides",
        ("1", "2", "3", "4"),
        key=_SIZE,
        required=True,
        format_func=lambda number: plain(
            "masked_word.characters_one" if number == "1" else "masked_word.characters",
            count=int(number),
        ),
    )


def _labels(words: tuple[Word, ...], originals: tuple[str, ...]) -> list[str]:
    """What each button says: the word, or an eye crossed out and what is hidden."""
    hidden = iter(originals)
    labels: list[str] = []
    times: dict[str, int] = {}
    for word in words:
        label: str = escape(word.text, 40)
        if word.is_mask:
            what = next(hidden)
            label = ":material/visibility_off: " + escape(what or "?", 40)
        times[label] = times.get(label, -1) + 1
        labels.append(label + _INVISIBLE * times[label])
    return labels
