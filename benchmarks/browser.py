"""The browser that benchmarks and tests look through."""

import shutil

from playwright.sync_api import Browser, Playwright

# The shell is Chromium without windows, a tenth cheaper.
_NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)


def launch(playwright: Playwright) -> Browser:
    """Starts the system's Chromium or Chrome, else Playwright's own."""
    return playwright.chromium.launch(executable_path=system_browser())


def system_browser() -> str | None:
    """Where the system's Chromium or Chrome lies; `None` where there is none."""
    return next(filter(None, map(shutil.which, _NAMES)), None)
