"""A trained model as one zip file that opens here and in `transformers`."""

from __future__ import annotations

import io
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bertviz_core.checkpoints.documents import NOTICE_FILE
from bertviz_core.checkpoints.export import save_model
from bertviz_core.errors import TrainingError, reason_of
from bertviz_core.finetune.card import CARDS, metrics, model_card, notice, script
from bertviz_core.finetune.dataset import TrainingData
from bertviz_core.finetune.evaluation import ClassificationReport, Report
from bertviz_core.finetune.recipe import recipe_of
from bertviz_core.finetune.row_prediction import PredictedTable
from bertviz_core.whole_files import write_whole

if TYPE_CHECKING:
    from bertviz_core.finetune.run import FinetuneResult

# Inside the zip; a checkpoint is looked for in the folder that holds its config.
FOLDER = "model"
# With the mark without which Excel does not read Chinese.
_CSV_ENCODING = "utf-8-sig"
_COPY_BYTES = 1 << 20
# The same model gives the same bytes, whenever it is packed.
_TIME = (1980, 1, 1, 0, 0, 0)


def write_bundle(result: FinetuneResult, path: Path, title: str = "") -> Path:
    """Packs a trained model with all that belongs to it.

    In the zip, in a folder `model`: config, weights (safetensors), vocabulary,
    `labels.json`, `metrics.json`, `recipe.json`, `predictions.csv` of the
    test rows and the same as `predictions.jsonl`, `predict.py`, the licence in
    `NOTICE`, and the model card, `README.md` in English and `README.zh.md` in
    Chinese.

    Args:
        result: of a run.
        path: of the zip file; one that exists is replaced when the new one is
            whole.
        title: what its owner calls the model; "" names the one that it began with.

    Returns:
        `path`.

    Raises:
        TrainingError: it cannot be written.
        CheckpointError: see `save_model`.
    """
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=".bundle-", dir=path.parent))
        try:
            write_model_folder(result, scratch / FOLDER, title)
            pack_model(scratch / FOLDER, path)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    except OSError as error:
        raise TrainingError(
            "The trained model cannot be written to {name}. Received: {reason}. Make "
            "room on the disk, or choose another place.",
            name=path.name,
            reason=reason_of(error),
        ) from error
    return path


def write_model_folder(result: FinetuneResult, folder: Path, title: str = "") -> None:
    """Writes what a bundle holds into a folder.

    Args:
        result: of a run.
        folder: to make; it may exist if it is empty.
        title: see `write_bundle`.

    Raises:
        CheckpointError: see `save_model`.
    """
    save_model(result.loaded, folder)
    write_predictions(folder, result.data, result.report)
    texts = {
        "labels.json": as_json(list(result.data.labels)),
        "metrics.json": as_json(metrics(result)),
        "recipe.json": as_json(recipe_of(result)),
        "predict.py": script(result),
        NOTICE_FILE: notice(result),
    }
    for words in CARDS.values():
        texts[words["file_name"]] = model_card(result, title, words)
    for name, text in texts.items():
        # Whole under its name: who reads a run may do so at any time.
        write_whole(folder / name, text)


def write_predictions(folder: Path, data: TrainingData, report: Report) -> None:
    """Writes the test rows with what a model says, safe for spreadsheets and exact.

    Args:
        folder: of the model.
        data: the rows.
        report: on the test rows.
    """
    part, labels = data.test, data.labels
    columns: dict[str, Sequence[Any]] = {"row": part.rows.tolist(), "text": part.texts}
    if part.pairs is not None:
        columns["pair"] = part.pairs
    if isinstance(report, ClassificationReport):
        columns["target"] = [labels[int(target)] for target in report.targets]
        outputs = report.probabilities
    else:
        columns["target"] = report.targets.tolist()
        outputs = report.predicted[:, None]
    cells = np.array(list(columns.values()), object).T
    table = PredictedTable(tuple(columns), cells, labels, outputs, data.is_regression)
    for name, encoding, write in (
        ("predictions.csv", _CSV_ENCODING, table.write_csv),
        ("predictions.jsonl", "utf-8", table.write_json_lines),
    ):
        stream = io.StringIO(newline="")
        write(stream)
        write_whole(folder / name, stream.getvalue(), encoding)


def pack_model(folder: Path, path: Path) -> None:
    """Packs what `write_model_folder` wrote.

    Args:
        folder: holds the files.
        path: of the zip file; one that exists is replaced when the new one is
            whole.

    Raises:
        OSError: it cannot be written.
    """
    scratch = path.with_name(f".{path.name}.new")
    try:
        _pack(folder, scratch)
        os.replace(scratch, path)
    finally:
        scratch.unlink(missing_ok=True)


def _pack(folder: Path, path: Path) -> None:
    with zipfile.ZipFile(path, "w") as packed:
        for file in sorted(folder.iterdir()):
            entry = zipfile.ZipInfo(f"{FOLDER}/{file.name}", _TIME)
            # Weights hardly compress.
            is_text = file.suffix != ".safetensors"
            entry.compress_type = (
                zipfile.ZIP_DEFLATED if is_text else zipfile.ZIP_STORED
            )
            entry.external_attr = 0o644 << 16
            entry.file_size = file.stat().st_size
            with file.open("rb") as source, packed.open(entry, "w") as target:
                shutil.copyfileobj(source, target, _COPY_BYTES)


def as_json(value: Any) -> str:
    """As it lies in the files of a model."""

    def plain(item: Any) -> Any:
        if isinstance(item, np.generic):
            return item.item()
        raise ValueError(f"`{type(item).__name__}` does not go into JSON.")

    return json.dumps(value, indent=2, ensure_ascii=False, default=plain) + "\n"
