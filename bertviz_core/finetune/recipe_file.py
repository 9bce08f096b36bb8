"""The recipe of a finished training, read to do it again."""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertviz_core.checkpoints.archive import BROKEN
from bertviz_core.errors import TrainingError
from bertviz_core.finetune.origin import DataOrigin
from bertviz_core.finetune.settings import FinetuneSettings

_NAME = "recipe.json"
_MAX_BYTES = 1_000_000


@dataclass(frozen=True)
class Recipe:
    """What it takes to train a model again.

    Args:
        base_model: id of the model to begin with.
        base_hash: SHA-256 of its weights, see `run.weights_hash`.
        settings: of the run, with the precision that it computed in.
        origin: of the rows; `None` in a recipe that does not say.
        data_hash: SHA-256 of the rows, see `TrainingData.fingerprint`.
        stopped_at: the step after which someone stopped the run; `None`: nobody did.
    """

    base_model: str
    base_hash: str
    settings: FinetuneSettings
    origin: DataOrigin | None
    data_hash: str
    stopped_at: int | None = None


def read_recipe(path: Path) -> Recipe:
    """Reads a `recipe.json`, or the zip file or folder that holds one.

    Raises:
        TrainingError: no such file, or no recipe.
    """
    raw = _parsed(path)
    settings = raw.get("settings")
    if not isinstance(settings, dict):
        raise _no_recipe(path)
    precision = str(raw.get("precision", settings.get("precision", "auto")))
    origin = raw.get("data")
    return Recipe(
        base_model=str(raw.get("base_model", "")),
        base_hash=str(raw.get("base_weights_sha256", "")),
        settings=FinetuneSettings.from_dict(settings | {"precision": precision}),
        origin=None if origin is None else DataOrigin.from_dict(origin),
        data_hash=str(raw.get("data_sha256", "")),
        stopped_at=raw.get("stopped_at_step"),
    )


def _parsed(path: Path) -> dict[str, Any]:
    try:
        raw = json.loads(_text(path / _NAME if path.is_dir() else path))
    except (OSError, *BROKEN) as error:
        raise _no_recipe(path) from error
    if not isinstance(raw, dict):
        raise _no_recipe(path)
    return raw


def _text(path: Path) -> str:
    if not zipfile.is_zipfile(path):
        with path.open("rb") as file:
            return file.read(_MAX_BYTES).decode("utf-8")
    with zipfile.ZipFile(path) as packed:
        for entry in packed.infolist():
            if Path(entry.filename).name == _NAME:
                with packed.open(entry) as file:
                    return file.read(_MAX_BYTES).decode("utf-8")
    return ""


def _no_recipe(path: Path) -> TrainingError:
    return TrainingError(
        "There is no recipe in {name}. Give the recipe.json of a training, or the zip "
        "file that it left.",
        name=path.name[:120],
    )
