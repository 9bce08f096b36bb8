"""The command `fine-tune`."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from bertviz_core.finetune.command_data import CommandRows
    from bertviz_core.finetune.events import Tell, TrainingEvent
    from bertviz_core.finetune.recipe_file import Recipe
    from bertviz_core.finetune.settings import FinetuneSettings

_BUNDLE = "model.zip"
_LOG = "log"


@click.command("fine-tune")
@click.argument("table", type=click.Path(path_type=Path))
@click.option("--text-column", help="Default: a guess.")
@click.option("--pair-column", help="Column with second texts.")
@click.option("--label-column", help="Default: a guess.")
@click.option(
    "--regression/--classes",
    "is_regression",
    default=None,
    help="Whether the label is a number to predict. Default: a guess.",
)
@click.option("--encoding", help="Of the table. Default: a guess.")
@click.option("--separator", help="Between cells: , ; or tab. Default: a guess.")
@click.option(
    "--header/--no-header",
    "has_header",
    default=None,
    help="Whether the first row names the columns. Default: a guess.",
)
@click.option(
    "--test",
    "--validation",
    "validation",
    type=click.Path(path_type=Path),
    help="A table to test on. Default: rows of TABLE.",
)
@click.option(
    "--test-encoding",
    "--validation-encoding",
    "validation_encoding",
    help="Of that table. Default: a guess.",
)
@click.option(
    "--test-separator",
    "--validation-separator",
    "validation_separator",
    help="Of that table. Default: a guess.",
)
@click.option(
    "--test-header/--no-test-header",
    "--validation-header/--no-validation-header",
    "validation_has_header",
    default=None,
    help="Whether its first row names the columns. Default: as in TABLE.",
)
@click.option(
    "--test-rate",
    default=0.2,
    show_default=True,
    help="Share of the rows to test on, which choose nothing.",
)
@click.option(
    "--validation-rate",
    default=0.1,
    show_default=True,
    help="Share of the rows that choose the best epoch. Where these would be too few, "
    "all epochs run and the last one is kept.",
)
@click.option(
    "--split-seed",
    type=click.IntRange(min=0),
    help="Draws these rows. Default: --seed.",
)
@click.option("--model", "model_id", metavar="M", help="As for `predict`.")
@click.option(
    "--level",
    default="full",
    show_default=True,
    help="head: a new output layer learns alone; top: the upper layers, too; "
    "full: everything.",
)
@click.option(
    "--top-layers",
    "num_top_layers",
    default=2,
    show_default=True,
    help="For --level top.",
)
@click.option(
    "--epochs",
    type=click.IntRange(min=1),
    help="Default: by level and number of rows.",
)
@click.option("--batch-size", default=16, show_default=True)
@click.option(
    "--learning-rate", default=0.0, help="Default: by level and size of the model."
)
@click.option(
    "--warmup",
    "warmup_rate",
    default=0.1,
    show_default=True,
    help="Share of all steps in which the rate rises.",
)
@click.option(
    "--decay", default="linear", show_default=True, help="linear or exponential."
)
@click.option(
    "--epoch-factor",
    default=0.8,
    show_default=True,
    help="Of the rate after each epoch, for --decay exponential.",
)
@click.option("--weight-decay", default=0.01, show_default=True)
@click.option(
    "--clip-norm", default=1.0, show_default=True, help="0 does not clip gradients."
)
@click.option("--max-tokens", default=0, help="Default: by the lengths of the texts.")
@click.option("--patience", default=-1, help="Default: by level; 0 never ends early.")
@click.option("--class-weights", is_flag=True, help="Every class counts alike.")
@click.option("--oversample", is_flag=True, help="Repeat rows of rare classes.")
@click.option(
    "--precision",
    default="auto",
    show_default=True,
    help="auto, float32 or bfloat16; auto takes bfloat16 where the processor "
    "multiplies it.",
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True)
@click.option(
    "--recipe",
    "recipe_path",
    type=click.Path(path_type=Path),
    help="recipe.json of a training, or its zip file: does the same again. Options "
    "that are given count before it.",
)
@click.option("--tensorboard", is_flag=True, help="Also write a log into OUT/log.")
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="Folder for the model; an interrupted run in it goes on.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the metrics as JSON.")
@click.pass_context
def fine_tune(
    context: click.Context,
    table: Path,
    model_id: str | None,
    validation: Path | None,
    recipe_path: Path | None,
    tensorboard: bool,
    out: Path,
    as_json: bool,
    **options: Any,
) -> None:
    """Fine-tune a model on TABLE, a CSV or TSV file.

    Writes `model.zip`, which opens everywhere a model does, and `metrics.json`.
    Ctrl-C keeps the best epoch so far.
    """
    from bertviz_core.finetune.command_data import training_rows
    from bertviz_core.finetune.command_recipe import (
        model_of,
        require_validation,
        with_recipe,
    )
    from bertviz_core.finetune.notes import in_english
    from bertviz_core.finetune.out_folder import require_writable
    from bertviz_core.finetune.recipe_file import read_recipe
    from bertviz_core.quiet import import_keras

    recipe = None if recipe_path is None else read_recipe(recipe_path)
    if recipe is not None:
        given = _given(context, options)
        options = with_recipe(recipe, options, given)
        if "epochs" in given:
            recipe = dataclasses.replace(recipe, stopped_at=None)
        require_validation(recipe, validation)
        model_id = model_of(recipe, model_id)
    if options["split_seed"] is None:
        options["split_seed"] = options["seed"]
    rows = training_rows(table, validation, options)
    for sentence in rows.notes:
        click.echo(in_english(sentence), err=True)
    # A training of hours is not to end at a folder that nobody may write.
    require_writable(out)
    import_keras("tensorflow")
    with _telling(out / _LOG if tensorboard else None, as_json) as tell:
        result = _run(model_id, rows, options, out, recipe, tell)
    click.echo(json.dumps(result, ensure_ascii=False) if as_json else _summary(result))


def _given(context: click.Context, options: dict[str, Any]) -> frozenset[str]:
    """Names of the options that stand on the command line."""
    written = click.core.ParameterSource.COMMANDLINE
    return frozenset(
        name for name in options if context.get_parameter_source(name) is written
    )


def _run(
    model_id: str | None,
    rows: CommandRows,
    options: dict[str, Any],
    out: Path,
    recipe: Recipe | None,
    tell: Tell,
) -> dict[str, Any]:
    from bertviz_core.checkpoints.default import DEFAULT_MODEL
    from bertviz_core.checkpoints.library import open_model
    from bertviz_core.command_progress import download_progress
    from bertviz_core.finetune.bundle import write_bundle
    from bertviz_core.finetune.card import metrics
    from bertviz_core.finetune.command_recipe import differences
    from bertviz_core.finetune.lengths import measure_lengths
    from bertviz_core.finetune.remedies import num_rows_seen
    from bertviz_core.finetune.run import finetune
    from bertviz_core.pretrain.commands import stop_on_signal

    loaded = open_model(model_id or DEFAULT_MODEL, download_progress())
    for sentence in () if recipe is None else differences(recipe, loaded, rows.data):
        click.echo(sentence, err=True)
    positions = loaded.model.config.max_position_embeddings
    lengths = measure_lengths(rows.dataset, loaded.tokenizer)
    settings = _settings(
        options,
        lengths.default_max_tokens(positions),
        loaded.model.config.hidden_size,
        num_rows_seen(rows.data, options["oversample"]),
    )
    work, steps = out / ".work", 0
    last = None if recipe is None else recipe.stopped_at

    def told(event: TrainingEvent) -> None:
        nonlocal steps
        steps = event.step
        tell(event)

    with stop_on_signal() as is_asked:
        # A run that someone stopped is repeated as far as it went.
        result = finetune(
            loaded, rows.data, settings, told, lambda: is_asked() or steps == last, work
        )
    write_bundle(result, out / _BUNDLE)
    found = metrics(result) | {"settings": settings.to_dict()}
    text = json.dumps(found, indent=2, ensure_ascii=False)
    (out / "metrics.json").write_text(text + "\n", encoding="utf-8")
    shutil.rmtree(work, ignore_errors=True)
    return found | {"model": str(out / _BUNDLE)}


def _settings(
    options: dict[str, Any], default_max_tokens: int, hidden_size: int, num_rows: int
) -> FinetuneSettings:
    from bertviz_core.finetune.settings import FinetuneSettings

    if options["epochs"] is None:
        options = options | {"epochs": -1}
    names = {field.name for field in dataclasses.fields(FinetuneSettings)}
    chosen = {name: value for name, value in options.items() if name in names}
    chosen["max_tokens"] = options["max_tokens"] or default_max_tokens
    return FinetuneSettings.proposed(hidden_size, num_rows, **chosen)


@contextlib.contextmanager
def _telling(log: Path | None, is_quiet: bool) -> Iterator[Tell]:
    """Who is told of each step: the reader, and TensorBoard."""
    from bertviz_core.finetune.tensorboard_log import TensorBoardLog

    written = None if log is None else TensorBoardLog(log)

    def tell(event: TrainingEvent) -> None:
        _say(event, is_quiet)
        if written is not None:
            written.take(event)

    try:
        yield tell
    finally:
        if written is not None:
            written.close()


def _say(event: TrainingEvent, is_quiet: bool) -> None:
    """A line on stderr for each epoch, and, also for the quiet, for what went wrong."""
    from bertviz_core.finetune.notes import in_english
    from bertviz_core.finetune.run_sentences import (
        of_bar,
        of_part,
        of_reading,
        of_unsaved,
    )

    if event.kind == "epoch" and not is_quiet:
        best = "  best" if event.is_best else ""
        score = ""
        if event.metric is not None:
            score = f"  {event.metric_name} {event.metric:.4f}{best}"
        click.echo(
            f"epoch {event.epoch}  loss {event.loss:.4f}{score}  "
            f"{event.seconds_left:.0f} s left",
            err=True,
        )
    elif event.kind == "ended" and not event.is_whole:
        click.echo(in_english(of_part(event)), err=True)
    elif event.kind == "unsaved":
        told = of_unsaved(event.epoch, event.kept_epoch, event.reason)
        click.echo(in_english(told), err=True)
    elif event.kind == "ended" and not is_quiet:
        click.echo(in_english(of_reading()), err=True)
    elif event.kind == "compared" and not (is_quiet and event.metric_name):
        told = of_bar(event.metric_name, event.metric, event.chosen)
        click.echo(in_english(told), err=True)


def _summary(found: dict[str, Any]) -> str:
    lines = [found["model"]]
    scores = {"this model": found["test"], **found["baselines"]}
    names = ("mae", "r2") if found["task"] == "regression" else ("accuracy", "macro_f1")
    for name, report in scores.items():
        numbers = "  ".join(f"{metric} {report[metric]:.4f}" for metric in names)
        lines.append(f"{name:>12}  {numbers}")
    return "\n".join(lines)
