"""How long a classifier takes that learns on an encoder which stays as it is.

The bundled model at level "head", on as many rows as a first try has, in a process
with two processor cores: from the call to the judged model, the simple methods
included. Starting Python and loading the model are not counted.
"""

import csv
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from benchmarks.labelled_table import SAMPLE
from benchmarks.machine import OtherWork, wait_until_quiet
from benchmarks.table import Table, met
from benchmarks.trainers import on_tensorflow
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.training.finetune.dataset import Examples, TrainingData
from bertviz_core.training.finetune.settings import FinetuneSettings

NUM_ROWS = 1000
NUM_CORES = 2
TARGET_SECONDS = 60.0
_VALIDATION_RATE = 0.2


def measure() -> Table:
    """Trains once."""
    wait_until_quiet()
    work = OtherWork()
    seconds, epochs, cores = train_apart(NUM_ROWS)
    row = (
        f"{NUM_ROWS:,}",
        f"{epochs}",
        f"{cores}",
        f"{seconds:.1f} s",
        f"<= {TARGET_SECONDS:g} s",
        met(seconds, TARGET_SECONDS),
        f"{work.cores():.1f}",
    )
    return Table(
        f'Fine-tuning at level "head", {DEFAULT_MODEL}',
        ("rows", "epochs", "cores", "measured", "target", "met", "others"),
        [row],
        (
            "Rows of the library sample table, numbered so that no two are alike; a "
            "fifth judges. 'others': cores busy with other work.",
        ),
    )


def train_apart(num_rows: int) -> tuple[float, int, int]:
    """Trains in a process of its own, which the limit of cores does not outlive.

    Returns:
        Seconds, epochs, and the cores that the process had.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context, initializer=_take_few_cores) as pool:
        return pool.submit(_train, num_rows).result()


def sample_rows(num_rows: int) -> TrainingData:
    """Rows of the sample table, over and over, those that judge included."""
    with SAMPLE.open(encoding="utf-8", newline="") as file:
        known = [(row["message"], row["topic"]) for row in csv.DictReader(file)]
    labels = tuple(sorted({topic for _, topic in known}))
    chosen = [known[index % len(known)] for index in range(num_rows)]
    texts = tuple(f"{text} {index}" for index, (text, _) in enumerate(chosen))
    targets = np.array([labels.index(topic) for _, topic in chosen], "int32")
    rows = Examples(texts, None, targets, np.arange(num_rows))
    order = np.random.default_rng(1).permutation(num_rows)
    size = round(num_rows * _VALIDATION_RATE)
    judged = rows.select(order[:size])
    return TrainingData(rows.select(order[size:]), judged, judged, labels)


def _train(num_rows: int) -> tuple[float, int, int]:
    on_tensorflow()
    from bertviz_core.checkpoints.library import open_model
    from bertviz_core.training.finetune.run import finetune

    loaded, data = open_model(DEFAULT_MODEL), sample_rows(num_rows)
    began_at = time.perf_counter()
    result = finetune(loaded, data, FinetuneSettings(level="head", max_tokens=64))
    seconds = time.perf_counter() - began_at
    return seconds, len(result.points), _num_cores()


def _take_few_cores() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:NUM_CORES])


def _num_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
