"""Runs a task by name, where the caller is: in a worker or in this process.

The module that names the tasks is imported here, at the first task, so that an engine
can be given another.
"""

from __future__ import annotations

import importlib
import logging
from dataclasses import dataclass
from typing import Any

from bertviz_core.engine.jobs import JobCancelled, Progress
from bertviz_core.errors import BertVizError, EngineError

TASKS_MODULE = "bertviz_core.engine.tasks"
TRAINING_MODULE = "bertviz_core.engine.training_tasks"

LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True)
class Request:
    """A task to run, in plain values.

    Args:
        task: a name in the module's `TASKS` or, for a job, `JOB_TASKS`.
        arguments: by name.
        module: where the tasks are.
    """

    task: str
    arguments: dict[str, Any]
    module: str = TASKS_MODULE


@dataclass(frozen=True)
class Outcome:
    """What became of a task: a value, an error for the user, or neither.

    Errors travel as values: Dask would log a raised one with the text that the
    user typed.
    """

    value: Any = None
    error: BertVizError | None = None
    is_cancelled: bool = False

    def unwrap(self) -> Any:
        """The value.

        Raises:
            BertVizError: the very error that the task raised.
        """
        if self.error is not None:
            raise self.error
        return self.value


def run(request: Request, progress: Progress | None = None) -> Outcome:
    """Runs a task and catches what it raises.

    An exception that is not a `BertVizError` is a defect: its traceback goes to
    the log of this process, and the caller gets a sentence.

    Args:
        request: which task.
        progress: makes it a job; given to the task as its first argument.
    """
    try:
        tasks = importlib.import_module(request.module)
        if progress is None:
            return Outcome(tasks.TASKS[request.task](**request.arguments))
        return Outcome(tasks.JOB_TASKS[request.task](progress, **request.arguments))
    except JobCancelled:
        return Outcome(is_cancelled=True)
    except BertVizError as error:
        return Outcome(error=error)
    except Exception as error:
        LOGGER.exception("The task %s failed.", request.task)
        return Outcome(error=unexpected(request.task, error))


def unexpected(task: str, error: BaseException) -> EngineError:
    """The sentence for an exception that nobody foresaw."""
    return EngineError(
        "Something went wrong inside the task {task}. Received: {kind}. Try again; "
        "if it happens again, the log of the server says more.",
        task=task,
        kind=type(error).__name__,
    )


def is_closed_error() -> EngineError:
    """The sentence for a question that comes after `close`."""
    return EngineError(
        "The engine is closed, because the server is stopping. Start the server "
        "again and reload the page."
    )
