"""English and Chinese: which one a visitor reads, and the texts.

A text has a key, "<page>.<name>", and stands in `assets/locales/<language>/
<page>.json`. The language belongs to a visitor's session, never to the process.

What a user typed is shown letter for letter inside of it, never interpreted.
Streamlit renders labels, captions and messages as Markdown with extras: emoji
codes, icons, colours, arrows, links for bare addresses. A backslash stops what the
parser reads; the extras look at the parsed text again, so there an invisible word
joiner (U+2060) comes between their letters.
"""

import functools
import json
import re
import threading
from collections.abc import Callable, Iterable
from numbers import Real
from pathlib import Path
from typing import Any, TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from bertviz_core.figures.labels import with_minus

R = TypeVar("R")
LANGUAGES = {"en": "English", "zh": "中文"}

_LOCALES = Path(__file__).parents[2] / "assets" / "locales"
_KEY = "lang"
# A run asks for its language two hundred times, and the session takes its time. What
# runs in a thread is of one session, and another language runs all of the page.
_RUN = threading.local()


def choose_language() -> str:
    """Draws the language switch in the sidebar. Call it before any text."""
    st.sidebar.segmented_control(
        text("app.language", "en"),
        list(LANGUAGES.values()),
        default=LANGUAGES[_browser_language()],
        required=True,
        key=_KEY,
        bind="query-params",  # not by `choices`, which needs the language
        label_visibility="collapsed",
    )
    _RUN.language = _chosen_language()
    return _RUN.language


def current_language() -> str:
    """The language of this run, "en" or "zh"."""
    known: str | None = getattr(_RUN, "language", None)
    if known is None:
        known = _chosen_language()
        if get_script_run_ctx() is not None:  # a part of a page that runs alone
            _RUN.language = known
    return known


def in_this_language(make: Callable[[], R]) -> Callable[[], R]:
    """The same in the language of this run, for a click that has no session to ask."""
    language = current_language()

    def made() -> R:
        before = getattr(_RUN, "language", None)
        _RUN.language = language
        try:
            return make()
        finally:
            _RUN.language = before

    return made


def _chosen_language() -> str:
    chosen = st.session_state.get(_KEY)
    for language, name in LANGUAGES.items():
        if name == chosen:
            return language
    return _browser_language()


def t(key: str, **places: Any) -> str:
    """The text of a key in the visitor's language, as Markdown.

    What fills a named place is escaped if it is a string, and so shown letter for
    letter; numbers take the place's format.
    """
    safe = {
        name: escape(place) if isinstance(place, str) else place
        for name, place in places.items()
    }
    return text(key, current_language(), **safe)


def plain(key: str, **places: Any) -> str:
    """Like `t`, for places that show text as it is: table cells, file names."""
    return text(key, current_language(), **places)


def title_of(name: str) -> str:
    """The text of a key, as it is; another name stays what it is."""
    return plain(name) if is_key(name) else name


def is_key(name: str) -> bool:
    """Whether there is a text with this key."""
    page, _, rest = name.partition(".")
    return page in _pages() and rest in _texts("en", page)


def help_of(key: str, **places: Any) -> str | None:
    """What explains a text: the one with "_help" behind its key, or the glossary.

    That explains what is called as one of its terms is. `None` where neither does.
    """
    page, name = f"{key}_help".split(".", 1)
    if name in _texts(current_language(), page):
        return t(f"{key}_help", **places)
    term = _terms(current_language()).get(_as_term(plain(key, **places)))
    return t(f"glossary.{term}_meaning") if term else None


def _as_term(said: str) -> str:
    """A term without what stands in brackets, in small letters."""
    return re.split(r"\s*[（(]", said)[0].casefold()


@functools.cache
def _terms(language: str) -> dict[str, str]:
    """The names of the glossary's terms by what these are called."""
    said = _texts(language, "glossary")
    return {_as_term(said[name]): name for name in said if f"{name}_meaning" in said}


def labelled(label: str, arguments: dict[str, Any]) -> str:
    """What a widget is called: the text of a key, which brings its help, or a text."""
    if not is_key(label):
        return label
    arguments.setdefault("help", help_of(label))
    return t(label)


def words_of(page: str) -> Callable[[str], str]:
    """What the figures of a page say, by name: its texts with "figure_" before them."""
    return lambda name: plain(f"{page}.figure_{name}")


def texts_of(page: str) -> dict[str, str]:
    """All texts of a page by name, for a component, which fills their places."""
    return dict(_texts(current_language(), page))


def listed(items: Iterable[str]) -> str:
    """Items one after the other, with the visitor's comma between them."""
    return plain("app.list_comma").join(items)


def in_a_row(sentences: Iterable[str]) -> str:
    """Whole sentences one after the other; Chinese leaves no space between them."""
    gap = "" if current_language() == "zh" else " "
    return gap.join(filter(None, sentences))


def text(key: str, language: str, **places: Any) -> str:
    """The text of a key in a given language, places filled as they are."""
    page, name = key.split(".", 1)
    template = _texts(language, page)[name]
    if not places:
        return template
    return template.format(**{name: _signed(place) for name, place in places.items()})


def _signed(place: Any) -> Any:
    return _Negative(place) if isinstance(place, Real) and place < 0 else place


class _Negative:
    """A number below 0, whose sign is a minus in any format, as in figures."""

    def __init__(self, number: Real) -> None:
        self._number = number

    def __format__(self, how: str) -> str:
        return with_minus(format(self._number, how))


def _browser_language() -> str:
    locale = st.context.locale or ""
    return "zh" if locale.lower().startswith("zh") else "en"


@functools.cache
def _pages() -> frozenset[str]:
    return frozenset(path.stem for path in (_LOCALES / "en").glob("*.json"))


@functools.cache
def _texts(language: str, page: str) -> dict[str, str]:
    path = _LOCALES / language / f"{page}.json"
    return json.loads(path.read_text(encoding="utf-8"))


MAX_CHARACTERS = 300

_JOINER = "\u2060"
_ISOLATE, _END_ISOLATE = "\u2068", "\u2069"
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
# Emoji codes and icons (":name:"), addresses ("://", "www.", "@").
_AFTER = re.compile(r"(:(?=[\w+/-]+:)|:(?=//)|\bwww(?=\.)|@)", re.IGNORECASE)
# Arrows and comparison signs that Streamlit turns into one character.
_SIGNS = re.compile(r"(<|>|-|~)(?=[-=>])")
# C0 and C1 controls have no picture, and half of a surrogate pair is no character;
# U+FFFD says that something was there.
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")
# Invisible marks that turn the reading direction of what follows.
_DIRECTION_MARKS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# Hebrew, Arabic and neighbours.
_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc"
    "\U00010800-\U00010fff\U0001e800-\U0001efff]"
)


class Markdown(str):
    """Text that is Markdown already; `escape` leaves it alone."""

    __slots__ = ()


def escape(text: str, max_characters: int = MAX_CHARACTERS) -> Markdown:
    """Makes a user's text safe to stand inside a Markdown sentence.

    What is longer than `max_characters` ends in "…".
    """
    if isinstance(text, Markdown):
        return text
    return literal(tidy(text, max_characters))


def tidy(text: str, max_characters: int = MAX_CHARACTERS) -> str:
    """Makes a user's text fit to stand in one line of plain text.

    White space, line breaks included, becomes single spaces. A text that reads
    from right to left is isolated, so it does not turn the sentence around it.
    """
    visible = _DIRECTION_MARKS.sub("", _CONTROLS.sub("\ufffd", text))
    line = " ".join(visible.split())
    if len(line) > max_characters:
        line = line[: max_characters - 1] + "…"
    if _RIGHT_TO_LEFT.search(line):
        return _ISOLATE + line + _END_ISOLATE
    return line


def literal(line: str) -> Markdown:
    """Escapes all that Markdown and Streamlit's extras would interpret."""
    line = _AFTER.sub(rf"\1{_JOINER}", _SIGNS.sub(rf"\1{_JOINER}", line))
    return Markdown(_PUNCTUATION.sub(r"\\\1", line))


def spoken(markdown: str) -> str:
    """A sentence of Markdown as a screen reader should read it out."""
    without_marks = re.sub(r"(?<!\\)[*`]", "", markdown).replace(_JOINER, "")
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", without_marks)


def table(header: list[str], rows: list[list[str]]) -> Markdown:
    """Writes a Markdown table; every cell is shown as text."""
    lines = [[escape(cell) for cell in row] for row in [header, *rows]]
    lines.insert(1, [Markdown("---")] * len(header))
    return Markdown("\n".join("| " + " | ".join(line) + " |" for line in lines))
