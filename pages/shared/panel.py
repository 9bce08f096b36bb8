"""A panel: a part of a page that is drawn by itself, such as a question's answer."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec

import streamlit as st

from pages.shared.errors import shown_to_user
from pages.shared.language import help_of, labelled, t
from pages.shared.turns import TURNS

P = ParamSpec("P")


def panel(draw: Callable[P, None], every: float | None = None) -> Callable[P, None]:
    """Makes a function a panel: it runs alone, and its errors end in a sentence.

    A widget inside draws the panel anew and leaves the rest of the page alone. All that
    a page says of its sentence is one, too: another text need not draw the links and
    the choice of a model anew. What follows on the page stands after an error, too.

    `every`: seconds after which it draws itself anew, again and again.
    """

    @functools.wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> None:
        with TURNS.taken(), shown_to_user(stop=False):
            draw(*args, **kwargs)

    return st.fragment(drawn, run_every=every)


def show_numbers(
    numbers: Mapping[str, str | tuple[str, str]], **places: object
) -> None:
    """Draws numbers side by side, each with its name and its explanation.

    `numbers` are by the keys of their names: a number, or that and what stands below
    it. `places` fill names and explanations.
    """
    for box, key in zip(st.columns(len(numbers)), numbers, strict=True):
        number = numbers[key]
        value, below = number if isinstance(number, tuple) else (number, None)
        box.metric(
            t(key, **places),
            value,
            below,
            delta_color="off",
            delta_arrow="off",
            help=help_of(key, **places),
        )


def button(
    label: str,
    key: str,
    icon: str = "",
    call: Callable[..., Any] | None = None,
    *args: object,
    **options: Any,
) -> bool:
    """Draws a button; a click calls `call`, before the page is drawn again.

    `label` is the key of its text or a text, see `labelled`.
    """
    label, sign = labelled(label, options), f":material/{icon}:" if icon else None
    return st.button(label, key=key, icon=sign, on_click=call, args=args, **options)


def download(
    label: str,
    make: Callable[[], str | bytes],
    file_name: str,
    mime: str,
    key: str,
    icon: str = "",
    **options: Any,
) -> None:
    """Draws a button that saves a file, which is made at the click, see `button`."""
    label, sign = labelled(label, options), f":material/{icon}:" if icon else None
    how = {"key": key, "icon": sign, "on_click": "ignore", **options}
    st.download_button(label, make, file_name=file_name, mime=mime, **how)
