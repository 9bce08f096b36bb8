"""A full server has newcomers wait, and nobody else."""

import asyncio

import pytest

from pages.shared import admission
from pages.shared.admission import Admission
from tests.app.requests import headers_in, sent_by

HTML = "text/html,application/xhtml+xml"


class Server:
    """`Admission` before a server that keeps a socket until its tab is closed."""

    def __init__(self):
        self.admission = Admission(self.serve)
        self.tabs = set()

    async def serve(self, scope, receive, send):
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
            await scope["closing"].wait()
        else:
            await send({"type": "http.response.start", "status": 200})

    async def ask(self, kind, visitor="", accept=HTML, language="", **more):
        asked = {"accept": accept, "accept-language": language}
        if visitor:
            asked["cookie"] = f"other=1; bert_explorer_visitor={visitor}"
        headers = [(k.encode(), v.encode()) for k, v in asked.items()]
        return await sent_by(self.admission, {"type": kind, "headers": headers, **more})

    async def page(self, visitor="", **asked):
        return (await self.ask("http", visitor, **asked))[0]["status"]

    async def open(self, visitor=""):
        """Opens a tab; gives what closes it, or `None` where it is refused."""
        closing = asyncio.Event()
        task = asyncio.create_task(self.ask("websocket", visitor, closing=closing))
        self.tabs.add(task)  # a loop alone does not keep its tasks
        await asyncio.sleep(0)
        if task.done():
            assert task.result() == [
                {"type": "websocket.close", "code": 1013, "reason": ""}
            ]
            return None

        async def close():
            closing.set()
            await task

        return close


@pytest.fixture
def clock(monkeypatch):
    """The time, which a test may change."""

    class Clock:
        seconds = 1000.0

        def monotonic(self):
            return self.seconds

    made = Clock()
    monkeypatch.setattr(admission, "time", made)
    return made


@pytest.fixture
def hosted(monkeypatch, clock):
    """Runs a test against a server for two visitors with memory enough."""
    monkeypatch.setenv("BERTVIZ_MAX_SESSIONS", "2")
    monkeypatch.setattr(admission, "free_memory", lambda: 2**40)
    return lambda test: asyncio.run(test(Server()))


def test_a_newcomer_waits_until_somebody_has_left(hosted, clock):
    async def check(server):
        leave = await server.open("ann")
        assert await server.page() == 200
        await server.open("ben")
        assert await server.page("eve") == await server.page() == 503
        assert await server.open("eve") is None
        assert await server.open() is None
        await leave()
        assert await server.page("eve") == 503  # perhaps she reloads the page
        clock.seconds += 61
        assert await server.page("eve") == 200
        assert await server.open("eve")
        assert await server.page("ann") == 503

    hosted(check)


def test_who_is_in_stays_in(hosted, clock):
    async def check(server):
        leave = await server.open("ann")
        await server.open("ben")
        assert await server.page("ann") == 200
        await leave()
        clock.seconds += 59
        assert await server.page("ann") == 200
        assert await server.open("ann")
        clock.seconds += 1000
        assert await server.page("ann") == await server.page("ben") == 200

    hosted(check)


def test_one_visitor_opens_some_tabs_but_not_countless(hosted):
    async def check(server):
        tabs = [await server.open("ann") for _ in range(5)]
        assert [tab is not None for tab in tabs] == [True] * 4 + [False]
        assert await server.page("ann") == 200  # to load the last one anew
        assert await server.open("ben") is None
        for close in tabs[:3]:
            await close()
        assert await server.open("ben")

    hosted(check)


def test_what_is_no_page_is_answered_though_all_wait(hosted):
    async def check(server):
        for visitor in ("ann", "ben"):
            await server.open(visitor)
        assert await server.page(accept="*/*") == 200
        assert (await server.ask("lifespan"))[0]["status"] == 200

    hosted(check)


def test_a_server_short_of_memory_takes_nobody_besides(hosted, monkeypatch):
    monkeypatch.setattr(admission, "free_memory", lambda: 2**27)

    async def check(server):
        assert await server.page() == 200  # nobody is there to leave
        await server.open("ann")
        assert await server.page() == 503
        assert await server.page("ann") == 200

    hosted(check)


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en-GB,en;q=0.9", "The app is full"),
        ("", "The app is full"),
        ("fr-FR,zh;q=0.5", "The app is full"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "现在使用的人太多了"),
    ],
)
def test_the_page_of_those_who_wait_speaks_their_language_and_tries_again(
    hosted, language, said
):
    async def check(server):
        for visitor in ("ann", "ben"):
            await server.open(visitor)
        start, body = await server.ask("http", language=language)
        headers = headers_in(start)
        assert headers["retry-after"] == "10"
        assert headers["cache-control"] == "no-store"
        content = body["body"].decode()
        assert said in content
        assert '<meta http-equiv="refresh" content="10">' in content
        assert f'<html lang="{"zh" if "现在" in said else "en"}">' in content

    hosted(check)


def test_ones_own_machine_lets_everybody_in_and_remembers_nobody(hosted, monkeypatch):
    monkeypatch.setenv("BERTVIZ_MAX_SESSIONS", "")

    async def check(server):
        tabs = [await server.open("ann") for _ in range(20)]
        assert None not in tabs
        for close in tabs:
            await close()
        assert not server.admission._left

    hosted(check)
