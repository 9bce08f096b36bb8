"""What workers that train are asked, and what is freed after it."""

from bertviz_core.engine import table_store
from bertviz_core.engine.jobs import JobProgress
from bertviz_core.engine.memory import give_memory_back
from bertviz_core.experiments.tiny_results import TinyRun
from bertviz_core.tasks import ESTIMATE_RESOURCE, TRAIN_RESOURCE, task, untold
from bertviz_core.training.finetune import run_files
from bertviz_core.training.run_folder import lock
from bertviz_core.visitor_files import REQUEST, remove, run_folder

# Runs that are trained in this process now.
RUNNING: set[str] = set()


@task(TRAIN_RESOURCE, is_kept=False)
def train(run_id: str) -> None:
    """Runs a training to its end; its folder has all that it leaves, an error too."""
    from bertviz_core.checkpoints.library import open_model
    from bertviz_core.training.finetune.run import TrainingRun

    folder = run_folder(run_id)
    alone = lock(folder / run_files.TRAINING)
    run = TrainingRun(folder)
    data = run_files.read_request(folder).data
    RUNNING.add(run_id)
    try:
        run.run(open_model, lambda: table_store.prepared(data).data)
    finally:
        RUNNING.discard(run_id)
        del run
        alone.release()
        if not (folder / REQUEST).is_file():  # its owner has removed it meanwhile
            remove(folder)
        table_store.clear()
        leave_training()


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


def leave_training() -> None:
    """Frees what a training, or a part of one, leaves in this process."""
    from bertviz_core.training.fast import forget_gradients

    forget_gradients()
    give_memory_back()
