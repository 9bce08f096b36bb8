"""After a click in the pictures they answer first, and the rest of the page follows."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import settle
from tests.browser.test_attention import (
    FIRST_ANSWER,
    NUM_HEADS,
    chosen,
    open_page,
)
from tests.browser.test_attention_canvas import cell_position, click_head

pytestmark = pytest.mark.browser

# Long enough for numbers to come from the page, not from what the browser holds.
LONG = "+".join(["the+cat+and+the+dog"] * 12)
ARITHMETIC = f"?attention_panel=arithmetic&attention_text={LONG}"


class Said:
    """What a page says to its server, from when it is asked to listen."""

    def __init__(self, page):
        self.messages, self._most, self._server = [], None, None
        page.route_web_socket(re.compile("_stcore/stream"), self._connect)

    def _connect(self, browser):
        self._server = browser.connect_to_server()
        browser.on_message(self._take)

    def _take(self, message):
        self.messages.append(message)
        if self._most is None or len(self.messages) <= self._most:
            self._server.send(message)

    def listen(self, most=None):
        """Forgets what was said; of what follows, lets so many messages through."""
        self.messages.clear()
        self._most = most

    def let_through(self):
        for message in self.messages[self._most :]:
            self._server.send(message)
        self._most = None


@pytest.fixture
def listened(new_page, server_url):
    """Opens the page with a text that is not held, and listens to it."""

    def visit(address, **browser):
        page = new_page(**browser)
        said.append(Said(page))
        page.goto(server_url + address)
        settle(page)
        return page

    said: list[Said] = []

    def open_listened(query, with_pictures=True):
        if with_pictures:
            page, view = open_page(visit, query)
        else:
            page = visit(f"/attention{query}")
            view = page.locator(".attention").first
        settle(page)
        return page, view, said[-1]

    return open_listened


def arithmetic_title(head):
    return f"How head {head} arrives at one number"


def test_the_numbers_of_a_clicked_head_do_not_wait_for_the_questions(listened):
    page, view, said = listened(ARITHMETIC)
    said.listen(most=1)
    click_head(view, 3, 6, NUM_HEADS)
    expect(view).to_have_attribute("data-head", "6")
    expect(view).to_have_attribute("aria-busy", "false")
    expect(page.get_by_text(arithmetic_title("1·1"))).to_be_visible()
    expect(chosen(page, "head")).to_have_value("1")
    said.let_through()
    expect(page.get_by_text(arithmetic_title("3·6"))).to_be_visible()
    expect(chosen(page, "head")).to_have_value("6")
    expect(page).to_have_url(re.compile("attention_layer=3"))


@pytest.mark.parametrize("text", [LONG, "a+cat"])
def test_a_click_is_told_and_its_picture_and_nothing_more(listened, text):
    page, view, said = listened(f"?attention_panel=arithmetic&attention_text={text}")
    said.listen()
    for layer, head in ((3, 6), (2, 4), (2, 4)):  # the last one is chosen already
        click_head(view, layer, head, NUM_HEADS)
        expect(page.get_by_text(arithmetic_title(f"{layer}·{head}"))).to_be_visible()
        settle(page)
        page.wait_for_timeout(500)
    assert len(said.messages) == 4


def test_clicks_faster_than_the_page_end_at_the_last_head(listened):
    page, view, _ = listened(ARITHMETIC)
    for head in (2, 3, 4, 5, 6, 7):
        click_head(view, 2, head, NUM_HEADS)
    expect(page.get_by_text(arithmetic_title("2·7"))).to_be_visible()
    expect(view).to_have_attribute("data-head", "7")
    expect(view).to_have_attribute("aria-busy", "false")
    expect(chosen(page, "head")).to_have_value("7")


def test_a_click_leaves_what_was_put_together_everywhere(listened):
    page, view, _ = listened(f"{ARITHMETIC}&attention_method=mean")
    click_head(view, 3, 6, NUM_HEADS)
    expect(page.get_by_text(arithmetic_title("3·6"))).to_be_visible()
    expect(view.locator("h4").nth(1)).to_have_text("Heatmap: layer 3, head 6")
    expect(view).to_have_attribute("aria-busy", "false")
    expect(page).not_to_have_url(re.compile("attention_method"))


def test_a_widget_moves_the_questions_too(listened):
    page, view, _ = listened(ARITHMETIC)
    chosen(page, "layer").click()
    page.get_by_role("option", name="4", exact=True).click()
    expect(page.get_by_text(arithmetic_title("4·1"))).to_be_visible()
    expect(view).to_have_attribute("data-layer", "4")


def test_a_lock_and_a_head_in_one_breath_both_count(listened):
    page, view, _ = listened("?attention_panel=arithmetic&attention_text=a+cat+sat")
    click_head(view, 3, 6, NUM_HEADS)
    at = cell_position(view, 2, 1, num_tokens=5)
    view.locator("canvas.heat").click(position=at)
    expect(page.get_by_text(arithmetic_title("3·6"))).to_be_visible()
    expect(chosen(page, "from")).to_have_value("3 cat")
    expect(chosen(page, "to")).to_have_value("2 a")


def test_work_that_takes_longer_ends_in_its_picture(listened):
    long = "+".join(["the+cat+and+the+dog+sat+on+a+mat+."] * 48)
    query = f"?attention_method=value_zeroing&attention_text={long}"
    page, _, _ = listened(query, with_pictures=False)
    page.get_by_role("button", name=re.compile("Take away the values")).click()
    title = page.locator(".attention h4").nth(1)
    expect(title).to_have_text(
        "Heatmap: value zeroing in layer 1", timeout=FIRST_ANSWER
    )
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
