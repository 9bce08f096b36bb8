"""What a finished run says of its model, in plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bertviz_core.training.finetune.baselines import Baseline
from bertviz_core.training.finetune.dataset import TrainingData
from bertviz_core.training.finetune.evaluation import Comparison, Report, compare, judge


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


def outcome_of(
    run_id: str,
    model_id: str,
    data: TrainingData,
    outputs: Mapping[str, np.ndarray],
    recipe: dict[str, Any],
) -> RunOutcome:
    """Judges what was said of the test rows.

    Args:
        run_id: of the run.
        model_id: opens the trained model.
        data: the rows of the run.
        outputs: of "model" and of each simple method, see `judge`.
        recipe: as `recipe.json` holds it.
    """
    reports = {name: judge(data, found) for name, found in outputs.items()}
    report = reports.pop("model")
    chosen = {"tfidf": recipe.get("word_counts") or {}}
    metric = str(recipe.get("compared_by", "accuracy"))
    return RunOutcome(
        run_id=run_id,
        model_id=model_id,
        labels=data.labels,
        has_pairs=data.has_pairs,
        report=report,
        baselines=tuple(
            Baseline(name, other, chosen.get(name, {}))
            for name, other in reports.items()
        ),
        comparisons=tuple(compare(report, other, metric) for other in reports.values()),
        recipe=recipe,
    )
