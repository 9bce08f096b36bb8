"""A pre-training run from its first step to the finished model, in any number of goes.

Everything lies in one folder: `settings.json`, the words of a model to begin with,
`corpus/`, `checkpoints/`, `curve.csv`, `curve.svg` and, at the end, `model/`. The same
call on the same folder goes on where the last one stopped.
"""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import hashlib
import io
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from bertviz_core.checkpoints.library import LoadedModel
from bertviz_core.errors import TrainingError
from bertviz_core.model.compiled import CompiledForward
from bertviz_core.tokenizer import BertTokenizer
from bertviz_core.training.checkpoint import Checkpoint, read_latest, save_checkpoint
from bertviz_core.training.distribution import (
    any_host,
    has_hosts,
    join_hosts,
    writes_files,
)
from bertviz_core.training.precision import chosen_precision
from bertviz_core.training.pretrain.batches import Batches
from bertviz_core.training.pretrain.corpus import (
    open_prepared,
    prepare_corpus,
    require_encoded,
)
from bertviz_core.training.pretrain.evaluate import evaluate_text
from bertviz_core.training.pretrain.initial import (
    SETTINGS_FILE,
    beginning_of,
    settings_of_run,
)
from bertviz_core.training.pretrain.masking import TokenKinds
from bertviz_core.training.pretrain.settings import MAY_CHANGE, PretrainSettings
from bertviz_core.training.pretrain.trainer import Trainer, save_model_of
from bertviz_core.training.run_folder import as_json, held, not_written
from bertviz_core.training.schedule import learning_rate
from bertviz_core.weights import copy_weights
from bertviz_core.whole_files import write_whole


def pretrain(
    settings: PretrainSettings,
    corpus: Sequence[Path],
    out: Path,
    say: Callable[[str], None],
    should_stop: Callable[[], bool] = lambda: False,
    *,
    cache: Path | None = None,
    num_devices: int = 1,
    stop_after_seconds: float | None = None,
    initial: LoadedModel | None = None,
) -> Path | None:
    """Starts a run, or goes on with it.

    Args:
        corpus: text files, or one folder of an encoded corpus.
        out: folder of the run.
        say: told in a line how it goes.
        should_stop: asked after each step; true saves and stops.
        cache: folder for encoded corpora; `None` for `corpus` in `out`.
        num_devices: of this machine to use.
        stop_after_seconds: saves and stops then; `None` runs to the end.
        initial: the model that the settings name, where it is open already.

    Returns:
        The folder of the finished model; `None` if there is still something to do.

    Raises:
        TrainingError: text, vocabulary and settings do not fit each other or the
            run in `out`; another process trains there; a loss is not a number; no
            room on the disk; several machines without an encoded text or without a
            precision.
        CheckpointError, ConfigError, TokenizerError: see `prepare_corpus` and
            `beginning_of`.
    """
    join_hosts()
    seconds = math.inf if stop_after_seconds is None else stop_after_seconds
    deadline = time.monotonic() + seconds
    if has_hosts():
        require_encoded(corpus)
    # On several machines all read the folder, and one writes.
    with held(out) if writes_files() else contextlib.nullcontext():
        settings = with_precision(settings, out)
        cache = cache or out / "corpus"
        settings, model, words = beginning_of(settings, out, initial)
        claim_folder(out, settings, words)
        # Not at the deadline: text that takes longer would be encoded for ever.
        folder = prepare_corpus(corpus, settings, cache, say, should_stop, words)
        if folder is None:
            return None

        def is_over() -> bool:
            return any_host(should_stop() or time.monotonic() > deadline)

        begun = _Run(settings, folder, out, model, words, num_devices, say, is_over)
        return begun.finish()


def with_precision(settings: PretrainSettings, out: Path) -> PretrainSettings:
    """Settles the precision "auto": that of the run in a folder, or this machine's.

    Several machines, which might settle it unlike, are refused with a `TrainingError`.
    """
    if settings.precision != "auto":
        return settings
    there = settings_of_run(out)
    if there is not None:
        precision = there.precision
    elif has_hosts():
        raise TrainingError(
            "Several machines need one precision. Received: precision=auto, which each "
            "of them would settle for itself. Set it to float32 or bfloat16 in the "
            "settings file."
        )
    else:
        precision = chosen_precision("auto")
    return dataclasses.replace(settings, precision=precision)


def claim_folder(
    out: Path, settings: PretrainSettings, words: BertTokenizer | None
) -> None:
    """Writes settings and words into a folder, or compares them with those of its run.

    Settings that never led to a checkpoint are replaced: they were refused, or text
    was being encoded when the run was ended. Another run, or a folder that cannot be
    written, is a `TrainingError`.
    """
    there = settings_of_run(out)
    if there is not None:
        noted, asked = there.to_dict(), settings.to_dict()
        changed = [k for k in asked if asked[k] != noted[k] and k not in MAY_CHANGE]
        if changed:
            raise TrainingError(
                "The folder {folder} holds a run with other settings. Received: other "
                "values of {keys}. Take the settings.json of that folder, or another "
                "folder.",
                folder=out.name,
                keys=", ".join(changed),
            )
    elif writes_files():
        try:
            if words is not None:
                words.save(out)
            write_whole(out / SETTINGS_FILE, as_json(settings.to_dict(), 2))
        except OSError as error:
            raise not_written(out, error) from error


# A look now and then; `evaluate-mlm` reads all of a text.
_NUM_WINDOWS, _WINDOW_TOKENS, _NUM_PAIRS = 256, 128, 256


class _Run:
    """A run that is under way; one object for each go."""

    def __init__(
        self,
        settings: PretrainSettings,
        folder: Path,
        out: Path,
        model: LoadedModel | None,
        words: BertTokenizer | None,
        num_devices: int,
        say: Callable[[str], None],
        is_over: Callable[[], bool],
    ) -> None:
        self.settings, self.out = settings, out
        self.say, self.is_over = say, is_over
        self.corpus, self.tokenizer = open_prepared(folder, settings, words)
        self.kinds = TokenKinds.of(self.tokenizer.vocabulary)
        # All that a resumed run must share. The folder is named by the text and how it
        # was encoded; words that are learnt again may have other ids.
        pieces = "\n".join(self.tokenizer.vocabulary) + f"\n{len(self.corpus.tokens)}"
        digest = hashlib.sha256(pieces.encode()).hexdigest()[:16]
        self.fingerprint = f"{settings.fingerprint()} {folder.name} {digest}"
        checkpoint = read_latest(out, self.fingerprint, say=say)
        self.batches = Batches(self.corpus, self.kinds, settings)
        self.trainer = Trainer(settings, self.tokenizer.vocab_size, num_devices)
        self.step = self.saved_step = 0
        self.is_writer = writes_files()
        self.forward = CompiledForward(self.trainer.bert)
        if checkpoint is not None:
            self.trainer.set_state(checkpoint.state)
            self.step = self.saved_step = checkpoint.step
            say(f"Going on after step {self.step}")
        else:
            if model is not None:
                count = copy_weights(self.trainer.bert, model.model)
                say(f"Beginning with {count} weights of {model.model_id}")
            self._save()  # from here on there is always one to go back to
        self.points = read_curve(out / "curve.csv", self.step)

    def finish(self) -> Path | None:
        """Runs until the end or until it is told to stop."""
        settings = self.settings
        while self.step < settings.num_steps and not self.is_over():
            point = self._stretch()
            at_end = self.step == settings.num_steps
            # At the end of a phase, too: the next one begins with what may fail.
            at_border = self.step in settings.phase_ends
            if at_border or self.step % settings.checkpoint_steps == 0:
                self._save()
            if at_end or self.step % settings.evaluation_steps == 0:
                point = self._evaluated(point)
            self.points.append(point)
            self._draw()
        if self.step > self.saved_step:
            self._save()
        if self.step < settings.num_steps:
            self.say(f"Stopped after step {self.step} of {settings.num_steps}; saved")
            return None
        return self._export()

    def _stretch(self) -> CurvePoint:
        """Runs to the next step at which something is due."""
        settings = self.settings
        phase_index, in_phase = settings.locate(self.step)
        phase = settings.phases[phase_index]
        intervals = (
            settings.report_steps,
            settings.evaluation_steps,
            settings.checkpoint_steps,
        )
        due = min(every - self.step % every for every in intervals)
        count = min(phase.num_steps - in_phase, due)
        report = self.trainer.run(
            self.batches, phase_index, in_phase, count, self.is_over
        )
        if not math.isfinite(report.means["loss"]):
            raise self._no_number(self.step, self.step + report.num_steps)
        self.step += report.num_steps
        seconds = max(report.seconds, 1e-9)
        rate = learning_rate(
            self.step - 1.0, settings.stretches, settings.optimizer, np
        )
        point = CurvePoint(
            step=self.step,
            tokens=settings.tokens_seen(self.step),
            max_tokens=phase.max_tokens,
            learning_rate=float(rate),
            tokens_per_second=report.num_steps * phase.tokens_of_step / seconds,
            waiting_rate=report.waiting_seconds / seconds,
            **report.means,
        )
        left = settings.num_tokens - point.tokens
        hours_left = left / max(point.tokens_per_second, 1e-9) / 3600
        self.say(
            f"step {point.step}/{settings.num_steps}  length {point.max_tokens}  "
            f"loss {point.mlm_loss:.3f}  words {point.mlm_accuracy:.3f}  "
            f"pairs {point.nsp_accuracy:.3f}  {point.tokens_per_second:,.0f} tokens/s  "
            f"waiting {point.waiting_rate:.1%}  {hours_left:.1f} h left"
        )
        return point

    def _evaluated(self, point: CurvePoint) -> CurvePoint:
        documents = np.flatnonzero(self.corpus.is_held_out)
        length = min(_WINDOW_TOKENS, self.settings.model.max_position_embeddings)
        asked = (self.corpus, documents, length, self.kinds)
        try:
            with self.trainer.running_mean():
                found = evaluate_text(self.forward, *asked, _NUM_WINDOWS, _NUM_PAIRS)
        except TrainingError as error:  # too little text: no reason to end a run
            self.say(f"held out: {error}")
            return point
        accuracy = found["nsp_accuracy"]
        pairs = "" if accuracy is None else f"  pairs {accuracy:.3f}"
        self.say(
            f"held out: loss {found['loss']:.3f}  first {found['top1']:.3f}  "
            f"among five {found['top5']:.3f}{pairs}"
        )
        return dataclasses.replace(
            point,
            held_out_loss=found["loss"],
            held_out_top1=found["top1"],
            held_out_top5=found["top5"],
            held_out_nsp=accuracy,
        )

    def _draw(self) -> None:
        if not self.is_writer:
            return
        try:
            write_curve(self.points, self.out)
        except OSError as error:  # no reason to end a run
            self.say(f"The curve could not be written: {error.strerror}")

    def _save(self) -> None:
        if self.is_writer:
            state = self.trainer.state()
            # The loss is that before the last step, which may have broken a weight.
            if not all(np.isfinite(values).all() for values in state.values()):
                raise self._no_number(self.saved_step, self.step)
            checkpoint = Checkpoint(self.step, self.fingerprint, state)
            save_checkpoint(checkpoint, self.out)
        self.saved_step = self.step

    def _no_number(self, first: int, last: int) -> TrainingError:
        return TrainingError(
            "The loss is no longer a number, so the run has stopped between steps "
            "{first} and {last}. The checkpoint of step {saved} is good. Lower the "
            "learning rate or lengthen the warm-up, and start a new run.",
            first=first,
            last=last,
            saved=self.saved_step,
        )

    def _export(self) -> Path:
        folder = self.out / "model"
        if self.is_writer:
            with self.trainer.running_mean():
                save_model_of(self.trainer, self.tokenizer, folder)
        self.say(f"Finished: {folder}")
        return folder


@dataclass(frozen=True)
class CurvePoint:
    """Means over the steps since the point before; `None` where not measured."""

    step: int  # optimiser steps done
    tokens: int  # token places seen, padding counted
    max_tokens: int  # length of the rows
    learning_rate: float  # of the last step
    loss: float  # of both tasks
    # mlm_loss, mlm_accuracy, nsp_loss, nsp_accuracy: in training.
    mlm_loss: float
    mlm_accuracy: float
    nsp_loss: float
    nsp_accuracy: float
    tokens_per_second: float  # speed
    waiting_rate: float  # share of the time that a batch was not ready
    # held_out_loss, held_out_top1, held_out_top5, held_out_nsp: see `evaluate`.
    held_out_loss: float | None = None
    held_out_top1: float | None = None
    held_out_top5: float | None = None
    held_out_nsp: float | None = None


_FIELDS = dataclasses.fields(CurvePoint)


def read_curve(path: Path, last_step: int) -> list[CurvePoint]:
    """Reads the table up to a step; what a run did beyond its checkpoint is undone.

    Rows that somebody has spoilt are left out: a curve is no reason to end a run.
    """
    points: list[CurvePoint] = []
    if not path.is_file():
        return points
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            # No number where one must be, or none.
            with contextlib.suppress(ValueError, TypeError):
                point = CurvePoint(
                    **{
                        field.name: (int if field.type == "int" else float)(text)
                        for field in _FIELDS
                        if (text := row.get(field.name))
                    }  # type: ignore[arg-type]
                )
                points += [point] if point.step <= last_step else []
    return points


def write_curve(points: Sequence[CurvePoint], folder: Path) -> None:
    """Writes `curve.csv` and `curve.svg`, each at once."""
    file = io.StringIO(newline="")
    table = csv.DictWriter(file, [field.name for field in _FIELDS])
    table.writeheader()
    for point in points:
        values = asdict(point).items()
        table.writerow(
            {k: f"{v:.6g}" if isinstance(v, float) else v for k, v in values}
        )
    write_whole(folder / "curve.csv", file.getvalue())
    write_whole(folder / "curve.svg", draw_curve(points))


_WIDTH, _HEIGHT, _LEFT, _TOP = 640, 200, 56, 28
_PANELS: tuple[tuple[str, float, tuple[tuple[str, str, str], ...]], ...] = (
    (
        "Loss of masked words",
        0.0,
        (("mlm_loss", "#0072b2", "training"), ("held_out_loss", "#d55e00", "held out")),
    ),
    (
        "Share that is right",
        1.0,
        (
            ("mlm_accuracy", "#0072b2", "masked words, training"),
            ("held_out_top1", "#d55e00", "masked words, held out"),
            ("nsp_accuracy", "#009e73", "next sentence, training"),
        ),
    ),
)


def draw_curve(points: Sequence[CurvePoint]) -> str:
    """Draws loss and accuracy over tokens, as SVG without scripts or fonts.

    The colours are Okabe and Ito's, told apart by colour-blind people.
    """
    panels = [
        _panel(points, title, top, series, (_HEIGHT + 64) * index)
        for index, (title, top, series) in enumerate(_PANELS)
    ]
    size = (_WIDTH + _LEFT + 24, (_HEIGHT + 64) * len(_PANELS))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" '
        'font-family="sans-serif" font-size="12">\n'
        f'<rect width="{size[0]}" height="{size[1]}" fill="white"/>\n'
        + "".join(panels)
        + "</svg>\n"
    )


def _panel(
    points: Sequence[CurvePoint],
    title: str,
    top: float,
    series: tuple[tuple[str, str, str], ...],
    offset: int,
) -> str:
    most_tokens = max([point.tokens for point in points] or [1])
    named = [name for name, _, _ in series]
    known = [getattr(p, n) for p in points for n in named if getattr(p, n) is not None]
    top = top or max([*known, 1.0])
    parts = [f'<g transform="translate({_LEFT},{offset + _TOP})">\n']
    parts.append(f'<text x="0" y="-10" font-weight="bold">{title}</text>\n')
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y, x = _HEIGHT * (1 - share), _WIDTH * share
        parts.append(
            f'<path d="M0 {y:.0f}H{_WIDTH}" stroke="#ddd"/>'
            f'<text x="-8" y="{y + 4:.0f}" text-anchor="end">{top * share:.3g}</text>'
            f'<text x="{x:.0f}" y="{_HEIGHT + 18}" text-anchor="middle">'
            f"{most_tokens * share / 1e6:.3g} M</text>\n"
        )
    for place, (name, colour, label) in enumerate(series):
        dots = [
            f"{_WIDTH * p.tokens / most_tokens:.1f},"
            f"{_HEIGHT * (1 - min(getattr(p, name) / top, 1.0)):.1f}"
            for p in points
            if getattr(p, name) is not None
        ]
        parts.append(
            f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" '
            f'points="{" ".join(dots)}"/>'
            f'<text x="{_WIDTH - 4}" y="{14 + 15 * place + (top == 1.0) * 120}" '
            f'text-anchor="end" fill="{colour}">{label}</text>\n'
        )
    parts.append(f'<text x="{_WIDTH}" y="{_HEIGHT + 32}" text-anchor="end">')
    parts.append("tokens seen</text></g>\n")
    return "".join(parts)
