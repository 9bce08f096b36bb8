"""The same app for others than its owner: `streamlit run server.py`.

Visitors choose from the list of models or upload their own; they name no path of
this machine, and fill no disk with downloads.
"""

import os
from pathlib import Path

import streamlit as st

from pages.shared.hosting import (
    MIDDLEWARE,
    ROUTES,
    lifespan,
    require_decision,
    show_uncaught,
)

# Engine and pages obey these. Set the first to "any" for visitors whom you trust.
for name, value in {"BERTVIZ_MODELS": "listed", "BERTVIZ_MAX_SESSIONS": "100"}.items():
    if not os.environ.get(name, "").strip():
        os.environ[name] = value
require_decision()

app = st.App(
    Path(__file__).parent / "app.py",
    lifespan=lifespan,
    routes=ROUTES,
    middleware=MIDDLEWARE,
    on_script_error=show_uncaught,
)
