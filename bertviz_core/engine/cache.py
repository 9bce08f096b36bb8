"""A cache with a bound, where several threads that miss together compute once."""

import dataclasses
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

import numpy as np

Key = TypeVar("Key")
Value = TypeVar("Value")


class BoundedCache(Generic[Key, Value]):
    """Keeps what was used last, up to a limit of weight.

    A failed attempt is not kept: the next caller tries again, while those who waited
    for the same attempt get its error. If it was cancelled, as a job may be, they try
    again as well.

    Args:
        limit: on the sum of weights; 0 keeps nothing. The newest value stays even if it
            is heavier than that alone: the next question is mostly about the same.
        weight_of: of a value, at least 0. `None` gives every value the weight 1 and
            makes room *before* a value is made, so that no more than `limit` values
            exist while one caller at a time is making one.
        weight_of_key: added to the weight of its value.
    """

    def __init__(
        self,
        limit: int,
        weight_of: Callable[[Value], int] | None = None,
        weight_of_key: Callable[[Key], int] = lambda key: 0,
    ) -> None:
        self._limit = limit
        self._weight_of = weight_of
        self._weight_of_key = weight_of_key
        self._lock = threading.Lock()
        # The one that was used last comes last.
        self._kept: dict[Key, tuple[Value, int]] = {}
        self._pending: dict[Key, Future[Value]] = {}

    def get(self, key: Key, make: Callable[[], Value]) -> Value:
        """The value of `key`; `make` is called, and may raise, if it is not kept."""
        while True:
            with self._lock:
                if key in self._kept:
                    self._kept[key] = self._kept.pop(key)
                    return self._kept[key][0]
                pending = self._pending.get(key)
                is_mine = pending is None
                if pending is None:
                    pending = self._pending[key] = Future()
            if is_mine:
                self._make(key, make, pending)
            error = pending.exception()
            if error is None or isinstance(error, Exception):
                return pending.result()
            # Another caller's job was stopped, which says nothing about this one.

    def __contains__(self, key: Key) -> bool:
        """Whether there is a value; asking does not count as using it."""
        return key in self._kept

    def drop(self, key: Key) -> None:
        with self._lock:
            self._kept.pop(key, None)

    def values(self) -> list[Value]:
        """The values that are kept, least recently used first."""
        with self._lock:
            return [value for value, _ in self._kept.values()]

    def forget(self, is_stale: Callable[[Key], bool]) -> None:
        """Drops the values of the keys that `is_stale` says yes to."""
        with self._lock:
            for key in list(self._kept):
                if is_stale(key):
                    del self._kept[key]

    def _make(
        self, key: Key, make: Callable[[], Value], pending: Future[Value]
    ) -> None:
        try:
            if self._weight_of is None:
                self._make_room(1)
            value = make()
            weight = 1
            if self._weight_of is not None:
                weight = self._weight_of(value) + self._weight_of_key(key)
        except BaseException as error:
            with self._lock:
                del self._pending[key]
            pending.set_exception(error)
            raise
        self._make_room(weight)
        with self._lock:
            if self._limit > 0:
                self._kept[key] = (value, weight)
            del self._pending[key]
        pending.set_result(value)

    def _make_room(self, needed: int) -> None:
        with self._lock:
            weight = sum(weight for _, weight in self._kept.values())
            while self._kept and weight + needed > self._limit:
                _, freed = self._kept.pop(next(iter(self._kept)))
                weight -= freed


def num_bytes(answer: Any) -> int:
    """What arrays and text take, in dataclasses and collections of them too."""
    if isinstance(answer, np.ndarray):
        return answer.nbytes
    if isinstance(answer, (str, bytes)):
        return len(answer)
    if dataclasses.is_dataclass(answer):
        names = (field.name for field in dataclasses.fields(answer))
        return sum(num_bytes(getattr(answer, name)) for name in names)
    if isinstance(answer, dict):
        return sum(num_bytes(part) for item in answer.items() for part in item)
    if isinstance(answer, (tuple, list, set, frozenset)):
        return sum(map(num_bytes, answer))
    return 0
