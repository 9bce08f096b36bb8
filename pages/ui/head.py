"""How every page begins: its title, and how to read it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from pages.ui.engine import has_answered
from pages.ui.language import t


def page_head(
    title: str, see: str, look_for: str, not_proved: str, intro: str = ""
) -> None:
    """Draws the title and three sentences. Call it first: it needs no engine.

    Args:
        title: of the page.
        see: what the reader sees.
        look_for: what is worth looking for.
        not_proved: what the page does not prove.
        intro: a line between the title and these.
    """
    st.title(title, anchor=False)
    if intro:
        st.markdown(intro)
    pieces = (
        (t("app.what_you_see"), see),
        (t("app.what_to_look_for"), look_for),
        (t("app.what_it_does_not_prove"), not_proved),
    )
    for column, (name, text) in zip(st.columns(3), pieces, strict=True):
        column.caption(f"**{name}**  \n{text}")


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
