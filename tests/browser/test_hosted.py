"""`server.py`: the app for others. Headers everywhere, no paths, nothing blocked."""

import urllib.request

import psutil
import pytest
from playwright.sync_api import expect

from pages.shared.security import security_headers
from tests.browser.conftest import running_server, settle


@pytest.fixture(scope="module")
def hosted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hosted")
    with running_server(folder / "cache", folder / "log.txt", "server.py") as server:
        yield server


def test_every_response_carries_the_headers(hosted):
    for address in ("/", "/models", "/_stcore/health"):
        with urllib.request.urlopen(hosted.url + address, timeout=30) as response:
            host = hosted.url.removeprefix("http://")
            for name, value in security_headers(host, False).items():
                assert response.headers[name] == value


def test_the_policy_blocks_nothing_the_pages_load_no_framework_and_open_no_folder(
    hosted, visit
):
    # The fixture fails the test if the console tells of a violation.
    page = visit("/", base=hosted.url)
    alert = page.get_by_test_id("stAlertContentError")
    for address in ("/masked_word", "/models"):
        page.goto(hosted.url + address)
        settle(page)
        expect(page.get_by_test_id("stSpinner")).to_have_count(0)
        expect(alert).to_have_count(0)
    page.goto(f"{hosted.url}/models?model=/etc")
    expect(alert).to_contain_text("list")
    maps = psutil.Process(hosted.process.pid).memory_maps()
    files = "\n".join(mapped.path for mapped in maps)
    assert "python" in files
    assert not any(name in files for name in ("tensorflow", "libtorch", "tokenizers"))
