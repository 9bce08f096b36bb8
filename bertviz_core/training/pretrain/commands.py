"""The commands `pretrain`, `evaluate-mlm` and `average-models`."""

import json
from pathlib import Path

import click

from bertviz_core.command_parts import PATH, FiniteRange, download_progress
from bertviz_core.quiet import import_keras
from bertviz_core.training.events import stop_on_signal
from bertviz_core.training.pretrain import BUNDLED


@click.command()
@click.option(
    "--config",
    "config_path",
    required=True,
    type=PATH,
    help="The settings, a JSON file; or the name of bundled ones: "
    + ", ".join(sorted(BUNDLED)),
)
@click.option(
    "--corpus",
    required=True,
    multiple=True,
    type=PATH,
    help="A text file, plain or .xz; more may follow. "
    "Or the folder of an encoded corpus.",
)
@click.argument("more_text", metavar="[TEXT]...", nargs=-1, type=PATH)
@click.option(
    "--out",
    required=True,
    type=PATH,
    help="Folder of the run. If a run lies there, it goes on.",
)
@click.option(
    "--from",
    "initial_model",
    metavar="M",
    help="Begin with this model's weights and words, not with random ones; its name "
    "or folder, as for `predict`. The settings may leave `model` out then.",
)
@click.option(
    "--cache",
    type=PATH,
    help="Folder for encoded corpora. Default: `corpus` in the folder of the run.",
)
@click.option("--devices", default=1, show_default=True, type=click.IntRange(min=1))
@click.option(
    "--stop-after-minutes",
    type=FiniteRange(min=0),
    help="Save and stop then; the same command goes on.",
)
@click.option("--prepare-only", is_flag=True, help="Encode the text and stop.")
def pretrain(
    config_path: Path,
    corpus: tuple[Path, ...],
    more_text: tuple[Path, ...],
    out: Path,
    initial_model: str | None,
    cache: Path | None,
    devices: int,
    stop_after_minutes: float | None,
    prepare_only: bool,
) -> None:
    """Pre-train a BERT on text files, or go on with it.

    Ctrl-C and SIGTERM save a checkpoint and stop after the step that is running; while
    text is encoded they stop and leave nothing behind.
    """
    from bertviz_core.training.pretrain.initial import beginning_of, settings_from_file

    settings, opened = settings_from_file(config_path, initial_model, out)
    paths = (*corpus, *more_text)  # as a shell writes out `--corpus texts/*.txt`
    if prepare_only:
        from bertviz_core.training.pretrain.corpus import prepare_corpus

        where = cache or out / "corpus"
        _, _, words = beginning_of(settings, out, opened)
        with stop_on_signal() as should_stop:
            folder = prepare_corpus(
                paths, settings, where, click.echo, should_stop, words
            )
        if folder is not None:
            click.echo(folder)
        return
    import_keras("tensorflow")
    from bertviz_core.training.pretrain import run

    seconds = None if stop_after_minutes is None else stop_after_minutes * 60
    with stop_on_signal() as should_stop:
        run.pretrain(
            settings,
            paths,
            out,
            click.echo,
            should_stop,
            cache=cache,
            num_devices=devices,
            stop_after_seconds=seconds,
            initial=opened,
        )


@click.command("evaluate-mlm")
@click.option("--model", "model_id", metavar="M", help="As for `predict`.")
@click.option(
    "--text",
    "text_path",
    type=PATH,
    help="Text that the model never saw, plain or .xz; a blank line between documents. "
    "Or the folder of an encoded corpus: what was kept apart of it.",
)
@click.option(
    "--file",
    "file_name",
    metavar="NAME",
    help="Of an encoded corpus, the documents of this text file alone.",
)
@click.option(
    "--cloze",
    "cloze_path",
    type=PATH,
    help='Sentences: a JSON list of {"text": "… [MASK] …", "answers": […]}.',
)
@click.option(
    "--window",
    default=128,
    show_default=True,
    type=click.IntRange(min=8),
    help="Tokens in a window, special tokens counted.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def evaluate_mlm(
    model_id: str | None,
    text_path: Path | None,
    file_name: str | None,
    cloze_path: Path | None,
    window: int,
    as_json: bool,
) -> None:
    """Measure how well a model guesses hidden words and next sentences.

    15 % of the words of each window are hidden, all behind [MASK], always the same.
    """
    if text_path is None and cloze_path is None:
        raise click.UsageError("Give --text or --cloze.")
    from bertviz_core.checkpoints.default import DEFAULT_MODEL
    from bertviz_core.training.pretrain.evaluate import evaluate_model

    scores = evaluate_model(
        model_id or DEFAULT_MODEL,
        text_path,
        cloze_path,
        window,
        file_name,
        download_progress(),
    )
    if as_json:
        click.echo(json.dumps(scores, ensure_ascii=False))
        return
    by_position = scores.pop("by_position", [])
    rows = scores | {
        f"top1, {part['first']}–{part['last']}": part["top1"] for part in by_position
    }
    for name, value in rows.items():
        shown = f"{value:.4f}" if isinstance(value, float) else value
        click.echo(f"{name:>16}  {shown}")


@click.command("average-models")
@click.option(
    "--model",
    "model_ids",
    required=True,
    multiple=True,
    metavar="M",
    help="As for `predict`; give it once for each model.",
)
@click.option(
    "--share",
    "shares",
    multiple=True,
    type=float,
    metavar="X",
    help="How much a model counts, in their order; all alike without it.",
)
@click.option("--half", is_flag=True, help="Store 16-bit floats, half the size.")
@click.option("--out", required=True, type=PATH)
def average_models(
    model_ids: tuple[str, ...], shares: tuple[float, ...], half: bool, out: Path
) -> None:
    """Average models of which one continues the training of the other, into OUT.

    It often guesses better than each of them.
    """
    from bertviz_core.checkpoints.export import save_model
    from bertviz_core.checkpoints.library import open_model
    from bertviz_core.training.pretrain import averaging

    fractions = averaging.fractions_of(shares, len(model_ids))
    progress = download_progress()
    models = [open_model(model_id, progress) for model_id in model_ids]
    save_model(averaging.average_models(models, fractions), out, half)
    click.echo(str(out))
