"""A question to the engine: a function of the core and plain values, as they travel.

And the answer where the function is, in a worker or in this process.

Where a function takes what only a process with models has, its name travels instead:
for an `Explorer` the id of a model; for a `Trace` the texts, for `SentenceStates` the
sentences and how they are read, for `WordVectors` nothing, each after the id of the
model unless an `Explorer` came just before; for a `Table` where it lies, for
`PreparedData` which rows they are.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    TypeVar,
    overload,
)

from bertviz_core.engine.jobs import JobCancelled, JobProgress
from bertviz_core.errors import BertVizError, EngineError
from bertviz_core.tasks import task, task_of
from bertviz_core.visitor_files import RUN_PREFIX

if TYPE_CHECKING:
    from bertviz_core.experiments.embedding_results import SentenceStates
    from bertviz_core.experiments.word_vectors import WordVectors
    from bertviz_core.explorer import Explorer
    from bertviz_core.trace import Texts, Trace
    from bertviz_core.training.finetune.request import DataChoice, TableSource
    from bertviz_core.training.finetune.split import PreparedData
    from bertviz_core.training.finetune.table import Table

P = ParamSpec("P")
R = TypeVar("R")
# What a process with models puts in the place of names.
_OF_A_MODEL = ("Explorer", "Trace", "WordVectors", "SentenceStates")
_PROVIDED = (*_OF_A_MODEL, "Table", "PreparedData")
LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True)
class Question(Generic[R]):
    """What is asked; equal questions have the same answer."""

    task: str  # where the function is: "bertviz_core.explorer:Explorer.tokenize"
    args: tuple[Any, ...] = ()  # what travels
    kwargs: tuple[tuple[str, Any], ...] = ()  # by name, in their order

    @property
    def name(self) -> str:
        return self.task.rpartition(":")[2]

    @property
    def function(self) -> Callable[..., R]:
        return find(self.task)

    def resource(self, usual: str) -> str:
        """What it takes one of while it runs; `usual` where it says nothing else."""
        return task_of(self.function).resource or usual

    @property
    def subject(self) -> str:
        """The model that it is about, if it is about one, be it that of a run."""
        first = next(iter(_kinds(self.function).values()), "")
        if first == "RunId":
            return f"{RUN_PREFIX}{self.args[0]}"
        return str(self.args[0]) if first in _OF_A_MODEL else ""


class Asking(Generic[P, R]):
    """Asks one function that is marked as a task; `answer` brings the answer."""

    def __init__(
        self, function: Callable[..., R], answer: Callable[[Question[R]], R]
    ) -> None:
        task_of(function)
        self._name = f"{function.__module__}:{function.__qualname__}"
        self._answer = answer

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._answer(self.about(*args, **kwargs))

    def about(self, *args: P.args, **kwargs: P.kwargs) -> Question[R]:
        """The question alone, for a job."""
        return Question(self._name, args, tuple(kwargs.items()))


class Asker:
    """Asks functions of the core, with the types of what travels.

    Example:
        >>> ask = Asker(engine.call)
        >>> ask(Explorer.tokenize)("bert-mini-en", "A text.").num_tokens
        5
    """

    def __init__(self, answer: Callable[[Question[Any]], Any]) -> None:
        self._answer = answer

    # fmt: off
    @overload
    def __call__(
        self, task: Callable[Concatenate[Explorer, WordVectors, P], R]
    ) -> Asking[Concatenate[str, P], R]: ...
    @overload
    def __call__(
        self, task: Callable[Concatenate[Explorer, Trace, P], R]
    ) -> Asking[Concatenate[str, Texts, P], R]: ...
    @overload
    def __call__(
        self, task: Callable[Concatenate[Explorer, PreparedData, P], R]
    ) -> Asking[Concatenate[str, DataChoice, P], R]: ...
    @overload
    def __call__(
        self, task: Callable[Concatenate[Explorer, P], R]
    ) -> Asking[Concatenate[str, P], R]: ...
    @overload
    def __call__(
        self, task: Callable[Concatenate[WordVectors, P], R]
    ) -> Asking[Concatenate[str, P], R]: ...
    @overload
    def __call__(
        self, task: Callable[Concatenate[Trace, Trace, P], R]
    ) -> Asking[Concatenate[str, Texts, str, Texts, P], R]: ...
    @overload
    def __call__(
        self, task: Callable[Concatenate[Trace, P], R]
    ) -> Asking[Concatenate[str, Texts, P], R]: ...
    @overload
    def __call__(
        self, task: Callable[Concatenate[SentenceStates, SentenceStates, P], R]
    ) -> Asking[
        Concatenate[str, tuple[str, ...], str, str, tuple[str, ...], str, P], R
    ]: ...
    @overload
    def __call__(
        self, task: Callable[Concatenate[SentenceStates, P], R]
    ) -> Asking[Concatenate[str, tuple[str, ...], str, P], R]: ...
    @overload
    def __call__(
        self, task: Callable[Concatenate[Table, P], R]
    ) -> Asking[Concatenate[TableSource, P], R]: ...
    @overload
    def __call__(self, task: Callable[P, R]) -> Asking[P, R]: ...
    # fmt: on
    def __call__(self, task: Callable[..., Any]) -> Any:
        """Names a function to ask."""
        return Asking(task, self._answer)


def find(task: str) -> Callable[..., Any]:
    """The function of a question, which must be marked as a task."""
    module, _, name = task.partition(":")
    function: Any = importlib.import_module(module)
    for part in name.split("."):
        function = getattr(function, part)
    task_of(function)
    return function


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
        """The value, or raises the very `BertVizError` that the task raised."""
        if self.error is not None:
            raise self.error
        return self.value


def run(question: Question[Any], progress: JobProgress | None = None) -> Outcome:
    """Answers a question in a process that may load models, and catches what it raises.

    An exception that is not a `BertVizError` is a defect: its traceback goes to the log
    of this process, and the caller gets a sentence. `progress` makes it a job.
    """
    try:
        return Outcome(_answer(question, progress))
    except JobCancelled:
        return Outcome(is_cancelled=True)
    except BertVizError as error:
        # What led to it would travel, too, and not every exception can.
        error.__cause__ = error.__context__ = None
        return Outcome(error=error)
    except Exception as error:
        LOGGER.exception("The task %s failed.", question.name)
        return Outcome(error=unexpected(question.name, error))


@task()
def answer_all(questions: tuple[Question[Any], ...]) -> tuple[Outcome, ...]:
    """Answers several questions in one; each has its own outcome."""
    return tuple(map(run, questions))


def unexpected(task: str, error: BaseException) -> EngineError:
    """The error for an unexpected exception."""
    return EngineError(
        "The task {task} failed unexpectedly. Received: {kind}. Try again; if it "
        "fails again, see the server log.",
        task=task,
        kind=type(error).__name__,
    )


def _answer(question: Question[R], progress: JobProgress | None) -> R:
    from bertviz_core.engine.memory import ANSWERS

    function = question.function
    kwargs = dict(question.kwargs)
    if progress is not None and "progress" in _kinds(function):
        kwargs["progress"] = progress

    def run() -> R:
        return function(*_arguments(function, question.args, progress), **kwargs)

    if progress is None or not task_of(function).is_kept:
        return run()
    key = (question.task, question.subject, question.args, question.kwargs)
    return ANSWERS.get(key, run)


@functools.cache
def _kinds(function: Callable[..., Any]) -> dict[str, str]:
    """The name of the type of each argument, by the name of that."""
    owner = function.__qualname__.rpartition(".")[0]
    written = {
        name: parameter.annotation
        for name, parameter in inspect.signature(function).parameters.items()
    }
    # A class, or its name where the module does not evaluate annotations.
    kinds = {name: getattr(one, "__name__", str(one)) for name, one in written.items()}
    return kinds | ({"self": owner} if "self" in kinds else {})


def _arguments(
    function: Callable[..., Any], given: tuple[Any, ...], progress: JobProgress | None
) -> Iterator[Any]:
    """What a function takes in place of what travelled."""
    from bertviz_core.engine import memory, table_store

    left, before, model = iter(given), "", ""
    for kind in _kinds(function).values():
        if kind not in _PROVIDED:
            break
        if kind in _OF_A_MODEL and before != "Explorer":
            model = next(left)
        if kind == "Explorer":
            yield memory.explorer(model)
        elif kind == "Trace":
            yield memory.whole_trace(model, next(left))
        elif kind == "WordVectors":
            yield memory.words_of(model)
        elif kind == "Table":
            yield table_store.table(next(left))
        elif kind == "PreparedData":
            yield table_store.prepared(next(left))
        else:
            yield memory.sentence_states(model, next(left), next(left), progress)
        before = kind
    yield from left
