"""The command line: look at and fetch models, predict, trace and convert.

Heavy imports wait until a command needs them, so that `--help` is instant.
"""

from __future__ import annotations

import errno
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bertviz_core.command_parts import (
    PATH,
    FiniteRange,
    answer_text,
    download_progress,
    model_option,
    open_explorer,
)
from bertviz_core.errors import BertVizError, reason_of
from bertviz_core.experiments.commands import map_vocabulary
from bertviz_core.experiments.word_commands import fill, sample, score
from bertviz_core.training.finetune.commands import classify, fine_tune
from bertviz_core.training.pretrain.commands import (
    average_models,
    evaluate_mlm,
    pretrain,
)

if TYPE_CHECKING:
    import numpy as np

    from bertviz_core.explorer import Explorer
    from bertviz_core.trace import MaskPredictions

USER_ERROR_STATUS = 2


class _SentenceErrors(click.Group):
    """Ends in one sentence on stderr instead of a traceback."""

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except BertVizError as error:
            sentence = str(error)
        except OSError as error:
            if error.errno == errno.EPIPE:  # nobody reads on, as after `| head`
                raise
            sentence = (
                f"Cannot read or write {error.filename or 'the output'}. Received: "
                f"{reason_of(error)}. Check the place, its rights and its free space."
            )
        click.echo(sentence, err=True)
        context.exit(USER_ERROR_STATUS)


@click.group(cls=_SentenceErrors)
def main() -> None:
    """BERT Explorer without the browser."""
    # Output that goes to a file on Windows is in an encoding with few letters; a
    # Chinese word becomes its number there instead of ending the program.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


@main.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def models(as_json: bool) -> None:
    """List the models on this machine."""
    import dataclasses

    from bertviz_core.checkpoints.library import list_models

    entries = list_models()
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(entry) for entry in entries]))
        return
    for entry in entries:
        megabytes = entry.size_bytes / 1e6
        click.echo(f"{entry.model_id}\t{entry.origin}\t{megabytes:.1f} MB")


@main.command()
@click.argument("text")
@model_option
@click.option("--top-k", default=5, show_default=True, type=click.IntRange(min=1))
@click.option(
    "--temperature",
    default=1.0,
    show_default=True,
    type=FiniteRange(min=0.0),
    help="Divides the logits; 0 leaves only the best word.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def predict(
    text: str, model_id: str | None, top_k: int, temperature: float, as_json: bool
) -> None:
    """Predict the masked words of TEXT; `-` reads a text a line from stdin.

    With `-`, each line gives one JSON object; a line that cannot be predicted
    gives {"error": …}, and the exit status is 2 at the end.
    """
    explorer = open_explorer(model_id)
    answer_text(
        text, as_json, lambda one: _predict(explorer, one, top_k, temperature), _table
    )


@main.command()
@model_option
@click.option(
    "--text", help="A text. One that is too long for the model is refused, never cut."
)
@click.option("--pair", help="A second text.")
@click.option(
    "--inputs",
    type=PATH,
    help="An .npz file with input_ids, attention_mask, token_type_ids, int [B, T].",
)
@click.option("--out", required=True, type=PATH)
def trace(
    model_id: str | None,
    text: str | None,
    pair: str | None,
    inputs: Path | None,
    out: Path,
) -> None:
    """Write every intermediate result of a forward pass to an .npz file.

    Keys: hidden_states [B, L+1, T, H], attention_probs [B, L, N, T, T],
    pooled_output [B, H], mlm_logits [B, T, V], nsp_logits [B, 2]; those of a
    head that the checkpoint lacks are absent. From a text also input_ids,
    attention_mask and token_type_ids.
    """
    from bertviz_core.trace_file import (
        read_inputs,
        require_place,
        trace_arrays,
        write_arrays,
    )

    if (text is None) == (inputs is None):
        raise click.UsageError("Give either --text or --inputs.")
    if pair is not None and inputs is not None:
        raise click.UsageError("Give --pair with --text; --inputs holds both texts.")
    require_place(out)
    explorer = open_explorer(model_id)
    if inputs is not None:
        arrays = read_inputs(inputs, explorer.config)
    else:
        arrays = _text_inputs(explorer, text or "", pair)
    write_arrays(out, arrays | trace_arrays(explorer, arrays))


@main.command()
@click.argument("source")
@click.argument("destination", type=PATH)
def convert(source: str, destination: Path) -> None:
    """Save model SOURCE as a Hugging Face folder DESTINATION."""
    from bertviz_core.checkpoints.export import save_huggingface

    save_huggingface(open_explorer(source).loaded, destination)
    click.echo(str(destination))


@main.command()
@click.argument("name")
def download(name: str) -> None:
    """Keep the hub model NAME, or NAME@REVISION, on this machine.

    Prints its id. It opens without a network from then on, and visitors of a server
    find it in their list of models.
    """
    from bertviz_core.checkpoints import library

    click.echo(library.download(name, download_progress()).model_id)


def _predict(
    explorer: Explorer, text: str, top_k: int, temperature: float
) -> dict[str, Any]:
    predictions = explorer.predict_masks(text)
    return {
        "model": explorer.model_id,
        "tokens": list(predictions.tokenized.tokens),
        "masks": list(_masks(predictions, explorer.vocabulary, top_k, temperature)),
    }


def _masks(
    predictions: MaskPredictions,
    vocabulary: tuple[str, ...],
    top_k: int,
    temperature: float,
) -> Iterator[dict[str, Any]]:
    from bertviz_core.analysis.sampling import rank_order, softmax

    for position, logits in zip(predictions.positions, predictions.logits, strict=True):
        probabilities = softmax(logits, temperature)
        yield {
            "position": int(position),
            "candidates": [
                {
                    "token": vocabulary[index],
                    "id": int(index),
                    "probability": float(probabilities[index]),
                    "logit": float(logits[index]),
                }
                for index in rank_order(logits)[:top_k]
            ],
        }


def _table(prediction: dict[str, Any]) -> str:
    lines = []
    for mask in prediction["masks"]:
        lines.append(f"[MASK] at position {mask['position']}")
        lines += [
            f"  {candidate['probability']:7.2%}  {candidate['token']}"
            for candidate in mask["candidates"]
        ]
    return "\n".join(lines)


def _text_inputs(
    explorer: Explorer, text: str, pair: str | None
) -> dict[str, np.ndarray]:
    import numpy as np

    inputs = explorer.tokenize(text, pair).inputs
    return inputs | {"attention_mask": np.ones_like(inputs["input_ids"])}


for command in (
    *(classify, fine_tune, pretrain, evaluate_mlm, average_models),
    *(map_vocabulary, sample, fill, score),
):
    main.add_command(command)
