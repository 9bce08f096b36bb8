"""Runs that have ended, as a process that answers pages reads them."""

from __future__ import annotations

import json

import numpy as np

from bertviz_core.engine import table_store
from bertviz_core.finetune import run_files, workplace
from bertviz_core.finetune.baselines import Baseline
from bertviz_core.finetune.evaluation import judge
from bertviz_core.finetune.examples import TrainingData
from bertviz_core.finetune.outcome import RunOutcome
from bertviz_core.finetune.request import TrainingRequest


def run_request(run_id: str) -> TrainingRequest:
    """What a run was asked for.

    Raises:
        TrainingError: no such run, or nobody asked for it in a long time.
    """
    folder = workplace.run_folder(run_id)
    workplace.renew(folder)
    return run_files.read_request(folder)


def run_data(run_id: str) -> TrainingData:
    """The rows of a run, as it learned from them and was judged by them.

    Raises:
        TrainingError: no such run, or nobody asked for it in a long time.
    """
    return table_store.prepared(run_request(run_id).data).data


def run_outcome(run_id: str) -> RunOutcome:
    """How good a run's model is.

    Raises:
        TrainingError: no such run, or it has no model.
    """
    model_id = f"{workplace.RUN_PREFIX}{run_id}"
    model = workplace.open_model_folder(model_id)
    data = run_data(run_id)
    with np.load(workplace.run_folder(run_id) / run_files.OUTPUTS) as outputs:
        reports = {name: judge(data, outputs[name]) for name in outputs.files}
    return RunOutcome(
        run_id=run_id,
        model_id=model_id,
        labels=data.labels,
        has_pairs=data.has_pairs,
        report=reports.pop("model"),
        baselines=tuple(Baseline(name, report) for name, report in reports.items()),
        recipe=json.loads((model / "recipe.json").read_text(encoding="utf-8")),
    )
