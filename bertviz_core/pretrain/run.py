"""A pre-training run from its first step to the finished model, in any number of goes.

Everything lies in one folder: `settings.json`, `corpus/`, `checkpoints/`,
`curve.csv`, `curve.svg` and, at the end, `model/`. The same call on the
same folder goes on where the last one stopped.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bertviz_core.checkpoints.library import LoadedModel
from bertviz_core.errors import TrainingError
from bertviz_core.pretrain.batches import Batches
from bertviz_core.pretrain.evaluate import HeldOut
from bertviz_core.pretrain.initial import Beginning, beginning_of, take_weights
from bertviz_core.pretrain.masking import TokenKinds
from bertviz_core.pretrain.prepare import (
    Stopped,
    open_prepared,
    prepare_corpus,
    require_encoded,
)
from bertviz_core.pretrain.run_folder import (
    CurvePoint,
    claim_folder,
    fingerprint_of,
    read_curve,
    with_precision,
    write_curve,
)
from bertviz_core.pretrain.settings import PretrainSettings
from bertviz_core.pretrain.trainer import StretchReport, Trainer, save_model_of
from bertviz_core.training.checkpoint import (
    Checkpoint,
    read_latest,
    save_checkpoint,
)
from bertviz_core.training.distribution import (
    any_host,
    has_hosts,
    join_hosts,
    writes_files,
)
from bertviz_core.training.run_folder import held
from bertviz_core.training.schedule import learning_rate


@dataclass(frozen=True)
class RunPlan:
    """What one go of a run is to do.

    Args:
        settings: of the run.
        corpus: text files, or one folder of an encoded corpus.
        out: folder of the run.
        cache: folder for encoded corpora; `None` for `corpus` in `out`.
        num_devices: of this machine to use.
        stop_after_seconds: saves and stops then; `None` runs to the end.
        initial: the model that the settings name, where it is open already.
    """

    settings: PretrainSettings
    corpus: Sequence[Path]
    out: Path
    cache: Path | None = None
    num_devices: int = 1
    stop_after_seconds: float | None = None
    initial: LoadedModel | None = None


def pretrain(
    plan: RunPlan,
    say: Callable[[str], None],
    should_stop: Callable[[], bool] = lambda: False,
) -> Path | None:
    """Starts a run, or goes on with it.

    Args:
        plan: what to do.
        say: told in a line how it goes.
        should_stop: asked after each step; true saves and stops.

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
    began_at = time.monotonic()
    is_over = should_stop
    if plan.stop_after_seconds is not None:
        deadline = began_at + plan.stop_after_seconds

        def is_over() -> bool:
            return should_stop() or time.monotonic() > deadline

    if has_hosts():
        require_encoded(plan.corpus)
    # On several machines all read the folder, and one writes.
    with held(plan.out) if writes_files() else nullcontext():
        settings = with_precision(plan.settings, plan.out)
        cache = plan.cache or plan.out / "corpus"
        begun = beginning_of(settings, plan.out, plan.corpus, cache, plan.initial)
        plan = dataclasses.replace(plan, settings=begun.settings, initial=None)
        claim_folder(plan.out, plan.settings)
        try:
            # Not at the deadline: text that takes longer would be encoded for ever.
            folder = prepare_corpus(
                plan.corpus, plan.settings, cache, say, should_stop, begun.words
            )
        except Stopped:
            say("Stopped while the text was being encoded; nothing has been trained")
            return None
        together = _Run(plan, folder, begun, say, lambda: any_host(is_over()))
        return together.finish()


class _Run:
    """A run that is under way; one object for each go."""

    def __init__(
        self,
        plan: RunPlan,
        folder: Path,
        begun: Beginning,
        say: Callable[[str], None],
        is_over: Callable[[], bool],
    ) -> None:
        self.plan, self.settings = plan, plan.settings
        self.say, self.is_over = say, is_over
        self.corpus, self.tokenizer = open_prepared(folder, self.settings, begun.words)
        self.kinds = TokenKinds.of(self.tokenizer.vocabulary)
        self.fingerprint = fingerprint_of(
            self.settings, folder, self.corpus, self.tokenizer
        )
        checkpoint = read_latest(plan.out / "checkpoints", self.fingerprint, say=say)
        self.batches = Batches(self.corpus, self.kinds, self.settings)
        self.trainer = Trainer(
            self.settings, self.tokenizer.vocab_size, plan.num_devices
        )
        self.step = self.saved_step = 0
        if checkpoint is not None:
            self.trainer.set_state(checkpoint.state)
            self.step = self.saved_step = checkpoint.step
            say(f"Going on after step {self.step}")
        elif begun.model is not None:
            count = take_weights(self.trainer.bert, begun.model)
            say(f"Beginning with {count} weights of {begun.model.model_id}")
        self.points = read_curve(plan.out / "curve.csv", self.step)
        self.is_writer = writes_files()
        self._held_out: HeldOut | None = None
        if checkpoint is None:  # from here on there is always one to go back to
            self._save()

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
        phase_index, in_phase = self.settings.locate(self.step)
        phase = self.settings.phases[phase_index]
        count = min(
            phase.num_steps - in_phase,
            *(
                every - self.step % every
                for every in (
                    self.settings.report_steps,
                    self.settings.evaluation_steps,
                    self.settings.checkpoint_steps,
                )
            ),
        )
        report = self.trainer.run(
            self.batches, phase_index, in_phase, count, self.is_over
        )
        if not math.isfinite(report.means["loss"]):
            raise self._no_number(self.step, self.step + report.num_steps)
        self.step += report.num_steps
        point = self._point(report)
        self._tell(point, report)
        return point

    def _point(self, report: StretchReport) -> CurvePoint:
        settings = self.settings
        phase = settings.phases[settings.locate(self.step - 1)[0]]
        rows_tokens = phase.num_rows * phase.max_tokens
        seconds = max(report.seconds, 1e-9)
        rate = learning_rate(
            self.step - 1.0, settings.stretches, settings.optimizer, np
        )
        return CurvePoint(
            step=self.step,
            tokens=settings.tokens_seen(self.step),
            max_tokens=phase.max_tokens,
            learning_rate=float(rate),
            tokens_per_second=report.num_steps * rows_tokens / seconds,
            waiting_rate=report.waiting_seconds / seconds,
            **report.means,
        )

    def _tell(self, point: CurvePoint, report: StretchReport) -> None:
        left = self.settings.num_tokens - point.tokens
        seconds_left = left / max(point.tokens_per_second, 1e-9)
        self.say(
            f"step {point.step}/{self.settings.num_steps}  length {point.max_tokens}  "
            f"loss {point.mlm_loss:.3f}  words {point.mlm_accuracy:.3f}  "
            f"pairs {point.nsp_accuracy:.3f}  {point.tokens_per_second:,.0f} tokens/s  "
            f"waiting {point.waiting_rate:.1%}  "
            f"{seconds_left / 3600:.1f} h left"
        )

    def _evaluated(self, point: CurvePoint) -> CurvePoint:
        if self._held_out is None:
            self._held_out = HeldOut(self.trainer.bert, self.corpus, self.kinds)
        try:
            with self.trainer.running_mean():
                mlm, nsp = self._held_out.scores()
        except TrainingError as error:  # too little text: no reason to end a run
            self.say(f"held out: {error}")
            return point
        accuracy = None if nsp is None else nsp.accuracy
        pairs = "" if accuracy is None else f"  pairs {accuracy:.3f}"
        self.say(
            f"held out: loss {mlm.loss:.3f}  first {mlm.top1:.3f}  "
            f"among five {mlm.top5:.3f}{pairs}"
        )
        return dataclasses.replace(
            point,
            held_out_loss=mlm.loss,
            held_out_top1=mlm.top1,
            held_out_top5=mlm.top5,
            held_out_nsp=accuracy,
        )

    def _draw(self) -> None:
        if not self.is_writer:
            return
        try:
            write_curve(self.points, self.plan.out)
        except OSError as error:  # no reason to end a run
            self.say(f"The curve could not be written: {error.strerror}")

    def _save(self) -> None:
        if self.is_writer:
            state = self.trainer.state()
            # The loss is that before the last step, which may have broken a weight.
            if not all(np.isfinite(values).all() for values in state.values()):
                raise self._no_number(self.saved_step, self.step)
            checkpoint = Checkpoint(self.step, self.fingerprint, state)
            save_checkpoint(checkpoint, self.plan.out / "checkpoints")
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
        folder = self.plan.out / "model"
        if self.is_writer:
            with self.trainer.running_mean():
                save_model_of(self.trainer, self.settings, self.tokenizer, folder)
        self.say(f"Finished: {folder}")
        return folder
