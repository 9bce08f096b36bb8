"""What the address of a page holds: choices, and texts that it has room for.

Streamlit writes the shown name of an option into the address, so that a link from a
Chinese page would mean nothing on an English one. Here the option itself is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from urllib.parse import quote, urlencode

import streamlit as st

from pages.ui.language import help_of, plain, t

# Bytes of a page's texts together. Servers and proxies refuse long addresses, nginx
# from 8,192 bytes on; half of it leaves room for everything else.
LONGEST_IN_ADDRESS = 4000


def fits_address(
    text: str,
    beside: Mapping[str, str | Sequence[str]] | None = None,
    most: int = LONGEST_IN_ADDRESS,
) -> bool:
    """Whether a text can be part of a link.

    Args:
        text: as it was typed; a Chinese character takes nine bytes of an address.
        beside: what stands in the address already, or goes there with the text, by
            its name.
        most: bytes of all of it together.
    """
    if len(text) > most:
        return False
    others = urlencode(beside or {}, doseq=True, quote_via=quote, safe="")
    room = most - (len(others) + len("&") if others else 0)
    return len(quote(text, safe="")) <= room


def choose_linked(
    widget: Callable[..., object],
    label: str,
    options: Sequence[str],
    default: str | None = None,
    /,
    *,
    key: str,
    **arguments: object,
) -> str:
    """Draws a choice that is part of the address.

    Args:
        widget: `selectbox`, `segmented_control` or `pills` of Streamlit, or of a
            container.
        label: of the widget.
        options: in their order.
        default: one of the options, which the address leaves out; `None` for the
            first.
        key: of the widget, and of the choice in the address.
        arguments: passed on.

    Returns:
        The option that is chosen.
    """
    default = options[0] if default is None else default
    return _draw(widget, label, options, default, key, arguments) or default


def choose_named(
    label: str,
    options: Sequence[str],
    names: str,
    *,
    key: str,
    widget: Callable[..., object] = st.segmented_control,
    **arguments: object,
) -> str:
    """The same for a row of buttons, one of which is always chosen.

    Args:
        label: key of the text of the widget.
        options: in their order.
        names: with "_" and an option, the key of its text, on the page of `label`.
        key: of the widget, and of the choice in the address.
        widget: `segmented_control` or `pills`.
        arguments: passed on.

    Returns:
        The option that is chosen.
    """
    page = label.split(".", 1)[0]
    return choose_linked(
        widget,
        t(label),
        options,
        key=key,
        required=True,
        format_func=lambda option: plain(f"{page}.{names}_{option}"),
        help=help_of(label),
        **arguments,
    )


def choose_linked_or_none(
    widget: Callable[..., object],
    label: str,
    options: Sequence[str],
    *,
    key: str,
    **arguments: object,
) -> str | None:
    """The same, where nothing is chosen at first, and nothing may be.

    Args:
        widget: see `choose_linked`.
        label: of the widget.
        options: in their order.
        key: of the widget, and of the choice in the address.
        arguments: passed on.

    Returns:
        The option that is chosen, or `None`.
    """
    return _draw(widget, label, options, None, key, arguments)


def _draw(
    widget: Callable[..., object],
    label: str,
    options: Sequence[str],
    default: str | None,
    key: str,
    arguments: dict[str, object],
) -> str | None:
    if st.session_state.get(key, "") not in (default, *options):
        wanted = st.query_params.get(key)
        st.session_state[key] = wanted if wanted in options else default
    widget(label, options, key=key, persist_state="session", **arguments)
    chosen: str | None = st.session_state[key] or default
    if chosen == default or chosen is None:
        st.query_params.pop(key, None)
    elif st.query_params.get(key) != chosen:
        st.query_params[key] = chosen
    return chosen
