"""`/ready` says whether a worker answers, and costs it little."""

import asyncio
import threading

import pytest

from bertviz_core.errors import EngineError
from pages.shared import hosting
from pages.shared.hosting import Readiness


class Engine:
    """Splits a text when it may."""

    def __init__(self):
        self.may_answer, self.num_asked, self.error = threading.Event(), 0, None

    def ask(self, function):
        assert function.__qualname__ == "Explorer.tokenize"
        return self.tokenize

    def tokenize(self, model, text):
        self.num_asked += 1
        self.may_answer.wait(20)
        if self.error is not None:
            raise self.error


@pytest.fixture
def engine(monkeypatch):
    made = Engine()
    monkeypatch.setattr(hosting, "client", lambda: made)
    monkeypatch.setattr(hosting, "_SECONDS", 0.2)
    yield made
    made.may_answer.set()


def statuses(*steps):
    """Runs steps; gives the status of each that asks."""

    async def run():
        ready = Readiness()
        found = []
        for step in steps:
            if callable(step):
                step()
                await asyncio.sleep(0.05)
            else:
                asked = [ready.answer(None) for _ in range(step)]
                found += [reply.status_code for reply in await asyncio.gather(*asked)]
        return found

    return asyncio.run(run())


def test_a_worker_that_answers_makes_the_server_ready(engine):
    engine.may_answer.set()
    assert statuses(1) == [200]


def test_a_worker_that_hangs_does_not_and_is_asked_once(engine, monkeypatch):
    monkeypatch.setattr(hosting, "_GOOD_FOR", 0.0)
    assert statuses(3, 3, engine.may_answer.set, 1) == [503] * 6 + [200]
    assert engine.num_asked == 2


def test_an_engine_that_fails_does_not(engine):
    engine.error = EngineError("No engine.")
    engine.may_answer.set()
    assert statuses(1) == [503]


def test_who_asks_often_keeps_no_worker_busy(engine):
    engine.may_answer.set()
    assert statuses(20, 20) == [200] * 40
    assert engine.num_asked == 1
