"""A real server and a real browser. Fixtures: `server`, `server_url`, `page`, `visit`,
and `alone` for the attention component without the app.

Every page that a test opens is watched: an error in the browser's console, or a
request to another machine, fails the test at its end.
"""

import contextlib
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import expect, sync_playwright

from benchmarks.browser import system_browser
from bertviz_core.engine.worker_specs import MAX_MODELS
from pages.shared.navigation import ICONS
from tests.browser.attention_alone import Alone

ROOT = Path(__file__).parents[2]
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Pages share one renderer: a page then finds Streamlit's scripts compiled.
    "--renderer-process-limit=1",
]
# How long a state is waited for at most: on a busy machine a server, and an answer of
# its engine, take their time.
START_SECONDS = 180
ANSWER_SECONDS = 120
expect.set_options(timeout=ANSWER_SECONDS * 1000)

# On a deep link, Streamlit first looks for itself below the page's own address.
PROBE = re.compile(r"/[a-z_]+/_stcore/(health|host-config)$")


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@dataclass
class Server:
    """A running server: its address and its process."""

    url: str
    process: subprocess.Popen


@contextlib.contextmanager
def running_server(cache, log, entry="app.py", **variables):
    """Starts the app on a free port and stops it at the end.

    Args:
        cache: folder for models that tests add.
        log: file for what the server says.
        entry: "app.py" or "server.py".
        variables: of its environment.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    own = ("BERTVIZ_", "STREAMLIT_")
    others = {k: v for k, v in os.environ.items() if not k.startswith(own)}
    # Of two models, most would be compiled again and again.
    ours = {"BERTVIZ_CACHE": str(cache), MAX_MODELS: "16"}
    command = [sys.executable, "-m", "streamlit", "run", entry]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--server.port", str(port)],
            cwd=ROOT,
            env={**others, **ours, **variables},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait_until_healthy(url, process, log)
        yield Server(url, process)
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_healthy(url, process, log):
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()[-2000:]
        try:
            urllib.request.urlopen(f"{url}/_stcore/health", timeout=5).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(log.read_text()[-2000:])


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """The app as `streamlit run app.py` serves it, for the whole session."""
    folder = tmp_path_factory.mktemp("server")
    with running_server(folder / "cache", folder / "log.txt") as started:
        yield started


@pytest.fixture(scope="session")
def server_url(server):
    """The address of the session's server."""
    return server.url


@pytest.fixture(scope="session")
def browser():
    """The system's Chromium or Chrome, else Playwright's own."""
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(
                executable_path=system_browser(), args=FLAGS
            )
        except PlaywrightError as error:
            _no_browser(error)
        yield browser
        browser.close()


def _no_browser(error):
    reason = (
        "The browser tests need Chromium or Chrome. Install one (on Debian: apt-get "
        "install chromium), or Playwright's own: python -m playwright install "
        f"chromium. Playwright says: {str(error).splitlines()[0]}"
    )
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


# What stands for parts that are still to come pulses, and without a graphics card the
# window is drawn anew for it sixty times a second. Here it stands still.
STILL = """() => {
  const still = new CSSStyleSheet()
  still.replaceSync('[data-testid=stSkeleton] { animation: none !important }')
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, still]
}"""

# Of a browser that knows the pages: what it sees on its first visit has a test of its
# own. An empty page keeps nothing.
KNOWN = f"""() => {{
  if (!location.host) return
  for (const page of {["", *ICONS]}) localStorage.setItem(`visited /${{page}}`, 'yes')
}}"""

# Of a browser, by the language that the app then speaks.
LOCALES = {"en": "en-US", "zh": "zh-CN"}


class Watched:
    """Notes what a page should not do."""

    def __init__(self, page, url):
        self.faults = []
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("request", lambda request: self._on_request(request.url, url))

    def _on_console(self, message):
        is_probe = PROBE.search(message.location.get("url", ""))
        if message.type == "error" and not is_probe:
            self.faults.append(f"console: {message.text}")

    def _on_request(self, asked, url):
        own = (url, url.replace("http", "ws", 1), "data:", "blob:", "file:")
        if not asked.startswith(own):
            self.faults.append(f"request: {asked}")


@pytest.fixture(scope="session")
def contexts(browser):
    """Makes a context for each language once: its pages share a warm cache.

    A page that may go offline takes one of its own.
    """
    made = {}

    def of(locale, is_local):
        kind = locale, is_local
        if kind not in made:
            made[kind] = context = browser.new_context(locale=locale)
            context.set_default_timeout(ANSWER_SECONDS * 1000)
            context.add_init_script(f"({STILL})()\n;({KNOWN})()")
            context.new_page()  # stays open, and the renderer with it
            context.on("close", lambda _: made.pop(kind, None))
        return made[kind]

    yield of
    for context in list(made.values()):
        context.close()


# What Streamlit keeps of a visitor, so that the next page is that of a new one.
FORGET = "() => localStorage.clear()"


@pytest.fixture
def new_page(request, contexts):
    """Makes an empty page: language, theme, width; `base` where it is of no server.

    A page of no server may go offline without those of the server.
    """
    pages, watched = [], []

    def make(locale="en-US", color_scheme="light", width=1280, base=None):
        is_local = (base or "").startswith(("about:", "file:"))
        page = contexts(locale, is_local).new_page()
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=color_scheme)
        pages.append(page)
        watched.append(Watched(page, base or request.getfixturevalue("server_url")))
        return page

    yield make
    for page in pages:
        if not page.is_closed():
            page.context.set_offline(False)
            with contextlib.suppress(PlaywrightError):  # an empty page has none
                page.evaluate(FORGET)
            page.close()
    assert [fault for watcher in watched for fault in watcher.faults] == []


@pytest.fixture
def page(new_page):
    """An empty page, English."""
    return new_page()


@pytest.fixture
def visit(new_page, request):
    """Opens an address and waits until the page is at rest."""

    def open_address(address, base=None, **browser):
        page = new_page(base=base, **browser)
        page.goto((base or request.getfixturevalue("server_url")) + address)
        settle(page)
        return page

    return open_address


@pytest.fixture
def alone(new_page):
    """Shows the attention component alone, see `Alone`; `width` is of the window."""

    def show(text="pair", width=1280, **how):
        return Alone(new_page(base="about:", width=width), text, **how)

    return show


def go_to(page, name):
    """Opens another page by its link in the menu."""
    menu = page.get_by_test_id("stSidebar").get_by_test_id("stPageLink-NavLink")
    menu.and_(page.locator(f"[href$={name}]")).click()
    expect(page).to_have_url(re.compile(f"/{name}"))
    settle(page)


def be_tended(page):
    """Waits for letters, for what moves, and for what the frame does to what is new.

    A component draws in a shadow tree, whose animations a document does not list.
    """
    page.evaluate("""async () => {
      await document.fonts.ready
      const trees = [document]
      for (const tree of trees)
        for (const { shadowRoot } of tree.querySelectorAll('*'))
          if (shadowRoot) trees.push(shadowRoot)
      const ending = trees.flatMap((tree) => tree.getAnimations()).filter(
        (one) => Number.isFinite(one.effect.getComputedTiming().endTime))
      await Promise.allSettled(ending.map((one) => one.finished))
      for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame)
    }""")


def box(locator):
    """Left, top, right and bottom of what is shown."""
    found = locator.bounding_box()
    left, top = found["x"], found["y"]
    return left, top, left + found["width"], top + found["height"]


def overflow(page):
    """Pixels by which a page is wider than its window; 0 where it fits.

    Measured in Streamlit's main part: the app around that hides what sticks out, so
    that the document itself is never too wide.
    """
    be_tended(page)
    return page.get_by_test_id("stMain").evaluate(
        "element => element.scrollWidth - element.clientWidth"
    )


def said_after(locator):
    """What a style sheet writes behind a part of the page; "none" where nothing."""
    return locator.evaluate("e => getComputedStyle(e, '::after').content")


def open_panel(page, name):
    """Clicks one of the pills that choose a part of a page, by its name."""
    page.get_by_role("radio", name=name, exact=True).or_(
        page.get_by_role("button", name=name, exact=True)
    ).first.click()


def settle(page):
    """Waits until the page has a title and its script has come to its end."""
    page.wait_for_selector("h1")
    page.wait_for_selector('[data-test-script-state="notRunning"]')


def open_table(views, number=0):
    """Opens a table of a component: a saved file shows it, a page has tools for it."""
    views.locator("details").nth(number).evaluate(
        "one => { one.style.display = 'block'; one.open = true }"
    )
