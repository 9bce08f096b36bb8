"""One training, ours and that of `transformers`, each in a process of its own.

A process trains with the whole loop of its library and stops after every few steps,
until it is asked for the next ones: so peers take turns within one run.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import OtherWork, wait_until_quiet
from bertviz_core.quiet import import_keras
from bertviz_core.training.finetune.dataset import Examples

OURS, TRAINER, TRAINER_BF16 = "ours", "Trainer", "Trainer, bf16=True"
NAMES = (OURS, TRAINER, TRAINER_BF16)
# More than any benchmark asks for: the processes are ended from outside.
_MANY_EPOCHS = 100


@dataclass(frozen=True)
class Task:
    """What a `fine_tune` learns."""

    folder: Path  # a Hugging Face folder, the model to begin with
    rows: Examples  # to learn from, whole batches of them
    labels: tuple[str, ...]  # of the classes that `rows.targets` count
    batch_size: int  # rows of a step
    max_tokens: int  # of a row, special tokens counted; what is beyond is cut


class TrainingPeer:
    """A training in its own process. Use it in a `with` statement.

    `train`, a function of a module, gets `Turns` and `args`, to be pickled, and trains
    until it is killed.
    """

    def __init__(self, train: Callable[..., None], *args: Any) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(train, args, theirs))
        self._process.start()
        theirs.close()

    def __enter__(self) -> TrainingPeer:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.join()

    def seconds(self, steps: int) -> float:
        self._pipe.send(steps)
        return self._pipe.recv()  # EOFError when the peer died; its traceback is above


def speeds_in_turns(
    tasks: Mapping[str, tuple[Any, ...]], amount: int, steps: int, rounds: int
) -> tuple[dict[str, list[float]], float]:
    """Trains peers in turns; the first turn, in which things compile, is not counted.

    Args:
        tasks: by name of the peer, the arguments of its `TrainingPeer`.
        amount: tokens, or whatever is counted, of a step.
        steps: of a turn.
        rounds: turns of each peer.

    Returns:
        Tokens a second of each peer in each round, and how many cores were busy with
        other work, the most in any round.
    """
    speeds: dict[str, list[float]] = {name: [] for name in tasks}
    most = 0.0
    with contextlib.ExitStack() as stack:
        peers = {
            name: stack.enter_context(TrainingPeer(*task))
            for name, task in tasks.items()
        }
        for peer in peers.values():
            peer.seconds(steps)
        for _ in range(rounds):
            wait_until_quiet()
            work = OtherWork()
            for name, peer in peers.items():
                speeds[name].append(amount * steps / peer.seconds(steps))
            most = max(most, work.cores())
    return speeds, most


def in_a_process(task: Callable[..., Any], *args: Any) -> Any:
    """Runs a function of a module in a process of its own; returns what it returns."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(task, *args).result()


def on_tensorflow() -> None:
    """Has this process train, whatever the one that started it asks models on."""
    os.environ["KERAS_BACKEND"] = "tensorflow"
    import_keras()


def median_ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Our speed through theirs: the median over the rounds."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


class Turns:
    """Lets a training run on only while it is this peer's turn."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._left = 0
        self._began = 0.0

    def begin(self) -> None:
        self._left = self._pipe.recv()
        self._began = time.perf_counter()

    def step(self) -> None:
        """A step was taken; at the end of a turn waits for the next."""
        self._left -= 1
        if self._left == 0:
            self._pipe.send(time.perf_counter() - self._began)
            self.begin()


def texts_of(vocabulary: Sequence[str], num_rows: int, num_tokens: int) -> list[str]:
    """Texts of exactly so many tokens, [CLS] and [SEP] among them.

    Of the word pieces, whole words of plain letters are drawn.
    """
    words = [piece for piece in vocabulary if piece.isascii() and piece.isalnum()]
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(words, num_tokens - 2)) for _ in range(num_rows)]


def encoded_rows(
    tokenizer: Any, texts: Sequence[str], labels: np.ndarray, num_tokens: int
) -> list[dict[str, Any]]:
    """R rows, with labels int `[R]`, as the `Trainer` of `transformers` takes them."""
    encoded = tokenizer(list(texts), truncation=True, max_length=num_tokens)
    return [
        {name: values[index] for name, values in encoded.items()} | {"labels": label}
        for index, label in enumerate(labels.tolist())
    ]


def fine_tune(turns: Turns, name: str, task: Task) -> None:
    """Fine-tunes; a task for `TrainingPeer`."""
    if name == OURS:
        _ours(turns, task)
    else:
        _transformers(turns, task, is_bf16=name == TRAINER_BF16)


def _serve(train: Callable[..., None], args: tuple[Any, ...], pipe: Connection) -> None:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    train(Turns(pipe), *args)


def _ours(turns: Turns, task: Task) -> None:
    on_tensorflow()
    from bertviz_core.checkpoints.library import open_model
    from bertviz_core.training.finetune.dataset import TrainingData
    from bertviz_core.training.finetune.settings import FinetuneSettings
    from bertviz_core.training.finetune.trainer import Trainer

    loaded = open_model(str(task.folder))
    few = task.rows.select(np.arange(len(task.labels)))
    settings = FinetuneSettings(
        level="full", epochs=_MANY_EPOCHS, batch_size=task.batch_size,
        max_tokens=task.max_tokens, patience=0,
    )  # fmt: skip

    def told(event: Any) -> None:
        if event.kind == "step":
            turns.step()

    data = TrainingData(task.rows, few, few, task.labels)
    trainer = Trainer(loaded, data, settings, told)
    turns.begin()
    trainer.run()


def _transformers(turns: Turns, task: Task, is_bf16: bool) -> None:
    import torch
    from transformers import (
        AutoTokenizer,
        BertForSequenceClassification,
        Trainer,
        TrainerCallback,
        TrainingArguments,
        logging,
    )

    logging.set_verbosity_error()
    tokenizer = AutoTokenizer.from_pretrained(task.folder)
    rows = encoded_rows(tokenizer, task.rows.texts, task.rows.targets, task.max_tokens)

    class Waits(TrainerCallback):
        """Waits for its turn after every step."""

        def on_train_begin(self, *_: Any, **__: Any) -> None:
            turns.begin()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            turns.step()

    # The bundled model is stored in 16 bits, in which nobody would train it.
    model = BertForSequenceClassification.from_pretrained(
        task.folder, num_labels=len(task.labels), dtype=torch.float32
    )
    with tempfile.TemporaryDirectory() as scratch:
        arguments = TrainingArguments(
            scratch,
            per_device_train_batch_size=task.batch_size,
            num_train_epochs=_MANY_EPOCHS,
            bf16=is_bf16,
            use_cpu=True,
            report_to="none",
            save_strategy="no",
            disable_tqdm=True,
        )
        trainer = Trainer(
            model,
            arguments,
            train_dataset=rows,
            processing_class=tokenizer,  # pads a batch to its longest row
            callbacks=[Waits()],
        )
        trainer.train()
