"""A trained model as one zip file that opens here and in `transformers`.

With what is written about it, in two languages, and the script that uses it.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bertviz_core.checkpoints.documents import NOTICE_FILE
from bertviz_core.checkpoints.export import save_model
from bertviz_core.errors import TrainingError, reason_of
from bertviz_core.training.finetune.dataset import TrainingData
from bertviz_core.training.finetune.evaluation import (
    ClassificationReport,
    Report,
    defined,
)
from bertviz_core.training.finetune.recipe import base_name, is_on_hub, recipe_of
from bertviz_core.training.finetune.row_prediction import PredictedTable
from bertviz_core.training.finetune.run_history import chosen_text
from bertviz_core.training.run_folder import as_json
from bertviz_core.whole_files import scratch_folder, write_whole

if TYPE_CHECKING:
    from huggingface_hub import EvalResult, ModelCardData

    from bertviz_core.training.finetune.run import FinetuneResult

# Inside the zip; a checkpoint is looked for in the folder that holds its config.
FOLDER = "model"
_COPY_BYTES = 1 << 20
# The same model gives the same bytes, whenever it is packed.
_TIME = (1980, 1, 1, 0, 0, 0)
_CARDS = Path(__file__).resolve().parents[3] / "assets" / "cards"


def write_bundle(result: FinetuneResult, path: Path, title: str = "") -> Path:
    """Packs a trained model with all that belongs to it, and returns `path`.

    In the zip, in a folder `model`: config, weights (safetensors), vocabulary,
    `labels.json`, `metrics.json`, `recipe.json`, `predictions.csv` of the test rows and
    the same as `predictions.jsonl`, `predict.py`, the licence in `NOTICE`, and the
    model card, `README.md` in English and `README.zh.md` in Chinese. A zip that exists
    is replaced when the new one is whole.

    Raises:
        TrainingError: it cannot be written.
        CheckpointError: see `save_model`.
    """
    path = Path(path)
    try:
        with scratch_folder(path.with_name(f"{path.name}.files")) as scratch:
            write_model_folder(result, scratch / FOLDER, title)
            pack_model(scratch / FOLDER, path)
    except OSError as error:
        raise TrainingError(
            "The trained model cannot be written to {name}. Received: {reason}. Make "
            "room on the disk, or choose another place.",
            name=path.name,
            reason=reason_of(error),
        ) from error
    return path


def write_model_folder(result: FinetuneResult, folder: Path, title: str = "") -> None:
    """Writes what a bundle holds into a new or empty folder; raises as `save_model`."""
    save_model(result.loaded, folder)
    write_predictions(folder, result.data, result.report)
    texts = {
        "labels.json": as_json(list(result.data.labels), 2),
        "metrics.json": as_json(metrics(result), 2),
        "recipe.json": as_json(recipe_of(result), 2),
        "predict.py": script(result),
        NOTICE_FILE: notice(result),
    }
    for words in CARDS.values():
        texts[words["file_name"]] = model_card(result, title, words)
    for name, text in texts.items():
        # Whole under its name: who reads a run may do so at any time.
        write_whole(folder / name, text)


def write_predictions(folder: Path, data: TrainingData, report: Report) -> None:
    """Writes the test rows with what a model says, safe for spreadsheets and exact."""
    part, labels = data.test, data.labels
    columns: dict[str, Sequence[Any]] = {"row": part.rows.tolist(), "text": part.texts}
    if part.pairs is not None:
        columns["pair"] = part.pairs
    if isinstance(report, ClassificationReport):
        columns["target"] = [labels[int(target)] for target in report.targets]
    else:
        columns["target"] = report.targets.tolist()
    cells = np.array(list(columns.values()), object).T
    table = PredictedTable(
        tuple(columns), cells, labels, report.outputs, data.is_regression
    )
    table.save(folder / "predictions.csv")


def pack_model(folder: Path, path: Path) -> None:
    """Packs what `write_model_folder` wrote, as `write_bundle` does."""
    scratch = path.with_name(f".{path.name}.new")
    try:
        with zipfile.ZipFile(scratch, "w") as packed:
            for file in sorted(folder.iterdir()):
                entry = zipfile.ZipInfo(f"{FOLDER}/{file.name}", _TIME)
                if file.suffix != ".safetensors":  # weights hardly compress
                    entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = 0o644 << 16
                entry.file_size = file.stat().st_size
                with file.open("rb") as source, packed.open(entry, "w") as target:
                    shutil.copyfileobj(source, target, _COPY_BYTES)
        os.replace(scratch, path)
    finally:
        scratch.unlink(missing_ok=True)


Words = Mapping[str, str]
# What a card says, in each language of the interface.
CARDS: dict[str, Words] = {
    language: json.loads((_CARDS / f"{language}.json").read_text(encoding="utf-8"))
    for language in ("en", "zh")
}

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
    print(f"{{model.config.id2label[index]}}\\t{{value:{digits}}}")
"""

# A model with layers of our own is loaded by this project alone.
OWN_SCRIPT = """
from bertviz_core.training.finetune.row_prediction import read_text
from bertviz_core.explorer import Explorer

explorer = Explorer.open(str(folder))
found = read_text(explorer, *sys.argv[1:3], max_tokens={max_tokens})
for label, value in zip(found.labels, found.outputs):
    print(f"{{label}}\\t{{value:{digits}}}")
"""


def metrics(result: FinetuneResult) -> dict[str, Any]:
    """All numbers of a run, as JSON holds them."""
    return {
        "task": "regression" if result.data.is_regression else "classification",
        "test": result.report.to_dict(),
        "baselines": {
            one.name: one.report.to_dict()
            | ({"chosen": dict(one.chosen)} if one.chosen else {})
            for one in result.baselines
        },
        "best_epoch": result.best_epoch,
        "compared_by": result.metric,
        "ending": result.ending,
        "epochs": [
            {
                "loss": point.loss,
                "validation_loss": defined(point.validation_loss),
                result.metric: defined(point.metric),
                "seconds": round(point.seconds, 3),
            }
            for point in result.points
        ],
    }


def script(result: FinetuneResult) -> str:
    """The text of `predict.py`."""
    own = result.loaded.model.config.own_fields
    template = _CHECKS + (OWN_SCRIPT if own else SCRIPT)
    digits = ".6g" if result.data.is_regression else ".4f"
    return template.format(max_tokens=result.settings.max_tokens, digits=digits)


def model_card(
    result: FinetuneResult, title: str = "", words: Words = CARDS["en"]
) -> str:
    """A page in Markdown: what the model does, how it was made, how far to trust it.

    At its head stand metadata for the Hugging Face hub. `words` are one of `CARDS`.
    """
    settings, data, base = result.settings, result.data, _plain(base_name(result))
    named = _plain(title) or words["untitled"].format(base=base)
    about = words["number" if data.is_regression else "classes"]
    level = words[f"level_{settings.level}"].format(top=settings.num_top_layers)
    made = words["made"].format(
        base=base,
        level=level,
        choice=_choice(result, words),
        rate=settings.learning_rate,
        batch=settings.batch_size,
        tokens=settings.max_tokens,
        seed=settings.seed,
        rows=len(data.train),
    )
    tuned = [
        words["tuned" if one.chosen["folds"] else "untuned"].format(
            chosen=chosen_text(one.chosen), folds=one.chosen["folds"]
        )
        for one in result.baselines
        if one.chosen
    ]
    parts = (
        f"---\n{_metadata(result, title).to_yaml()}\n---",
        f"# {named}",
        about.format(labels=words["between"].join(map(_plain, data.labels))),
        f"## {words['made_title']}",
        made,
        f"## {words['done_title']}",
        words["done"].format(rows=len(data.test)),
        _table(result, words),
        *tuned,
        f"## {words['mind_title']}",
        words["mind"],
        f"## {words['licence_title']}",
        _licence(result, words, _plain),
    )
    return "\n\n".join(parts) + "\n"


def notice(result: FinetuneResult) -> str:
    """The licence of the weights, and what has to be handed on with them."""
    base = result.loaded.documents
    said = [_licence(result, words) for words in CARDS.values()]
    # The notice of a model that was trained here holds those of all before it.
    handed_on = base.notice or base.card
    return "\n\n".join([*said, *(["---", handed_on] if handed_on else [])]) + "\n"


def _licence(
    result: FinetuneResult, words: Words, escaped: Callable[[str], str] = str
) -> str:
    name = base_name(result)
    if licence := _licence_name(result.loaded.documents.metadata()):
        return words["licence"].format(base=escaped(name), licence=escaped(licence))
    place = words["origin"]
    if is_on_hub(result.base_model_id):
        place = words["hub_page"].format(name=name.split("@")[0])
    return words["no_licence"].format(base=escaped(name), place=place)


def _licence_name(known: Mapping[str, Any]) -> str:
    """As people read it; "" where a card names none."""
    name, link = known.get("license"), known.get("license_link")
    if name == "other":
        name = known.get("license_name")
    if not isinstance(name, str) or name in ("", "unknown", "other"):
        return ""
    return f"{name} ({link})" if isinstance(link, str) else name


def _metadata(result: FinetuneResult, title: str) -> ModelCardData:
    from huggingface_hub import ModelCardData

    from bertviz_core.checkpoints.catalogue import language_of

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
        base_model=base.split("@")[0] if is_on_hub(base) else None,
        pipeline_tag="text-classification",
        library_name=None if own else "transformers",
        model_name=title or CARDS["en"]["untitled"].format(base=base_name(result)),
        eval_results=_scores(result.report),
    )


def _languages(known: Mapping[str, Any]) -> str | list[str]:
    found = known.get("language")
    if isinstance(found, list):
        return [name for name in found if isinstance(name, str)]
    return found if isinstance(found, str) else ""


def _scores(report: Report) -> list[EvalResult]:
    from huggingface_hub import EvalResult

    if isinstance(report, ClassificationReport):
        found = [
            ("accuracy", None, report.accuracy),
            ("f1", "Macro F1", report.macro_f1),
        ]
    else:
        found = [("mae", "MAE", report.mae), ("r_squared", "R²", report.r2)]
    return [
        EvalResult(
            task_type="text-classification",
            dataset_type="private",
            dataset_name="Test rows of the table it was trained on",
            dataset_split="test",
            metric_type=kind,
            metric_name=name,
            metric_value=float(value),
        )
        for kind, name, value in found
        if math.isfinite(value)
    ]


def _choice(result: FinetuneResult, words: Words) -> str:
    """Which epoch the weights are of, and why."""
    part = words["part"].format(step=result.steps)
    if not result.epochs_run:
        return part
    rows = len(result.data.validation)
    return (part if result.ending == "asked" else "") + words[
        "chosen" if rows else "last"
    ].format(epochs=result.epochs_run, best=result.best_epoch, rows=rows)


def _table(result: FinetuneResult, words: Words) -> str:
    names = ("mae", "r2") if result.data.is_regression else ("accuracy", "macro_f1")
    reports = {"model": result.report}
    reports |= {baseline.name: baseline.report for baseline in result.baselines}
    lines = [["", *(words.get(name, "R²") for name in names)], ["---"] * 3]
    for method, report in reports.items():
        lines.append([words[f"method_{method}"], *(_cell(report, n) for n in names)])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cell(report: Report, metric: str) -> str:
    value, interval = (
        getattr(report, metric),
        getattr(report, f"{metric}_interval", None),
    )
    # An amount may be of any size.
    digits = ".3f" if isinstance(report, ClassificationReport) else ".4g"
    if interval is None:
        return f"{value:{digits}}"
    return f"{value:{digits}} ({interval[0]:{digits}}–{interval[1]:{digits}})"


def _plain(text: str) -> str:
    """A label or name on one line, without signs that Markdown reads."""
    return "".join(" " if sign in "\r\n\t" else sign for sign in text).translate(
        {ord(sign): f"\\{sign}" for sign in "\\`*_[]<>#|"}
    )
