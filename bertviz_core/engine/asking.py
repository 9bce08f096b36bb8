"""A task as a method: whoever calls it asks the engine, with the task's own types."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, cast

from bertviz_core.engine.engine import Engine

P = ParamSpec("P")
R = TypeVar("R")


class HasEngine(Protocol):
    """A class whose methods ask."""

    _engine: Engine


class Asks(Generic[P, R]):
    """A method with the name, arguments, answer and docstring of a task.

    The task runs where the engine runs tasks. Its default values hold there, too:
    only what the caller gives travels.

    Args:
        task: a function of plain values.

    Example:
        >>> class Client:
        ...     tokenize = Asks(model_tasks.tokenize)
    """

    def __init__(self, task: Callable[P, R]) -> None:
        self.task = task
        self._signature = inspect.signature(task)
        self.__doc__ = task.__doc__

    def __get__(self, asker: HasEngine, owner: type | None = None) -> Callable[P, R]:
        if asker is None:  # the class itself was asked, for help or in a test
            return self.task

        @functools.wraps(self.task)
        def ask(*args: P.args, **kwargs: P.kwargs) -> R:
            given = self._signature.bind(*args, **kwargs).arguments
            return cast("R", asker._engine.call(self.task.__name__, **given))

        return ask


def tasks_of(owner: type) -> dict[str, Callable[..., Any]]:
    """The tasks behind the methods of a class and of those that it stands on."""
    return {
        asks.task.__name__: asks.task
        for base in owner.__mro__
        for asks in vars(base).values()
        if isinstance(asks, Asks)
    }
