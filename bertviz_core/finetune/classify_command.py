"""The command `classify`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from bertviz_core.explorer import Explorer
    from bertviz_core.finetune.row_prediction import ReadText, TablePredictions


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
@click.option("--table", type=click.Path(path_type=Path), help="A CSV or TSV file.")
@click.option("--text-column", help="Of the table. Default: a guess.")
@click.option("--pair-column", help="Column with second texts.")
@click.option("--encoding", help="Of the table. Default: a guess.")
@click.option("--separator", help="Between cells: , ; or tab. Default: a guess.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Where the table goes with the answers, as CSV.",
)
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
    """Say which class TEXT is of, or each row of a table.

    With --table and --out every row is answered, and the file holds the table with
    the class and the probability of each class; a model of numbers gives a number.
    """
    if (text is None) == (table is None):
        raise click.UsageError("Give either TEXT or --table.")
    if (table is None) != (out is None):
        raise click.UsageError("Give --table and --out together.")
    from bertviz_core.checkpoints.default import DEFAULT_MODEL
    from bertviz_core.quiet import import_keras

    import_keras()
    from bertviz_core.explorer import Explorer

    explorer = Explorer.open(model_id or DEFAULT_MODEL)
    if table is not None and out is not None:
        answer = _classify_table(explorer, table, out, max_tokens, options)
        lines = [str(out), *(f"{n}\t{label}" for label, n in answer["counts"].items())]
    else:
        answer = _classify_text(explorer, text or "", pair, max_tokens)
        lines = [f"{value:.4f}\t{name}" for name, value in _ranked(answer)]
    shown = json.dumps(answer, ensure_ascii=False) if as_json else "\n".join(lines)
    click.echo(shown)


def _classify_text(
    explorer: Explorer, text: str, pair: str | None, max_tokens: int
) -> dict[str, Any]:
    from bertviz_core.finetune.row_prediction import read_text

    read = read_text(explorer, text, pair, max_tokens)
    if read.was_cut:
        message = (
            f"cut: {read.num_tokens_uncut} tokens, {read.tokenized.num_tokens} read"
        )
        click.echo(message, err=True)
    return {
        "model": read.model_id,
        "tokens": list(read.tokenized.tokens),
        "was_cut": read.was_cut,
        **_said(read),
    }


def _said(read: ReadText) -> dict[str, Any]:
    values = [float(value) for value in read.outputs]
    if read.is_regression:
        return {"name": read.labels[0], "value": values[0]}
    classes = [
        {"label": label, "probability": value}
        for label, value in zip(read.labels, values, strict=True)
    ]
    return {"label": read.labels[read.best], "classes": classes}


def _ranked(answer: dict[str, Any]) -> list[tuple[str, float]]:
    if "value" in answer:
        return [(answer["name"], answer["value"])]
    found = [(one["label"], one["probability"]) for one in answer["classes"]]
    return sorted(found, key=lambda one: -one[1])


def _classify_table(
    explorer: Explorer,
    path: Path,
    out: Path,
    max_tokens: int,
    options: dict[str, Any],
) -> dict[str, Any]:
    from bertviz_core.finetune.command_data import read_named_table, text_column
    from bertviz_core.finetune.row_prediction import predict_table

    wanted, pair = options["text_column"], options["pair_column"]
    table = read_named_table(
        path, (wanted, pair), options["encoding"], options["separator"]
    )
    columns = (wanted or text_column(table), pair)
    click.echo(f"column with texts: {columns[0]}", err=True)
    found = predict_table(explorer, table, columns, max_tokens, out, _tell)
    return {
        "model": explorer.model_id,
        "out": str(out),
        "rows": found.num_rows,
        "empty": found.num_empty,
        "cut": found.num_cut,
        "counts": _counts(found),
    }


def _counts(found: TablePredictions) -> dict[str, int]:
    if found.is_regression:
        return {found.labels[0]: found.num_rows - found.num_empty}
    counts = [int(count) for count in found.counts]
    return dict(zip(found.labels, counts, strict=True))


def _tell(share: float, _: str) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r{share:.0%}", err=True, nl=share >= 1)
