"""What a finished run says of its model, in plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bertviz_core.finetune.baselines import Baseline
from bertviz_core.finetune.evaluation import Report


@dataclass(frozen=True)
class RunOutcome:
    """How good the trained model is, and what it was made of.

    Texts of the rows stay in the worker, see `Client.validation_rows`.

    Args:
        run_id: of the run.
        model_id: opens the trained model.
        labels: class names; for numbers the one name of what is predicted.
        has_pairs: whether rows have two texts.
        report: on the validation rows; `rows` are row numbers of the file.
        baselines: simple methods on the same rows.
        recipe: settings, hashes, versions, curves, as `recipe.json` holds them.
    """

    run_id: str
    model_id: str
    labels: tuple[str, ...]
    has_pairs: bool
    report: Report
    baselines: tuple[Baseline, ...]
    recipe: dict[str, Any]
