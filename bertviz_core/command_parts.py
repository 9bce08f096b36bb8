"""What commands share: their model, how its download goes, answers to texts."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bertviz_core.errors import BertVizError, TextError
from bertviz_core.tasks import Progress

if TYPE_CHECKING:
    from bertviz_core.explorer import Explorer

Answer = dict[str, Any]
_PERCENT_A_LINE = 5

PATH = click.Path(path_type=Path)
model_option = click.option(
    "--model",
    "model_id",
    metavar="M",
    help="A bundled name, a folder, a zip file or a hub name. Default: bert-mini-en.",
)


class FiniteRange(click.FloatRange):
    """Click takes NaN for a number of any range."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{number} is not a finite number.", param, ctx)
        return number


def open_explorer(model_id: str | None) -> Explorer:
    """Opens a model for a command, and tells how a download goes."""
    from bertviz_core.checkpoints.default import DEFAULT_MODEL
    from bertviz_core.quiet import import_keras

    import_keras()
    from bertviz_core.explorer import Explorer

    return Explorer.open(model_id or DEFAULT_MODEL, download_progress())


def download_progress() -> Progress:
    """Makes a listener for `library.open_model` that writes to standard error.

    Only a download is told, a line for every five percent: whatever else opening a
    model takes is over in seconds.
    """
    told = -_PERCENT_A_LINE

    def tell(fraction: float, step: str) -> None:
        nonlocal told
        percent = math.floor(fraction * 100)
        if step == "download" and percent >= told + _PERCENT_A_LINE:
            told = percent - percent % _PERCENT_A_LINE
            click.echo(f"download: {percent}%", err=True)

    return tell


def answer_text(
    text: str,
    as_json: bool,
    answer: Callable[[str], Answer],
    show: Callable[[Answer], str],
) -> None:
    """Prints the answer to a text; for `-`, a JSON object for each line of stdin.

    Args:
        text: the text, or "-". A mask may be written in any of the usual ways.
        answer: gives what JSON holds.
        show: makes lines for a reader of it.

    Raises:
        TextError: lines without an answer; each got {"error": …} in its place.
    """
    from bertviz_core.mask_text import normalise_masks

    if text != "-":
        found = answer(normalise_masks(text)[0])
        click.echo(json.dumps(found) if as_json else show(found))
        return
    num_errors = 0
    for line in click.open_file("-", encoding="utf-8", errors="replace"):
        try:
            result = answer(normalise_masks(line.rstrip("\r\n"))[0])
        except BertVizError as error:
            num_errors += 1
            result = {"error": str(error)}
        click.echo(json.dumps(result))
        sys.stdout.flush()
    if num_errors:
        raise TextError(
            "Some lines could not be predicted. Received: lines={num_errors}; the "
            "output gives the reason for each.",
            num_errors=num_errors,
        )
