"""What is written about a trained model, and the script that uses it."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from bertviz_core.finetune.evaluation import ClassificationReport, Report

if TYPE_CHECKING:
    from bertviz_core.finetune.run import FinetuneResult

_PACKAGES = ("keras", "tensorflow", "numpy", "tokenizers", "scikit-learn")

SCRIPT = '''"""Predicts: python predict.py "a text" ["its second text"]."""
import sys
from pathlib import Path

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, logging

logging.set_verbosity_error()  # the word head in the file is not needed here
folder = Path(__file__).parent
cut = {{"truncation": True, "max_length": {max_tokens}}}
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
texts = tokenizer(*sys.argv[1:3], **cut, return_tensors="pt")
with torch.no_grad():
    logits = model(**texts).logits[0]
for index, value in enumerate(logits if len(logits) == 1 else logits.softmax(-1)):
    print(f"{{model.config.id2label[index]}}\\t{{value:.4f}}")
'''

# A model with layers of our own is loaded by this project alone.
OWN_SCRIPT = '''"""Predicts: python predict.py "a text" ["its second text"]."""
import sys
from pathlib import Path

from bertviz_core.explorer import Explorer
from bertviz_core.finetune.scores import probabilities_of

explorer = Explorer.open(str(Path(__file__).parent))
trace = explorer.trace(*sys.argv[1:3], cut=True)
logits = trace.class_logits[None]
values = logits[0] if logits.shape[1] == 1 else probabilities_of(logits)[0]
for label, value in zip(explorer.loaded.labels, values):
    print(f"{{label}}\\t{{value:.4f}}")
'''


def metrics(result: FinetuneResult) -> dict[str, Any]:
    """All numbers of a run, as JSON holds them."""
    return {
        "task": "regression" if result.data.is_regression else "classification",
        "validation": result.report.to_dict(),
        "baselines": {b.name: b.report.to_dict() for b in result.baselines},
        "best_epoch": result.best_epoch,
        "compared_by": result.metric,
        "ending": result.ending,
        "epochs": [
            {
                "loss": point.loss,
                "validation_loss": point.validation_loss,
                result.metric: point.metric,
                "seconds": round(point.seconds, 3),
            }
            for point in result.points
        ],
    }


def recipe(result: FinetuneResult) -> dict[str, Any]:
    """All that is needed to do it again, as JSON holds it."""
    return {
        "base_model": result.loaded.model_id.removesuffix("-fine-tuned"),
        "base_weights_sha256": result.base_hash,
        "settings": result.settings.to_dict(),
        "precision": result.precision,
        "epochs_run": len(result.points),
        "best_epoch": result.best_epoch,
        "data_sha256": result.data_hash,
        "training_rows": len(result.data.train),
        "validation_rows": len(result.data.validation),
        "has_pairs": result.data.has_pairs,
        "labels": list(result.data.labels),
        "versions": {"python": platform.python_version(), **_versions()},
    }


def script(result: FinetuneResult) -> str:
    """The text of `predict.py`."""
    own = result.loaded.model.config.own_fields
    template = OWN_SCRIPT if own else SCRIPT
    return template.format(max_tokens=result.settings.max_tokens)


def model_card(result: FinetuneResult) -> str:
    """A page in Markdown: what the model does, how it was made, how far to trust it."""
    settings, data = result.settings, result.data
    base = result.loaded.model_id.removesuffix("-fine-tuned")
    task = "predicts a number" if data.is_regression else "sorts texts into classes"
    return "\n".join(
        (
            f"# {_plain(base)}, fine-tuned",
            "",
            f"A BERT that {task}: {', '.join(map(_plain, data.labels))}.",
            "",
            "## How it was made",
            "",
            f"Level “{settings.level}”, {len(result.points)} epochs (the weights are "
            f"those of epoch {result.best_epoch}), learning rate "
            f"{settings.learning_rate:g}, batches of {settings.batch_size}, at most "
            f"{settings.max_tokens} tokens a text, seed {settings.seed}. "
            f"{len(data.train)} rows to learn from. `recipe.json` says all.",
            "",
            "## How well it does",
            "",
            f"On {len(data.validation)} rows that it did not learn from. They chose "
            "the best epoch, so new texts may do a little worse.",
            "",
            *_table(result),
            "",
            "## What to keep in mind",
            "",
            "It knows the kind of text that it was trained on, and repeats the "
            "mistakes and prejudices of its labels. Look at `predictions.csv` before "
            "you trust it.",
            "",
        )
    )


def _table(result: FinetuneResult) -> list[str]:
    columns = ("MAE", "R²") if result.data.is_regression else ("accuracy", "macro-F1")
    rows = [("this model", result.report)]
    rows += [(baseline.name, baseline.report) for baseline in result.baselines]
    lines = [f"| | {columns[0]} | {columns[1]} |", "|---|---|---|"]
    for name, report in rows:
        first, second = _two_numbers(report)
        lines.append(f"| {name} | {first:.3f} | {second:.3f} |")
    return lines


def _two_numbers(report: Report) -> tuple[float, float]:
    if isinstance(report, ClassificationReport):
        return report.accuracy, report.macro_f1
    return report.mae, report.r2


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # another build, such as tensorflow-cpu
            continue
    return found


def _plain(text: str) -> str:
    """A label or name on one line, without signs that Markdown reads."""
    return "".join(" " if sign in "\r\n\t" else sign for sign in text).translate(
        {ord(sign): f"\\{sign}" for sign in "\\`*_[]<>#|"}
    )
