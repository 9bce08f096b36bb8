"""How well fine-tuning learns, beside the `Trainer` of `transformers`.

    python -m benchmarks finetune_accuracy
    python -m benchmarks.finetune_accuracy table.csv --text-column T --label-column L

The first takes the library sample table, on which a row is more than a point; the
second a table of your own, which should be a large one.

Both begin with the same weights, the fresh head among them, and take as many steps on
the same rows with the same rates; the order of rows and dropout differ. Compared is the
accuracy after the last epoch on rows that neither saw, over several seeds.
"""

import argparse
import dataclasses
import importlib.util
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.labelled_table import SAMPLE_ARGUMENTS, read_data, table_parser
from benchmarks.machine import describe_machine
from benchmarks.table import Table
from benchmarks.trainers import encoded_rows, in_a_process, on_tensorflow
from bertviz_core.checkpoints.export import save_huggingface
from bertviz_core.checkpoints.library import LoadedModel, open_model
from bertviz_core.training.finetune.dataset import TrainingData
from bertviz_core.training.finetune.settings import FinetuneSettings

TARGET_POINTS = 1.0


def measure() -> Table:
    """Compares both on the library sample table."""
    needed = ("torch", "accelerate")
    if missing := [name for name in needed if importlib.util.find_spec(name) is None]:
        notes = (
            f"Not measured: {', '.join(missing)} not installed; see `make bench`.",
        )
        return Table("Accuracy beside the `Trainer`", ("model",), (), notes)
    return in_a_process(_measure, _options(SAMPLE_ARGUMENTS))


def main() -> None:
    """Reads the command line and prints a table."""
    options = _options()
    print(f"{describe_machine()}\n")
    print(_measure(options).markdown())


def _measure(options: argparse.Namespace) -> Table:
    on_tensorflow()
    data = read_data(options)
    loaded = open_model(options.model)
    chosen = {"level": "full", "max_tokens": options.max_tokens, "patience": 0}
    if options.epochs:
        chosen["epochs"] = options.epochs
    hidden_size = loaded.model.config.hidden_size
    settings = FinetuneSettings.proposed(hidden_size, len(data.train), **chosen)
    return _compare(loaded, data, settings, options)


def _options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = table_parser(__doc__)
    parser.add_argument("--epochs", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=3)
    return parser.parse_args(arguments)


def _compare(
    loaded: LoadedModel,
    data: TrainingData,
    settings: FinetuneSettings,
    options: argparse.Namespace,
) -> Table:
    from bertviz_core.training.finetune.run import finetune

    ours, theirs = [], []
    for seed in range(1, options.seeds + 1):
        seeded = dataclasses.replace(settings, seed=seed)
        ours.append(finetune(loaded, data, seeded).points[-1].metric)
        _tell(f"seed {seed}: ours {ours[-1]:.4f}")
        theirs.append(_trainer_accuracy(loaded, data, seeded))
        _tell(f"seed {seed}: Trainer {theirs[-1]:.4f}")
    apart = 100 * (statistics.mean(ours) - statistics.mean(theirs))
    found = {"ours": ours, "Trainer": theirs}
    rows = [
        (
            name,
            " ".join(f"{accuracy:.4f}" for accuracy in found[name]),
            f"{statistics.mean(found[name]):.4f}",
            f"{apart:+.2f}" if name == "ours" else "",
        )
        for name in found
    ]
    return Table(
        f"Accuracy on {options.table.stem}, {loaded.model_id}",
        ("peer", "seeds", "mean", "points apart"),
        rows,
        (
            f"{len(data.train)} rows to learn from, {len(data.validation)} held out, "
            f"{settings.epochs} epochs, learning rate {settings.learning_rate:g}, "
            f"batches of {settings.batch_size}. Target: no more than "
            f"{TARGET_POINTS:g} point behind.",
        ),
    )


def _tell(line: str) -> None:
    # A comparison takes half an hour and more: what was found is not lost by a stop.
    print(line, file=sys.stderr, flush=True)


def _trainer_accuracy(
    loaded: LoadedModel, data: TrainingData, settings: FinetuneSettings
) -> float:
    from transformers import (
        AutoTokenizer,
        BertForSequenceClassification,
        Trainer,
        TrainingArguments,
    )

    from bertviz_core.training.finetune.learner import copy_to_train

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "start"
        bert, _ = copy_to_train(loaded, len(data.labels), settings.seed, "float32")
        start = LoadedModel("start", bert, loaded.tokenizer, data.labels, loaded.report)
        save_huggingface(start, folder)
        tokenizer = AutoTokenizer.from_pretrained(folder)
        train, held_out = (
            encoded_rows(tokenizer, part.texts, part.targets, settings.max_tokens)
            for part in (data.train, data.validation)
        )
        arguments = TrainingArguments(
            scratch,
            per_device_train_batch_size=settings.batch_size,
            per_device_eval_batch_size=2 * settings.batch_size,
            num_train_epochs=settings.epochs,
            learning_rate=settings.learning_rate,
            warmup_steps=settings.warmup_rate,  # a share where below 1
            weight_decay=settings.weight_decay,
            max_grad_norm=settings.clip_norm,
            seed=settings.seed,
            use_cpu=True,
            report_to="none",
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
        )
        trainer: Any = Trainer(
            BertForSequenceClassification.from_pretrained(folder),
            arguments,
            train_dataset=train,
            processing_class=tokenizer,
        )
        trainer.train()
        logits = trainer.predict(held_out).predictions
    return float((logits.argmax(axis=1) == data.validation.targets).mean())


if __name__ == "__main__":
    main()
