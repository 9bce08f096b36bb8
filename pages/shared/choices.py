"""What a link brings back: choices, switches, numbers, and texts that it has room for.

Streamlit's `bind` writes the shown name of an option into the address, so that a link
from a Chinese page would mean nothing on an English one, and takes a default for what
a link leaves out, also where that follows the text and the model. Here the option
itself is written, unless it is the default; while the reader leaves a widget alone it
changes with its default; what was chosen stays. The browser's way back brings back
what stands in the address there.
"""

import base64
import functools
import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import streamlit as st

from pages.shared.language import Markdown, labelled, plain, t
from pages.shared.navigation import is_arrival, is_way_back, keep

# Bytes of a page's texts together. Servers and proxies refuse long addresses, nginx
# from 8,192 bytes on.
LONGEST_IN_ADDRESS = 4700
# Of another text that is written letter by letter, and of all others together.
LONGEST = 1500
_LONGEST_TOGETHER = 3200
# Before a text that is compressed, as it would not fit letter by letter.
_PACKED = "zlib~"
_LONGEST_UNPACKED = 200_000  # bytes: a link of a few thousand may hold megabytes
# Stands for no option at all: an empty value may get lost on the way.
_NOTHING = "none"
# Of the session: the default of each choice that was drawn. In one entry, as keyed
# widgets of Streamlit go through all entries.
_DEFAULTS = "choice_defaults"
# Likewise of each with names of its own: what is chosen, and how that was called; of a
# number its ends.
_CALLED = "choice_called"
_Default = TypeVar("_Default", int, None)
N = TypeVar("N", int, float)
# Of the session and of the address: the boxes of the visit's text.
TEXT, PAIR = "text", "pair"
# In the address only: what the masks hide, left to right.
HIDDEN = "hidden"
# What has room of its own: `LONGEST_IN_ADDRESS`.
_SENTENCES = (TEXT, PAIR, "embeddings_topics", "embeddings_senses")
TEXTS_OF_PAGES = (*_SENTENCES, HIDDEN, "pretraining_page_en", "pretraining_page_zh")


def fits_address(
    text: str,
    beside: Mapping[str, str | Sequence[str]] | None = None,
    most: int = LONGEST_IN_ADDRESS,
) -> bool:
    """Whether a text can be part of a link, with what is `beside` it already, by name.

    `most` is for all of it, in bytes: a Chinese character takes nine.
    """
    if len(text) > most:
        return False
    others = urlencode(beside or {}, doseq=True, quote_via=quote, safe="")
    room = most - (len(others) + len("&") if others else 0)
    return len(quote(text, safe="")) <= room


def as_linked(
    text: str,
    beside: Mapping[str, str | Sequence[str]] | None = None,
    most: int = LONGEST_IN_ADDRESS,
    most_plain: int = LONGEST_IN_ADDRESS,
) -> str | None:
    """A text as a link holds it, compressed where it would be too long.

    Source: zlib is RFC 1950, base64url RFC 4648, section 5.
    """
    is_plain = fits_address(text, most=most_plain) and not text.startswith(_PACKED)
    if is_plain and fits_address(text, beside, most):
        return text
    data = text.encode()
    if len(data) > _LONGEST_UNPACKED:
        return None
    data = zlib.compress(data, 9)
    packed = _PACKED + base64.urlsafe_b64encode(data).decode().rstrip("=")
    return packed if fits_address(packed, beside, most) else None


def unpack(written: str) -> str | None:
    """The text that a link holds; `None` where it is cut, or is far too long."""
    if not written.startswith(_PACKED):
        return written
    packed = written.removeprefix(_PACKED)
    try:
        data = base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
        unpacking = zlib.decompressobj()
        text = unpacking.decompress(data, _LONGEST_UNPACKED).decode()
    except (ValueError, zlib.error):
        return None
    return text if unpacking.eof else None


def follow_default(
    key: str,
    default: Any,
    read: Callable[[str], Any] = lambda written: written,
    *,
    is_of_visit: bool = False,
) -> Any:
    """Gives a widget its value before it is drawn.

    `read` makes a value of what the address says; `None` passes it over. All pages
    share what `is_of_visit`: a step back leaves it.
    """
    before = defaults()
    is_linked = is_arrival() and key in st.query_params
    is_back = is_way_back() and not is_of_visit
    if key not in st.session_state or is_linked or is_back:
        found = read(st.query_params[key]) if key in st.query_params else None
        st.session_state[key] = default if found is None else found
    elif st.session_state[key] in (None, before.get(key, default)):
        _put(key, default)
    before[key] = default
    keep(key)
    return st.session_state[key]


def _put(key: str, value: Any) -> None:
    """Gives a widget another value: to set one takes away what is being typed."""
    if st.session_state[key] != value:
        st.session_state[key] = value


def defaults() -> dict[str, Any]:
    """What the choices of this session had as their defaults when last drawn."""
    held: dict[str, Any] = st.session_state.setdefault(_DEFAULTS, {})
    return held


def is_untouched(key: str) -> bool:
    """Whether a widget holds its default, or was not drawn in this session yet."""
    return bool(st.session_state.get(key) == defaults().get(key))


def own_texts() -> tuple[str, ...]:
    """What the boxes of sentences hold where it was typed, also if it was emptied."""
    held = [key for key in _SENTENCES if not is_untouched(key)]
    return tuple(str(st.session_state.get(key) or "") for key in held)


def put_into_address(wanted: Mapping[str, Sequence[str]]) -> None:
    """Sets parameters of the address; one without values is removed.

    All at once: changes of one moment are a single step of the browser's history, see
    `assets/components/frame.js`.
    """
    params = st.query_params
    changed = {
        key: values
        for key, values in wanted.items()
        if params.get_all(key) != list(values)
    }
    for key in [key for key, values in changed.items() if not values]:
        del params[key], changed[key]
    if changed:
        params.update(changed)


def write_linked(key: str, value: str, default: str, is_main: bool = False) -> bool:
    """Puts a value into the address, unless it is the default or too long.

    Returns whether a link brings it back. What `is_main`, the main text of a page, may
    take all the room that others leave.
    """
    if value == default:
        put_into_address({key: []})
        return True
    passed_over = (key,) if is_main else (key, *TEXTS_OF_PAGES)
    others = {name: _held(name) for name in st.query_params if name not in passed_over}
    room = () if is_main else (_LONGEST_TOGETHER, LONGEST)
    written = as_linked(value, others, *room)
    put_into_address({key: [] if written is None else [written]})
    return written is not None


def _held(name: str) -> Sequence[str]:
    """What stands in the address; for a text that has become shorter, what will."""
    written, typed = st.query_params.get_all(name), st.session_state.get(name)
    if name not in TEXTS_OF_PAGES or typed is None:
        return written
    return min(written, [str(typed)], key=lambda texts: len(quote("".join(texts))))


# How keys of widgets begin, where not as the keys of their texts.
_SHORT = {
    "activations": "act",
    "masked_word": "masked",
    "read_model": "read",
    "weight_names": "weights",
}


def _key_of(label: str) -> str:
    """The key of a widget, which links hold, where it has the key of its text."""
    page, _, name = label.partition(".")
    return f"{_SHORT.get(page, page)}_{name}"


def _draw(
    widget: Callable[..., object], label: str, *values: Any, key: str, **arguments: Any
) -> str:
    """Draws a widget that keeps its value; returns its label, see `labelled`."""
    label = labelled(label, arguments)
    if "format_func" in arguments and "selection_mode" not in arguments:
        _call_anew(key, arguments["format_func"])
    widget(label, *values, key=key, persist_state="session", **arguments)
    return label


def _call_anew(key: str, format_func: Callable[[Any], str]) -> None:
    """Tells a select box that what is chosen has another name now.

    In another language, or for another text. Streamlit's keeps the old one, which the
    next run finds among no options: the choice would be lost.
    """
    called = st.session_state.setdefault(_CALLED, {})
    chosen = st.session_state[key]
    name = None if chosen is None else format_func(chosen)
    before, called[key] = called.get(key), (chosen, name)
    if before not in (None, (chosen, name)) and before[0] == chosen:
        st.session_state[key] = chosen


def choose_linked(
    widget: Callable[..., object],
    label: str,
    options: Sequence[str] | Mapping[str, str],
    default: str | None = None,
    /,
    *,
    key: str = "",
    **arguments: Any,
) -> str:
    """Draws a choice that is part of the address; for the label see `labelled`.

    "" for `key` is what `_key_of` makes of the label's, here and below. What was chosen
    among other options gives way to `default`, which the address leaves out; `None` for
    the first. A mapping gives options other names for the reader.
    """
    key = key or _key_of(label)
    if isinstance(options, Mapping):
        arguments["format_func"] = options.__getitem__
    options = list(options)
    default = options[0] if default is None else default
    if follow_default(key, default) not in options:
        st.session_state[key] = default
    _draw(widget, label, options, key=key, **arguments)
    chosen = str(st.session_state[key] or default)
    write_linked(key, chosen, default)
    return chosen


def choose_named(
    label: str,
    options: Sequence[str],
    names: str = "",
    *,
    key: str = "",
    widget: Callable[..., object] = st.segmented_control,
    **arguments: Any,
) -> str:
    """The same where options have texts of their own; a row of buttons keeps one.

    `label` is the key of its text, `names` with "_" and an option that of the option,
    on the same page; without `names` the option's key begins with the label's.
    """
    page, _, name = label.partition(".")
    names = names or name
    if widget.__name__ in ("segmented_control", "pills"):
        arguments["required"] = True
    arguments["format_func"] = lambda option: plain(f"{page}.{names}_{option}")
    return choose_linked(widget, label, options, key=key, **arguments)


def choose_here(
    widget: Callable[..., object],
    label: str,
    options: Sequence[str],
    /,
    *,
    key: str,
    **arguments: Any,
) -> str:
    """`choose_linked` for a choice of this visit alone, which no link brings back."""
    if st.session_state.get(key) not in options:
        st.session_state[key] = options[0]
    _draw(widget, label, options, key=key, **arguments)
    return str(st.session_state[key])


def choose_linked_or_none(
    widget: Callable[..., object],
    label: str,
    options: Sequence[str],
    *,
    key: str = "",
    **arguments: Any,
) -> str | None:
    """`choose_linked` where nothing is chosen at first, and nothing may be."""
    key = key or _key_of(label)
    if follow_default(key, None) not in options:
        st.session_state[key] = None
    _draw(widget, label, options, key=key, **arguments)
    chosen: str | None = st.session_state[key]
    write_linked(key, chosen or "", "")
    return chosen


def choose_several(
    label: str,
    options: Sequence[str],
    default: Sequence[str] = (),
    *,
    key: str = "",
    widget: Callable[..., object] = st.pills,
    **arguments: Any,
) -> tuple[str, ...]:
    """Draws a choice of any number of options that is part of the address.

    They are in the order of `options`, however clicked. No option has a comma, which is
    between them in the address.
    """
    key = key or _key_of(label)
    held = follow_default(key, list(default), lambda written: written.split(","))
    if not set(held) <= set(options):
        st.session_state[key] = [option for option in options if option in held]
    _draw(widget, label, options, key=key, selection_mode="multi", **arguments)
    chosen, usual = (
        tuple(option for option in options if option in some)
        for some in (st.session_state[key], default)
    )
    write_linked(key, ",".join(chosen) or _NOTHING, ",".join(usual) or _NOTHING)
    return chosen


def switch_linked(
    label: str, *, key: str = "", default: bool = False, is_of_visit: bool = False
) -> bool:
    """Draws a switch that is part of the address; for more see `follow_default`."""
    key = key or _key_of(label)
    follow_default(key, default, lambda w: w.lower() == "true", is_of_visit=is_of_visit)
    _draw(st.toggle, label, key=key)
    is_on = bool(st.session_state[key])
    write_linked(key, str(is_on).lower(), str(default).lower())
    return is_on


def type_linked(
    widget: Callable[..., object],
    label: str,
    default: str,
    *,
    key: str = "",
    is_main: bool = False,
    max_chars: int | None = None,
    **arguments: Any,
) -> str:
    """Draws a text box whose text, without white space around it, is in the address.

    A link with more than `max_chars` is cut; `is_main`: see `write_linked`.
    """
    key = key or _key_of(label)
    linked = follow_default(key, default, unpack)
    if max_chars and len(linked or "") > max_chars:
        st.session_state[key] = linked[:max_chars]
    label = _draw(widget, label, key=key, max_chars=max_chars, **arguments)
    typed = str(st.session_state[key] or "")
    if not write_linked(key, typed, default, is_main):
        st.caption(t("masked.not_in_address", label=Markdown(label)))
    return typed.strip()


def whole_number(written: str, default: _Default) -> int | _Default:
    """What an address says, if it is a whole number of at most nine digits.

    Python itself refuses to read one of more than 4,300.
    """
    return int(written) if written.isdecimal() and len(written) <= 9 else default


def read_number(written: str, kind: type[N]) -> N | None:
    """What an address says, if it is a number; `None` where it is none."""
    try:
        number = float(written)
    except ValueError:
        return None
    return kind(number) if math.isfinite(number) else None


def choose_number(
    widget: Callable[..., object],
    label: str,
    low: N,
    high: N,
    default: N,
    *,
    key: str = "",
    **arguments: Any,
) -> N:
    """Draws a number that is part of the address; a value out of range moves in."""
    key, kind = key or _key_of(label), type(default)
    wanted = follow_default(key, default, functools.partial(read_number, kind=kind))
    wanted, ends = min(max(kind(wanted), low), high), (low, high)
    called = st.session_state.setdefault(_CALLED, {})
    if called.get(key) == ends:
        _put(key, wanted)
    else:  # with other ends a slider is another one, and has what it was given last
        st.session_state[key], called[key] = wanted, ends
    _draw(widget, label, low, high, key=key, **arguments)
    chosen = st.session_state[key]
    chosen = default if chosen is None else kind(chosen)
    write_linked(key, f"{chosen:.12g}", f"{default:.12g}")
    return chosen


def choose_piece(
    label: str,
    words: tuple[str, ...],
    likely: Sequence[int],
    first: int = 0,
    /,
    *,
    key: str,
    unknown: str,
    **arguments: Any,
) -> int:
    """Draws the choice: the likeliest pieces, or any that is typed; returns its id.

    While it is left alone, it follows what is likeliest; what was chosen stays, and is
    part of the address. `likely` are ids, best first, of which the one with number
    `first` is chosen to begin with; `unknown` is the key of the sentence about a `word`
    that the vocabulary lacks, and what is taken `instead`.
    """
    start_id = likely[min(first, len(likely) - 1)]
    start = words[start_id]
    held = follow_default(key, start)
    chosen = choose_linked(
        st.selectbox,
        label,
        list(dict.fromkeys([held, *(words[index] for index in likely)])),
        start,
        key=key,
        accept_new_options=True,
        **arguments,
    )
    found = id_of(words, chosen.strip())
    if found is not None:
        return found
    st.warning(t(unknown, word=chosen, instead=start), icon=":material/question_mark:")
    return start_id


def id_of(words: tuple[str, ...], word: str) -> int | None:
    """The id of a word as it was typed, or of the same in small letters."""
    for spelling in (word, word.lower()):
        if spelling in words:
            return words.index(spelling)
    return None
