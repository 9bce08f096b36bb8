"""One number that makes a classifier as sure as it is right: temperature scaling.

Logits are divided by it before the softmax, so that no answer changes, only how sure
it is. A model that keeps its temperature has an output layer with weights and biases
divided by it: whatever opens that model applies it without knowing.

Shapes: R rows, C classes.

Source: Guo et al. 2017 (arXiv:1706.04599), section 4.2.
"""

import json
import math
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bertviz_core import visitor_files
from bertviz_core.errors import TrainingError, reason_of
from bertviz_core.training.finetune.dataset import TrainingData
from bertviz_core.training.finetune.evaluation import ClassificationReport, judge

# Beyond these the rows say nothing of it: all are right, or hardly any.
_LEAST, _MOST = 0.05, 20.0
_TINY = 1e-38  # a probability of 0 has no logarithm, nor float32 a smaller one
_HEAD = ("classifier.weight", "classifier.bias")


@dataclass(frozen=True)
class Temperature:
    """What was fitted."""

    value: float  # 1 changes nothing; more is less sure
    num_rows: int  # validation rows that it was fitted on


def fit_temperature(probabilities: np.ndarray, targets: np.ndarray) -> float:
    """Finds the temperature with the least mean negative log-likelihood.

    Probabilities float `[R, C]`, of rows nothing was learned from, sum to 1 a row.
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import log_softmax

    logits = _logits(probabilities)

    def loss(log_temperature: float) -> float:
        said = log_softmax(logits / math.exp(log_temperature), axis=1)
        return -float(said[np.arange(len(targets)), targets].mean())

    bounds = (math.log(_LEAST), math.log(_MOST))
    found = minimize_scalar(loss, bounds=bounds, method="bounded")
    return float(f"{math.exp(found.x):.3g}")


def with_temperature(probabilities: np.ndarray, temperature: float) -> np.ndarray:
    """The softmax of the same logits divided by a temperature, float64 `[R, C]`."""
    from scipy.special import softmax

    scaled: np.ndarray = softmax(_logits(probabilities) / temperature, axis=1)
    return scaled


def _logits(probabilities: np.ndarray) -> np.ndarray:
    return np.log(np.asarray(probabilities, "float64") + _TINY)


def keep_temperature(folder: Path, data: TrainingData, found: Temperature) -> None:
    """Divides the output layer of a finished run, in its folder and its zip file.

    Its predictions, metrics, recipe and cards are written anew with it. A second
    temperature, or one that the disk does not take, is a `TrainingError`.
    """
    from bertviz_core.training.finetune import run_files
    from bertviz_core.training.finetune.bundle import pack_model
    from bertviz_core.training.run_folder import lock
    from bertviz_core.whole_files import new_folder

    model = folder / visitor_files.MODEL
    held = lock(folder / run_files.TRAINING, 0.0)
    try:
        recipe = json.loads((model / "recipe.json").read_text(encoding="utf-8"))
        if "temperature" in recipe:
            raise TrainingError(
                "This model has a temperature already. Received: {temperature}. Train "
                "again to begin without one.",
                temperature=recipe["temperature"]["value"],
            )
        with np.load(folder / run_files.OUTPUTS) as kept:
            outputs = dict(kept)
        outputs["model"] = with_temperature(outputs["model"], found.value)
        new = folder / f"new.{run_files.OUTPUTS}"
        np.savez(new, **outputs)
        with new_folder(model) as scratch:
            shutil.copytree(model, scratch, dirs_exist_ok=True)
            _divide_head(scratch / "model.safetensors", found.value)
            _write_texts(scratch, data, outputs["model"], recipe, found)
            pack_model(scratch, folder / run_files.BUNDLE)
            new.replace(folder / run_files.OUTPUTS)
    except OSError as error:
        raise run_files.cannot_write(reason_of(error)) from error
    finally:
        held.release()


def _divide_head(path: Path, temperature: float) -> None:
    from safetensors.numpy import load_file, save_file

    weights = load_file(path)
    for name in _HEAD:
        weights[name] = (weights[name] / temperature).astype(weights[name].dtype)
    save_file(weights, path, metadata={"format": "pt"})


def _write_texts(
    folder: Path,
    data: TrainingData,
    probabilities: np.ndarray,
    recipe: dict[str, object],
    found: Temperature,
) -> None:
    from bertviz_core.training.finetune.bundle import CARDS, write_predictions
    from bertviz_core.training.run_folder import as_json
    from bertviz_core.whole_files import write_whole

    report = judge(data, probabilities)
    if not isinstance(report, ClassificationReport):
        raise ValueError("Numbers have no temperature.")
    write_predictions(folder, data, report)
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    error = metrics["test"]["calibration_error"]
    metrics["test"] = report.to_dict()
    kept = {"value": found.value, "validation_rows": found.num_rows}
    write_whole(folder / "metrics.json", as_json(metrics | {"temperature": kept}, 2))
    kept |= {"calibration_error_before": error}
    write_whole(folder / "recipe.json", as_json(recipe | {"temperature": kept}, 2))
    for words in CARDS.values():
        card, mark = folder / words["file_name"], f"## {words['mind_title']}"
        said = words["temperature"].format(
            value=found.value,
            rows=found.num_rows,
            before=error,
            after=report.calibration.error,
        )
        text = card.read_text(encoding="utf-8")
        write_whole(card, text.replace(mark, f"{said}\n\n{mark}", 1))
