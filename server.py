"""The same app for others than its owner: `streamlit run server.py`.

Adds what a host needs: the engine starts with the server instead of with the first
visitor, responses carry security headers, and visitors choose from the list of models
or upload their own, but name no path of this machine and fill no disk with downloads.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

from pages.ui.engine import close, warm_up
from pages.ui.security import SecurityHeaders

# Engine and pages obey it; set it to another value for visitors whom you trust.
os.environ.setdefault("BERTVIZ_MODELS", "listed")


@asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[None]:
    """Starts the engine with the server and stops it with the server."""
    warm_up()
    yield
    await asyncio.to_thread(close)


app = st.App(
    Path(__file__).parent / "app.py",
    lifespan=lifespan,
    middleware=[Middleware(SecurityHeaders)],
)
