"""Marks what can be asked for from another process, see `engine.questions`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

# What a task takes one of while it runs, and so which worker takes it and how many at
# a time: questions of pages; jobs; gradients; the timed steps of an estimate;
# trainings; models that come from the hub, for an hour on a slow line, or in a zip
# file; a model's answers to each row of a table.
CALL_RESOURCE, JOB_RESOURCE = "call", "job"
ESTIMATE_RESOURCE, TRAIN_RESOURCE = "estimate", "train"
GRADIENT_RESOURCE = "gradient"
DOWNLOAD_RESOURCE, UPLOAD_RESOURCE = "download", "upload"
PREDICT_RESOURCE = "predict"

Function = TypeVar("Function", bound=Callable[..., Any])
# Is told which share of the work is done, 0 to 1, and what is going on, in English.
Progress = Callable[[float, str], None]


def untold(fraction: float, message: str, so_far: Any = None) -> None:
    """Takes the reports of a task that nobody follows; see `engine.jobs`."""


@dataclass(frozen=True)
class Task:
    """How a function is asked."""

    # What it takes; `None` for `JOB_RESOURCE` as a job, else `CALL_RESOURCE`.
    resource: str | None = None
    # Whether a worker keeps the answer of a job for who asks the same.
    is_kept: bool = True


def task(
    resource: str | None = None, is_kept: bool = True
) -> Callable[[Function], Function]:
    """Lets pages ask for a function of plain values; for the arguments see `Task`.

    As a job it is given a `progress`, where it has such an argument.
    """

    def mark(function: Function) -> Function:
        function.task = Task(resource, is_kept)  # type: ignore[attr-defined]
        return function

    return mark


def task_of(function: Callable[..., Any]) -> Task:
    """How a function is asked.

    Raises:
        ValueError: it is none that may be.
    """
    found: Task | None = getattr(function, "task", None)
    if found is None:
        raise ValueError(f"{function.__qualname__} must be marked as a `task`.")
    return found
