"""A short program that gives the numbers of a view again, to copy."""

from __future__ import annotations

import streamlit as st

from bertviz_core.snippets.writing import write_snippet
from pages.ui.language import t


def show_code(template: str, *, name: str, **values: object) -> None:
    """Draws a program of the core's public names, folded up at first.

    Args:
        template: of `bertviz_core.snippets`.
        name: of the view; unique on the page.
        values: what the reader chose, see `write_snippet`.
    """
    # Made when it is opened, as most readers never do.
    box = st.expander(
        t("app.show_code"),
        icon=":material/code:",
        key=f"{name}_code",
        on_change="rerun",
    )
    if not box.open:
        return
    with box:
        st.caption(t("app.show_code_help"))
        st.code(write_snippet(template, **values), language="python", wrap_lines=True)
