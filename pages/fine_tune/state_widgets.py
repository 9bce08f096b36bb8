"""Choices that belong to the page's state, which puts them into the address."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from pages.fine_tune.state import remember


def choose_field(
    widget: Callable[..., object],
    label: str,
    options: Sequence[str],
    value: str,
    *,
    name: str,
    say: Callable[[str], str] = str,
    **arguments: Any,
) -> None:
    """Draws a choice; what is chosen is in the state of the next run.

    `name` is the field of `FineTuneState`, `say` names an option for the reader.
    """
    key = _key(name)
    st.session_state[key] = value
    # Named now: the language belongs to this run.
    names = {option: say(option) for option in options}
    widget(
        label,
        options,
        key=key,
        format_func=names.__getitem__,
        on_change=_take,
        args=(name,),
        **arguments,
    )


def enter_field(
    widget: Callable[..., object],
    label: str,
    value: float,
    *,
    name: str,
    **arguments: Any,
) -> None:
    """Draws a number; what is entered is in the state of the next run.

    `name` is the field of `FineTuneState`.
    """
    key = _key(name)
    st.session_state[key] = value
    widget(label, key=key, on_change=_take, args=(name,), **arguments)


def _key(name: str) -> str:
    return f"ft_field_{name}"


def _take(name: str) -> None:
    changes = {name: st.session_state[_key(name)]}
    if name == "label":
        # What one column is taken for says nothing of another.
        changes["kind"] = ""
    remember(**changes)
