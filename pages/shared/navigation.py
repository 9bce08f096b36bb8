"""The pages, in the order of the links, each with its icon, and which one is open."""

from collections.abc import Mapping

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.shared.language import t

FIRST = "home"
ICONS = {
    FIRST: "home",
    "masked_word": "edit_note",
    "attention": "hub",
    "embeddings": "scatter_plot",
    "layers": "layers",
    "read_model": "auto_stories",
    "activations": "show_chart",
    "pretraining": "school",
    "fine_tune": "model_training",
    "models": "deployed_code",
}

# Of the session: the page that is open, and whether this run has opened it.
_PAGE, _HAS_ARRIVED = "page_now", "page_is_new"


def link_to(
    page: str,
    label: str = "",
    icon: str = "",
    /,
    params: Mapping[str, str] | None = None,
    **places: str,
) -> None:
    """Draws a link to another page, in the state that `params` of its address are.

    `label` is the key of its text, which `places` fill; "" is the page's own, and for
    `icon` its sign.
    """
    said = t(label or f"app.page_{page}", **places)
    sign = f":material/{icon or ICONS[page]}:"
    script = f"pages/{page}/{page}.py"
    st.page_link(script, label=said, icon=sign, query_params=params or None)


def arrive(page: str) -> None:
    """Takes note of the page of a whole run, before anything reads the address."""
    st.session_state[_HAS_ARRIVED] = st.session_state.get(_PAGE) != page
    st.session_state[_PAGE] = page


def is_arrival() -> bool:
    """Whether this run opens a page by a link, whose address then counts."""
    return is_page_new() and not is_way_back()


def is_page_new() -> bool:
    """Whether this run opens a page, by a link or by the browser's way back."""
    context = get_script_run_ctx()
    if context is None or context.fragment_ids_this_run:
        return False
    return bool(st.session_state.get(_HAS_ARRIVED))


def keep(key: str) -> None:
    """Has a widget take its value along to a new page. Call it before it is drawn.

    Streamlit forgets there what was set, and not clicked or typed.
    """
    if is_page_new() and key in st.session_state:
        st.session_state[key] = st.session_state[key]


def is_way_back() -> bool:
    """Whether this run is one of the browser's steps back or forward."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation
