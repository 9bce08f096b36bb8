"""`server.py`: the app for others. Headers everywhere, no paths, nothing blocked.

And what both entry points refuse: other sites, too many files, too many visitors.
"""

import contextlib
import time
import urllib.error
import urllib.request

import psutil
import pytest
from playwright.sync_api import expect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from pages.shared.security import security_headers
from tests.browser.conftest import (
    START_SECONDS,
    go_to,
    running_server,
    said_after,
    settle,
)

MEGABYTE = 2**20
FRAMEWORKS = ("tensorflow", "libtorch", "openvino", "tokenizers")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("hosted") / "cache"


@pytest.fixture(scope="module")
def hosted(cache):
    """For one visitor at a time."""
    home = cache.parent / "home"
    (home / ".claude").mkdir(parents=True)  # a tool that Streamlit looks for
    variables = {
        "BERTVIZ_MAX_SESSIONS": "1",
        "HOME": str(home),
        "BROWSER": "true",
        "STREAMLIT_SERVER_HEADLESS": "false",
        "STREAMLIT_SERVER_SHOW_EMAIL_PROMPT": "false",
    }
    log = cache.parent / "log.txt"
    with running_server(cache, log, "server.py", **variables) as server:
        yield server


@pytest.fixture
def stranger(contexts):
    """A page of another visitor, who may meet refusals."""
    with contextlib.closing(contexts("zh-CN", False).new_page()) as page:
        yield page


def test_every_response_carries_the_headers(hosted):
    for address in ("/", "/models", "/_stcore/health"):
        with urllib.request.urlopen(hosted.url + address, timeout=30) as response:
            host = hosted.url.removeprefix("http://")
            for name, value in security_headers(host, False).items():
                assert response.headers[name] == value


def test_a_visitor_meets_no_limit_and_a_newcomer_waits(
    hosted, visit, tmp_path, cache, stranger
):
    # The fixture fails the test if the console tells of a violation.
    page = visit("/models", base=hosted.url)
    a_cold_server_answers_a_deep_link_first(page)
    the_policy_blocks_nothing(page)
    a_large_file_lies_on_the_disk_until_it_is_let_go(page, hosted, tmp_path, cache)
    the_pages_open_no_folder_and_load_no_framework(page, hosted)
    a_newcomer_is_asked_to_wait_and_who_is_in_stays(page, hosted, stranger)


def a_cold_server_answers_a_deep_link_first(page):
    expect(page.locator("h1")).to_have_text("Models")
    # The navigation is there: app.py ran, not the page alone.
    sidebar = page.get_by_test_id("stSidebar")
    expect(sidebar.get_by_role("link", name="Masked words")).to_be_visible()
    # Streamlit's offer to developers does not cover the page.
    offer = page.get_by_test_id("stSkillsNudge")
    expect(offer).to_be_attached()
    expect(offer).to_be_hidden()


def the_policy_blocks_nothing(page):
    for name in ("masked_word", "models"):
        go_to(page, name)
        expect(page.get_by_test_id("stSpinner")).to_have_count(0)
        expect(page.get_by_test_id("stAlertContentError")).to_have_count(0)


def the_pages_open_no_folder_and_load_no_framework(page, hosted):
    page.goto(f"{hosted.url}/models?model=/etc")
    expect(page.get_by_test_id("stAlertContentError")).to_contain_text("list")
    maps = psutil.Process(hosted.process.pid).memory_maps()
    files = "\n".join(mapped.path for mapped in maps)
    assert "python" in files
    assert not any(name in files for name in FRAMEWORKS)


def a_large_file_lies_on_the_disk_until_it_is_let_go(page, hosted, tmp_path, cache):
    process, large = psutil.Process(hosted.process.pid), tmp_path / "large.zip"
    with large.open("wb") as file:  # a sparse file: nothing is written
        file.truncate(60 * MEGABYTE)
    before = process.memory_info().rss
    page.locator("input[type=file]").set_input_files(large)
    page.get_by_role("button", name="Add this model").wait_for()
    settle(page)
    assert process.memory_info().rss - before < 20 * MEGABYTE
    (kept,) = (cache / "incoming").glob("*/file")
    assert kept.stat().st_size == 60 * MEGABYTE
    page.get_by_test_id("stFileChipDeleteBtn").get_by_role("button").click()
    expect(page.get_by_role("button", name="Add this model")).to_have_count(0)
    deadline = time.monotonic() + START_SECONDS
    while kept.exists():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def a_newcomer_is_asked_to_wait_and_who_is_in_stays(page, hosted, stranger):
    stranger.goto(hosted.url + "/models")
    expect(stranger.get_by_role("heading")).to_have_text("现在使用的人太多了")
    socket = hosted.url.replace("http", "ws") + "/_stcore/stream"
    with pytest.raises(InvalidStatus), connect(socket):
        pass
    page.goto(hosted.url)
    settle(page)
    expect(page.get_by_test_id("stAlertContentError")).to_have_count(0)


# RFC 6455: a protocol error, as these bytes say nothing; too big to be looked at.
@pytest.mark.parametrize(("megabytes", "code"), [(4, 1002), (6, 1009)])
def test_a_message_beyond_all_measure_is_not_read(server_url, megabytes, code):
    address = server_url.replace("http", "ws") + "/_stcore/stream"
    with connect(address, subprotocols=["streamlit"]) as socket:
        socket.send(b"\xff" * 1_000_000 * megabytes)
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(30)
    assert closed.value.rcvd.code == code


def test_the_server_says_when_its_workers_answer(hosted):
    with urllib.request.urlopen(f"{hosted.url}/ready", timeout=30) as response:
        assert response.read() == b"ready"


def test_a_file_for_which_there_is_no_room_is_refused_in_our_words(server, stranger):
    stranger.goto(server.url + "/models")
    settle(stranger)
    stranger.route("**/upload_file/**", lambda route: route.fulfill(status=503))
    file = {"name": "a.zip", "mimeType": "application/zip", "buffer": b"PK"}
    stranger.locator("input[type=file]").set_input_files(file)
    box = stranger.locator("[class*=st-key-zip_]")
    box.locator("[aria-invalid=true]").wait_for()
    assert "没有空间" in said_after(box)
    expect(stranger.get_by_text("503").filter(visible=True)).to_have_count(0)


def test_a_page_of_another_site_cannot_drive_the_app_of_this_machine(server_url):
    foreign = urllib.request.Request(server_url, headers={"Host": "evil.org"})
    with pytest.raises(urllib.error.HTTPError, match="400"):
        urllib.request.urlopen(foreign, timeout=30)
    socket = server_url.replace("http", "ws") + "/_stcore/stream"
    for origin in ("http://localhost:3000", "http://evil.org"):
        with pytest.raises(InvalidStatus), connect(socket, origin=origin):
            pass
    with connect(socket, origin=server_url) as opened:
        assert opened.ping().wait(10)
