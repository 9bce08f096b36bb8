"""What `app.py` and `server.py` give to the server that runs them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import streamlit as st
from starlette.middleware import Middleware
from streamlit.runtime.pages_manager import PagesManager

from pages.ui.engine import close, warm_up
from pages.ui.errors import shown_to_user
from pages.ui.security import SecurityHeaders

MIDDLEWARE = [Middleware(SecurityHeaders)]


@asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[None]:
    """Starts the engine with the server, and stops it with the server."""
    # Streamlit takes a folder of this name for its older kind of navigation until
    # `st.navigation` has run once: without this line, a link to any page but the
    # first, opened first on a fresh server, shows "Page not found".
    PagesManager.uses_pages_directory = False
    warm_up()
    yield
    await asyncio.to_thread(close)


def show_uncaught(error: Exception) -> bool:
    """Shows an error that no page caught, such as one of a widget's callback.

    Returns:
        True: Streamlit need not show it again.
    """
    with shown_to_user(stop=False):
        raise error
    return True
