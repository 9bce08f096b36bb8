"""Who is to blame when a process dies that worked for several visitors at a time.

Dask suspects every task that was with the process, also those that waited for their
turn. Here each suspect is tried again, and one at a time, so that the others get
their answers and the one that kills is refused.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

R = TypeVar("R")
# Of work that takes hours: nobody can be made to wait for its end. It may meet one
# that kills at each of that one's tries, and must outlast them.
MAX_LONG_TRIES = 5


class _Try:
    """One try of a task; `had_company` if it died while others were with it."""

    had_company = False


class Suspects:
    """Runs the tasks of one worker process. Safe to use from several threads.

    The first time, tasks run as they come. Those that were with the process when it
    died are tried a second time one by one of each kind, and those that meet another
    death then, because kinds run side by side, a third time one by one of all.

    Args:
        died: what an asker raises when the process that ran its task has died.
    """

    def __init__(self, died: type[Exception]) -> None:
        self._died = died
        self._lock = threading.Lock()
        self._tries: list[_Try] = []
        self._turn_of_kind: dict[str, threading.Lock] = defaultdict(threading.Lock)
        self._last_turn = threading.Lock()

    def ask(self, kind: str, ask: Callable[[], R]) -> R:
        """Asks for a task that is soon over, again if need be.

        Args:
            kind: tasks of other kinds need not wait for the second try of this one.
            ask: runs the task from its beginning and waits for it.

        Raises:
            Exception: what `ask` raised; the error `died` where the process died
                over this task twice, and no other may have been the cause.
        """
        with self._lock:
            turn = self._turn_of_kind[kind]
        return self._ask(ask, (nullcontext(), turn, self._last_turn))

    def ask_for_long(self, ask: Callable[[], R]) -> R:
        """Asks for a task that may take hours; nobody waits for its turn."""
        return self._ask(ask, (nullcontext(),) * MAX_LONG_TRIES)

    def _ask(
        self, ask: Callable[[], R], turns: tuple[AbstractContextManager, ...]
    ) -> R:
        for number, turn in enumerate(turns, 1):
            one = _Try()
            try:
                with turn:
                    return self._try(one, ask)
            except self._died:
                is_guilty = number > 1 and not one.had_company
                if is_guilty or number == len(turns):
                    raise
        raise ValueError("There is no turn.")

    def _try(self, one: _Try, ask: Callable[[], R]) -> R:
        with self._lock:
            self._tries.append(one)
        try:
            return ask()
        except self._died:
            with self._lock:
                # The first to hear of it tells the others, who are just hearing it.
                for other in self._tries:
                    if other is not one:
                        other.had_company = one.had_company = True
            raise
        finally:
            with self._lock:
                self._tries.remove(one)
