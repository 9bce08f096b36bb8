"""The choices and the three linked pictures, which answer before the rest of the page.

The pictures are a fragment in a fragment: a click in them draws them alone, another
choice the choices and them. Once the browser shows the new head it says so, and the
rest of the page follows. To run the page at the end of the fragment instead would take
back what is still on its way to the browser: Streamlit empties its queue at the start
of a run.

They are taken away as they are on the screen.
"""

import functools
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.analysis.shown_attention import (
    MASK,
    SPECIAL,
    AttentionOptions,
    Places,
    show_heads,
)
from bertviz_core.figures.attention_export import (
    attention_columns,
    attention_html,
    grid_columns,
)
from bertviz_core.figures.attention_pictures import (
    WordIds,
    all_heads,
    attention_links,
    difference_heads,
    difference_links,
)
from bertviz_core.figures.attention_thumbnails import StrongestLinks
from bertviz_core.figures.attention_view import AttentionView
from bertviz_core.snippets import attention as programs
from bertviz_core.trace import Texts, TokenizedText, Trace
from pages.attention.canvas import (
    CANVAS,
    METHODS,
    Look,
    View,
    attention_canvas,
    canvas_words,
    choose_view,
    current_look,
    hear,
    key_of_tokens,
    lock_row,
    locked_tokens,
    view_clicked,
)
from pages.attention.matrix import (
    matrix_question,
    measure_of,
    shown_attention,
    words_to_merge,
)
from pages.shared.answers import answer, ask, fetch
from pages.shared.choices import (
    choose_linked,
    defaults,
    follow_default,
    is_untouched,
    write_linked,
)
from pages.shared.components import save_kind
from pages.shared.engine import client
from pages.shared.export import MOST_ROWS, show_first_rows, table_csv, titled
from pages.shared.language import current_language, plain, t
from pages.shared.navigation import is_arrival
from pages.shared.own_text import TOKEN, Reading, focus_on, piece_in_focus
from pages.shared.panel import Columns, Program, download, panel, program, show_tools

_LOOK = "attention_drawn"
# For what the rest fell behind last; and whether the browser says that it shows it.
_ASKED, _IS_SHOWN = "attention_rest_asked", "attention_is_shown"
_SEEN_TOKEN = "attention_to"
# The locked tokens that the boxes already show.
_SEEN = "attention_pair_seen"
_KINDS = {MASK: "mask", SPECIAL: "special"}
# What the rest of the page is about: the view, and the locked tokens.
_Chosen = tuple[View, int | None, int | None]


@dataclass
class _PageRun:
    """One run of the whole page; runs of a fragment alone find their last one."""

    chosen: _Chosen | None = None


def choose_and_show(read: Reading) -> View:
    """Draws choices and pictures, with their program; gives what is asked for."""
    page_run = _PageRun()
    focus = piece_in_focus(read.tokenized)
    if is_arrival() and not is_untouched(TOKEN):
        lock_row(CANVAS, focus, key_of(read.tokenized))
    _choose_and_show(read, page_run)
    if page_run.chosen is None:
        st.stop()  # the fragment has said why
    return page_run.chosen[0]


@panel
def _choose_and_show(read: Reading, page_run: _PageRun) -> None:
    choices, pictures, below = st.container(), st.container(), st.container()
    with choices:
        view = choose_view(read, below)
    with pictures:
        _show(read, view, page_run)


@panel
def _show(read: Reading, view: View, page_run: _PageRun) -> None:
    hear(CANVAS)
    if page_run.chosen is None:
        page_run.chosen = _chosen(view, read.tokenized)
    elif st.session_state.pop(_IS_SHOWN, False):
        st.rerun()
    clicked = view_clicked(read.model, view)
    if clicked is None:
        st.rerun()
    chosen = _chosen(clicked, read.tokenized)
    is_rest_behind = chosen != page_run.chosen
    if is_rest_behind:
        # The same for the same choice: what the browser has had travels as a hash.
        name = hashlib.blake2s(repr(chosen).encode(), digest_size=8).hexdigest()
        st.session_state[_ASKED] = name
    is_shown = _show_pictures(read, clicked)
    if is_rest_behind and not is_shown:
        st.rerun()  # no picture is there that could say when it is shown


def _chosen(view: View, tokenized: TokenizedText) -> _Chosen:
    return view, *locked_tokens(CANVAS, tokenized.num_tokens, key_of(tokenized))


def _show_pictures(read: Reading, view: View) -> bool:
    """Draws the pictures and their program, and tells whether there are any.

    Else a sentence says that nothing is left, or long work is on its way.
    """
    words = words_to_merge(read.tokenized, view.options)
    grid = ask(all_heads).about(*read.asked, view.options, words)
    lines = ask(attention_links).about(*read.asked, view.layer, view.options, words)
    has_lines = view.method == "head"  # single heads alone have lines to compare
    if has_lines:
        fetch(matrix_question(read, view), grid, lines)
    shown = shown_attention("pictures", read, view)
    if shown is None:
        return False
    if not len(shown.places):
        st.info(t("attention.nothing_to_show"), icon=":material/visibility_off:")
        return False
    thumbnails, held = answer(grid)
    look = _linked_look(view, thumbnails.shape[1])
    links = answer(lines) if has_lines else None
    picture = picture_of(
        CANVAS,
        shown.places,
        shown.values,
        thumbnails,
        key_of(read.tokenized),
        look,
        layer=view.layer,
        head=view.head,
        links=links,
        measure=measure_of(view, shown.values),
        heads=look.heads if links is not None else (),
        held=held,
    )
    asked = st.session_state.get(_ASKED, "")
    remember = functools.partial(st.session_state.update, {_IS_SHOWN: True})
    attention_canvas(picture, CANVAS, asked=asked, on_shown=remember)
    offer_downloads(picture, read, view, _program(read, view))
    if shown.left_out > 0:
        st.caption(t("attention.left_out", share=shown.left_out))
    return True


def picture_of(
    key: str,
    places: Places,
    values: np.ndarray,
    thumbnails: np.ndarray,
    text_key: str,
    look: Look,
    **more: Any,
) -> AttentionView:
    """Places and values as a component draws them, with what is locked in it.

    `values` are float `[P, P]` for P places, rows look; `thumbnails` uint8
    `[L, N, h, w]`. For `text_key` see `key_of_tokens`, for more `AttentionView`.
    """
    num_tokens = int((places.first_tokens + places.num_tokens).max())
    from_place, to_place = (
        None if token is None else places.place_of(token)
        for token in locked_tokens(key, num_tokens, text_key)
    )
    return AttentionView(
        tokens=places.labels,
        kinds=tuple(_KINDS.get(kind, "word") for kind in places.kinds),
        segments=places.segments,
        thumbnails=thumbnails,
        matrix=values.astype("float32"),
        words=canvas_words(),
        from_token=from_place,
        to_token=to_place,
        scale=look.scale,
        threshold=look.threshold,
        is_lying=look.is_lying,
        groups=places.groups,
        first_tokens=places.first_tokens,
        text_key=text_key,
        **more,
    )


def _program(read: Reading, view: View) -> Program:
    """How the matrix is made; filters are left out."""
    asks_layer, asks_head = METHODS[view.method]
    values: dict[str, Any] = {"layer": view.layer} if asks_layer else {}
    values |= {"head": view.head} if asks_head else {}
    values |= {"heads": view.heads} if view.method == "chosen" else {}
    return program(getattr(programs, view.method.upper()), *read.asked, **values)


def _linked_look(view: View, num_heads: int) -> Look:
    """How the pictures are to be drawn; the link to the page brings it back."""
    default = Look().as_link()
    before = Look.of_link(follow_default(_LOOK, default))
    look = current_look(CANVAS, (view.layer, view.head), num_heads, before)
    st.session_state[_LOOK] = look.as_link()
    write_linked(_LOOK, look.as_link(), default)
    return look


def key_of(tokenized: TokenizedText) -> str:
    """What tells a text from others in a component, see `key_of_tokens`."""
    return key_of_tokens(tokenized.tokens, tokenized.token_type_ids)


def follow_lock(tokenized: TokenizedText) -> None:
    """Another cell was locked in the pictures: the boxes follow. Call it before them.

    Filters that hide a locked token, and show it again, lock nothing. One pair serves
    all questions, and the link carries it.
    """
    now = locked_tokens(CANVAS, tokenized.num_tokens, key_of(tokenized))
    if now == st.session_state.get(_SEEN, (None, None)):
        return
    st.session_state[_SEEN] = now
    looks, seen = now
    if looks is not None:
        focus_on(looks)
    if seen is not None:
        st.session_state[_SEEN_TOKEN] = str(seen + 1)
        defaults().pop(_SEEN_TOKEN, None)  # it is chosen, if it were the default


def choose_pair(read: Reading, view: View, seen: str) -> tuple[int, int]:
    """Draws the two boxes, for the indices of who looks and who is seen.

    While nobody is chosen or locked, that is whom it looks at most in the head that is
    shown. `seen` is the key of the label in "attention".
    """
    tokens = enumerate(read.tokenized.tokens, start=1)
    names = {str(number): f"{number} {token}" for number, token in tokens}
    boxes = st.columns(2)
    focus = piece_in_focus(read.tokenized)
    explained = t("attention.pair_box_help")
    boxes[0].selectbox(
        t("attention.edge_from"),
        list(names),
        format_func=names.__getitem__,
        key=TOKEN,
        help=explained,
        persist_state="session",
    )
    locked = st.session_state.get(_SEEN, (None, None))[1]
    if locked is None:
        shown = replace(view, method="head")
        weights = answer(matrix_question(read, shown))[focus]
        most = int(weights.argmax())
    else:  # anybody else, so that the link names who is locked
        most = -1 if locked == 0 else 0
    seen_number = choose_linked(
        boxes[1].selectbox,
        f"attention.{seen}",
        names,
        list(names)[most],
        key=_SEEN_TOKEN,
        help=explained,
    )
    return focus, int(seen_number) - 1


# What `attention_pictures.difference_heads` takes: twice a model and what it reads, and
# the words and filters of both.
Sides = tuple[str, Texts, str, Texts, tuple[WordIds, WordIds], AttentionOptions]
_PICTURES = ("heatmap_svg", "lines_svg", "grid_svg")
_MOST_SAVED = 128  # tokens; all heads of BERT-base make a file of 13 MB then


def offer_downloads(
    picture: AttentionView, read: Reading, view: View, code: Program
) -> None:
    """Draws the tools of what is shown; a file is made when its button is clicked."""

    def strongest() -> list[StrongestLinks]:
        """A question for each layer."""
        words = words_to_merge(read.tokenized, view.options)
        return [
            ask(attention_links)(*read.asked, layer, view.options, words)
            for layer in range(len(picture.thumbnails))
        ]

    def every_head() -> np.ndarray:
        # Not kept: it is large, and asked for once.
        trace = client().ask(Trace.only)(*read.asked, ("attention_probs",))
        attention = np.asarray(trace.attention_probs)
        return show_heads(attention, read.tokenized, view.options).astype(np.float32)

    # Of all of the text, however few words are shown.
    is_small = read.tokenized.num_tokens <= _MOST_SAVED
    files = read.texts.text, strongest, every_head, is_small
    _offer("attention", CANVAS, picture, *files, code)


def offer_difference(picture: AttentionView, name: str, sides: Sides) -> None:
    """Draws the tools of a difference; `sides` is what is taken away, and from what."""
    _offer(
        *(name, name, picture, picture.measured.difference),
        lambda: ask(difference_links)(*sides),
        lambda: client().ask(difference_heads)(*sides),
        len(picture.tokens) <= _MOST_SAVED,
    )


def _show_tables(
    picture: AttentionView, links: Callable[[], Sequence[StrongestLinks]]
) -> None:
    """What is shown, the largest first, and where tokens look most in every head."""
    for name, columns, total in (
        ("shown", attention_columns(picture, MOST_ROWS), picture.matrix.size),
        ("heads", grid_columns(picture, links()), None),
    ):
        told = t(f"attention.table_{name}")
        st.markdown(f"**{told}**")
        show_first_rows(_named(columns), told, total)


def _named(columns: Columns) -> Columns:
    return {f"attention.column_{key}": columns[key] for key in columns}


def _offer(
    name: str,
    key: str,
    picture: AttentionView,
    title: str,
    links: Callable[[], Sequence[StrongestLinks]],
    every_head: Callable[[], np.ndarray],
    is_small: bool,
    code: Program | None = None,
) -> None:
    """Draws the tools of a view; `key` is that of the component that draws it."""
    has_all = is_small and picture.measured.has_head

    def csv(columns: Columns) -> bytes:
        return table_csv(titled(_named(columns)))

    def all_views() -> bytes:
        # Nobody answers such a file: it holds every head, or the one that is shown.
        heads = every_head() if has_all else None
        return attention_html(picture, title, current_language(), heads)

    files: dict[str, tuple[Callable[[], bytes], str]] = {
        "csv": (lambda: csv(attention_columns(picture)), "text/csv"),
        "grid_csv": (lambda: csv(grid_columns(picture, links())), "text/csv"),
        "html": (all_views, "text/html"),
    }

    def save() -> None:
        save_kind(key, "png", plain("app.picture_png"))
        for kind in _PICTURES:
            file = plain(f"attention.file_{kind}")
            save_kind(key, kind, plain(f"attention.save_{kind}"), file)
        for kind, (make, mime) in files.items():
            label, file = (f"attention.{part}_{kind}" for part in ("save", "file"))
            download(label, make, plain(file), mime, f"{name}_save_{kind}")
        if not has_all:  # said beside the button and not only in the file
            st.caption(t("attention.html_holds_one"))

    show = functools.partial(_show_tables, picture, links)
    show_tools(name, code, table=show, download=save)
