"""What the server does for the pages."""

import asyncio
import contextlib
import logging
import os
import runpy
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import streamlit as st
from streamlit.runtime.pages_manager import PagesManager

from pages.shared import hosting
from pages.shared.hosting import send_at_once
from tests.app.real_pages import run_function

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def settings(monkeypatch):
    """What an entry point sets in Streamlit; nothing of it stays, nor in the system."""
    given = {}
    monkeypatch.setattr(hosting.config, "set_option", given.__setitem__)
    monkeypatch.setenv("BERTVIZ_MAX_SESSIONS", "")
    return given


def failing_script(template):
    import streamlit as st

    from bertviz_core.errors import TextError
    from pages.shared.hosting import show_uncaught

    error = TextError(template) if template else RuntimeError("secret of the server")
    st.session_state["handled"] = show_uncaught(error)


def test_a_defect_in_a_callback_is_one_sentence(client, caplog):
    with caplog.at_level(logging.ERROR):
        app = run_function(failing_script, "")
    assert app.session_state["handled"]
    assert "Something went wrong in this app" in app.error[0].value
    assert "secret" not in app.error[0].value
    assert "secret of the server" in caplog.text


def test_an_error_of_the_user_in_a_callback_is_its_own_sentence(client):
    app = run_function(failing_script, "The text is empty. Type a sentence.")
    assert app.session_state["handled"]
    assert "text is empty" in app.error[0].value


@pytest.mark.parametrize("script", ["app.py", "server.py"])
def test_the_server_warms_the_engine_up_before_it_serves_and_closes_it(
    monkeypatch, script
):
    given, happened = [], []
    monkeypatch.setenv("BERTVIZ_MODELS", "any")  # what `server.py` sets ends here
    monkeypatch.setattr(st, "App", lambda *_, **options: given.append(options))
    monkeypatch.setattr(hosting, "warm_up", lambda: happened.append("warm-up"))
    monkeypatch.setattr(hosting, "close", lambda: happened.append("close"))
    monkeypatch.setattr(
        PagesManager, "uses_pages_directory", PagesManager.uses_pages_directory
    )
    runpy.run_path(str(ROOT / script))
    (options,) = given

    async def serve():
        async with options["lifespan"](None):
            happened.append("serves")

    asyncio.run(serve())
    assert happened == ["warm-up", "serves", "close"]


@pytest.mark.parametrize(
    ("page", "part", "is_heard"),
    [("old", "a", False), ("new", "a", True), ("", "a", True), ("old", "", True)],
)
def test_what_a_part_of_a_page_says_once_it_is_left_is_passed_over(
    monkeypatch, page, part, is_heard
):
    heard = []
    monkeypatch.setattr(hosting, "_REQUEST_RERUN", lambda _, said: heard.append(said))
    said = SimpleNamespace(page_script_hash=page, fragment_id=part)
    now = SimpleNamespace(current_page_script_hash="new")
    hosting._request_rerun(SimpleNamespace(_pages_manager=now), said)
    assert heard == [said] * is_heard


# Prints how many places the threads of a server that runs take memory from.
ARENAS = """
import asyncio, ctypes, threading
from pages.shared import hosting

hosting.warm_up = hosting.close = lambda: None
began, gate = threading.Barrier(13), threading.Event()

def work():
    kept = [bytes(9_000) for _ in range(100)]
    began.wait()
    gate.wait()

async def serve():
    async with hosting.lifespan(None):
        for _ in range(12):
            threading.Thread(target=work).start()
        began.wait()
        libc = ctypes.CDLL(None)
        libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, "stdout"))
        libc.fflush(None)
        gate.set()

asyncio.run(serve())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no glibc")
def test_the_threads_of_pages_share_their_memory():
    bare = {k: v for k, v in os.environ.items() if not k.startswith("MALLOC_")}
    command = [sys.executable, "-c", ARENAS]
    said = subprocess.run(command, env=bare, cwd=ROOT, check=True, capture_output=True)
    assert 1 <= said.stdout.count(b"<heap nr=") <= 4


def test_a_connection_does_not_hold_small_messages_back():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        send_at_once()
        with socket.create_connection(listening.getsockname()):
            connection, _ = listening.accept()
            with connection:
                assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize(
    ("address", "is_own"),
    [
        *((own, True) for own in ("localhost", "127.0.0.1", "::1")),
        *((open_, False) for open_ in (None, "0.0.0.0", "10.0.0.5", "::")),
    ],
)
def test_who_lets_others_in_has_to_say_what_they_may_open(monkeypatch, address, is_own):
    monkeypatch.setattr(st, "App", lambda *_, **__: None)
    monkeypatch.setattr(st, "get_option", lambda _: address)
    monkeypatch.delenv("BERTVIZ_MODELS", raising=False)
    says_so = contextlib.nullcontext()
    if not is_own:
        says_so = pytest.raises(SystemExit, match=r"streamlit run server\.py")
    with says_so:
        runpy.run_path(str(ROOT / "app.py"))
    for policy in ("any", "listed"):
        monkeypatch.setenv("BERTVIZ_MODELS", policy)
        runpy.run_path(str(ROOT / "app.py"))


def test_a_blank_policy_is_the_strict_one_of_the_hosted_app(monkeypatch, settings):
    monkeypatch.setenv("BERTVIZ_MODELS", " ")
    monkeypatch.setattr(st, "App", lambda *_, **__: None)
    runpy.run_path(str(ROOT / "server.py"))
    assert os.environ["BERTVIZ_MODELS"] == "listed"
    assert os.environ["BERTVIZ_MAX_SESSIONS"] == "100"
    assert settings == {}
    monkeypatch.setenv("BERTVIZ_MAX_SESSIONS", "7")
    runpy.run_path(str(ROOT / "server.py"))
    assert os.environ["BERTVIZ_MAX_SESSIONS"] == "7"


@pytest.mark.parametrize("address", [None, "127.0.0.1", "my-machine"])
def test_the_app_of_this_machine_answers_by_its_addresses_and_takes_large_files(
    monkeypatch, settings, address
):
    options = {"server.allowedHosts": [], "server.address": address}
    monkeypatch.setattr(st, "get_option", options.get)
    hosting.prepare_own_machine()
    assert settings["server.maxUploadSize"] == 500
    hosts = settings["server.allowedHosts"]
    assert {"localhost", "127.0.0.1", address or "localhost"} <= {*hosts}
    assert "0.0.0.0" not in hosts
    assert "*" not in hosts


@pytest.mark.parametrize("script", ["app.py", "server.py"])
@pytest.mark.parametrize("name", ["BERTVIZ_MODELS", "BERTVIZ_MAX_SESSIONS"])
def test_a_setting_that_makes_no_sense_ends_the_server_in_a_sentence(
    monkeypatch, script, name
):
    monkeypatch.setenv("BERTVIZ_MODELS", "any")
    monkeypatch.setenv(name, "many")
    monkeypatch.setattr(st, "App", lambda *_, **__: None)
    with pytest.raises(SystemExit, match=rf"{name} must be .* Received: many\."):
        runpy.run_path(str(ROOT / script))


def test_what_an_owner_has_set_stays(monkeypatch, settings):
    options = {"server.allowedHosts": ["school.org"]}
    monkeypatch.setattr(st, "get_option", options.get)
    monkeypatch.setattr(hosting.config, "is_manually_set", lambda _: True)
    hosting.prepare_own_machine()
    assert settings == {}
