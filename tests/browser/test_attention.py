"""The attention page in a real browser: pictures, boxes and address show one state."""

from __future__ import annotations

import re

from playwright.sync_api import Download, Page, expect

from tests.browser.attention_alone import cell_position, click_head
from tests.browser.conftest import open_table, overflow, settle
from tests.core.bundled import open_bundled
from tests.locale_words import words_of

NUM_HEADS = 8  # of the bundled model
FIRST_HEAD = "attention_layer=1&attention_head=1"
CHINESE = "今天天气很好。"
# Long enough for numbers to come from the page, not from what the browser holds.
LONG = "+".join(["the+cat+and+the+dog"] * 9)
ARITHMETIC = f"?{FIRST_HEAD}&attention_panel=arithmetic&text={LONG}"


def open_page(visit, query: str = f"?{FIRST_HEAD}", **browser):
    page = visit(f"/attention{query}", **browser)
    view = page.locator(".attention").first
    expect(view).to_have_attribute("data-grid-ms", re.compile(r"\d"))
    return page, view


def chosen(page: Page, name: str):
    return page.locator(f".st-key-attention_{name}").get_by_role("combobox")


def expect_head(view, layer: int | str, head: int | str):
    expect(view).to_have_attribute("data-layer", str(layer))
    expect(view).to_have_attribute("data-head", str(head))


def asked_about(page: Page, head: str):
    return page.get_by_text(f"How head {head} arrives at one number")


def test_the_head_is_the_same_in_pictures_boxes_questions_and_address(visit):
    page, view = open_page(visit, "?attention_panel=arithmetic")
    the_views_stand_side_by_side_where_there_is_room(page, view)
    why = page.get_by_text("opens first")
    expect(why).to_contain_text("of its attention goes to the previous token")
    layer, head = re.search(r"(\d+)·(\d+)", why.inner_text()).groups()
    expect_head(view, layer, head)
    click_head(view, 3, 6, NUM_HEADS)
    expect(asked_about(page, "3·6")).to_be_visible()
    expect_head(view, 3, 6)
    expect(chosen(page, "head")).to_have_value("6")
    expect(page).to_have_url(re.compile("attention_layer=3&attention_head=6"))
    expect(why).to_have_count(0)
    box = chosen(page, "layer")
    box.scroll_into_view_if_needed()
    settle(page)
    box.click()
    page.get_by_role("option", name="4", exact=True).click()
    expect(asked_about(page, "4·6")).to_be_visible()
    expect_head(view, 4, 6)
    page.get_by_text("中文").click()
    expect(page.get_by_text("头 4·6 怎样算出一个数")).to_be_visible()
    page.reload()
    settle(page)
    expect_head(page.locator(".attention").first, 4, 6)


def save(page: Page, name: str) -> Download:
    with page.expect_download() as download:
        page.get_by_role("button", name=name).first.click()
    return download.value


def test_each_click_saves_a_file_once_and_no_file_asks_anybody(
    visit, new_page, tmp_path
):
    query = f"?{FIRST_HEAD}&text={CHINESE}&model=bert-mini-zh"
    page, view = open_page(visit, query, locale="zh-CN")
    kept: list[str] = []
    page.on("download", lambda download: kept.append(download.suggested_filename))
    page.locator(".st-key-attention_tools").get_by_role("radio", name="下载").click()
    pictures_have_letters_as_shapes_and_follow_the_head(page, view)
    assert len(kept) == 2
    words = words_of("attention", "zh")
    picture = save(page, words_of("app", "zh")["picture_png"])
    assert picture.path().read_bytes().startswith(b"\x89PNG")
    for name, start in (
        ("save_csv", "\ufeff显示内容,层,头"),
        ("save_grid_csv", "\ufeff层,头"),
        ("save_html", "<!doctype html>"),
    ):
        file = tmp_path / "attention.html"
        save(page, words[name]).save_as(file)
        assert file.read_text("utf-8").startswith(start), name
    assert "default-src 'none'" in file.read_text("utf-8")
    alone = new_page(base="file:")
    alone.context.set_offline(True)
    alone.goto(file.as_uri())
    the_saved_file_holds_every_head(alone.locator(".attention"))


def pictures_have_letters_as_shapes_and_follow_the_head(page, view):
    saved = []
    for layer in (1, 2):
        click_head(view, layer, 1, NUM_HEADS)
        expect(chosen(page, "layer")).to_have_value(str(layer))
        settle(page)
        file = save(page, "热图（SVG）")
        assert file.suggested_filename == "注意力_热图.svg"
        saved.append(file.path().read_text("utf-8"))
    assert set(CHINESE) <= set(re.findall("<text[^>]*>([^<]*)<", saved[0]))
    assert "<use" in saved[0]
    assert ["第 2 层" in one for one in saved] == [False, True]


def the_saved_file_holds_every_head(shown):
    click_head(shown, 4, 7, NUM_HEADS)
    expect(shown.locator("h2", has_text="热图：第 4 层第 7 个头")).to_be_visible()
    at = cell_position(shown, 2, 1, num_tokens=len(CHINESE) + 2)
    shown.locator("canvas.heat").hover(position=at)
    probs = open_bundled("bert-mini-zh").trace(CHINESE).attention_probs
    expect(shown.get_by_role("status").first).to_contain_text(
        f"{CHINESE[1]} → {CHINESE[0]} · 第 4 层第 7 个头 · 权重 {probs[3, 6, 2, 1]:.4f}"
    )


def test_a_click_in_the_grid_of_a_difference_moves_all_pictures_of_any_text(visit):
    query = f"?{FIRST_HEAD}&attention_panel=compare&text=the+dog+ran"
    page, view = open_page(visit, f"{query}&attention_compared_text=the+cow+ran")
    shown = page.locator(".st-key-attention_difference .attention")
    title = "Heatmap: second minus first · layer {}, head {}"
    expect(shown.locator("h2", has_text=title.format(1, 1))).to_be_visible()
    click_head(shown, 3, 6, NUM_HEADS)
    expect(shown.locator("h2", has_text=title.format(3, 6))).to_be_visible()
    expect(shown).to_have_attribute("aria-busy", "false")
    expect_head(view, 3, 6)
    expect(chosen(page, "layer")).to_have_value("3")
    at = cell_position(shown, 2, 1, num_tokens=5)
    shown.locator("canvas.heat").click(position=at)
    expect(shown.get_by_role("status").first).to_contain_text(
        re.compile(
            r"dog / cow → the · .* · difference in weight [+−]0\.\d{4} · rank \d"
        )
    )
    open_table(shown, 1)
    expect(shown.locator(".heat-part thead")).to_have_text(
        "FromToDifference in weightRank in row"
    )
    expect(view).to_have_attribute("data-locked", "false")
    the_longest_text_is_usable_and_cut_with_a_sentence(page, view)


def the_longest_text_is_usable_and_cut_with_a_sentence(page, view):
    page.locator(".st-key-text textarea").fill("the cat sat " * 180)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("at most", exact=False).first).to_be_visible()
    settle(page)
    click_head(view, 2, 3, NUM_HEADS)
    expect_head(view, 2, 3)
    expect(chosen(page, "head")).to_have_value("3")


def the_views_stand_side_by_side_where_there_is_room(page, view):
    for width, rows in ((1440, 1), (390, 3)):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(
            """([view, rows]) => {
              const parts = [...view.querySelectorAll('.views > section')]
              const top = (part) => Math.round(part.getBoundingClientRect().top)
              return new Set(parts.map(top)).size === rows
            }""",
            arg=[view.element_handle(), rows],
        )
        assert overflow(page) <= 0
    page.set_viewport_size({"width": 1280, "height": 900})


# After a click the pictures answer first, and the rest of the page follows.


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


def test_a_clicked_head_is_told_first_and_nothing_more(new_page, server_url):
    said: list[Said] = []

    def visit(address):
        page = new_page()
        said.append(Said(page))
        page.goto(server_url + address)
        settle(page)
        return page

    page, view = open_page(visit, f"{ARITHMETIC}&attention_method=mean")
    clicks_faster_than_the_page_end_at_the_last_head(page, view)
    pictures_answer_before_the_rest(page, view, *said)
    a_click_says_two_things_and_one_on_the_same_head_none(page, view, *said)
    page.locator(".st-key-text textarea").fill("a cat sat")
    page.keyboard.press("Control+Enter")
    expect(view).to_have_attribute("aria-busy", "false")
    settle(page)
    a_click_says_two_things_and_one_on_the_same_head_none(page, view, *said)
    a_lock_and_a_head_in_one_breath_both_count(page, view)


def clicks_faster_than_the_page_end_at_the_last_head(page, view):
    settle(page)
    for head in (2, 3, 4, 5, 6, 7):
        click_head(view, 2, head, NUM_HEADS)
    expect(asked_about(page, "2·7")).to_be_visible()
    # They leave what was put together, everywhere.
    expect(view.locator("h2").nth(1)).to_have_text("Heatmap: layer 2, head 7")
    expect(view).to_have_attribute("aria-busy", "false")
    expect(chosen(page, "head")).to_have_value("7")
    expect(page).not_to_have_url(re.compile("attention_method"))
    settle(page)


def pictures_answer_before_the_rest(page, view, said):
    said.listen(most=1)
    click_head(view, 3, 6, NUM_HEADS)
    expect(view).to_have_attribute("data-head", "6")
    expect(view).to_have_attribute("aria-busy", "false")
    expect(asked_about(page, "2·7")).to_be_visible()
    expect(chosen(page, "head")).to_have_value("7")
    said.let_through()
    expect(asked_about(page, "3·6")).to_be_visible()
    expect(chosen(page, "head")).to_have_value("6")
    settle(page)


def a_click_says_two_things_and_one_on_the_same_head_none(page, view, said):
    """Which head, and that its picture is shown."""
    layer = 1 + (view.get_attribute("data-layer") == "1")
    said.listen()
    for _ in range(2):
        click_head(view, layer, 4, NUM_HEADS)
        expect(asked_about(page, f"{layer}·4")).to_be_visible()
        settle(page)
    page.wait_for_timeout(500)
    assert len(said.messages) == 2


def a_lock_and_a_head_in_one_breath_both_count(page, view):
    click_head(view, 3, 6, NUM_HEADS)
    at = cell_position(view, 2, 1, num_tokens=5)
    view.locator("canvas.heat").click(position=at)
    expect(asked_about(page, "3·6")).to_be_visible()
    expect(page.locator(".st-key-token input")).to_have_value("3 cat")
    expect(chosen(page, "to")).to_have_value("2 a")
    expect(page).to_have_url(
        re.compile("token=3.*attention_to=2|attention_to=2.*token=3")
    )
