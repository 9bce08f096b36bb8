"""Answers a question where the caller is, in a worker or in this process."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from bertviz_core.engine.jobs import JobCancelled, Progress
from bertviz_core.engine.questions import Question, answer
from bertviz_core.errors import BertVizError, EngineError

LOGGER = logging.getLogger(__name__)


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


def run(question: Question[Any], progress: Progress | None = None) -> Outcome:
    """Answers a question and catches what that raises.

    An exception that is not a `BertVizError` is a defect: its traceback goes to
    the log of this process, and the caller gets a sentence.

    Args:
        question: what is asked.
        progress: makes it a job.
    """
    try:
        return Outcome(answer(question, progress))
    except JobCancelled:
        return Outcome(is_cancelled=True)
    except BertVizError as error:
        return Outcome(error=error)
    except Exception as error:
        LOGGER.exception("The task %s failed.", question.name)
        return Outcome(error=unexpected(question.name, error))


def unexpected(task: str, error: BaseException) -> EngineError:
    """The sentence for an exception that nobody foresaw."""
    return EngineError(
        "Something went wrong inside the task {task}. Received: {kind}. Try again; "
        "if it happens again, the log of the server says more.",
        task=task,
        kind=type(error).__name__,
    )
