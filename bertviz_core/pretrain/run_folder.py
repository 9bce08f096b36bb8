"""Which run lies in a folder, and whether this is it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock

from bertviz_core.errors import TrainingError
from bertviz_core.pretrain.begun import settings_file, settings_of_run
from bertviz_core.pretrain.checkpoint import Checkpoint
from bertviz_core.pretrain.corpus import EncodedCorpus
from bertviz_core.pretrain.distribution import has_hosts, writes_files
from bertviz_core.pretrain.settings import MAY_CHANGE, PretrainSettings
from bertviz_core.tokenizer import BertTokenizer
from bertviz_core.training.precision import chosen_precision
from bertviz_core.whole_files import write_whole


def with_precision(settings: PretrainSettings, out: Path) -> PretrainSettings:
    """Settles the precision "auto": that of the run in a folder, or this machine's.

    Raises:
        TrainingError: several machines are to begin, which might settle it unlike.
    """
    if settings.precision != "auto":
        return settings
    there = settings_of_run(out)
    if there is not None:
        precision = there.precision
    elif has_hosts():
        raise TrainingError(
            "Several machines need one precision. Received: precision=auto, which each "
            "of them would settle for itself. Set it to float32 or bfloat16 in the "
            "settings file."
        )
    else:
        precision = chosen_precision("auto")
    return dataclasses.replace(settings, precision=precision)


def claim_folder(out: Path, settings: PretrainSettings) -> None:
    """Writes the settings into a folder, or compares them with those of its run.

    Settings that never led to a checkpoint are replaced: they were refused, or text
    was being encoded when the run was ended.

    Args:
        out: an existing folder, which this process holds where it is to write.
        settings: of the run.

    Raises:
        TrainingError: another run lies there, or the folder cannot be written.
    """
    there = settings_of_run(out)
    if there is not None:
        _require_same_settings(out, there, settings)
    elif writes_files():
        text = json.dumps(settings.to_dict(), indent=2, ensure_ascii=False)
        try:
            write_whole(settings_file(out), text + "\n")
        except OSError as error:
            raise _not_written(out, error) from error


def _require_same_settings(
    out: Path, there: PretrainSettings, settings: PretrainSettings
) -> None:
    noted, asked = there.to_dict(), settings.to_dict()
    changed = [k for k in asked if asked[k] != noted[k] and k not in MAY_CHANGE]
    if changed:
        raise TrainingError(
            "The folder {folder} holds a run with other settings. Received: other "
            "values of {keys}. Take the settings.json of that folder, or another "
            "folder.",
            folder=out.name,
            keys=", ".join(changed),
        )


@contextmanager
def held(out: Path) -> Iterator[None]:
    """Keeps a second process from training in a folder; a dead one lets go of it.

    Args:
        out: the folder, made if there is none.

    Raises:
        TrainingError: another process trains there, or it cannot be written.
    """
    lock = filelock.FileLock(out / ".lock")
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except filelock.Timeout as error:
        raise TrainingError(
            "Another process is training in the folder {folder}. Wait for its end, "
            "stop it, or choose another folder.",
            folder=out.name,
        ) from error
    except OSError as error:
        raise _not_written(out, error) from error
    try:
        yield
    finally:
        lock.release()


def _not_written(out: Path, error: OSError) -> TrainingError:
    return TrainingError(
        "The folder {folder} cannot be written. Received: {reason}. Choose a "
        "folder on a disk with room.",
        folder=out.name,
        reason=error.strerror or type(error).__name__,
    )


def fingerprint_of(
    settings: PretrainSettings,
    folder: Path,
    corpus: EncodedCorpus,
    tokenizer: BertTokenizer,
) -> str:
    """Names all that a resumed run must share.

    Args:
        settings: of the run.
        folder: of the encoded text, named by the text and how it was encoded.
        corpus: what the text became.
        tokenizer: its pieces; those that are learnt again may have other ids.
    """
    words = "\n".join(tokenizer.vocabulary) + f"\n{len(corpus.tokens)}"
    digest = hashlib.sha256(words.encode()).hexdigest()[:16]
    return f"{settings.fingerprint()} {folder.name} {digest}"


def require_same_run(checkpoint: Checkpoint, fingerprint: str) -> None:
    """Refuses a checkpoint of other text or other settings.

    Raises:
        TrainingError: it is one.
    """
    if checkpoint.fingerprint != fingerprint:
        raise TrainingError(
            "The checkpoint of step {step} belongs to other text or other settings. "
            "Give the text files that the run began with, or another folder.",
            step=checkpoint.step,
        )
