"""What the steps of the fine-tuning page draw alike: buttons, fields, tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from pages.shared.choices import choose_named
from pages.shared.export import download_csv, show_figure
from pages.shared.language import help_of, plain, t

if TYPE_CHECKING:
    import plotly.graph_objects as go

Columns = dict[str, list[Any]]


def button(
    label: str,
    key: str,
    icon: str,
    call: Callable[..., None] | None = None,
    *args: object,
    **options: Any,
) -> bool:
    """Draws a button; a click calls `call`, before the page is drawn again."""
    sign = f":material/{icon}:" if icon else None
    return st.button(label, key=key, icon=sign, on_click=call, args=args, **options)


def draw_field(
    widget: Callable[..., object],
    label: str,
    value: object,
    options: Sequence[str] | None = None,
    *,
    key: str,
    take: Callable[..., object],
    args: tuple[Any, ...] = (),
    say: Callable[[str], str] = str,
    **arguments: Any,
) -> None:
    """Draws what something else remembers: `take` hands over what was entered.

    `label` is the key of a text, `say` names an option for the reader.
    """
    st.session_state[key] = value
    if options is not None:
        # Named now: the language belongs to this run.
        names = {option: say(option) for option in options}
        arguments |= {"options": options, "format_func": names.__getitem__}
    arguments["help"] = arguments.get("help") or help_of(label)
    widget(t(label), key=key, on_change=take, args=args, **arguments)


def choose_panel(label: str, panels: Iterable[str], key: str) -> str:
    """Draws a choice of questions, of which one is open."""
    panels = tuple(panels)
    return choose_named(label, panels, "panel", key=key, widget=st.pills)


def named(columns: Mapping[str, Any]) -> Columns:
    """The columns of a table, whose names are keys of texts."""
    return {
        plain(key): values.tolist() if isinstance(values, np.ndarray) else list(values)
        for key, values in columns.items()
    }


def draw_figure(
    figure: go.Figure,
    columns: Mapping[str, Any],
    more: Columns | None = None,
    **how: Any,
) -> None:
    """`show_figure` with keys of texts as names of columns, and `more` with others."""
    show_figure(figure, columns=named(columns) | (more or {}), **how)


def show_table(columns: Mapping[str, Any], said: str, name: str = "") -> None:
    """Draws a table, what it says, and with a name the button that saves it.

    The names of its columns are keys of texts.
    """
    table = named(columns)
    st.dataframe(table, hide_index=True, alt=said)
    st.caption(said)
    if name:
        download_csv(table, name)
