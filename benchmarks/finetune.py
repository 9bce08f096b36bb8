"""Fine-tuning beside the `Trainer` of `transformers`, in one run.

The same network from the same weights, the same rows and batches, everything learns.
Each peer trains in its own process with its own loop and default settings, and they
take turns of a few steps; the first turn, in which things are compiled, is not counted.
"""

from __future__ import annotations

import importlib.util
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers import write_checkpoint
from benchmarks.table import Table
from benchmarks.trainers import (
    NAMES,
    OURS,
    TRAINER,
    fine_tune,
    median_ratio,
    speeds_in_turns,
)
from bertviz_core.checkpoints.catalogue import BUNDLED_FOLDER
from bertviz_core.checkpoints.default import DEFAULT_MODEL

NUM_TOKENS = 128
ROUNDS = 3


@dataclass(frozen=True)
class Case:
    """One model.

    Args:
        name: in the table.
        batch_size: rows of a step.
        steps: of a turn.
        target: times the tokens a second of the `Trainer` in float32.
    """

    name: str
    batch_size: int
    steps: int
    target: float


CASES = (Case(DEFAULT_MODEL, 16, 6, 1.5), Case("BERT-base, random weights", 16, 2, 1.8))


def measure() -> Table:
    """Runs all models."""
    title = f"Fine-tuning, rows of {NUM_TOKENS} tokens, everything learns"
    needed = ("torch", "accelerate")
    if missing := [name for name in needed if importlib.util.find_spec(name) is None]:
        notes = (
            f"Not measured: {', '.join(missing)} not installed; see `make bench`.",
        )
        return Table(title, ("model",), (), notes)
    rows = []
    for case in CASES:
        with tempfile.TemporaryDirectory() as scratch:
            folder = BUNDLED_FOLDER / case.name
            if case.name != DEFAULT_MODEL:
                folder = Path(scratch) / "model"
                write_checkpoint(folder)
            rows += _compare(case, folder)
    return Table(
        title,
        ("model", "peer", "tokens/s", "ours / peer", "target", "met", "others"),
        rows,
        (
            f"Median of {ROUNDS} turns; the ratio is the median over rounds. Ours is "
            "in bfloat16 where the processor multiplies it, else in float32.",
            "'others': cores busy with other work, most in any round.",
        ),
    )


def _compare(case: Case, folder: Path) -> list[tuple[str, ...]]:
    tasks = {
        name: (fine_tune, name, folder, case.batch_size, NUM_TOKENS) for name in NAMES
    }
    tokens = case.batch_size * NUM_TOKENS
    speeds, others = speeds_in_turns(tasks, tokens, case.steps, ROUNDS)
    rows: list[tuple[str, ...]] = []
    for name in NAMES:
        ratio = median_ratio(speeds[OURS], speeds[name])
        target = case.target if name == TRAINER else 1.0
        judged: tuple[str, ...] = ("", "", "") if name == OURS else (
            f"{ratio:.2f}", f">= {target:g}", "yes" if ratio >= target else "**no**",
        )  # fmt: skip
        speed = f"{statistics.median(speeds[name]):.0f}"
        rows.append((case.name, name, speed, *judged, f"{others:.1f}"))
    return rows
