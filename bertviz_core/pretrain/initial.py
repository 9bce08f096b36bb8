"""Beginning with a model that there is, instead of with random weights.

What a model has learned from other text is kept as far as the new text lets it:
the usual way to fit a model to a subject or a language, and to train on for a while.

Source:
    google-research/bert, `run_pretraining.py`, `init_checkpoint`; Gururangan et al.
    2020 (arXiv:2004.10964), "domain-adaptive pretraining".
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from bertviz_core.config import read_json_object
from bertviz_core.errors import TrainingError
from bertviz_core.pretrain.settings import PretrainSettings

if TYPE_CHECKING:
    from bertviz_core.checkpoints.library import LoadedModel
    from bertviz_core.model.bert import Bert
    from bertviz_core.tokenizer import BertTokenizer


def settings_from_file(path: Path, model_id: str | None) -> PretrainSettings:
    """Reads a settings file, and what it leaves out from the model to begin with.

    Args:
        path: of the JSON file.
        model_id: to begin with, in place of the file's `initial_model`; `None` for
            what the file says.

    Raises:
        ConfigError, TrainingError: see `PretrainSettings.from_dict`.
        CheckpointError, TokenizerError: see `library.open_model`.
    """
    raw = read_json_object(path)
    if model_id is not None:
        raw["initial_model"] = model_id
    asked = raw.get("initial_model")
    if isinstance(asked, str) and "model" not in raw:
        loaded = _open(asked)
        raw["model"] = dataclasses.asdict(loaded.model.config)
        about = raw.setdefault("corpus", {})
        if isinstance(about, dict):  # else `from_dict` says what is wrong
            about.setdefault("lower_case", loaded.tokenizer.lower_case)
    return PretrainSettings.from_dict(raw)


def open_initial_model(settings: PretrainSettings) -> LoadedModel | None:
    """Opens the model that a run begins with.

    Returns:
        `None` if it begins with random weights.

    Raises:
        TrainingError: its sizes are not those of the settings.
        CheckpointError, ConfigError, TokenizerError: see `library.open_model`.
    """
    if settings.initial_model is None:
        return None
    loaded = _open(settings.initial_model)
    there = dataclasses.asdict(loaded.model.config)
    asked = dataclasses.asdict(settings.model)
    # Rates of dropout and of drawing weights are no part of what was learned.
    free = ("hidden_dropout_prob", "attention_probs_dropout_prob", "initializer_range")
    there["lower_case"] = loaded.tokenizer.lower_case
    asked["lower_case"] = settings.corpus.lower_case
    differing = [k for k in asked if asked[k] != there[k] and k not in free]
    if differing:
        raise TrainingError(
            "The settings do not fit the model to begin with. Received: {asked}; "
            "{model} has {there}. Take its values, or leave `model` out of the "
            "settings file.",
            asked=", ".join(f"{name}={asked[name]}" for name in differing),
            model=loaded.model_id[:80],
            there=", ".join(f"{name}={there[name]}" for name in differing),
        )
    return loaded


def words_of(initial: LoadedModel | None) -> BertTokenizer | None:
    """The words that a run must keep; `None` where it begins with no model."""
    return None if initial is None else initial.tokenizer


def take_weights(bert: Bert, loaded: LoadedModel) -> int:
    """Copies weights into a model of the same sizes.

    Args:
        bert: to fill. Heads that the other model does not have stay as they are.
        loaded: from `open_initial_model`.

    Returns:
        How many variables were copied.
    """
    from bertviz_core.model.weights import as_numpy

    there = {variable.path: variable for variable in loaded.model.trainable_variables}
    shared = [v for v in bert.trainable_variables if v.path in there]
    for variable in shared:
        # A checkpoint may have rows to spare behind those of its words.
        values = as_numpy(there[variable.path])[: variable.shape[0]]
        variable.assign(values)
    return len(shared)


def _open(model_id: str) -> LoadedModel:
    from bertviz_core.quiet import import_keras

    import_keras()
    from bertviz_core.checkpoints.library import open_model

    return open_model(model_id)
