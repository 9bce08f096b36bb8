"""The recipe of a training: written, read, and done again."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import platform
import re
import zipfile
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertviz_core import __version__
from bertviz_core.errors import TrainingError
from bertviz_core.training.finetune.dataset import DataOrigin, TrainingData
from bertviz_core.training.finetune.settings import FinetuneSettings
from bertviz_core.training.settings import build

if TYPE_CHECKING:
    from bertviz_core.checkpoints.library import LoadedModel
    from bertviz_core.training.finetune.run import FinetuneResult

_NAME = "recipe.json"
_MAX_BYTES = 1_000_000
# Ids that open what is somebody's own.
_PRIVATE = ("run:", "upload:")
# In the name of a model that cannot be found by it.
UNNAMED = "@sha256:"
_HASH_DIGITS = 12
# By what other name a package may have been installed; see `requirements.txt`.
_PACKAGES = {
    "keras": "keras",
    "tensorflow": "tensorflow",
    "tensorflow-cpu": "tensorflow",
    "numpy": "numpy",
    "tokenizers": "tokenizers",
    "scikit-learn": "scikit-learn",
}


def recipe_of(result: FinetuneResult) -> dict[str, Any]:
    """All that is needed to do a training again, as JSON holds it."""
    origin, data = result.data.origin, result.data
    words = [dict(one.chosen) for one in result.baselines if one.name == "tfidf"]
    versions = {"bertviz_core": __version__, "python": platform.python_version()}
    for package, name in _PACKAGES.items():
        with contextlib.suppress(PackageNotFoundError):
            versions.setdefault(name, version(package))
    return {
        "base_model": base_name(result),
        "base_weights_sha256": result.base_hash,
        "settings": result.settings.to_dict(),
        "compared_by": result.metric,
        "precision": result.precision,
        "epochs_run": result.epochs_run,
        "stopped_at_step": result.steps if result.ending == "asked" else None,
        "best_epoch": result.best_epoch,
        "word_counts": words[0] if words else None,
        "data": None if origin is None else dataclasses.asdict(origin),
        "data_sha256": result.data_hash,
        "training_rows": len(data.train),
        "validation_rows": len(data.validation),
        "test_rows": len(data.test),
        "has_pairs": data.has_pairs,
        "labels": list(data.labels),
        "versions": versions,
    }


def base_name(result: FinetuneResult) -> str:
    """What the model began with: a hub name keeps its owner and its commit.

    Of a file or folder only the name is told, as the place is that of one machine.
    The id of an upload or of another training would open it with all its texts, so
    such a model is named by its size and the hash of its weights.
    """
    name = result.base_model_id
    if name.startswith(_PRIVATE):
        config = result.loaded.model.config
        size = f"L-{config.num_hidden_layers}_H-{config.hidden_size}"
        return f"bert_{size}{UNNAMED}{result.base_hash[:_HASH_DIGITS]}"
    path = Path(name).expanduser()
    return path.resolve().name if path.exists() else name


def is_on_hub(model_id: str) -> bool:
    """Whether an id pins a model of the hub."""
    return re.fullmatch(r"[^:@]+@[0-9a-f]{40}", model_id) is not None


@dataclass(frozen=True)
class Recipe:
    """What it takes to train a model again."""

    base_model: str  # id of the model to begin with
    base_hash: str  # SHA-256 of its weights, see `run.weights_hash`
    settings: FinetuneSettings  # of the run, with the precision that it computed in
    origin: DataOrigin | None  # of the rows; `None` in a recipe that does not say
    data_hash: str  # SHA-256 of the rows, see `TrainingData.fingerprint`
    stopped_at: int | None = None  # after which someone stopped the run; `None`: nobody


def read_recipe(path: Path) -> Recipe:
    """Reads the recipe in a JSON or zip file or a folder; none is a `TrainingError`."""
    from bertviz_core.checkpoints.archive import BROKEN

    try:
        raw = json.loads(_text(path / _NAME if path.is_dir() else path))
        settings = raw["settings"] | {}
    except (OSError, *BROKEN, TypeError, KeyError) as error:
        raise TrainingError(
            "There is no recipe in {name}. Give the recipe.json of a training, or the "
            "zip file that it left.",
            name=path.name[:120],
        ) from error
    precision = str(raw.get("precision", settings.get("precision", "auto")))
    origin = raw.get("data")
    return Recipe(
        base_model=str(raw.get("base_model", "")),
        base_hash=str(raw.get("base_weights_sha256", "")),
        settings=FinetuneSettings.from_dict(settings | {"precision": precision}),
        origin=None if origin is None else build(DataOrigin, origin, "data"),
        data_hash=str(raw.get("data_sha256", "")),
        stopped_at=raw.get("stopped_at_step"),
    )


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


def options_of(origin: DataOrigin) -> dict[str, Any]:
    """The options of `fine-tune` that choose the same rows again."""
    options = dataclasses.asdict(origin)
    del options["table_sha256"], options["validation_sha256"]
    return options


def with_recipe(
    recipe: Recipe,
    options: dict[str, Any],
    given: frozenset[str],
    model_id: str | None,
    validation: Path | None,
) -> tuple[dict[str, Any], str]:
    """The options of a recipe, and the model to begin with.

    What a user has `given` counts before the recipe; the other options are defaults.

    Raises:
        TrainingError: the recipe tested on a table of its own, or began with a model
            that has no name to be found by, and that was not given.
    """
    origin, taken = recipe.origin, recipe.settings.to_dict()
    if origin is not None:
        if validation is None and origin.validation_sha256:
            raise TrainingError(
                "This recipe tested on a table of its own, which was not given. Give "
                "it with --test."
            )
        taken |= options_of(origin)
    if not model_id and UNNAMED in recipe.base_model:
        raise TrainingError(
            "This recipe began with an upload or an earlier training, which has no "
            "name to be found by. Received: {name}. Give the model with --model.",
            name=recipe.base_model[:120],
        )
    own = {name: options[name] for name in given}
    if "class_weights" in given or "oversample" in given:
        # One remedy at a time: the one that was given replaces the recipe's.
        own = {"class_weights": False, "oversample": False} | own
    return options | taken | own, model_id or recipe.base_model


def differences(
    recipe: Recipe, loaded: LoadedModel, data: TrainingData
) -> tuple[str, ...]:
    """Sentences on what is not as it was: the run goes on, with other results."""
    from bertviz_core.training.finetune.run import weights_hash

    found = []
    if recipe.base_hash and weights_hash(loaded) != recipe.base_hash:
        found.append(
            f"The model {loaded.model_id} has other weights than that of the recipe, "
            f"{recipe.base_model}: the results will differ."
        )
    if recipe.data_hash and data.fingerprint() != recipe.data_hash:
        found.append("The rows are not those of the recipe: the results will differ.")
    return tuple(found)
