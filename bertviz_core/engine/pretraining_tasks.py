"""Tasks about pre-training: a small one, to be watched."""

from __future__ import annotations

from bertviz_core.engine.jobs import Progress
from bertviz_core.pretrain.tiny_results import TinyRun


def pretrain_tiny(
    progress: Progress, text: str, sentence: str, num_steps: int = 400, seed: int = 1
) -> TinyRun:
    """Pre-trains a tiny BERT on a page; shows `TinyRun.to_dict` after each look."""
    from bertviz_core.pretrain.tiny import pretrain_tiny as run

    def tell(run: TinyRun) -> None:
        progress(run.fraction, "", run.to_dict())

    return run(text, sentence, num_steps, seed, tell)


JOB_TASKS = (pretrain_tiny,)
