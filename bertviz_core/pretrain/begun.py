"""What a folder tells of the run that has begun in it, without Keras."""

from __future__ import annotations

from pathlib import Path

from bertviz_core.pretrain.checkpoint import has_checkpoint, read_latest
from bertviz_core.pretrain.settings import PretrainSettings

# Of a fingerprint, see `run_folder.fingerprint_of`: settings, encoded text, words.
_NUM_PARTS = 3


def settings_file(out: Path) -> Path:
    """Where a run keeps its settings."""
    return out / "settings.json"


def settings_of_run(out: Path) -> PretrainSettings | None:
    """Those of the run that has begun in a folder; `None` where none has.

    Raises:
        ConfigError, TrainingError: see `PretrainSettings.from_dict`.
    """
    path = settings_file(out)
    if not has_checkpoint(out / "checkpoints") or not path.is_file():
        return None
    return PretrainSettings.from_json_file(path)


def encoded_text_of(out: Path) -> str | None:
    """Name of the folder of the encoded text that a run has begun with.

    Raises:
        TrainingError: all of its checkpoints are damaged.
    """
    found = read_latest(out / "checkpoints", with_state=False)
    parts = [] if found is None else found.fingerprint.split()
    return parts[1] if len(parts) == _NUM_PARTS else None
