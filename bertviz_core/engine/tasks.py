"""What the engine can be asked, by name: plain functions of plain values.

`TASKS` are the methods of `Client`; those in `JOB_TASKS` take a `progress` first and
are started as jobs. Keras is imported with the first model, so that the list of
models need not wait for it.

`model` is a model's id; `text`, `pair` and `cut` are those of `model_tasks.tokenize`.
Other arguments, and errors, are told at the experiment that a task asks, unless the
task itself says more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bertviz_core.engine import (
    attention_tasks,
    cause_tasks,
    embedding_tasks,
    finetune_tasks,
    finetuned_tasks,
    layer_tasks,
    model_tasks,
    pretraining_tasks,
    scoring_tasks,
    sentence_tasks,
    word_tasks,
)
from bertviz_core.engine.asking import tasks_of
from bertviz_core.engine.client import Client

TASKS: dict[str, Callable[..., Any]] = {
    # The engine itself asks this one, and waits for no answer.
    model_tasks.warm_up.__name__: model_tasks.warm_up,
    **tasks_of(Client),
}
JOB_TASKS: dict[str, Callable[..., Any]] = {
    task.__name__: task
    for task in (
        *model_tasks.JOB_TASKS,
        *attention_tasks.JOB_TASKS,
        *cause_tasks.JOB_TASKS,
        *layer_tasks.JOB_TASKS,
        *pretraining_tasks.JOB_TASKS,
        *embedding_tasks.JOB_TASKS,
        *sentence_tasks.JOB_TASKS,
        *finetuned_tasks.JOB_TASKS,
        *finetune_tasks.JOB_TASKS,
        *scoring_tasks.JOB_TASKS,
        *word_tasks.JOB_TASKS,
    )
}
