"""The head of every page: its title, and how to read it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from pages.shared.engine import has_answered
from pages.shared.language import t
from pages.shared.terms import terms_of

# Pages that say in a sentence what they are about before all else.
_WITH_INTRO = ("activations", "fine_tune", "pretraining")


def page_head(page: str) -> None:
    """Draws one line: the title of a page, and what opens how to read it.

    That is three sentences and the new words; the picture comes first.

    Before the page's own script: that imports what its figures need, and the visitor
    reads meanwhile.
    """
    with st.container(horizontal=True, vertical_alignment="center", key="page_head"):
        st.title(t(f"{page}.title"), anchor=False, width="content")
        with st.popover(t("app.how_to_read"), icon=":material/menu_book:"):
            if page in _WITH_INTRO:
                st.markdown(t(f"{page}.intro"))
            _say_how_to_read(page)
            st.markdown(f"**{t('glossary.title')}**\n\n{terms_of(page)}")


def _say_how_to_read(page: str) -> None:
    pieces = (
        (t("app.what_you_see"), t(f"{page}.what_you_see")),
        (t("app.what_to_look_for"), t(f"{page}.what_to_look_for")),
        (t("app.what_it_does_not_prove"), t(f"{page}.what_it_does_not_prove")),
    )
    st.markdown("\n\n".join(f"**{name}** {said}" for name, said in pieces))


@contextmanager
def model_at_work(at_start_only: bool = False) -> Iterator[None]:
    """Says that the model starts, or thinks, while the block runs.

    `at_start_only`: the block is quick once the engine runs, and a spinner costs a
    thread.
    """
    if at_start_only and has_answered():
        yield
        return
    busy = t("app.thinking") if has_answered() else t("app.starting")
    with st.spinner(busy):
        yield
