"""How well the estimate of a training is met by the training.

    python -m benchmarks finetune_estimate
    python -m benchmarks.finetune_estimate --processor-time
    python -m benchmarks.finetune_estimate --model bert-mini-zh --rows 2000

The estimate is that of the fine-tuning page: two timed steps for each level. Then each
level is trained for as many epochs as it foresaw, without ending early. The estimate
and each training have a process of their own, which has opened the model; from the
call to the report, the simple methods included. Memory is what a training adds to its
process at most, and the estimate is what the page weighs against what is free, with
its margin for the framework.
"""

from __future__ import annotations

import argparse
import multiprocessing
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING, Any

import psutil

from benchmarks.finetune_head import sample_rows
from benchmarks.machine import OtherWork, describe_machine, wait_until_quiet
from benchmarks.table import Table
from benchmarks.trainers import on_tensorflow
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.engine import table_store
from bertviz_core.training.finetune.columns import ColumnChoice
from bertviz_core.training.finetune.request import SAMPLES, DataChoice, TableSource
from bertviz_core.training.finetune.settings import LEVELS, FinetuneSettings

if TYPE_CHECKING:
    from bertviz_core.checkpoints.library import LoadedModel
    from bertviz_core.training.finetune.dataset import TrainingData

_COLUMNS = ColumnChoice("message", "topic")
_SAMPLE_SECONDS = 0.01
_MEGABYTE = 1e6


def measure() -> Table:
    """Estimates and trains on the library sample table."""
    return _measure(_options([]))


def main() -> None:
    """Reads the command line and prints a table."""
    options = _options()
    print(f"{describe_machine()}\n")
    print(_measure(options).markdown())


def _options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default=DEFAULT_MODEL)
    parser.add_argument(
        "--rows", type=int, default=0, help="of the sample, over and over; 0: as it is"
    )
    parser.add_argument(
        "--processor-time",
        action="store_true",
        help="seconds of all processors, which other work changes little",
    )
    return parser.parse_args(arguments)


def _measure(options: argparse.Namespace) -> Table:
    wait_until_quiet()
    work = OtherWork()
    estimates = _apart(options, _estimate)
    others = work.cores()
    rows = []
    for level, (seconds, num_bytes) in zip(LEVELS, estimates, strict=True):
        work = OtherWork()
        needed, added, steps = _apart(options, _train, level)
        rows.append(
            (
                level,
                f"{steps}",
                f"{seconds:.1f} s",
                f"{needed:.1f} s",
                f"{seconds / needed:.2f}",
                f"{num_bytes / _MEGABYTE:.0f} MB",
                f"{added / _MEGABYTE:.0f} MB",
                f"{num_bytes / added:.2f}",
                f"{others:.1f} / {work.cores():.1f}",
            )
        )
    return Table(
        f"Estimates of fine-tuning, {options.model}",
        ("level", "steps", "estimated", "measured", "ratio", "memory estimated",
         "added", "ratio", "others"),
        rows,
        (
            "Ratio: estimated / measured. 'others': cores busy with other work while "
            "it was estimated, and trained.",
            *(["Seconds of processors, not of the clock."] * options.processor_time),
        ),
    )  # fmt: skip


def _apart(
    options: argparse.Namespace, work: Callable[..., Any], *arguments: Any
) -> Any:
    context = multiprocessing.get_context("spawn")
    begin = _count_processors if options.processor_time else None
    with ProcessPoolExecutor(1, context, initializer=begin) as pool:
        return pool.submit(work, options.model, options.rows, *arguments).result()


def _count_processors() -> None:
    """What this process takes for the clock is the time of its processors."""
    time.perf_counter = time.process_time


def _opened(model: str, num_rows: int) -> tuple[LoadedModel, TrainingData]:
    from bertviz_core.checkpoints.library import open_model

    if num_rows:
        return open_model(model), sample_rows(num_rows)
    choice = DataChoice(TableSource(SAMPLES["library_en"]), _COLUMNS)
    return open_model(model), table_store.prepared(choice).data


def _settings(loaded: LoadedModel, data: TrainingData, level: str) -> FinetuneSettings:
    """What the page proposes, but for an early end, which no estimate foresees."""
    return FinetuneSettings.proposed(
        loaded.model.config.hidden_size,
        len(data.train),
        level=level,
        max_tokens=64,
        patience=0,
    )


def _estimate(model: str, num_rows: int) -> list[tuple[float, int]]:
    """Seconds and bytes of each level."""
    on_tensorflow()
    from bertviz_core.training.finetune.estimate import MARGIN_BYTES, estimate_levels

    loaded, data = _opened(model, num_rows)
    found = estimate_levels(loaded, data, _settings(loaded, data, "full"))
    return [
        (level.seconds or 0.0, level.memory_bytes + MARGIN_BYTES)
        for level in found.levels
    ]


def _train(model: str, num_rows: int, level: str) -> tuple[float, int, int]:
    """Seconds, bytes at most beyond those before, and optimiser steps."""
    on_tensorflow()
    from bertviz_core.training.finetune.run import finetune
    from bertviz_core.training.finetune.settings import count_steps

    loaded, data = _opened(model, num_rows)
    settings = _settings(loaded, data, level)
    with _Growth() as growth:
        began_at = time.perf_counter()
        finetune(loaded, data, settings)
        seconds = time.perf_counter() - began_at
    return seconds, growth.num_bytes, count_steps(settings, len(data.train))


class _Growth:
    """The most memory that this process takes beyond what it had, resident."""

    def __enter__(self) -> _Growth:
        self._is_over = threading.Event()
        self._before = self._most = self._resident()
        self._watch = threading.Thread(target=self._look, daemon=True)
        self._watch.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._is_over.set()
        self._watch.join()

    @property
    def num_bytes(self) -> int:
        """At least one, so that it can be divided by."""
        return max(self._most - self._before, 1)

    def _look(self) -> None:
        while not self._is_over.wait(_SAMPLE_SECONDS):
            self._most = max(self._most, self._resident())

    @staticmethod
    def _resident() -> int:
        return int(psutil.Process().memory_info().rss)


if __name__ == "__main__":
    main()
