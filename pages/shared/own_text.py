"""The sentence of the visit, on all pages: a text or two, and what is looked at.

Text, second text, the words that masks hide, the piece in focus, the head and the model
(`models.model_picker`) are one state of the visit: every page finds them as the last
one left them, and its address holds them, so that a link brings them. A step back
changes the page alone.

A page calls `type_sentence`, or `sentence_of_visit` where it draws no boxes, then
`piece_in_focus` once it knows the tokens. Callbacks change the state by
`change_sentence`, `focus_on` and `TEXT`, `PAIR`, `TOKEN`, `HEAD` of the session; a link
to another page carries the same names.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.engine.questions import Question
from bertviz_core.errors import BertVizError
from bertviz_core.experiments.lens import read_layers
from bertviz_core.explorer import Explorer
from bertviz_core.mask_text import (
    MaskedText,
    carry_originals,
    hide_words,
    normalise_masks,
    read_sentence,
    remember_masks,
    split_words,
    write_sentence,
)
from bertviz_core.trace import Texts, TokenizedText
from pages.shared.answers import answer, ask, ask_anew_if_changed, fetch
from pages.shared.choices import (
    HIDDEN,
    PAIR,
    TEXT,
    as_linked,
    defaults,
    follow_default,
    is_untouched,
    put_into_address,
    type_linked,
    unpack,
    whole_number,
    write_linked,
)
from pages.shared.errors import show_error, shown_to_user
from pages.shared.language import escape, plain, t
from pages.shared.models import (
    language_of,
    language_written,
    languages_read,
    say_if_unread,
)
from pages.shared.navigation import is_arrival
from pages.shared.panel import download, folded, taking
from pages.shared.uploads import Upload, upload_box

_NAME = "sentence"
_MEGABYTES = 1
_COUNT, _ERROR = "sentence_files", "sentence_file_error"


def offer_text_file(
    masked: MaskedText, pair: str, show: Callable[[MaskedText, str], None]
) -> None:
    """Draws the button that opens both: what saves the text, and what opens a file.

    `show` puts both texts of a file into the boxes.
    """
    popover = functools.partial(st.popover, type="tertiary")
    box = folded(t("app.sentence_file"), "folder_open", f"{_NAME}_file", popover)
    if box is None:
        return
    # A new key empties the box.
    key = f"{_NAME}_upload_{st.session_state.get(_COUNT, 0)}"
    with box:
        download(
            "app.sentence_save",
            lambda: write_sentence(masked, pair),
            plain("app.sentence_file_name"),
            "application/json",
            f"{_NAME}_save",
            "download",
        )
        upload_box(
            t("app.sentence_open"),
            key=key,
            limit=plain("app.sentence_limit", size=_MEGABYTES),
            refusal=plain("app.sentence_refused", size=_MEGABYTES),
            megabytes=_MEGABYTES,
            endings=["json"],
            on_change=_open,
            args=(key, show),
        )
        show_error(st.session_state.pop(_ERROR, None))


def _open(key: str, show: Callable[[MaskedText, str], None]) -> None:
    if st.session_state.get(key) is None:
        return
    file = Upload(st.session_state[key])
    st.session_state[_COUNT] = st.session_state.get(_COUNT, 0) + 1
    try:
        with file.opened() as source:
            # Streamlit's route lets larger ones through; cut, they are no JSON.
            data = source.read(_MEGABYTES * 2**20)
        show(*read_sentence(data, file.name))
    except BertVizError as error:
        st.session_state[_ERROR] = error
    else:
        st.session_state[f"{_NAME}_file"] = False  # the box closes
    finally:
        file.let_go()


# Of the session and of the address: the piece in focus, from 1.
TOKEN = "token"
# The layer and the head that were chosen, from 1; nothing while the page may choose.
HEAD = "attention_layer", "attention_head"

# A text alone, or a text and the one after it; boxes hold the first one at first.
EXAMPLES = {
    "en": (
        ("They were married and had three [MASK].", ""),
        ("The dog chased the cat because [MASK] was angry.", ""),
        ("Paris is the capital of [MASK].", ""),
        ("She is a very good [MASK] player.", ""),
        ("He was born in [MASK] 1950 in New [MASK], United States.", ""),
        ("The baby is asleep.", "Please close the [MASK]."),
        ("The animal did not cross the street because it was too tired.", ""),
        ("We have a cat and a dog. The dog is bigger than the [MASK].", ""),
        ("She sat down on the bank of the river.", ""),
        ("The doctor said that [MASK] was tired.", ""),
        ("The nurse said that [MASK] was tired.", ""),
        ("I have never [MASK] such a big fish.", ""),
    ),
    "zh": (
        ("他是一名[MASK]国足球运动员。", ""),
        ("他会说英[MASK]和法语。", ""),
        ("他们结婚后生了三个孩[MASK]。", ""),
        ("春[MASK]来了，花都开[MASK]。", ""),
        ("她把书带到了图书馆。", "那本书很[MASK]。"),
        ("小狗没有过马路，因为它太累了。", ""),
        ("她坐在河边吃苹果。", ""),
        ("这部电[MASK]在二〇一〇年上映。", ""),
        ("医生告诉她，[MASK]的父亲生病了。", ""),
        ("我们一[MASK]去吃饭吧。", ""),
        ("北[MASK]是中国的首都。", ""),
    ),
}
MOST_CHARACTERS = 4000  # of the boxes of other texts that a page compares with
MOST_STEPS = 50
_MOST_BUTTONS = 40  # pieces; more get a list

_MEMORY, _HISTORY = "text_memory", "text_history"
_LEFT = "texts_left"  # by language: what waits for a model that reads it
_READ = "text_read_in"  # the languages of the model before
_FOCUSED = "token_of"  # the tokens that the piece in focus is one of
_EDITED = "token_edited"  # of a text that is to come: which one, and a character of it


@dataclass(frozen=True)
class Reading:
    """What a page is about: a model, and what it reads, as typed and in tokens.

    `token` is the index of the piece in focus, where the page has asked for it.
    """

    model: str
    texts: Texts
    tokenized: TokenizedText
    token: int = 0

    @property
    def asked(self) -> tuple[str, Texts]:
        """What most questions begin with."""
        return self.model, self.texts


def sentence_of_visit(model: str) -> Texts:
    """The text and the second text as the boxes have them, and the address after them.

    An untouched text is an example in a language of the model. One of the visitor's own
    stays as it is, unless another model is chosen that reads another language: then it
    waits for one that reads it. Masks are written as `[MASK]`; the text may be empty.
    Call it before the boxes are drawn, in each run.
    """
    ask_anew_if_changed(model)  # the text may be drawn anew without `model_picker`
    language = language_of(model)
    _follow_model(languages_read(model), language)
    example = EXAMPLES[language][0][0]
    follow_default(TEXT, example, unpack, is_of_visit=True)
    pair = follow_default(PAIR, "", unpack, is_of_visit=True)
    masked = read_text()
    left_out = _write_texts(masked, example)
    st.session_state[f"{TEXT}_left_out"] = left_out
    _carry_choices()
    return Texts(masked.text, normalise_masks(pair)[0].strip() or None)


def type_sentence(model: str) -> Texts:
    """Draws the boxes of both texts, and the examples."""
    texts = sentence_of_visit(model)
    boxes = st.columns([9, 5, 5], vertical_alignment="bottom")
    for box, key in zip(boxes, (TEXT, PAIR), strict=False):
        with box:
            draw_box(key)
    with boxes[2].container(gap="xsmall"):
        with st.container(horizontal=True):
            draw_button()
        offer_examples(model)
    say_what_is_left_out()
    return texts


def type_other(label: str, offered: str, key: str, box: Any = st) -> str:
    """Draws a box for another text that a page compares with; masks are `[MASK]`."""
    typed = type_linked(
        box.text_input, label, offered, key=key, max_chars=MOST_CHARACTERS
    )
    return normalise_masks(typed)[0].strip()


def draw_box(key: str = TEXT) -> None:
    """Draws the box of `TEXT` or `PAIR`."""
    name = f"app.sentence_{key}"
    st.text_area(
        t(name), key=key, height=68, help=t(f"{name}_help"), persist_state="session"
    )


def draw_button() -> None:
    """Leaving a box is what sends the text; a button gives a place to go.

    Beside it is the one that saves the text to a file and opens such files.
    """
    st.button(t("app.sentence_read"), icon=":material/play_arrow:", key="text_read")
    offer_text_file(read_text(), st.session_state.get(PAIR) or "", change_sentence)


def offer_examples(model: str) -> None:
    """Draws the examples in the model's language."""
    examples = EXAMPLES[language_of(model)]
    names = [" · ".join(filter(None, one)) for one in examples]
    offer_texts("app.sentence_examples", names, examples, key="text_example", width=220)


def offer_texts(
    label: str,
    names: Sequence[str],
    texts: Sequence[tuple[str | MaskedText, str | None]],
    *,
    key: str,
    width: int,
) -> None:
    """Draws a list of texts, each with a second one; the chosen one is put in."""
    st.selectbox(
        t(label),
        range(len(texts)),
        index=None,
        format_func=names.__getitem__,
        key=key,
        placeholder=t(label),
        label_visibility="collapsed",
        on_change=taking(key, lambda index: change_sentence(*texts[index])),
        width=width,
    )


def say_what_is_left_out() -> None:
    """Says so where the address has no room for the texts, or for hidden words."""
    if left_out := st.session_state[f"{TEXT}_left_out"]:
        st.caption(t(f"app.{left_out}_in_address"))


def change_sentence(
    text: str | MaskedText,
    pair: str | None = None,
    edited: tuple[bool, int] | None = None,
) -> None:
    """Puts another text into the boxes; undo leads back. For callbacks.

    `edited` says whether a word of the second text was, and its first character: its
    piece stays the one that is looked at.
    """
    read_text()  # what was typed in the same moment is a step, too
    before = st.session_state[_MEMORY]
    masked = remember_masks(text) if isinstance(text, str) else text
    after = masked, before[1] if pair is None else pair
    if after != before:
        _add_step(before)
    show(*after)
    st.session_state[_EDITED] = edited


def show(masked: MaskedText, pair: str) -> None:
    """Both texts, without a step to undo."""
    st.session_state[TEXT], st.session_state[PAIR] = masked.text, pair
    st.session_state[_MEMORY] = masked, pair


def read_text() -> MaskedText:
    """The text as its box has it now, with what its masks hide."""
    text, pair = (st.session_state.get(key) or "" for key in (TEXT, PAIR))
    before = st.session_state.get(_MEMORY)
    if before is None:
        masked = hide_words(text, st.query_params.get_all(HIDDEN))
    else:
        masked = carry_originals(before[0], text)
        if (masked.text, pair) != (before[0].text, before[1]):
            _add_step(before)
    st.session_state[_MEMORY] = masked, pair
    return masked


def can_undo() -> bool:
    """Whether there is an earlier text."""
    return bool(st.session_state.get(_HISTORY))


def undo() -> None:
    """Goes back to both texts before the last change. A callback."""
    read_text()  # what was typed in the same moment is that change
    *history, last = st.session_state[_HISTORY]
    st.session_state[_HISTORY] = tuple(history)
    show(*last)


def earlier_texts() -> tuple[MaskedText, ...]:
    """Texts before this one, the newest first, each once; an empty one has no name."""
    now = read_text()
    history = [masked for masked, _ in reversed(st.session_state.get(_HISTORY, ()))]
    return tuple(m for m in dict.fromkeys(history) if m != now and m.text.strip())


def piece_in_focus(read: TokenizedText) -> int:
    """The index of the piece that is looked at; call it before a widget of `TOKEN`.

    The first mask, or else the first word, until another one is chosen; again, when
    the text becomes another one, unless by an edit of one word.
    """
    masks = read.mask_positions
    first = int(masks[0]) if len(masks) else min(1, read.num_tokens - 1)
    tokens = tuple(
        token
        for token, segment in zip(read.tokens, read.token_type_ids, strict=True)
        if segment == 0
    )
    default = str(first + 1)
    edited = _edited_piece(read, st.session_state.pop(_EDITED, None))
    if edited is not None:
        st.session_state[TOKEN] = str(edited + 1)
        defaults()[TOKEN] = default  # chosen, whatever was usual before
    elif st.session_state.get(_FOCUSED, tokens) != tokens:
        st.session_state[TOKEN] = default
    st.session_state[_FOCUSED] = tokens
    number = follow_default(TOKEN, default, is_of_visit=True)
    index = whole_number(number, 0) - 1
    if not 0 <= index < read.num_tokens:
        index, st.session_state[TOKEN] = first, default
    write_linked(TOKEN, st.session_state[TOKEN], default)
    return index


def choose_piece_in_focus(reading: Reading) -> Reading:
    """Draws the choice of it. Call it once in a run; the reading with its index."""
    read = reading.tokenized
    focus = piece_in_focus(read)
    numbers = [str(index + 1) for index in range(read.num_tokens)]
    few = len(numbers) <= _MOST_BUTTONS
    shown = [escape(token, 40) for token in read.tokens] if few else read.tokens
    names = {n: f"{n} {token}" for n, token in zip(numbers, shown, strict=True)}
    widget: Any = st.pills if few else st.selectbox
    widget(
        t("app.piece"),
        numbers,
        key=TOKEN,
        format_func=names.__getitem__,
        help=t("app.piece_help"),
        persist_state="session",
        **({"required": True, "wrap": True} if few else {}),
    )
    return replace(reading, token=focus)


def focus_on(index: int) -> None:
    """Makes a piece the one that is looked at. For callbacks."""
    st.session_state[TOKEN] = str(index + 1)


def read_by(model: str, texts: Texts, *further: Question[Any]) -> Reading:
    """Texts as a model reads them; says what it leaves out or can hardly read.

    `further` are questions that the page has of any text: their answers come along. The
    page ends in a sentence where there is no text, or none that can be read.
    """
    if not texts.text.strip():
        st.info(t("app.no_text"), icon=":material/edit:")
        st.stop()
    with shown_to_user():
        split = ask(Explorer.tokenize).about(model, texts.text, texts.pair, cut=True)
        fetch(split, *further)
        read = answer(split)
    if read.was_cut:
        said = t("app.was_cut", count=read.num_tokens_uncut, limit=read.num_tokens)
        st.warning(said, icon=":material/content_cut:")
    say_if_unread(model, read)
    return Reading(model, texts, read)


def _edited_piece(read: TokenizedText, edited: tuple[bool, int] | None) -> int | None:
    """The piece that a word's first character is in now, see `change_sentence`."""
    if edited is None:
        return None
    is_pair, start = edited
    ends, is_text = read.offsets[:, 1], ~read.is_added
    found = (read.token_type_ids == is_pair) & is_text & (ends > start)
    return int(found.argmax()) if found.any() else None


def _follow_model(languages: tuple[str, ...], language: str) -> None:
    """Puts a text aside that the model does not read, once another model is chosen."""
    before = st.session_state.get(_READ)
    st.session_state[_READ] = languages
    if before in (None, languages) or TEXT not in st.session_state:
        return
    texts = st.session_state[TEXT] or "", st.session_state.get(PAIR) or ""
    written = language_written(" ".join(texts))
    left = st.session_state.setdefault(_LEFT, {})
    if not (is_untouched(TEXT) and is_untouched(PAIR)):
        if written is None or written in languages:
            return
        left[written] = texts
    text, pair = left.pop(language, EXAMPLES[language][0])
    show(remember_masks(text), pair)


def _add_step(step: tuple[MaskedText, str]) -> None:
    history = (*st.session_state.get(_HISTORY, ()), step)
    st.session_state[_HISTORY] = history[-MOST_STEPS:]


def _write_texts(masked: MaskedText, example: str) -> str:
    """Keeps the texts and the hidden words in the address.

    Returns what has no room: "not", a text, "hidden_not", its hidden words, or "".
    """
    text, pair = (st.session_state.get(key) or "" for key in (TEXT, PAIR))
    hidden = masked.originals if any(masked.originals) else ()
    second = as_linked(pair) if pair else None
    beside = {PAIR: [second] if second else []}
    written = as_linked(text, {**beside, HIDDEN: hidden})
    hidden_fits = written is not None
    if not hidden_fits:
        written = as_linked(text, beside)
    put_into_address(
        {
            TEXT: [] if written is None or text == example else [written],
            PAIR: beside[PAIR],
            HIDDEN: hidden if hidden_fits else [],
        }
    )
    if written is None or (pair and second is None):
        return "not"
    return "" if hidden_fits else "hidden_not"


def _carry_choices() -> None:
    """Has the address of a page without their widgets hold piece and head, too."""
    read = functools.partial(whole_number, default=None)
    chosen = [follow_default(key, None, read, is_of_visit=True) for key in HEAD]
    has_head = all(chosen)
    if TOKEN in st.query_params and (TOKEN not in st.session_state or is_arrival()):
        # Of which text, and which piece that text begins with, is not known yet.
        st.session_state.pop(_FOCUSED, None)
        defaults().pop(TOKEN, None)
        st.session_state[TOKEN] = st.query_params[TOKEN]
    has_token = TOKEN in st.session_state and not is_untouched(TOKEN)
    put_into_address(
        {
            **{
                key: [str(number)] if has_head else []
                for key, number in zip(HEAD, chosen, strict=True)
            },
            TOKEN: [st.session_state[TOKEN]] if has_token else [],
        }
    )


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
