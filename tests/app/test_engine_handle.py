"""The server process holds one engine, whoever asks first."""

import functools
import threading
import time

import pytest

import bertviz_core.engine
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.errors import EngineError
from pages.shared import engine


class Recorder:
    """Stands for a client and remembers what happened to it."""

    def __init__(self):
        self.happened = []

    def warm_up(self, model):
        self.happened.append(("warm_up", model))

    def close(self):
        self.happened.append(("close",))


@pytest.fixture
def made(monkeypatch):
    """The clients that were made; making one takes a moment."""
    clients = []

    def connect():
        time.sleep(0.05)
        clients.append(Recorder())
        return clients[-1]

    monkeypatch.setattr(bertviz_core.engine, "connect", connect)
    # Apart from the real one, which other tests go on with.
    for name in ("_connected", "warm_up"):
        fresh = functools.cache(getattr(engine, name).__wrapped__)
        monkeypatch.setattr(engine, name, fresh)
    monkeypatch.setattr(engine, "_CLOSING", threading.Event())
    return clients


def test_visitors_who_come_together_share_one_engine(made):
    got = []
    threads = [
        threading.Thread(target=lambda: got.append(engine.client())) for _ in range(7)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert got == [made[0]] * 7


def test_the_warm_up_loads_the_default_model_once(made):
    for _ in range(3):
        engine.warm_up().join()
    assert made[0].happened == [("warm_up", DEFAULT_MODEL)]


def test_an_engine_that_cannot_start_does_not_stop_the_server(made, monkeypatch):
    def refuse():
        raise EngineError("The processes that run the models are gone.")

    monkeypatch.setattr(bertviz_core.engine, "connect", refuse)
    engine.warm_up().join()
    with pytest.raises(EngineError, match="gone"):
        engine.client()


def test_closing_ends_the_engine_and_the_next_call_makes_another(made):
    first = engine.client()
    engine.close()
    engine.close()
    assert first.happened == [("close",)]
    assert engine.client() is not first


def test_nothing_is_started_in_order_to_be_closed(made):
    engine.close()
    assert made == []


@pytest.mark.parametrize(("is_closed_first", "is_said"), [(True, False), (False, True)])
def test_only_an_engine_that_nobody_stopped_complains(
    made, caplog, is_closed_first, is_said
):
    def fail(model):
        if is_closed_first:
            engine.close()
        raise EngineError("The engine is closed.")

    engine.client().warm_up = fail
    engine.warm_up().join()
    assert ("did not warm up" in caplog.text) == is_said
