"""The text of the masked-word page: its box, words to click or insert, its pieces.

The text box and the clickable words show one state, that of `own_text`: a text with
masks that remembers what they hide.
"""

from collections import Counter

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.chinese_words import characters_along, is_character
from bertviz_core.explorer import Explorer
from bertviz_core.mask_text import (
    MASK,
    MaskedText,
    Word,
    fill_mask,
    normalise_masks,
    split_words,
    toggle_mask,
)
from bertviz_core.trace import TokenizedText
from pages.shared.answers import ask
from pages.shared.choices import choose_linked
from pages.shared.language import Markdown, escape, in_a_row, listed, t
from pages.shared.models import say_if_unread
from pages.shared.own_text import (
    EXAMPLES,
    TEXT,
    can_undo,
    change_sentence,
    draw_box,
    draw_button,
    earlier_texts,
    offer_examples,
    offer_texts,
    read_text,
    say_what_is_left_out,
    sentence_of_visit,
    undo,
)
from pages.shared.panel import button, taking

_WORDS = "masked_words"

# More would be a wall of buttons; the longest text of BERT has 512 pieces.
_MOST_WORDS = 200
_FEW_CANDIDATES = 20  # of more, as of more words, some rows show, in a box that scrolls
_SOME_ROWS = 200  # pixels: four and the edge of the next

_HIDES_NOTHING = "masked_hides_nothing"
_INSERTED = "masked_inserted"


def take_two_masks(language: str) -> None:
    """Replaces the text by an example with two masks."""
    two = (text for text, _ in EXAMPLES[language] if text.count(MASK) == 2)
    change_sentence(next(two))


def _toggle(shown: MaskedText) -> None:
    """Hides the words that were clicked, or puts them back.

    `shown` is the text as it stood there when they were clicked.
    """
    current = read_text()
    if current.text != shown.text:
        return  # The text was edited in the same moment: the words moved.
    selected = set(st.session_state[_WORDS])
    words = split_words(current.text, _MOST_WORDS)
    clicked = [i for i, word in enumerate(words) if word.is_mask != (i in selected)]
    # Asked here: a size chosen just before the click has not been drawn yet.
    num_characters = int(st.session_state.get(_SIZE) or 1)
    if num_characters > 1 and len(clicked) == 1:
        clicked = characters_along(words, clicked[0], num_characters)
    masked = current
    # From the end: what is put back may join the word before it.
    for word_index in reversed(clicked):
        masked = toggle_mask(masked, word_index)
    if masked != current:
        change_sentence(masked)
    st.session_state[_HIDES_NOTHING] = masked == current and bool(clicked)


def offer_insertion(
    shown: MaskedText, masks: range, words: tuple[str, ...], key: str
) -> None:
    """Draws a button for each word: a click writes it where neighbouring masks stand.

    It replaces `masks` of the text that is `shown`.
    """
    labels = [str(escape(word, 40)) for word in words]
    _rows(len(words), _FEW_CANDIDATES).pills(
        t("masked_word.insert"),
        range(len(words)),
        format_func=labels.__getitem__,
        key=key,
        help=t("masked_word.insert_help"),
        on_change=taking(key, lambda index: _insert(shown, masks, words[index])),
    )


def _rows(count: int, few: int) -> DeltaGenerator:
    """Where as many buttons stand: more than `few` in a box."""
    return st.container(height=_SOME_ROWS if count > few else "content")


def _insert(shown: MaskedText, masks: range, word: str) -> None:
    if read_text().text != shown.text:
        return
    masked = fill_mask(shown, masks[0], word)
    for _ in masks[1:]:
        # The next mask has the same number, now that one is gone.
        masked = fill_mask(masked, masks[0], "")
    change_sentence(masked)
    st.session_state[_INSERTED] = True


def take_insertion() -> bool:
    """Whether a candidate was just inserted; true once."""
    return bool(st.session_state.pop(_INSERTED, False))


# Wire values of a widget's options must differ, also for "the" and "the".
_INVISIBLE = "\u2060"
_FEW_WORDS = 40
# How many Chinese characters one click hides.
_SIZE = "masked_click_size"


def edit_text(model: str) -> MaskedText:
    """Draws the text box and the words below it, both of one state.

    It may be empty or hold no mask.
    """
    texts = sentence_of_visit(model)
    draw_box()
    masked = read_text()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        draw_button()
        button("masked_word.undo", "masked_undo", "undo", undo, disabled=not can_undo())
        if earlier := earlier_texts():
            texts_before = [(one, None) for one in earlier]
            label, key = "masked_word.earlier", "masked_earlier"
            offer_texts(label, _names(earlier), texts_before, key=key, width=240)
        offer_examples(model)
    if spellings := normalise_masks(st.session_state[TEXT] or "")[1]:
        shown = Markdown(listed(escape(s, 20) for s in spellings[:5]))
        st.caption(t("masked_word.understood", spellings=shown))
    say_what_is_left_out()
    if texts.pair:
        st.caption(t("masked_word.pair_is_not_read", pair=texts.pair))
    if masked.text.strip():
        _draw_words(masked)
    return masked


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
    words = split_words(masked.text, _MOST_WORDS + 1)
    is_cut = len(words) > _MOST_WORDS
    words = words[:_MOST_WORDS]
    if not words:
        return
    if any(is_character(word.text) for word in words):
        # How many characters one click hides: a word has one to four.
        label, sizes = "masked_word.click_hides", ("1", "2", "3", "4")
        choose_linked(st.segmented_control, label, sizes, key=_SIZE, required=True)
    labels = _labels(words, masked.originals)
    st.session_state[_WORDS] = [i for i, word in enumerate(words) if word.is_mask]
    _rows(len(words), _FEW_WORDS).pills(
        t("masked_word.words"),
        range(len(words)),
        selection_mode="multi",
        format_func=labels.__getitem__,
        key=_WORDS,
        help=t("masked_word.words_help"),
        on_change=_toggle,
        args=(masked,),
    )
    if is_cut:
        st.caption(t("masked_word.first_words_only", count=_MOST_WORDS))
    if st.session_state.pop(_HIDES_NOTHING, False):
        st.info(t("masked_word.hides_nothing"), icon=":material/info:")


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


_MANY = 100  # tokens; more get a box that scrolls
_SOME = 8  # words in a sentence


def show_reading(model: str, tokenized: TokenizedText) -> None:
    """Draws the counter and the tokens, and what is left out of a long text."""
    limit = ask(Explorer.info)(model).config.max_position_embeddings
    if tokenized.was_cut:
        left_out = tokenized.text[int(tokenized.offsets[:, 1].max()) :]
        said = t(
            "masked_word.was_cut",
            limit=limit,
            count=tokenized.num_tokens_uncut - tokenized.num_tokens,
            start=" ".join(left_out[:200].split())[:60],
            masks=left_out.count(MASK),
        )
        st.warning(said, icon=":material/content_cut:")
    badges = " ".join(_badges(tokenized))
    if tokenized.num_tokens > _MANY:
        st.container(height=220).markdown(badges)
    else:
        st.markdown(badges)
    counter = t("masked_word.counter", count=tokenized.num_tokens, limit=limit)
    st.caption(in_a_row((counter, t("masked_word.tokens_legend"))))
    say_if_unread(model, tokenized)
    places = tokenized.offsets[np.flatnonzero(tokenized.is_unknown)]
    words = list(dict.fromkeys(tokenized.text[start:end] for start, end in places))
    if words:
        some = " ".join(words[:_SOME]) + (" …" if len(words) > _SOME else "")
        said = t("masked_word.unknown", words=some, count=len(words))
        st.warning(said, icon=":material/question_mark:")


def _badges(tokenized: TokenizedText) -> list[str]:
    """A Markdown badge for each token; a sign, not colour alone, marks a kind."""
    badges = []
    for index, token in enumerate(tokenized.tokens):
        colour, sign = "gray", ""
        if tokenized.input_ids[index] == tokenized.mask_token_id:
            colour, sign = "blue", ":material/visibility_off: "
        elif tokenized.is_unknown[index]:
            colour, sign = "red", ":material/question_mark: "
        token_id = tokenized.input_ids[index]
        badges.append(f":{colour}-badge[{sign}**{escape(token, 40)}** {token_id}]")
    return badges
