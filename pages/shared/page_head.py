"""How every page begins: its title, and how to read it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from pages.shared.engine import has_answered
from pages.shared.language import t
from pages.shared.terms import terms_of

# Of the session: how often each page was opened, and which one is open.
_VISITS, _PAGE = "page_visits", "page_now"
# Pages that say in a sentence what they are about before all else.
_WITH_INTRO = ("home", "activations", "fine_tune", "pretraining")


def page_head(page: str) -> None:
    """Draws the title of a page, three sentences, and its new words.

    Who comes back to the page has read them: they are folded away then.

    Before the page's own script: that imports what its figures need, and the visitor
    reads meanwhile.

    Args:
        page: a name in `navigation.ICONS`; `<page>.title` and so on are the texts.
    """
    st.title(t(f"{page}.title"), anchor=False)
    if page in _WITH_INTRO:
        st.markdown(t(f"{page}.intro"))
    if _is_first_visit(page):
        _say_how_to_read(page)
        with st.expander(t("glossary.title"), icon=":material/menu_book:"):
            st.markdown(terms_of(page))
        return
    with st.expander(t("app.how_to_read"), icon=":material/menu_book:"):
        _say_how_to_read(page)
        st.markdown(terms_of(page))


def _is_first_visit(page: str) -> bool:
    """Whether this session has opened the page once; a rerun is no visit."""
    visits: dict[str, int] = st.session_state.setdefault(_VISITS, {})
    if st.session_state.get(_PAGE) != page:
        st.session_state[_PAGE] = page
        visits[page] = visits.get(page, 0) + 1
    return visits.get(page) == 1


def _say_how_to_read(page: str) -> None:
    pieces = (
        (t("app.what_you_see"), t(f"{page}.what_you_see")),
        (t("app.what_to_look_for"), t(f"{page}.what_to_look_for")),
        (t("app.what_it_does_not_prove"), t(f"{page}.what_it_does_not_prove")),
    )
    for column, (name, said) in zip(st.columns(3), pieces, strict=True):
        column.caption(f"**{name}**  \n{said}")


@contextmanager
def model_at_work(at_start_only: bool = False) -> Iterator[None]:
    """Says that the model starts, or thinks, while the block runs.

    Args:
        at_start_only: the block is quick once the engine runs; then there is no
            spinner, which costs a thread.
    """
    if at_start_only and has_answered():
        yield
        return
    busy = t("app.thinking") if has_answered() else t("app.starting")
    with st.spinner(busy):
        yield
