"""What is asked about models themselves; each function loads what it needs."""

from bertviz_core.engine.jobs import JobProgress
from bertviz_core.engine.memory import forget, num_forward_passes
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import DOWNLOAD_RESOURCE, UPLOAD_RESOURCE, task
from bertviz_core.trace import ModelEntry


@task()
def models() -> tuple[ModelEntry, ...]:
    """The models on this machine: bundled ones, then downloaded ones."""
    from bertviz_core.checkpoints import library

    return library.list_models()


@task()
def earlier_uploads() -> tuple[ModelEntry, ...]:
    """Everybody's uploads, the latest use first; not to be shown to strangers."""
    from bertviz_core.checkpoints import library

    return library.list_uploads()


@task()
def suggested_models() -> tuple[ModelEntry, ...]:
    """Names on the hub that are worth a download; asks no server."""
    from bertviz_core.checkpoints import library

    return library.suggested_models()


@task()
def vocabulary(explorer: Explorer) -> tuple[str, ...]:
    """The word pieces of a model, by id; `[row 57]` for a row without a word."""
    return explorer.vocabulary


@task(UPLOAD_RESOURCE)
def add_upload(path: str, name: str, owner: str = "") -> ModelEntry:
    """Takes a zip file with a checkpoint, where the worker can read it, into the cache.

    Raises:
        CheckpointError: damaged, hostile, or no checkpoint.
        StorageError: there is no room for it.
    """
    from bertviz_core.checkpoints import library

    return library.add_upload(path, name, owner)


@task()
def remove_upload(model: str, owner: str = "") -> None:
    """Removes an uploaded model from the cache, and what was known of it."""
    from bertviz_core.checkpoints import library

    library.remove_upload(model, owner)
    forget(model)


@task()
def forward_count() -> int:
    """How many forward passes the models that are open in a worker have run."""
    return num_forward_passes()


@task(DOWNLOAD_RESOURCE, is_kept=False)
def download_model(name: str, progress: JobProgress | None = None) -> ModelEntry:
    """Takes a model from the hub into the cache."""
    from bertviz_core.checkpoints import library

    entry = library.download(name, progress)
    # A name without a revision means the newest download from now on.
    forget(name)
    return entry
