"""What a finished run says of its model, in plain values."""

from dataclasses import dataclass
from typing import Any

from bertviz_core.training.finetune.baselines import Baseline
from bertviz_core.training.finetune.evaluation import Comparison, Report


@dataclass(frozen=True)
class RunOutcome:
    """How good the trained model is, and what it was made of.

    Texts of the rows stay in the worker, see `finetune_tasks.report_rows`.
    """

    run_id: str  # of the run
    model_id: str  # opens the trained model
    # Class names; for numbers the one name of what is predicted.
    labels: tuple[str, ...]
    has_pairs: bool  # whether rows have two texts
    report: Report  # on the test rows; `rows` are row numbers of the file
    baselines: tuple[Baseline, ...]  # simple methods on the same rows
    comparisons: tuple[Comparison, ...]  # of the model with each of these
    # Settings, hashes, versions, curves, as `recipe.json` holds them.
    recipe: dict[str, Any]
