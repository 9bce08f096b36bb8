import threading
import time

import pytest

from bertviz_core.engine.cache import BoundedCache
from bertviz_core.engine.jobs import JobCancelled


def made(value, log):
    def make():
        log.append(value)
        return value

    return make


def test_what_was_used_last_stays():
    log = []
    cache = BoundedCache(2)
    for value in (1, 2, 1, 3, 1):
        cache.get(value, made(value, log))
    assert log == [1, 2, 3]
    assert cache.values() == [3, 1]


def test_room_is_made_before_a_value_of_weight_one_is_made():
    cache = BoundedCache(2)
    for value in (1, 2):
        cache.get(value, made(value, []))
    seen = []
    cache.get(3, lambda: seen.append(cache.values()) or 3)
    assert seen == [[2]]


def test_weights_add_up_to_the_limit_and_no_further():
    cache = BoundedCache(10, weight_of=len)
    for text in ("aaa", "bbbb", "ccc"):
        cache.get(text, made(text, []))
    assert cache.values() == ["aaa", "bbbb", "ccc"]
    cache.get("d", made("d", []))
    assert cache.values() == ["bbbb", "ccc", "d"]


def test_what_is_kept_under_a_long_key_weighs_more():
    cache = BoundedCache(10, weight_of=len, weight_of_key=len)
    for key, value in (("aaaa", "b"), ("cccc", "d"), ("e", "f")):
        cache.get(key, made(value, []))
    assert cache.values() == ["d", "f"]


def test_the_newest_value_stays_however_heavy_and_alone():
    log = []
    cache = BoundedCache(3, weight_of=len)
    for text in ("aa", "long", "long"):
        assert cache.get(text, made(text, log)) == text
    assert cache.values() == ["long"]
    cache.get("b", made("b", log))
    assert cache.values() == ["b"]
    assert log == ["aa", "long", "b"]


def test_a_limit_of_nothing_keeps_nothing():
    log = []
    cache = BoundedCache(0, weight_of=len)
    assert [cache.get("aa", made("aa", log)) for _ in range(3)] == ["aa"] * 3
    assert cache.values() == []
    assert log == ["aa"] * 3


def test_a_failure_is_not_kept():
    cache = BoundedCache(3)
    with pytest.raises(ZeroDivisionError):
        cache.get("a", lambda: 1 // 0)
    assert cache.get("a", lambda: 7) == 7


def test_forgotten_values_are_made_again():
    log = []
    cache = BoundedCache(5)
    for value in (1, 2, 3):
        cache.get(value, made(value, log))
    cache.forget(lambda key: key != 2)
    for value in (1, 2, 3):
        cache.get(value, made(value, log))
    assert log == [1, 2, 3, 1, 3]


class Crowd:
    """One thread that makes a value, and four that come while it does."""

    def __init__(self, cache, outcome):
        self.made, self.answers, self.errors, self.stopped = 0, [], [], []
        self._cache, self._outcome = cache, outcome
        self._inside, self._gate = threading.Event(), threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(5)]

    def run(self):
        self._threads[0].start()
        self._inside.wait()
        for thread in self._threads[1:]:
            thread.start()
        pending = self._cache._pending["key"]
        while len(pending._condition._waiters) < 4:
            time.sleep(0.001)
        self._gate.set()
        for thread in self._threads:
            thread.join()

    def _ask(self):
        try:
            self.answers.append(self._cache.get("key", self._make))
        except ZeroDivisionError as error:
            self.errors.append(error)
        except JobCancelled as stopped:
            self.stopped.append(stopped)

    def _make(self):
        self.made += 1
        self._inside.set()
        self._gate.wait()
        return self._outcome()


@pytest.mark.parametrize("limit", [5, 0])
def test_a_crowd_that_misses_together_computes_once(limit):
    crowd = Crowd(BoundedCache(limit, weight_of=lambda value: 4), object)
    crowd.run()
    assert crowd.made == 1
    assert len(crowd.answers) == 5
    assert len(set(map(id, crowd.answers))) == 1


def test_a_crowd_gets_the_error_of_the_one_attempt():
    crowd = Crowd(BoundedCache(3), lambda: 1 // 0)
    crowd.run()
    assert crowd.made == 1
    assert len(crowd.errors) == 5


def test_who_waited_for_a_job_that_was_stopped_tries_again():
    attempts = []

    def outcome():
        attempts.append(None)
        if len(attempts) == 1:
            raise JobCancelled
        return object()

    crowd = Crowd(BoundedCache(3), outcome)
    crowd.run()
    assert len(crowd.stopped) == 1
    assert len(crowd.answers) == 4
    assert len(set(map(id, crowd.answers))) == 1
    assert crowd.made == 2
