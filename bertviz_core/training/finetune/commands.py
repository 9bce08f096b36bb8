"""The commands `fine-tune` and `classify`."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil
import statistics
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bertviz_core.command_parts import PATH, Answer, download_progress, open_explorer

if TYPE_CHECKING:
    from bertviz_core.checkpoints.library import LoadedModel
    from bertviz_core.errors import TrainingError
    from bertviz_core.explorer import Explorer
    from bertviz_core.training.events import Tell, TrainingEvent
    from bertviz_core.training.finetune.recipe import Recipe
    from bertviz_core.training.finetune.settings import FinetuneSettings
    from bertviz_core.training.finetune.split import PreparedData

_BUNDLE, _METRICS, _LOG, _WORK = "model.zip", "metrics.json", "log", ".work"


@click.command("fine-tune")
@click.argument("table", type=PATH)
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
    "validation",
    type=PATH,
    help="A table to test on. Default: rows of TABLE.",
)
@click.option(
    "--test-encoding", "validation_encoding", help="Of that table. Default: a guess."
)
@click.option(
    "--test-separator", "validation_separator", help="Of that table. Default: a guess."
)
@click.option(
    "--test-header/--no-test-header",
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
    "--epochs", type=click.IntRange(min=1), help="Default: by level and number of rows."
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
    "--final-rate",
    default=0.0,
    help="Share of the rate that is left at the last step. Default: 0; for --decay "
    "exponential 0.1.",
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
    "--seeds",
    "num_seeds",
    type=click.IntRange(min=1),
    default=1,
    help="Train so many times on the same rows, with seeds from --seed on, each into "
    "OUT/seed-S, and tell the mean and the spread of their scores.",
)
@click.option(
    "--recipe",
    "recipe_path",
    type=PATH,
    help="recipe.json of a training, or its zip file: does the same again. Options "
    "that are given count before it.",
)
@click.option("--tensorboard", is_flag=True, help="Also write a log into OUT/log.")
@click.option(
    "--out",
    required=True,
    type=PATH,
    help="Folder for the model. A run that was stopped there, or broke off, goes on.",
)
@click.option(
    "--restart", is_flag=True, help="Begin anew, in place of what lies in OUT."
)
@click.option("--json", "as_json", is_flag=True, help="Print the metrics as JSON.")
@click.pass_context
def fine_tune(
    context: click.Context,
    table: Path,
    model_id: str | None,
    validation: Path | None,
    recipe_path: Path | None,
    num_seeds: int,
    tensorboard: bool,
    out: Path,
    restart: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Fine-tune a model on TABLE, such as a CSV or Excel file.

    Writes `model.zip`, which opens everywhere a model does, and `metrics.json`.
    Ctrl-C keeps the best epoch so far; the same command goes on from that step.
    """
    from bertviz_core.quiet import import_keras
    from bertviz_core.training.finetune.command_data import training_rows
    from bertviz_core.training.finetune.notes import in_english
    from bertviz_core.training.finetune.recipe import read_recipe, with_recipe
    from bertviz_core.training.run_folder import held

    recipe = None if recipe_path is None else read_recipe(recipe_path)
    if recipe is not None:
        written = click.core.ParameterSource.COMMANDLINE
        given = frozenset(
            name for name in options if context.get_parameter_source(name) is written
        )
        options, model_id = with_recipe(recipe, options, given, model_id, validation)
        if "epochs" in given:
            recipe = dataclasses.replace(recipe, stopped_at=None)
    if options["split_seed"] is None:
        options["split_seed"] = options["seed"]
    rows = training_rows(table, validation, options)
    for sentence in rows.notes:
        click.echo(in_english(sentence), err=True)
    # A training of hours is not to end at a folder that nobody may write.
    with held(out):
        import_keras("tensorflow")

        def train(folder: Path, seed: int, is_finished: bool) -> dict[str, Any]:
            loaded, settings = _opened(model_id, rows, options | {"seed": seed})
            if is_finished:
                return _finished_before(folder, loaded, rows, settings)
            with _telling(folder / _LOG if tensorboard else None, as_json) as tell:
                return _run(loaded, rows, settings, folder, recipe, tell)

        if num_seeds > 1:
            result = _train_seeds(train, out, options["seed"], num_seeds, restart)
        else:
            if _is_finished(out, restart):
                raise _holds_another(out)
            result = train(out, options["seed"], False)
    shown = _summary_of_seeds if num_seeds > 1 else _summary
    click.echo(json.dumps(result, ensure_ascii=False) if as_json else shown(result))


def _train_seeds(
    train: Callable[[Path, int, bool], dict[str, Any]],
    out: Path,
    first: int,
    count: int,
    restart: bool,
) -> dict[str, Any]:
    """Trains once a seed that was not finished before; tells what `metrics.json` holds.

    The "spread" of the scores is the sample standard deviation.
    """
    found: dict[int, dict[str, Any]] = {}
    for seed in range(first, first + count):
        folder = out / f"seed-{seed}"
        folder.mkdir(exist_ok=True)
        is_finished = _is_finished(folder, restart)
        if not is_finished:
            click.echo(f"seed {seed}", err=True)
        said = train(folder, seed, is_finished)
        if not _is_finished(folder, False):  # it was stopped, and can go on
            break
        found[seed] = said["test"]
    names = [n for n in ("accuracy", "macro_f1", "mae", "r2") if n in said["test"]]
    scores = {n: [test[n] for test in found.values()] for n in names}
    result = {
        "seeds": list(found),
        "scores": scores,
        "mean": {n: statistics.fmean(v) if v else None for n, v in scores.items()},
        "spread": {
            n: statistics.stdev(v) if len(v) > 1 else None for n, v in scores.items()
        },
    }
    _write_metrics(result, out)
    return result


def _write_metrics(found: dict[str, Any], out: Path) -> None:
    from bertviz_core.training.run_folder import as_json, not_written
    from bertviz_core.whole_files import write_whole

    try:
        write_whole(out / _METRICS, as_json(found, 2))
    except OSError as error:
        raise not_written(out, error) from error


def _summary_of_seeds(found: dict[str, Any]) -> str:
    lines = []
    for name, values in found["scores"].items():
        each = "  ".join(
            f"seed {s} {v:.4g}" for s, v in zip(found["seeds"], values, strict=True)
        )
        mean, spread = found["mean"][name], found["spread"][name]
        told = "" if mean is None else f"  mean {mean:.4g}"
        told += "" if spread is None else f"  spread {spread:.4g}"
        lines.append(f"{name:>12}  {each}{told}")
    return "\n".join(lines)


def _is_finished(out: Path, restart: bool) -> bool:
    """Whether there is nothing to go on with in a folder, nor to begin anew."""
    from bertviz_core.training.checkpoint import has_checkpoint

    if restart:
        shutil.rmtree(out / _WORK, ignore_errors=True)
        return False
    return (out / _BUNDLE).exists() and not has_checkpoint(out / _WORK)


def _finished_before(
    out: Path, loaded: LoadedModel, rows: PreparedData, settings: FinetuneSettings
) -> dict[str, Any]:
    """The metrics of a finished training, if it is the one that is asked for."""
    from bertviz_core.training.finetune.recipe import differences, read_recipe

    found: dict[str, Any] = json.loads((out / _METRICS).read_text(encoding="utf-8"))
    recipe = read_recipe(out / _BUNDLE)
    is_other = found["settings"] != settings.to_dict()
    if is_other or differences(recipe, loaded, rows.data):
        raise _holds_another(out)
    return found


def _holds_another(out: Path) -> TrainingError:
    from bertviz_core.errors import TrainingError

    return TrainingError(
        "The folder {folder} holds a finished training. Choose another one for "
        "--out, or replace it by --restart.",
        folder=out.name,
    )


def _opened(
    model_id: str | None, rows: PreparedData, options: dict[str, Any]
) -> tuple[LoadedModel, FinetuneSettings]:
    """The model to begin with, and the settings with the defaults that suit it."""
    from bertviz_core.checkpoints.default import DEFAULT_MODEL
    from bertviz_core.checkpoints.library import open_model
    from bertviz_core.training.finetune.checks import measure_lengths
    from bertviz_core.training.finetune.settings import FinetuneSettings
    from bertviz_core.training.finetune.split import num_rows_seen

    loaded = open_model(model_id or DEFAULT_MODEL, download_progress())
    config = loaded.model.config
    if options["epochs"] is None:
        options = options | {"epochs": -1}
    names = {field.name for field in dataclasses.fields(FinetuneSettings)}
    chosen = {name: value for name, value in options.items() if name in names}
    if not options["max_tokens"]:
        counts = measure_lengths(rows.dataset, loaded.tokenizer).counts
        chosen["max_tokens"] = counts.default_max_tokens(config.max_position_embeddings)
    num_rows = num_rows_seen(rows.data, options["oversample"])
    return loaded, FinetuneSettings.proposed(config.hidden_size, num_rows, **chosen)


def _run(
    loaded: LoadedModel,
    rows: PreparedData,
    settings: FinetuneSettings,
    out: Path,
    recipe: Recipe | None,
    tell: Tell,
) -> dict[str, Any]:
    from bertviz_core.training.events import stop_on_signal
    from bertviz_core.training.finetune.bundle import metrics, write_bundle
    from bertviz_core.training.finetune.recipe import differences
    from bertviz_core.training.finetune.run import finetune

    for sentence in () if recipe is None else differences(recipe, loaded, rows.data):
        click.echo(sentence, err=True)
    work, steps = out / _WORK, 0
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
    _write_metrics(found, out)
    if result.ending == "asked" and result.steps != last:
        told_stop = f"stopped after step {result.steps}; the same command goes on"
        click.echo(told_stop, err=True)
    else:
        shutil.rmtree(work, ignore_errors=True)
    return found | {"model": str(out / _BUNDLE)}


@contextlib.contextmanager
def _telling(log: Path | None, is_quiet: bool) -> Iterator[Tell]:
    """Who is told of each step: the reader, and TensorBoard."""
    from bertviz_core.training.events import TensorBoardLog

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
    from bertviz_core.training.finetune.notes import in_english
    from bertviz_core.training.finetune.run_history import (
        of_bar,
        of_ending,
        of_unsaved,
        said,
    )

    if event.kind == "epoch" and event.is_whole and not is_quiet:
        best = "  best" if event.best_epoch == event.epoch else ""
        score = ""
        if event.metric is not None:
            score = f"  {event.metric_name} {event.metric:.4f}{best}"
        click.echo(
            f"epoch {event.epoch}  loss {event.loss:.4f}{score}  "
            f"{event.seconds_left:.0f} s left",
            err=True,
        )
        return
    told = None
    if event.kind == "ended" and not event.is_whole:
        told = of_ending(event, 0, 0)
    elif event.kind == "unsaved":
        told = of_unsaved(event)
    elif event.kind == "ended" and not is_quiet:
        told = said("reading")
    elif event.kind == "compared" and not (is_quiet and event.metric_name):
        told = of_bar(event)
    if told is not None:
        click.echo(in_english(told), err=True)


def _summary(found: dict[str, Any]) -> str:
    lines = [found["model"]]
    scores = {"this model": found["test"], **found["baselines"]}
    names = ("mae", "r2") if found["task"] == "regression" else ("accuracy", "macro_f1")
    for name, report in scores.items():
        numbers = "  ".join(f"{metric} {report[metric]:.4g}" for metric in names)
        lines.append(f"{name:>12}  {numbers}")
    return "\n".join(lines)


@click.command()
@click.argument("text", required=False)
@click.option("--pair", help="A second text, for a model that reads two.")
@click.option(
    "--model",
    "model_id",
    metavar="M",
    help="One with classes: a folder, a zip file such as that of `fine-tune`, or a "
    "hub name.",
)
@click.option("--table", type=PATH, help="Such as a CSV or Excel file.")
@click.option("--text-column", help="Of the table. Default: a guess.")
@click.option("--pair-column", help="Column with second texts.")
@click.option("--encoding", help="Of the table. Default: a guess.")
@click.option("--separator", help="Between cells: , ; or tab. Default: a guess.")
@click.option("--out", type=PATH, help="Where the table goes with the answers, as CSV.")
@click.option(
    "--max-tokens",
    default=0,
    help="Where texts are cut. Default: as the model learned, else its positions.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def classify(
    text: str | None,
    pair: str | None,
    model_id: str | None,
    table: Path | None,
    out: Path | None,
    max_tokens: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Predict the class of TEXT, or of each row of a table.

    With --table and --out every row is answered, and the file holds the table with
    the class and the probability of each class; a model of numbers gives a number.
    """
    if (text is None) == (table is None):
        raise click.UsageError("Give either TEXT or --table.")
    if (table is None) != (out is None):
        raise click.UsageError("Give --table and --out together.")
    explorer = open_explorer(model_id)
    if table is not None and out is not None:
        answer, lines = _classify_table(explorer, table, out, max_tokens, options)
    else:
        answer, lines = _classify_text(explorer, text or "", pair, max_tokens)
    shown = json.dumps(answer, ensure_ascii=False) if as_json else "\n".join(lines)
    click.echo(shown)


def _classify_text(
    explorer: Explorer, text: str, pair: str | None, max_tokens: int
) -> tuple[Answer, list[str]]:
    from bertviz_core.training.finetune.row_prediction import read_text

    read = read_text(explorer, text, pair, max_tokens)
    if read.was_cut:
        message = (
            f"cut: {read.num_tokens_uncut} tokens, {read.tokenized.num_tokens} read"
        )
        click.echo(message, err=True)
    values = list(zip(read.labels, read.outputs.tolist(), strict=True))
    said: Answer = {"name": read.labels[0], "value": values[0][1]}
    if not read.is_regression:
        classes = [{"label": label, "probability": value} for label, value in values]
        said = {"label": read.labels[read.best], "classes": classes}
    tokens = {"tokens": list(read.tokenized.tokens), "was_cut": read.was_cut}
    ranked = sorted(values, key=lambda one: -one[1])
    digits = ".6g" if read.is_regression else ".4f"
    lines = [f"{value:{digits}}\t{label}" for label, value in ranked]
    return {"model": read.model_id, **tokens, **said}, lines


def _classify_table(
    explorer: Explorer, path: Path, out: Path, max_tokens: int, options: dict[str, Any]
) -> tuple[Answer, list[str]]:
    from bertviz_core.training.finetune.command_data import (
        read_named_table,
        text_column,
    )
    from bertviz_core.training.finetune.row_prediction import predict_table

    wanted, pair = options["text_column"], options["pair_column"]
    table = read_named_table(
        path, (wanted, pair), options["encoding"], options["separator"]
    )
    columns = (wanted or text_column(table), pair)
    click.echo(f"column with texts: {columns[0]}", err=True)
    found = predict_table(explorer, table, columns, max_tokens, out, _tell)
    counts = dict(zip(found.labels, found.counts.tolist(), strict=True))
    answer = {
        "model": explorer.model_id,
        "out": str(out),
        "rows": found.num_rows,
        "empty": found.num_empty,
        "cut": found.num_cut,
        "counts": counts,
    }
    return answer, [str(out), *(f"{n}\t{label}" for label, n in counts.items())]


def _tell(share: float, _: str) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r{share:.0%}", err=True, nl=share >= 1)
