"""Runs that have ended, as a process that answers pages reads them."""

import json

import numpy as np

from bertviz_core import visitor_files
from bertviz_core.engine import table_store
from bertviz_core.training.finetune import run_files
from bertviz_core.training.finetune.baselines import Baseline
from bertviz_core.training.finetune.dataset import TrainingData
from bertviz_core.training.finetune.evaluation import compare, judge
from bertviz_core.training.finetune.request import RunOutcome, TrainingRequest


def run_request(run_id: str) -> TrainingRequest:
    """What a run was asked for."""
    return run_files.read_request(visitor_files.visited_run(run_id), run_id)


def run_data(run_id: str) -> TrainingData:
    """The rows of a run, as it learned from them and was tested on them."""
    return table_store.prepared(run_request(run_id).data).data


def run_outcome(run_id: str) -> RunOutcome:
    """How good a run's model is."""
    model_id = f"{visitor_files.RUN_PREFIX}{run_id}"
    model = visitor_files.model_of_run(model_id)
    data = run_data(run_id)
    with np.load(visitor_files.run_folder(run_id) / run_files.OUTPUTS) as outputs:
        reports = {name: judge(data, found) for name, found in outputs.items()}
    recipe = json.loads((model / "recipe.json").read_text(encoding="utf-8"))
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
