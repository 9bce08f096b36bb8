"""Which task is refused when a process dies that had several, without any process."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from bertviz_core.engine.suspects import MAX_LONG_TRIES, Suspects
from tests.core.engine_waiting import wait_until


class DiedError(Exception):
    """The process is gone."""


class Process:
    """Holds the tasks that are with it; whoever kills it takes all of them along."""

    def __init__(self):
        self.lock = threading.Lock()
        self.generation = 0
        self.present = []
        self.num_deaths = 0

    def run(self, name, is_over):
        """Stays until `is_over`, or until the process dies."""
        with self.lock:
            generation = self.generation
            self.present.append(name)
        try:
            wait_until(lambda: self.generation != generation or is_over())
        finally:
            with self.lock:
                self.present.remove(name)
        if self.generation != generation:
            raise DiedError(name)
        return name

    def kill(self, name, others=0):
        """Dies, as soon as so many others are with it."""
        with self.lock:
            self.present.append(name)
        wait_until(lambda: len(self.present) > others)
        with self.lock:
            self.present.remove(name)
            self.num_deaths += 1
            self.generation += 1
        raise DiedError(name)


@pytest.fixture
def process():
    return Process()


@pytest.fixture
def suspects():
    return Suspects(DiedError)


def test_an_answer_is_an_answer(suspects):
    assert suspects.ask("call", lambda: 7) == 7
    assert suspects.ask_for_long(lambda: 7) == 7


def test_other_errors_are_not_tried_again(suspects):
    asked = []

    def ask():
        asked.append(None)
        raise KeyError("x")

    with pytest.raises(KeyError):
        suspects.ask("call", ask)
    assert len(asked) == 1


@pytest.mark.parametrize("way", ["ask", "ask_for_long"])
def test_one_that_kills_twice_without_company_is_refused(suspects, process, way):
    ask = {
        "ask": lambda: suspects.ask("call", lambda: process.kill("guilty")),
        "ask_for_long": lambda: suspects.ask_for_long(lambda: process.kill("guilty")),
    }[way]
    with pytest.raises(DiedError):
        ask()
    assert process.num_deaths == 2


def test_one_that_dies_once_is_answered(suspects, process):
    def ask():
        return process.kill("once") if not process.num_deaths else "lived"

    assert suspects.ask("call", ask) == "lived"


def test_the_guilty_is_refused_and_all_others_are_answered(suspects, process):
    """Calls that wait and a job beside them, while one call kills at every try."""
    go = threading.Event()
    names = [f"call {number}" for number in range(6)]

    def guilty():
        # The first time with all, later with whoever is there.
        return process.kill("guilty", others=0 if process.num_deaths else 7)

    with ThreadPoolExecutor(8) as pool:
        bad = pool.submit(suspects.ask, "call", guilty)
        calls = [
            pool.submit(suspects.ask, "call", lambda n=name: process.run(n, go.is_set))
            for name in names
        ]
        job = pool.submit(suspects.ask, "job", lambda: process.run("job", go.is_set))
        wait_until(lambda: process.num_deaths)
        go.set()
        assert [call.result(60) for call in calls] == names
        assert job.result(60) == "job"
        with pytest.raises(DiedError):
            bad.result(60)
    assert 2 <= process.num_deaths <= 3


def test_suspects_of_a_kind_are_tried_one_at_a_time(suspects):
    together = threading.Barrier(4)
    running, most = [], []

    def task(name):
        tries = []

        def ask():
            tries.append(name)
            if len(tries) == 1:
                together.wait(60)
                raise DiedError
            running.append(name)
            time.sleep(0.02)
            most.append(len(running))
            running.remove(name)
            return name

        return ask

    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(suspects.ask, "call", task(name)) for name in "abcd"]
        assert [each.result(60) for each in asked] == list("abcd")
    assert most == [1, 1, 1, 1]


def test_long_work_outlasts_one_that_kills_beside_it(suspects, process):
    end = threading.Event()
    with ThreadPoolExecutor(2) as pool:
        training = pool.submit(
            suspects.ask_for_long, lambda: process.run("training", end.is_set)
        )

        def guilty():
            return process.kill("guilty", others=1)

        with pytest.raises(DiedError):
            suspects.ask("estimate", guilty)
        end.set()
        assert training.result(60) == "training"
    assert process.num_deaths == 3 < MAX_LONG_TRIES
