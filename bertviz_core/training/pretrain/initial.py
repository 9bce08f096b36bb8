"""Beginning with a model that there is, instead of with random weights.

What a model has learned from other text is kept as far as the new text lets it: the
usual way to fit a model to a subject or a language, and to train on for a while.
`loaded` is that model where it is open already, `out` the folder of the run. What opens
a model raises as `library.open_model` does, what reads settings as
`PretrainSettings.from_dict` does.

Source: google-research/bert, `run_pretraining.py`, `init_checkpoint`; Gururangan et al.
2020 (arXiv:2004.10964), "domain-adaptive pretraining".
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bertviz_core.config import read_json_object
from bertviz_core.errors import TrainingError
from bertviz_core.tokenizer import BertTokenizer
from bertviz_core.training.checkpoint import has_checkpoint
from bertviz_core.training.pretrain import BUNDLED
from bertviz_core.training.pretrain.settings import PretrainSettings

if TYPE_CHECKING:
    from bertviz_core.checkpoints.library import LoadedModel

# In the folder of a run.
SETTINGS_FILE = "settings.json"


def settings_of_run(out: Path) -> PretrainSettings | None:
    """Those of the run that has begun in a folder; `None` where none has."""
    path = out / SETTINGS_FILE
    if not has_checkpoint(out) or not path.is_file():
        return None
    return PretrainSettings.from_json_file(path)


def settings_from_file(
    path: Path, model_id: str | None, out: Path
) -> tuple[PretrainSettings, LoadedModel | None]:
    """Reads a settings file, and what it leaves out from the model to begin with.

    A run that has begun in `out` with the same model knows what the file leaves out.
    The `path` may be the name of one of `BUNDLED`; a `model_id` goes before the file's
    `initial_model`. The model comes along where it had to be opened.
    """
    raw = read_json_object(BUNDLED.get(str(path), path))
    if model_id is not None:
        raw["initial_model"] = model_id
    asked, loaded = raw.get("initial_model"), None
    if isinstance(asked, str) and "model" not in raw:
        there = settings_of_run(out)
        if there is not None and there.initial_model == asked:
            sizes, lower_case = there.model, there.corpus.lower_case
        else:
            loaded = _open(asked)
            sizes, lower_case = loaded.model.config, loaded.tokenizer.lower_case
        raw["model"] = dataclasses.asdict(sizes)
        about = raw.setdefault("corpus", {})
        if isinstance(about, dict):  # else `from_dict` says what is wrong
            about.setdefault("lower_case", lower_case)
    return PretrainSettings.from_dict(raw), loaded


def beginning_of(
    settings: PretrainSettings, out: Path, loaded: LoadedModel | None = None
) -> tuple[PretrainSettings, LoadedModel | None, BertTokenizer | None]:
    """Opens what a run begins with; one that goes on needs its words alone.

    Its weights are in its checkpoint and its words beside the settings, so the model
    may be gone, or lie elsewhere: of one under another name, sizes and words are
    compared.

    Returns:
        The settings, of which a run that goes on keeps the name of the model that it
        began with, wherever that lies now; the model whose weights to take, `None` for
        random ones or where a checkpoint has them; and the words that the run must
        keep, `None` where it learns them from its text.
    """
    there = settings_of_run(out)
    if settings.initial_model is None or (there and there.initial_model is None):
        return settings, None, None
    if there is None:
        loaded = open_initial_model(settings, loaded)
        return settings, loaded, loaded.tokenizer
    is_same = settings.initial_model == there.initial_model
    if is_same and (out / "vocab.txt").is_file():  # runs of before do without
        words = BertTokenizer.from_folder(out)
    else:
        words = open_initial_model(settings, loaded).tokenizer
    kept = dataclasses.replace(settings, initial_model=there.initial_model)
    return kept, None, words


def open_initial_model(
    settings: PretrainSettings, loaded: LoadedModel | None = None
) -> LoadedModel:
    """Opens the model that a run begins with; other sizes are a `TrainingError`."""
    loaded = loaded or _open(str(settings.initial_model))
    there, asked = loaded.model.config, settings.model
    differing = {
        name: (getattr(asked, name), getattr(there, name))
        for name in asked.differing_fields(there)
    }
    cases = settings.corpus.lower_case, loaded.tokenizer.lower_case
    if cases[0] != cases[1]:
        differing["lower_case"] = cases
    if differing:
        raise TrainingError(
            "The settings do not fit the model to begin with. Received: {asked}; "
            "{model} has {there}. Take its values, or leave `model` out of the "
            "settings file.",
            asked=", ".join(f"{name}={pair[0]}" for name, pair in differing.items()),
            model=loaded.model_id[:80],
            there=", ".join(f"{name}={pair[1]}" for name, pair in differing.items()),
        )
    return loaded


def _open(model_id: str) -> LoadedModel:
    from bertviz_core.quiet import import_keras

    import_keras("tensorflow")  # what is trained begins with it
    from bertviz_core.checkpoints.library import open_model

    return open_model(model_id)


# Nobody but [CLS] stands first, and hardly a word on the last places.
_EDGE = 2
_FEWEST = 32  # below this there is no regularity to read off
# Of the variance. Measured on bert-mini-en after 84 million tokens, with 128 of 512
# positions trained, without any further step: words guessed right at positions 128 to
# 511 are 0.12 at random, 0.27 with the 10 strongest axes, 0.33 with 12 to 16, 0.27
# with 18.
_SHARE_KEPT = 0.9


def continued_positions(table: np.ndarray, num_trained: int) -> np.ndarray:
    """Goes on with a table of learned position embeddings, float `[P, H]`.

    What a model learns is nearly a few circles, each run through at its own speed: one
    step along the text is the same rotation wherever it is made. That rotation is
    estimated from neighbours among the trained positions, and applied again and again
    behind them; the last two of them are continued, too, and none where fewer than 32
    were trained. So heads that look a few words back find what they look for from the
    first step; else they wait until the new positions have found their places among the
    old ones, which takes hundreds of steps at a high learning rate and does not happen
    at a low one.

    Source: Rotation between two sets of points: Schönemann 1966, "A generalized
    solution of the orthogonal Procrustes problem". Learned positions as waves: Wang and
    Chen 2020 (arXiv:2010.04903).
    """
    last = num_trained - _EDGE
    if num_trained < _FEWEST or num_trained >= len(table):
        return table
    points = table[_EDGE:last].astype("float64")  # [N, H]
    mean = points.mean(axis=0)
    _, lengths, axes = np.linalg.svd(points - mean, full_matrices=False)
    shares = np.cumsum(lengths**2) / max((lengths**2).sum(), 1e-30)
    axes = axes[: int(np.searchsorted(shares, _SHARE_KEPT)) + 1]  # [R, H]
    along = (points - mean) @ axes.T  # [N, R]
    spread = np.maximum(along.std(axis=0), 1e-12)
    along = along / spread  # circles, not ellipses
    left, _, right = np.linalg.svd(along[:-1].T @ along[1:])
    rotation = left @ right  # [R, R]
    result, here = table.copy(), along[-1]
    for position in range(last, len(table)):
        here = here @ rotation
        result[position] = mean + (here * spread) @ axes
    return result
