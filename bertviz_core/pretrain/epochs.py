"""The rows of a phase: those of its first pass over the text, of its second, and so on.

How many rows a pass has is known when it is planned, as that is drawn anew each time.
So a step reads on where the one before has ended, and every row is read.
"""

from __future__ import annotations

import dataclasses
import threading
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bertviz_core.pretrain.chunks import Sequences, draw_sequences
from bertviz_core.pretrain.corpus import EncodedCorpus
from bertviz_core.pretrain.packing import pack_rows
from bertviz_core.pretrain.settings import Phase, PretrainSettings

# Room in a row for sequences: one for so many tokens.
_TOKENS_PER_SEQUENCE = 8
_MOST_KEPT = 2  # plans; the one before may still be in use


@dataclass(frozen=True)
class EpochPlan:
    """The rows of one pass over the text, or some of them.

    Args:
        sequences: all of the pass.
        rows: int64 `[R, S]`, which sequences stand in each row; -1 where none.
    """

    sequences: Sequences
    rows: np.ndarray


class Epochs:
    """Serves the rows of all passes, by their place in a phase. Safe among threads.

    A row far into a phase needs the plans of all passes before it, to know their
    lengths; they are made once, and again where a run goes on.

    Args:
        make_plan: of `(phase_index, epoch)`, the same at each call and never empty.
    """

    def __init__(self, make_plan: Callable[[int, int], EpochPlan]) -> None:
        self._make_plan = make_plan
        self._plans: dict[tuple[int, int], EpochPlan] = {}
        self._starts: dict[int, list[int]] = {}
        self._lock = threading.Lock()

    def num_rows(self, phase_index: int, epoch: int) -> int:
        """Rows of one pass over the text."""
        with self._lock:
            starts = self._known_starts(phase_index)
            while len(starts) < epoch + 2:
                self._add_epoch(phase_index)
            return starts[epoch + 1] - starts[epoch]

    def rows(self, phase_index: int, first: int, count: int) -> list[EpochPlan]:
        """Takes some rows, one after the other.

        Args:
            phase_index: which phase.
            first: place of the first row, from 0 at the phase's beginning.
            count: how many, of any number of passes.

        Returns:
            The rows of each pass that they are of; together `count`.
        """
        parts: list[EpochPlan] = []
        with self._lock:
            starts = self._known_starts(phase_index)
            while count:
                while starts[-1] <= first:
                    self._add_epoch(phase_index)
                epoch = bisect_right(starts, first) - 1
                plan = self._plan(phase_index, epoch)
                rows = plan.rows[first - starts[epoch] :][:count]
                parts.append(EpochPlan(plan.sequences, rows))
                first, count = first + len(rows), count - len(rows)
        return parts

    def _known_starts(self, phase_index: int) -> list[int]:
        """Rows before each pass whose predecessors have been planned."""
        return self._starts.setdefault(phase_index, [0])

    def _add_epoch(self, phase_index: int) -> None:
        starts = self._starts[phase_index]
        plan = self._plan(phase_index, len(starts) - 1)
        starts.append(starts[-1] + len(plan.rows))

    def _plan(self, phase_index: int, epoch: int) -> EpochPlan:
        key = (phase_index, epoch)
        if key not in self._plans:
            while len(self._plans) >= _MOST_KEPT:
                del self._plans[next(iter(self._plans))]
            self._plans[key] = self._make_plan(phase_index, epoch)
        return self._plans[key]


def plan_epoch(
    corpus: EncodedCorpus,
    times: np.ndarray,
    phase: Phase,
    settings: PretrainSettings,
    rng: np.random.Generator,
    sentence_times: np.ndarray | None = None,
) -> EpochPlan:
    """Cuts the text into sequences and packs them into rows.

    Args:
        corpus: the text.
        times: int `[num_documents]`, how often to read each document.
        phase: its length and its own shares of short sequences, if it has any.
        settings: reads `sequences` and `corpus.pair_rates`.
        rng: decides all that is random.
        sentence_times: as in `draw_sequences`.

    Returns:
        The plan, without rows where there is no sequence.
    """
    asked = dataclasses.replace(settings.sequences, **phase.rates)
    sequences = draw_sequences(
        corpus,
        times,
        phase.max_tokens,
        asked,
        rng,
        sentence_times,
        settings.corpus.pair_rates,
    )
    most = max(phase.max_tokens // _TOKENS_PER_SEQUENCE, 1)
    rows = pack_rows(sequences.lengths, phase.max_tokens, most, rng)
    return EpochPlan(sequences, rows)
