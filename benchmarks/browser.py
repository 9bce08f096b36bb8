"""The browser that benchmarks look through."""

from __future__ import annotations

import shutil

from playwright.sync_api import Browser, Playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def launch(playwright: Playwright) -> Browser:
    """Starts the system's Chromium or Chrome, else Playwright's own.

    Raises:
        playwright.sync_api.Error: there is none.
    """
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    return playwright.chromium.launch(executable_path=found)
