"""What axe finds on every page, in both languages and both themes."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from pages.shared.navigation import FIRST, ICONS
from tests.browser.conftest import LOCALES

AXE = Axe()
# The frame tends what is new on the page, and formulas whose letters came, a frame
# later.
TENDED = """async () => {
  await document.fonts.ready
  for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame)
}"""


def faults(page):
    """Serious and critical findings: the rule and the elements that break it."""
    found = AXE.run(page).response["violations"]
    return {
        (one["id"], node["html"][:200])
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    }


@pytest.mark.parametrize("name", ICONS)
def test_axe_finds_nothing_serious(visit, name):
    for language, theme in (("en", "light"), ("zh", "dark")):
        address = "/" if name == FIRST else f"/{name}"
        page = visit(address, locale=LOCALES[language], color_scheme=theme)
        page.evaluate(TENDED)
        assert faults(page) == set(), (language, theme)
