"""Fine-tuning beside the `Trainer` of `transformers`, in one run.

    python -m benchmarks finetune
    python -m benchmarks.finetune table.csv --text-column T --label-column L

The same network from the same weights, the same rows and batches of as many of them,
everything learns. Each peer trains in its own process with its own loop and default
settings, and they take turns; the first turn, in which things are compiled, is not
counted.

The first command takes rows of one length, of which a turn is a few steps, and then the
library sample table; the second a table of your own. Of a table a turn is an epoch:
peers put rows together as each does, and pad a batch to its longest.
"""

import argparse
import importlib.util
import statistics
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.labelled_table import SAMPLE_ARGUMENTS, read_data, table_parser
from benchmarks.machine import describe_machine
from benchmarks.peers import write_checkpoint
from benchmarks.table import Table
from benchmarks.trainers import (
    NAMES,
    OURS,
    TRAINER,
    TRAINER_BF16,
    Task,
    fine_tune,
    median_ratio,
    speeds_in_turns,
    texts_of,
)
from bertviz_core.checkpoints.catalogue import BUNDLED_FOLDER
from bertviz_core.environment import multiplies_bfloat16
from bertviz_core.tokenizer import BertTokenizer
from bertviz_core.tokenizer_files import read_vocabulary
from bertviz_core.training.finetune.batches import tokenize
from bertviz_core.training.finetune.dataset import Examples

BATCH_SIZE = 16
NUM_TOKENS = 128  # of rows of one length
ROUNDS = 3
LABELS = ("a", "b")


@dataclass(frozen=True)
class Case:
    """One model."""

    name: str | None  # in the table; `None` for the one that the command line names
    steps: int  # of a turn with rows of one length
    # Of a turn with rows of a table; with fewer than a whole window of
    # `batches.epoch_order` ours would find fewer rows of nearly one length than in a
    # table of common size.
    table_steps: int
    target: float  # times the speed of the `Trainer` in float32


CASES = (Case(None, 32, 64, 1.5), Case("BERT-base, random weights", 8, 32, 1.8))


def measure() -> Table:
    """Runs all models on rows of one length and on the library sample table."""
    options = table_parser(__doc__).parse_args(SAMPLE_ARGUMENTS)
    return _measure(options, (_of_one_length, _of_a_table))


def main() -> None:
    """Reads the command line and prints a table."""
    options = table_parser(__doc__).parse_args()
    print(f"{describe_machine()}\n")
    print(_measure(options, (_of_a_table,)).markdown())


MakeTask = Callable[[Path, Case, argparse.Namespace], tuple[str, Task, int]]


def _measure(options: argparse.Namespace, kinds: tuple[MakeTask, ...]) -> Table:
    title = "Fine-tuning beside the `Trainer`, everything learns"
    needed = ("torch", "accelerate")
    if missing := [name for name in needed if importlib.util.find_spec(name) is None]:
        notes = (
            f"Not measured: {', '.join(missing)} not installed; see `make bench`.",
        )
        return Table(title, ("model",), (), notes)
    bundled = BUNDLED_FOLDER / options.model
    rows = []
    for case in CASES:
        with tempfile.TemporaryDirectory() as scratch:
            folder = bundled
            if case.name is not None:
                folder = Path(scratch) / "model"
                write_checkpoint(folder, words=_vocabulary(bundled))
            for kind in kinds:
                name, task, steps = kind(folder, case, options)
                rows += _compare(case, case.name or options.model, name, task, steps)
    return Table(
        title,
        (
            *("model", "rows", "peer", "rows/s", "tokens/s"),
            *("ours / peer", "target", "met", "others"),
        ),
        rows,
        (
            f"Batches of {BATCH_SIZE}. Median of {ROUNDS} turns; the ratio is the "
            "median over rounds. Ours is in bfloat16 where that is faster, else in "
            "float32; the peer with bf16=True runs where the processor has "
            "instructions for it: without, it takes tens of times as long. Padding is "
            "not counted as tokens.",
            "'others': cores busy with other work, most in any round.",
        ),
    )


def _of_one_length(
    folder: Path, case: Case, options: argparse.Namespace
) -> tuple[str, Task, int]:
    num_rows = BATCH_SIZE * case.steps
    texts = tuple(texts_of(_vocabulary(folder), num_rows, NUM_TOKENS))
    targets = np.arange(num_rows, dtype="int32") % len(LABELS)
    rows = Examples(texts, None, targets, np.arange(num_rows))
    task = Task(folder, rows, LABELS, BATCH_SIZE, NUM_TOKENS)
    return f"of {NUM_TOKENS} tokens", task, case.steps


def _of_a_table(
    folder: Path, case: Case, options: argparse.Namespace
) -> tuple[str, Task, int]:
    data = read_data(options)
    num_steps = min(case.table_steps, len(data.train) // BATCH_SIZE)
    rows = data.train.select(np.arange(num_steps * BATCH_SIZE))
    task = Task(folder, rows, data.labels, BATCH_SIZE, options.max_tokens)
    name = f"{len(rows)} of {options.table.stem}"
    return name, task, num_steps


def _compare(
    case: Case, model: str, rows_name: str, task: Task, steps: int
) -> list[tuple[str, ...]]:
    names = [name for name in NAMES if name != TRAINER_BF16 or multiplies_bfloat16()]
    tasks = {name: (fine_tune, name, task) for name in names}
    speeds, others = speeds_in_turns(tasks, BATCH_SIZE, steps, ROUNDS)
    length = _mean_length(task)
    rows: list[tuple[str, ...]] = []
    for name in names:
        ratio = median_ratio(speeds[OURS], speeds[name])
        target = case.target if name == TRAINER else 1.0
        judged: tuple[str, ...] = ("", "", "") if name == OURS else (
            f"{ratio:.2f}", f">= {target:g}", "yes" if ratio >= target else "**no**",
        )  # fmt: skip
        speed = statistics.median(speeds[name])
        measured = (f"{speed:.1f}", f"{speed * length:.0f}")
        rows.append((model, rows_name, name, *measured, *judged, f"{others:.1f}"))
    return rows


def _vocabulary(folder: Path) -> list[str]:
    return read_vocabulary(folder / "vocab.txt")


def _mean_length(task: Task) -> float:
    tokenizer = BertTokenizer(_vocabulary(task.folder))
    return float(tokenize(tokenizer, task.rows, task.max_tokens).lengths.mean())


if __name__ == "__main__":
    main()
