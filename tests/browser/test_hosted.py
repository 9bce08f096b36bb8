"""`server.py`: the app for others. Headers everywhere, no paths, nothing blocked."""

import urllib.request

import pytest

from pages.ui.security import HEADERS
from tests.browser.conftest import running_server


@pytest.fixture(scope="module")
def hosted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hosted")
    with running_server(folder / "cache", folder / "log.txt", "server.py") as server:
        yield server.url


@pytest.mark.parametrize("address", ["/", "/models", "/_stcore/health"])
def test_every_response_carries_the_headers(hosted, address):
    with urllib.request.urlopen(hosted + address, timeout=30) as response:
        for name, value in HEADERS.items():
            assert response.headers[name] == value


def test_the_policy_blocks_nothing_that_the_app_needs(hosted, visit):
    # The fixture fails the test if the console tells of a violation.
    for address in ("/masked_word", "/", "/models"):
        page = visit(address, base=hosted)
        page.get_by_test_id("stSpinner").wait_for(state="detached")
        assert page.get_by_test_id("stAlertContentError").count() == 0


def test_a_stranger_opens_no_folder(hosted, visit):
    page = visit("/models?model=/etc", base=hosted)
    alert = page.get_by_test_id("stAlertContentError")
    alert.wait_for()
    assert "list" in alert.inner_text()
