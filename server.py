"""The same app for others than its owner: `streamlit run server.py`.

Visitors choose from the list of models or upload their own; they name no path of
this machine, and fill no disk with downloads.
"""

import os
from pathlib import Path

import streamlit as st

from pages.shared.hosting import MIDDLEWARE, ROUTES, lifespan, show_uncaught

# Engine and pages obey it; set it to "any" for visitors whom you trust.
if not os.environ.get("BERTVIZ_MODELS", "").strip():
    os.environ["BERTVIZ_MODELS"] = "listed"

app = st.App(
    Path(__file__).parent / "app.py",
    lifespan=lifespan,
    routes=ROUTES,
    middleware=MIDDLEWARE,
    on_script_error=show_uncaught,
)
