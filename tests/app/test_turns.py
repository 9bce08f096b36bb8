"""Runs of pages take turns, in the order in which they came."""

import threading
import time

import pytest

from pages.shared import turns as turns_module
from pages.shared.turns import Turns


@pytest.fixture
def turns(monkeypatch):
    """Of runs that never take too long, however slow the machine is."""
    monkeypatch.setattr(turns_module, "_LONGEST", 60.0)
    return Turns()


@pytest.fixture
def begin():
    """Starts threads, and waits for them at the end."""
    started = []

    def start(work):
        started.append(threading.Thread(target=work))
        started[-1].start()
        return started[-1]

    yield start
    for thread in started:
        thread.join(10)
        assert not thread.is_alive()


def wait_for(turns, count):
    """Waits until so many runs wait for their turn."""
    while len(turns._waiting) < count:
        time.sleep(0.001)


def test_one_draws_at_a_time_in_the_order_in_which_they_came(turns, begin):
    drawn, drawing = [], []

    def draw(name):
        with turns.taken(), turns.taken():  # a panel within a page
            drawing.append(name)
            drawn.append((name, len(drawing)))
            drawing.remove(name)

    with turns.taken():
        for count, name in enumerate("abcde", start=1):
            begin(lambda name=name: draw(name))
            wait_for(turns, count)
        assert drawn == []
    while len(drawn) < 5:
        time.sleep(0.001)
    assert drawn == [(name, 1) for name in "abcde"]


def test_who_waits_for_an_answer_leaves_its_turn_and_is_next_when_it_comes(
    turns, begin
):
    happened, is_asking, has_answer = [], threading.Event(), threading.Event()

    def ask():
        with turns.taken():
            with turns.left():
                is_asking.set()
                assert has_answer.wait(10)
            happened.append("the one that asked")

    def draw(name):
        with turns.taken():
            happened.append(name)

    begin(ask)
    assert is_asking.wait(10)
    draw("another")
    with turns.taken():
        begin(lambda: draw("a later one"))
        wait_for(turns, 1)
        has_answer.set()
        wait_for(turns, 2)
    while len(happened) < 3:
        time.sleep(0.001)
    assert happened == ["another", "the one that asked", "a later one"]


def test_a_run_that_takes_long_holds_up_no_other_for_ever(begin):
    turns = Turns()
    happened, may_end = [], threading.Event()

    def take_long():
        with turns.taken():
            happened.append("long")
            assert may_end.wait(10)

    def draw():
        with turns.taken():
            happened.append("short")

    begin(take_long)
    while not happened:
        time.sleep(0.001)
    began = time.monotonic()
    first, second = begin(draw), begin(draw)
    first.join(10)
    second.join(10)
    assert happened == ["long", "short", "short"]
    assert time.monotonic() - began < 5
    may_end.set()


def test_a_run_that_fails_ends_its_turn(turns):
    with pytest.raises(ValueError, match="no page"), turns.taken():
        raise ValueError("no page")
    with turns.taken():
        assert turns._drawing is not None
    assert turns._drawing is None


def test_nobody_leaves_a_turn_that_it_does_not_have(turns):
    with turns.left():
        assert turns._drawing is None
    with turns.taken():
        with turns.left():
            assert turns._drawing is None
        assert turns._drawing is not None
