"""`server.py`: the app for others. Headers everywhere, no paths, nothing blocked."""

import urllib.request

import psutil
import pytest

from pages.shared.security import HEADERS
from tests.browser.conftest import running_server


@pytest.fixture(scope="module")
def hosted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hosted")
    with running_server(folder / "cache", folder / "log.txt", "server.py") as server:
        yield server


@pytest.mark.parametrize("address", ["/", "/models", "/_stcore/health"])
def test_every_response_carries_the_headers(hosted, address):
    with urllib.request.urlopen(hosted.url + address, timeout=30) as response:
        for name, value in HEADERS.items():
            assert response.headers[name] == value


def test_the_policy_blocks_nothing_and_the_pages_load_no_framework(hosted, visit):
    # The fixture fails the test if the console tells of a violation.
    for address in ("/masked_word", "/", "/models"):
        page = visit(address, base=hosted.url)
        page.get_by_test_id("stSpinner").wait_for(state="detached")
        assert page.get_by_test_id("stAlertContentError").count() == 0
    maps = psutil.Process(hosted.process.pid).memory_maps()
    files = "\n".join(mapped.path for mapped in maps)
    assert "python" in files
    assert not any(name in files for name in ("tensorflow", "libtorch", "tokenizers"))


def test_a_stranger_opens_no_folder(hosted, visit):
    page = visit("/models?model=/etc", base=hosted.url)
    alert = page.get_by_test_id("stAlertContentError")
    alert.wait_for()
    assert "list" in alert.inner_text()
