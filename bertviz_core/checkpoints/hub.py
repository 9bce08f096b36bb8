"""Downloads from the Hugging Face hub: pinned to a commit, never a pickle.

Source: `huggingface_hub` reference, "HfApi" and "Downloading files". The environment
variable `HF_ENDPOINT` names another server, as for that library.
"""

import contextlib
import errno
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bertviz_core.cached_files import cache_folder
from bertviz_core.checkpoints.archive import RESERVED_DISK_BYTES
from bertviz_core.checkpoints.assign import require_fitting
from bertviz_core.checkpoints.catalogue import (
    HUB,
    CachedModel,
    cached_hub_models,
    write_entry,
)
from bertviz_core.checkpoints.documents import CARD_FILE, NOTICE_FILE
from bertviz_core.checkpoints.folder import TEXT_FILES, read_config, require_checkpoint
from bertviz_core.checkpoints.google import DATA_FILE
from bertviz_core.checkpoints.huggingface import INDEX_FILE, SINGLE_FILE
from bertviz_core.errors import BertVizError, CheckpointError
from bertviz_core.tasks import Progress

_NAME = re.compile(r"[A-Za-z0-9_][\w.-]{0,95}(/[A-Za-z0-9_][\w.-]{0,95})?", re.ASCII)
_REVISION = re.compile(r"[\w.-]+(/[\w.-]+)*", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHARD = re.compile(r"model-\d{5}-of-\d{5}\.safetensors")
_SMALL_BERT = re.compile(r"google/bert_uncased_L-\d+_H-\d+_A-\d+")
_TIMEOUT_SECONDS = 10

# The hub's own converter proposes safetensors where a repository has pickles
# only. Source: Hugging Face `transformers`, `safetensors_conversion.py`.
_CONVERTER = "SFconvertbot"
_CONVERTER_TITLE = "Adding `safetensors` variant of this model"


def split_revision(model_id: str) -> tuple[str, str]:
    """Takes `name@revision` apart; what cannot be on the hub is a `CheckpointError`."""
    name, _, revision = model_id.partition("@")
    is_name = _NAME.fullmatch(name) and "--" not in name
    is_revision = not revision or _REVISION.fullmatch(revision)
    if not is_name or not is_revision or ".." in model_id:
        raise CheckpointError(
            "There is no model with this name. Received: {model}. Give a bundled "
            "model's name, a folder, a zip file, or a name on the Hugging Face hub, "
            "such as bert-base-uncased.",
            model=model_id[:120],
        )
    return name, revision


def find_cached(name: str, revision: str = "") -> CachedModel | None:
    """The latest download of a model, without asking any server.

    A revision may be the beginning of a commit (7 digits or more), or what was asked
    for at the download; "" for any.
    """
    for model in cached_hub_models():
        is_commit = len(revision) >= 7 and model.revision.startswith(revision)
        if model.name == name and (
            not revision or is_commit or model.asked_revision == revision
        ):
            return model
    return None


def fetch(
    name: str, revision: str = "", progress: Progress | None = None
) -> CachedModel:
    """Downloads a model, or finds the same commit in the cache.

    A download that was broken off keeps the files that it had finished. `progress` is
    told the fraction of the bytes.

    Raises:
        CheckpointError: no such model, no permission, nothing but pickles in it, no
            connection, or no room on the disk.
    """
    cached = find_cached(name, revision) if _COMMIT.fullmatch(revision) else None
    if cached is not None:
        return cached
    with _hub_errors(name, revision):
        info = _with_safetensors(name, revision, _info(name, revision))
        cached = find_cached(name, info.sha)
        if cached is None:
            # The hub allows no "--" in names, so this cannot mean two models. The inner
            # folder is called after the model: the name tells whether it is cased.
            outer = f"{name.replace('/', '--')}@{info.sha}"
            folder = cache_folder(HUB, outer, name.rpartition("/")[2])
            _get_files(name, info, folder, progress)
            shutil.rmtree(folder / ".cache", ignore_errors=True)
            try:
                require_fitting(folder)
            except BertVizError:
                shutil.rmtree(folder.parent, ignore_errors=True)
                raise
            write_entry(folder.parent, name, info.sha, revision)
            cached = CachedModel(folder, name, info.sha, revision)
    return cached


def _info(name: str, revision: str) -> Any:
    from huggingface_hub import HfApi

    return HfApi(endpoint=_endpoint()).model_info(
        name, revision=revision or None, files_metadata=True, timeout=_TIMEOUT_SECONDS
    )


def _with_safetensors(name: str, revision: str, info: Any) -> Any:
    """The revision itself, or the hub's own conversion of a pickle in it."""
    from huggingface_hub import HfApi

    names = [sibling.rfilename for sibling in info.siblings]
    if _wanted_files(names) or revision:
        require_checkpoint(name, names)
        return info
    discussions = HfApi(endpoint=_endpoint()).get_repo_discussions(
        name, author=_CONVERTER, discussion_type="pull_request"
    )
    for discussion in discussions:
        if discussion.title == _CONVERTER_TITLE and discussion.author == _CONVERTER:
            converted = _info(name, str(discussion.git_reference))
            if _wanted_files([s.rfilename for s in converted.siblings]):
                return converted
    if _SMALL_BERT.fullmatch(name):
        raise CheckpointError(
            "On the Hugging Face hub the weights of {name} are in pickle files only, "
            "which BERT Explorer never opens. Google's own release of the model is a "
            "zip file, linked at github.com/google-research/bert: download that and "
            "open it here.",
            name=name,
        )
    require_checkpoint(name, names)
    return info


def _wanted_files(names: list[str]) -> list[str]:
    """What to download; empty where the repository has no weights that we read.

    One format is enough: safetensors first, else Google's.
    """
    if SINGLE_FILE in names:
        weights = [SINGLE_FILE]
    elif INDEX_FILE in names:
        weights = [INDEX_FILE, *(name for name in names if _SHARD.fullmatch(name))]
    else:
        prefixes = {m["prefix"] for name in names if (m := DATA_FILE.fullmatch(name))}
        indices = {f"{prefix}.index" for prefix in prefixes}
        weights = [n for n in names if DATA_FILE.fullmatch(n) or n in indices]
    if not weights:
        return []
    wanted = (*TEXT_FILES, CARD_FILE, NOTICE_FILE)  # the last two name the licence
    return [name for name in wanted if name in names] + weights


def _get_files(name: str, info: Any, folder: Path, progress: Progress | None) -> None:
    from huggingface_hub import hf_hub_download

    sizes = {sibling.rfilename: sibling.size or 0 for sibling in info.siblings}
    wanted = _wanted_files(list(sizes))
    total = sum(sizes[file] for file in wanted)
    _require_room(name, total)
    counter = _Counter(total, progress)
    for file in wanted:
        if file not in TEXT_FILES:  # they come first: a look before gigabytes
            read_config(folder)
        hf_hub_download(
            name,
            file,
            revision=info.sha,
            local_dir=folder,
            endpoint=_endpoint(),
            tqdm_class=counter.bar_class(),
        )
        counter.finish_file(sizes[file])


class _Counter:
    """Bytes of all files together, told to `progress`."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._total, self._progress = max(total, 1), progress
        self._finished = self._written = self._received = 0
        self._cancelled: BaseException | None = None

    def finish_file(self, size: int) -> None:
        self._finished += size
        self._written = self._received = 0
        if self._cancelled is not None:  # raised where the library swallowed it
            raise self._cancelled
        self.tell()

    def add(self, written: int = 0, received: int = 0) -> None:
        self._written += written
        self._received += received
        self.tell()

    def tell(self) -> None:
        done = self._finished + max(self._written, self._received)
        if self._progress is None:
            return
        try:
            self._progress(min(done / self._total, 1.0), "download")
        except BaseException as error:
            self._cancelled = error
            raise

    def bar_class(self) -> Any:
        """What the library takes for a progress bar; shows nothing itself."""
        from tqdm import tqdm

        add = self.add

        class Bar(tqdm):
            def __init__(self, *arguments: Any, **options: Any) -> None:
                super().__init__(*arguments, **{**options, "disable": True})
                add(written=int(options.get("initial") or 0))

            def update(self, n: float | None = 1) -> None:
                add(written=int(n or 0))

            def update_transfer(self, n: float | None = 1) -> None:
                add(received=int(n or 0))

        return Bar


def _endpoint() -> str | None:
    return os.environ.get("HF_ENDPOINT") or None


def _require_room(name: str, needed: int) -> None:
    free = shutil.disk_usage(cache_folder(HUB)).free
    if needed + RESERVED_DISK_BYTES > free:
        raise CheckpointError(
            "There is not enough disk space for the model {name}. Received: {needed} "
            "bytes to download, {free} bytes free. Free some space, or choose a "
            "smaller model.",
            name=name,
            needed=needed,
            free=free,
        )


@contextlib.contextmanager
def _hub_errors(name: str, revision: str) -> Iterator[None]:
    """Turns errors of `huggingface_hub` into those that a user can mend."""
    from huggingface_hub import errors

    try:
        yield
    except errors.GatedRepoError as error:
        raise CheckpointError(
            "The model {name} is available only to people who have accepted its "
            "conditions. Accept them on its page on the Hugging Face hub, log in with "
            "`hf auth login`, and try again.",
            name=name,
        ) from error
    except (errors.RepositoryNotFoundError, errors.HFValidationError) as error:
        raise CheckpointError(
            "The Hugging Face hub has no model named {name}, or it is private. Check "
            "the spelling.",
            name=name,
        ) from error
    except errors.RevisionNotFoundError as error:
        raise CheckpointError(
            "The model {name} has no revision {revision} on the Hugging Face hub. Omit "
            "the revision to use the newest.",
            name=name,
            revision=revision,
        ) from error
    except (
        errors.HTTPError,
        errors.EntryNotFoundError,
        errors.RevisionResolutionError,
        errors.XetDownloadError,
        OSError,
    ) as error:
        raise _unreachable(name, error) from error


def _unreachable(name: str, error: Exception) -> CheckpointError:
    status = getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return CheckpointError(
            "The disk filled up while the model {name} was being downloaded. Free some "
            "space and try again.",
            name=name,
        )
    if status is not None:
        return CheckpointError(
            "The Hugging Face hub refused to provide the model {name}. Received: HTTP "
            "status {status}. Try again later.",
            name=name,
            status=status,
        )
    return CheckpointError(
        "The Hugging Face hub cannot be reached, so the model {name} cannot be "
        "downloaded. Check the connection and try again, or choose a bundled or "
        "downloaded model, or a folder or zip file with the model.",
        name=name,
    )
