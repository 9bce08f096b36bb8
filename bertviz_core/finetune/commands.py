"""The command `fine-tune`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from bertviz_core.finetune.columns import ColumnChoice
    from bertviz_core.finetune.dataset import Dataset
    from bertviz_core.finetune.events import TrainingEvent
    from bertviz_core.finetune.examples import TrainingData
    from bertviz_core.finetune.notes import Note
    from bertviz_core.finetune.settings import FinetuneSettings
    from bertviz_core.finetune.table import Table

_BUNDLE = "model.zip"


@click.command("fine-tune")
@click.argument("table", type=click.Path(path_type=Path))
@click.option("--text-column", help="Default: a guess.")
@click.option("--pair-column", help="Column with second texts.")
@click.option("--label-column", help="Default: a guess.")
@click.option("--regression", is_flag=True, help="The label is a number to predict.")
@click.option(
    "--validation",
    type=click.Path(path_type=Path),
    help="A table to judge by. Default: a fifth of the rows.",
)
@click.option("--model", "model_id", metavar="M", help="As for `predict`.")
@click.option("--level", default="full", show_default=True, help="head, top or full.")
@click.option("--top-layers", default=2, show_default=True, help="For --level top.")
@click.option("--epochs", default=0, help="Default: by level.")
@click.option("--batch-size", default=16, show_default=True)
@click.option("--learning-rate", default=0.0, help="Default: by level.")
@click.option(
    "--decay", default="linear", show_default=True, help="linear or exponential."
)
@click.option("--max-tokens", default=0, help="Default: by the lengths of the texts.")
@click.option("--patience", default=-1, help="Default: by level; 0 never ends early.")
@click.option("--class-weights", is_flag=True, help="Every class counts alike.")
@click.option("--oversample", is_flag=True, help="Repeat rows of rare classes.")
@click.option("--precision", default="auto", show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="Folder for the model; an interrupted run in it goes on.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the metrics as JSON.")
def fine_tune(
    table: Path,
    model_id: str | None,
    validation: Path | None,
    out: Path,
    as_json: bool,
    **options: Any,
) -> None:
    """Fine-tune a model on TABLE, a CSV or TSV file.

    Writes `model.zip`, which opens everywhere a model does, and `metrics.json`.
    Ctrl-C keeps the best epoch so far.
    """
    from bertviz_core.finetune.notes import in_english
    from bertviz_core.quiet import import_keras

    dataset, data, notes = _data(table, validation, options)
    for sentence in notes:
        click.echo(in_english(sentence), err=True)
    import_keras()
    result = _run(model_id, dataset, data, options, out, as_json)
    click.echo(json.dumps(result, ensure_ascii=False) if as_json else _summary(result))


def _run(
    model_id: str | None,
    dataset: Dataset,
    data: TrainingData,
    options: dict[str, Any],
    out: Path,
    is_quiet: bool,
) -> dict[str, Any]:
    from bertviz_core.checkpoints.default import DEFAULT_MODEL
    from bertviz_core.checkpoints.library import open_model
    from bertviz_core.finetune.bundle import write_bundle
    from bertviz_core.finetune.card import metrics
    from bertviz_core.finetune.lengths import measure_lengths
    from bertviz_core.finetune.run import finetune
    from bertviz_core.pretrain.commands import stop_on_signal

    loaded = open_model(model_id or DEFAULT_MODEL)
    positions = loaded.model.config.max_position_embeddings
    lengths = measure_lengths(dataset, loaded.tokenizer)
    settings = _settings(
        options,
        lengths.default_max_tokens(positions),
        loaded.model.config.hidden_size,
        len(data.train),
    )
    work = out / ".work"
    tell = (lambda event: None) if is_quiet else _say
    with stop_on_signal() as should_stop:
        result = finetune(loaded, data, settings, tell, should_stop, work)
    write_bundle(result, out / _BUNDLE)
    found = metrics(result) | {"settings": settings.to_dict()}
    text = json.dumps(found, indent=2, ensure_ascii=False)
    (out / "metrics.json").write_text(text + "\n", encoding="utf-8")
    shutil.rmtree(work, ignore_errors=True)
    return found | {"model": str(out / _BUNDLE)}


def _data(
    path: Path, validation: Path | None, options: dict[str, Any]
) -> tuple[Dataset, TrainingData, tuple[Note, ...]]:
    from bertviz_core.finetune.dataset import make_dataset
    from bertviz_core.finetune.split import join_files, split_dataset
    from bertviz_core.finetune.table import read_table

    table = _table(path, options)
    choice = _choice(table, options)
    dataset = make_dataset(table, choice)
    notes = table.notes + dataset.notes
    if validation is None:
        split = split_dataset(dataset, seed=options["seed"])
        return dataset, split.training_data(dataset), notes + split.notes
    other = make_dataset(read_table(validation), choice, dataset.label_names)
    data, found = join_files(dataset, other)
    return dataset, data, notes + other.notes + found


def _table(path: Path, options: dict[str, Any]) -> Table:
    from bertviz_core.finetune.table import read_table

    table = read_table(path)
    asked = {options[f"{kind}_column"] for kind in ("text", "pair", "label")} - {None}
    if table.has_header or asked <= set(table.columns):
        return table
    # Who names columns has seen a header, also where it looks like data.
    return read_table(path, has_header=True)


def _choice(table: Table, options: dict[str, Any]) -> ColumnChoice:
    from bertviz_core.finetune.columns import ColumnChoice, guess_columns

    text, label = options["text_column"], options["label_column"]
    pair, is_regression = options["pair_column"], options["regression"]
    if text is not None and label is not None:
        return ColumnChoice(text, label, pair, is_regression)
    guess = guess_columns(table)
    return ColumnChoice(
        text or guess.text,
        label or guess.label,
        pair or (guess.pair if text is None else None),
        is_regression or (label is None and guess.is_regression),
    )


def _settings(
    options: dict[str, Any], default_max_tokens: int, hidden_size: int, num_rows: int
) -> FinetuneSettings:
    from bertviz_core.finetune.settings import FinetuneSettings

    return FinetuneSettings.proposed(
        hidden_size,
        num_rows,
        level=options["level"],
        num_top_layers=options["top_layers"],
        epochs=options["epochs"],
        batch_size=options["batch_size"],
        learning_rate=options["learning_rate"],
        decay=options["decay"],
        max_tokens=options["max_tokens"] or default_max_tokens,
        patience=options["patience"],
        class_weights=options["class_weights"],
        oversample=options["oversample"],
        precision=options["precision"],
        seed=options["seed"],
    )


def _say(event: TrainingEvent) -> None:
    """A line on stderr for each epoch."""
    if event.kind == "epoch":
        best = "  best" if event.is_best else ""
        click.echo(
            f"epoch {event.epoch}  loss {event.loss:.4f}  {event.metric_name} "
            f"{event.metric:.4f}{best}  {event.seconds_left:.0f} s left",
            err=True,
        )


def _summary(found: dict[str, Any]) -> str:
    lines = [found["model"]]
    scores = {"this model": found["validation"], **found["baselines"]}
    names = ("mae", "r2") if found["task"] == "regression" else ("accuracy", "macro_f1")
    for name, report in scores.items():
        numbers = "  ".join(f"{metric} {report[metric]:.4f}" for metric in names)
        lines.append(f"{name:>12}  {numbers}")
    return "\n".join(lines)
