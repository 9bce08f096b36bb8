"""Tasks about pre-training: a small one, to be watched."""

from __future__ import annotations

from bertviz_core.engine.jobs import JobProgress
from bertviz_core.engine.training_tasks import leave_training
from bertviz_core.experiments.tiny_results import TinyRun
from bertviz_core.tasks import ESTIMATE_RESOURCE, task, untold


@task(ESTIMATE_RESOURCE, is_kept=False)
def pretrain_tiny(
    text: str,
    sentence: str,
    num_steps: int = 400,
    seed: int = 1,
    progress: JobProgress = untold,
) -> TinyRun:
    """Pre-trains a tiny BERT on a page; shows `TinyRun.to_dict` after each look."""
    from bertviz_core.experiments.tiny_pretraining import pretrain_tiny as run

    def tell(run: TinyRun) -> None:
        progress(run.fraction, "", run.to_dict())

    try:
        return run(text, sentence, num_steps, seed, tell)
    finally:
        leave_training()
