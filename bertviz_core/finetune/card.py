"""What is written about a trained model, and the script that uses it."""

from __future__ import annotations

import contextlib
import math
import platform
import re
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertviz_core import __version__
from bertviz_core.checkpoints.catalogue import language_of
from bertviz_core.finetune.baselines import Baseline
from bertviz_core.finetune.card_words import ENGLISH, LANGUAGES, CardWords
from bertviz_core.finetune.evaluation import ClassificationReport, Report
from bertviz_core.finetune.run_sentences import chosen_text

if TYPE_CHECKING:
    import numpy as np
    from huggingface_hub import EvalResult, ModelCardData

    from bertviz_core.finetune.run import FinetuneResult

# Ids that open what is somebody's own.
_PRIVATE = ("run:", "upload:")
# In the name of a model that cannot be found by it.
UNNAMED = "@sha256:"
# An id that pins a model of the hub.
_ON_HUB = re.compile(r"[^:@]+@[0-9a-f]{40}")
_HASH_DIGITS = 12
_PACKAGES = ("keras", "tensorflow", "numpy", "tokenizers", "scikit-learn")
# By what other name a package may have been installed; see `requirements.txt`.
_OTHER_BUILDS = {"tensorflow": "tensorflow-cpu"}

# Said before any library is loaded.
_CHECKS = '''"""Usage: python predict.py "a text" ["its second text"]."""
import sys
from pathlib import Path

folder = Path(__file__).parent
wrong = "" if len(sys.argv) in (2, 3) else __doc__
for name in ("config.json", "model.safetensors", "vocab.txt"):
    if not (folder / name).is_file():
        wrong = f"{{name}} is missing: predict.py belongs beside the files of the zip."
if wrong:
    print(wrong, file=sys.stderr)
    sys.exit(2)
'''

SCRIPT = """
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, logging

logging.set_verbosity_error()  # the word head in the file is not needed here
cut = {{"truncation": True, "max_length": {max_tokens}}}
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
texts = tokenizer(*sys.argv[1:3], **cut, return_tensors="pt")
with torch.no_grad():
    logits = model(**texts).logits[0]
for index, value in enumerate(logits if len(logits) == 1 else logits.softmax(-1)):
    print(f"{{model.config.id2label[index]}}\\t{{value:.4f}}")
"""

# A model with layers of our own is loaded by this project alone.
OWN_SCRIPT = """
from bertviz_core.finetune.row_prediction import read_text
from bertviz_core.explorer import Explorer

explorer = Explorer.open(str(folder))
found = read_text(explorer, *sys.argv[1:3], max_tokens={max_tokens})
for label, value in zip(found.labels, found.outputs):
    print(f"{{label}}\\t{{value:.4f}}")
"""


def metrics(result: FinetuneResult) -> dict[str, Any]:
    """All numbers of a run, as JSON holds them."""
    return {
        "task": "regression" if result.data.is_regression else "classification",
        "test": result.report.to_dict(),
        "baselines": {
            b.name: b.report.to_dict() | _tuning(b) for b in result.baselines
        },
        "best_epoch": result.best_epoch,
        "compared_by": result.metric,
        "ending": result.ending,
        "epochs": [
            {
                "loss": point.loss,
                "validation_loss": _known(point.validation_loss),
                result.metric: _known(point.metric),
                "seconds": round(point.seconds, 3),
            }
            for point in result.points
        ],
    }


def recipe(result: FinetuneResult) -> dict[str, Any]:
    """All that is needed to do it again, as JSON holds it; see `recipe_file`."""
    origin = result.data.origin
    return {
        "base_model": base_name(result),
        "base_weights_sha256": result.base_hash,
        "settings": result.settings.to_dict(),
        "compared_by": result.metric,
        "precision": result.precision,
        "epochs_run": result.epochs_run,
        "stopped_at_step": result.steps if result.ending == "asked" else None,
        "best_epoch": result.best_epoch,
        "word_counts": next(
            (dict(b.chosen) for b in result.baselines if b.name == "tfidf"), None
        ),
        "data": None if origin is None else origin.to_dict(),
        "data_sha256": result.data_hash,
        "training_rows": len(result.data.train),
        "validation_rows": len(result.data.validation),
        "test_rows": len(result.data.test),
        "has_pairs": result.data.has_pairs,
        "labels": list(result.data.labels),
        "versions": {
            "bertviz_core": __version__,
            "python": platform.python_version(),
            **_versions(),
        },
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


def script(result: FinetuneResult) -> str:
    """The text of `predict.py`."""
    own = result.loaded.model.config.own_fields
    template = _CHECKS + (OWN_SCRIPT if own else SCRIPT)
    return template.format(max_tokens=result.settings.max_tokens)


def model_card(
    result: FinetuneResult, title: str = "", words: CardWords = ENGLISH
) -> str:
    """A page in Markdown: what the model does, how it was made, how far to trust it.

    Args:
        result: of a run.
        title: what its owner calls the model; "" names the model that it began with.
        words: the language.

    Returns:
        The card, with metadata for the Hugging Face hub at its head.
    """
    settings, data, base = result.settings, result.data, _plain(base_name(result))
    about = words.number if data.is_regression else words.classes
    made = words.made.format(
        base=base,
        level=words.levels[settings.level].format(top=settings.num_top_layers),
        choice=_choice(result, words),
        rate=settings.learning_rate,
        batch=settings.batch_size,
        tokens=settings.max_tokens,
        seed=settings.seed,
        rows=len(data.train),
    )
    parts = (
        f"---\n{_metadata(result, title).to_yaml()}\n---",
        f"# {_plain(title) or words.untitled.format(base=base)}",
        about.format(labels=words.between.join(map(_plain, data.labels))),
        f"## {words.made_title}",
        made,
        f"## {words.done_title}",
        words.done.format(rows=len(data.test)),
        "\n".join(_table(result, words)),
        *_of_words(result, words),
        f"## {words.mind_title}",
        words.mind,
        f"## {words.licence_title}",
        _licence(result, words, _plain),
    )
    return "\n\n".join(parts) + "\n"


def notice(result: FinetuneResult) -> str:
    """The licence of the weights, and what has to be handed on with them."""
    base = result.loaded.documents
    said = [_licence(result, words) for words in LANGUAGES]
    # The notice of a model that was trained here holds those of all before it.
    handed_on = base.notice or base.card
    return "\n\n".join([*said, *(["---", handed_on] if handed_on else [])]) + "\n"


def _licence(
    result: FinetuneResult, words: CardWords, escaped: Callable[[str], str] = str
) -> str:
    name = base_name(result)
    licence = _licence_name(result.loaded.documents.metadata())
    if licence:
        return words.licence.format(base=escaped(name), licence=escaped(licence))
    place = words.origin
    if _ON_HUB.fullmatch(result.base_model_id):
        place = words.hub_page.format(name=name.split("@")[0])
    return words.no_licence.format(base=escaped(name), place=place)


def _licence_name(known: Mapping[str, Any]) -> str:
    """As people read it; "" where a card names none."""
    name, link = known.get("license"), known.get("license_link")
    if name == "other":
        name = known.get("license_name")
    if not isinstance(name, str) or name in ("", "unknown", "other"):
        return ""
    return f"{name} ({link})" if isinstance(link, str) else name


def _metadata(result: FinetuneResult, title: str) -> ModelCardData:
    """What the hub reads of a card."""
    from huggingface_hub import ModelCardData

    known, base = result.loaded.documents.metadata(), result.base_model_id
    licence = {
        name: known[name]
        for name in ("license", "license_name", "license_link")
        if _licence_name(known) and isinstance(known.get(name), str)
    }
    own = result.loaded.model.config.own_fields
    return ModelCardData(
        language=_languages(known) or language_of(base) or None,
        **licence,
        base_model=_repo_id(base_name(result)),
        pipeline_tag="text-classification",
        library_name=None if own else "transformers",
        model_name=title or ENGLISH.untitled.format(base=base_name(result)),
        eval_results=_scores(result.report),
    )


def _languages(known: Mapping[str, Any]) -> str | list[str]:
    found = known.get("language")
    if isinstance(found, list):
        return [name for name in found if isinstance(name, str)]
    return found if isinstance(found, str) else ""


def _repo_id(name: str) -> str | None:
    """The name that a model may have on the hub."""
    from huggingface_hub.utils import HFValidationError, validate_repo_id

    with contextlib.suppress(HFValidationError):
        if UNNAMED not in name:
            repo = name.split("@")[0]
            validate_repo_id(repo)
            return repo
    return None


def _scores(report: Report) -> list[EvalResult]:
    from huggingface_hub import EvalResult

    if isinstance(report, ClassificationReport):
        found = {"accuracy": report.accuracy, "f1": report.macro_f1}
    else:
        found = {"mae": report.mae, "r_squared": report.r2}
    names = {"f1": "Macro F1", "mae": "MAE", "r_squared": "R²"}
    return [
        EvalResult(
            task_type="text-classification",
            dataset_type="private",
            dataset_name="Test rows of the table it was trained on",
            dataset_split="test",
            metric_type=kind,
            metric_name=names.get(kind),
            metric_value=float(value),
        )
        for kind, value in found.items()
        if math.isfinite(value)
    ]


def _of_words(result: FinetuneResult, words: CardWords) -> list[str]:
    """How word counts were tuned, where they were counted."""
    return [
        (words.tuned if one.chosen["folds"] else words.untuned).format(
            chosen=chosen_text(one.chosen), folds=one.chosen["folds"]
        )
        for one in result.baselines
        if one.chosen
    ]


def _choice(result: FinetuneResult, words: CardWords) -> str:
    """Which epoch the weights are of, and why."""
    if not result.epochs_run:
        return words.part.format(step=result.steps)
    chosen = words.chosen if len(result.data.validation) else words.last
    stop = words.part.format(step=result.steps) if result.ending == "asked" else ""
    return stop + chosen.format(
        epochs=result.epochs_run,
        best=result.best_epoch,
        rows=len(result.data.validation),
    )


def _tuning(baseline: Baseline) -> dict[str, Any]:
    return {"chosen": dict(baseline.chosen)} if baseline.chosen else {}


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _table(result: FinetuneResult, words: CardWords) -> list[str]:
    first = words.mae if result.data.is_regression else words.accuracy
    second = "R²" if result.data.is_regression else words.macro_f1
    reports = {"model": result.report}
    reports |= {baseline.name: baseline.report for baseline in result.baselines}
    lines = [f"| | {first} | {second} |", "|---|---|---|"]
    for name, report in reports.items():
        cells = " | ".join(_numbers(report))
        lines.append(f"| {words.methods.get(name, name)} | {cells} |")
    return lines


def _numbers(report: Report) -> tuple[str, str]:
    if isinstance(report, ClassificationReport):
        return (
            _with_range(report.accuracy, report.accuracy_interval),
            _with_range(report.macro_f1, report.macro_f1_interval),
        )
    return _with_range(report.mae, report.mae_interval), f"{report.r2:.3f}"


def _with_range(value: float, interval: np.ndarray) -> str:
    return f"{value:.3f} ({interval[0]:.3f}–{interval[1]:.3f})"


def _versions() -> dict[str, str]:
    found: dict[str, str] = {}
    for name in _PACKAGES:
        for build in (name, _OTHER_BUILDS.get(name, name)):
            with contextlib.suppress(PackageNotFoundError):
                found.setdefault(name, version(build))
    return found


def _plain(text: str) -> str:
    """A label or name on one line, without signs that Markdown reads."""
    return "".join(" " if sign in "\r\n\t" else sign for sign in text).translate(
        {ord(sign): f"\\{sign}" for sign in "\\`*_[]<>#|"}
    )
