"""What a finished run says of its model, in plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bertviz_core.training.finetune.baselines import Baseline
from bertviz_core.training.finetune.evaluation import Comparison, Report


@dataclass(frozen=True)
class RunOutcome:
    """How good the trained model is, and what it was made of.

    Texts of the rows stay in the worker, see `finetune_tasks.report_rows`.

    Args:
        run_id: of the run.
        model_id: opens the trained model.
        labels: class names; for numbers the one name of what is predicted.
        has_pairs: whether rows have two texts.
        report: on the test rows; `rows` are row numbers of the file.
        baselines: simple methods on the same rows.
        comparisons: of the model with each of these.
        recipe: settings, hashes, versions, curves, as `recipe.json` holds them.
    """

    run_id: str
    model_id: str
    labels: tuple[str, ...]
    has_pairs: bool
    report: Report
    baselines: tuple[Baseline, ...]
    comparisons: tuple[Comparison, ...]
    recipe: dict[str, Any]
