"""Runs of pages take turns: one draws at a time, in the order in which they came.

Python runs one thread at a time anyway. Where twenty want to, each loses its place at
every message that it sends and array that it computes, and waits for it anew: thirty
visitors then wait twice as long as in a queue, with a quarter of the processor idle.
"""

import itertools
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

# A run that takes longer, or waits for something else, holds up no other any more.
_LONGEST = 0.25  # seconds
_NUMBERS = itertools.count()


@dataclass
class _Run:
    number: int = field(default_factory=lambda: next(_NUMBERS))
    may_go: threading.Event = field(default_factory=threading.Event)


class Turns:
    """Whose turn it is, of the runs in all threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[_Run] = []
        self._drawing: _Run | None = None
        self._since = 0.0
        self._own = threading.local()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Waits for the turn of this thread, and ends it; nothing within a turn."""
        if getattr(self._own, "run", None) is not None:
            yield
            return
        self._own.run = run = _Run()
        self._begin(run)
        try:
            yield
        finally:
            self._own.run = None
            self._end(run)

    @contextmanager
    def left(self) -> Iterator[None]:
        """Gives the turn of this thread away for as long as it waits for an answer."""
        run = getattr(self._own, "run", None)
        if run is None:
            yield
            return
        self._end(run)
        try:
            yield
        finally:
            self._begin(run)

    def _begin(self, run: _Run) -> None:
        run.may_go.clear()
        with self._lock:
            self._waiting.append(run)
            self._let_go()
        while not run.may_go.wait(_LONGEST):
            with self._lock:
                self._let_go()

    def _end(self, run: _Run) -> None:
        with self._lock:
            if self._drawing is run:
                self._drawing = None
                self._let_go()

    def _let_go(self) -> None:
        """Lets the oldest run draw, if none does or the one that does takes long."""
        is_held = self._drawing and time.monotonic() - self._since < _LONGEST
        if self._waiting and not is_held:
            self._drawing = min(self._waiting, key=lambda run: run.number)
            self._waiting.remove(self._drawing)
            self._since = time.monotonic()
            self._drawing.may_go.set()


TURNS = Turns()
