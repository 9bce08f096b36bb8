"""A short program that gives the numbers of a view again, to copy."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from bertviz_core.snippets.writing import write_snippet
from bertviz_core.trace import Texts
from pages.shared.language import t

if TYPE_CHECKING:
    from streamlit.elements.lib.mutable_popover_container import PopoverContainer

Program = Callable[[], str]
TOOL_WIDTH = 640  # of what a tool opens, pixels; a narrow screen makes it narrower


def program(template: str, *about: str | Texts, **values: object) -> Program:
    """A program of the core's public names, which is written when somebody wants it.

    `template` is one of `bertviz_core.snippets`; it is `about` a model and what that
    reads; for the other `values` see `write_snippet`.
    """
    for one in about:
        if isinstance(one, Texts):
            values |= {"text": one.text, "pair": one.pair}
        else:
            values["model"] = one
    return functools.partial(write_snippet, template, **values)


def tool(name: str, kind: str, label: str, icon: str) -> PopoverContainer:
    """Draws one of the quiet buttons below a view; what it opens is made when open.

    `name` is that of the view, unique on the page, `kind` that of the tool below it.
    """
    return st.popover(
        label,
        type="tertiary",
        icon=f":material/{icon}:",
        key=f"{name}_{kind}",
        on_change="rerun",
    )


def offer_code(name: str, code: Program) -> None:
    """Draws the button that opens a program."""
    box = tool(name, "code", t("app.show_code"), "code")
    if box.open:
        with box.container(width=TOOL_WIDTH):
            st.caption(t("app.show_code_help"))
            st.code(code(), language="python", wrap_lines=True)


def show_code(template: str, *about: str | Texts, name: str, **values: object) -> None:
    """Draws the button of a program below a view that is no figure."""
    with st.container(horizontal=True):
        offer_code(name, program(template, *about, **values))
