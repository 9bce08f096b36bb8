"""What `fine-tune --recipe` takes from a recipe, and where it differs from it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertviz_core.errors import TrainingError
from bertviz_core.finetune.card import UNNAMED
from bertviz_core.finetune.command_data import options_of
from bertviz_core.finetune.examples import TrainingData
from bertviz_core.finetune.recipe_file import Recipe

if TYPE_CHECKING:
    from bertviz_core.checkpoints.library import LoadedModel


def with_recipe(
    recipe: Recipe, options: dict[str, Any], given: frozenset[str]
) -> dict[str, Any]:
    """The options of a recipe, those that the user gave before it.

    Args:
        recipe: to be repeated.
        options: with defaults for what was not given.
        given: names of the options that were.
    """
    taken = recipe.settings.to_dict()
    if recipe.origin is not None:
        taken |= options_of(recipe.origin)
    own = {name: options[name] for name in given}
    if "class_weights" in given or "oversample" in given:
        # One remedy at a time: the one that was given replaces the recipe's.
        own = {"class_weights": False, "oversample": False} | own
    return options | taken | own


def model_of(recipe: Recipe, model_id: str | None) -> str:
    """The model to begin with.

    Args:
        recipe: that is repeated.
        model_id: that was given.

    Raises:
        TrainingError: none was given, and that of the recipe has no name by which
            it could be found.
    """
    if model_id:
        return model_id
    if UNNAMED in recipe.base_model:
        raise TrainingError(
            "This recipe began with an upload or an earlier training, which has no "
            "name to be found by. Received: {name}. Give the model with --model.",
            name=recipe.base_model[:120],
        )
    return recipe.base_model


def require_validation(recipe: Recipe, validation: Path | None) -> None:
    """Refuses to set rows aside where the recipe tested on a file of its own.

    Raises:
        TrainingError: that file was not given.
    """
    origin = recipe.origin
    if validation is None and origin is not None and origin.validation_sha256:
        raise TrainingError(
            "This recipe tested on a table of its own, which was not given. Give it "
            "with --test."
        )


def differences(
    recipe: Recipe, loaded: LoadedModel, data: TrainingData
) -> tuple[str, ...]:
    """Sentences on what is not as it was: the run goes on, with other results.

    Args:
        recipe: that is repeated.
        loaded: the model to begin with.
        data: the rows.
    """
    from bertviz_core.finetune.run import weights_hash

    found = []
    if recipe.base_hash and weights_hash(loaded) != recipe.base_hash:
        found.append(
            f"The model {loaded.model_id} has other weights than that of the recipe, "
            f"{recipe.base_model}: the results will differ."
        )
    if recipe.data_hash and data.fingerprint() != recipe.data_hash:
        found.append("The rows are not those of the recipe: the results will differ.")
    return tuple(found)
