"""The batch of any step, as a pure function of the seed, the phase and the step.

So a resumed run sees what an uninterrupted one sees, and nothing about the data
needs saving. NumPy only.
"""

import dataclasses
import functools
import itertools
import threading
from bisect import bisect_right
from collections.abc import Mapping

import numpy as np

from bertviz_core.errors import TrainingError
from bertviz_core.training.pretrain.corpus import EncodedCorpus
from bertviz_core.training.pretrain.masking import (
    TokenKinds,
    choose_positions,
    draw_weights,
    hide,
)
from bertviz_core.training.pretrain.sequences import (
    SHORTEST_SEQUENCE,
    Sequences,
    draw_sequences,
    pack_rows,
)
from bertviz_core.training.pretrain.settings import PretrainSettings
from bertviz_core.training.schedule import keep_rate, keep_rates

# Room in a row for sequences: one for so many tokens.
_TOKENS_PER_SEQUENCE = 8
_MOST_KEPT = 2  # plans; the one before may still be in use
# The sequences of one pass over the text, and which of them stand in each row, or in
# some of the rows: int64 `[R, S]`; -1 where none.
Plan = tuple[Sequences, np.ndarray]


def sentence_weights(
    corpus: EncodedCorpus,
    by_word: Mapping[str, float],
    ids: Mapping[str, int],
    max_tokens: int | None = None,
) -> np.ndarray:
    """How often an epoch reads each sentence alone, beside its document; float64.

    A sentence has the weight of its words in `by_word`, of several the highest; one
    that is longer than `max_tokens`, or held out, has none. A word that is not one
    piece of the vocabulary is a `TrainingError`.
    """
    for word in by_word:
        if word not in ids:
            raise TrainingError(
                "The settings weigh sentences with a word that is not one piece of "
                "the vocabulary. Received: “{word}”. Take a word of vocab.txt.",
                word=word[:60],
            )
    weights = np.zeros(len(corpus.sentence_starts) - 1)
    if not by_word:  # spares reading all of the text
        return weights
    of_ids = np.zeros(len(ids))
    for word, weight in by_word.items():
        of_ids[ids[word]] = weight
    places = np.flatnonzero((of_ids > 0)[corpus.tokens])
    owners = np.searchsorted(corpus.sentence_starts, places, "right") - 1
    np.maximum.at(weights, owners, of_ids[corpus.tokens[places]])
    is_left_out = np.repeat(corpus.is_held_out, np.diff(corpus.document_starts))
    if max_tokens is not None:
        is_left_out |= np.diff(corpus.sentence_starts) > max_tokens
    return np.where(is_left_out, 0.0, weights)


Arrays = dict[str, np.ndarray]
Batch = tuple[Arrays, Arrays]

_PLANNING, _MASKING, _LAYERS = range(3)  # what a stream of random numbers is for


class Batches:
    """Serves batches of the training documents. Safe to share between threads.

    Raises:
        TrainingError: a phase, be it the last, finds no text of two tokens to read;
            sentences are weighed by a word that is not one piece.
    """

    def __init__(
        self, corpus: EncodedCorpus, kinds: TokenKinds, settings: PretrainSettings
    ) -> None:
        self.corpus, self.kinds, self.settings = corpus, kinds, settings
        common, phases = settings.corpus, settings.phases
        self.weights = [
            _document_weights(corpus, phase.own("weights", common.weights))
            for phase in phases
        ]
        asked = [
            phase.own("sentence_weights", common.sentence_weights) for phase in phases
        ]
        self.sentence_weights: list[np.ndarray] = []
        for by_word, alike in itertools.groupby(asked):
            found = sentence_weights(
                corpus, by_word, kinds.ids, common.sentence_max_tokens
            )
            self.sentence_weights += [found] * len(list(alike))
        self._draw_weights = None
        if settings.masking.frequent_from is not None:
            counts = corpus.counts(len(kinds.ids))
            self._draw_weights = draw_weights(counts, settings.masking.frequent_from)
        # Of a document that is one token long there is nothing to learn.
        self._is_readable = corpus.document_tokens >= SHORTEST_SEQUENCE
        for index, weights in enumerate(self.weights):
            if not (weights * self._is_readable).any():
                raise _nothing_to_read(index)
        self._plan = functools.lru_cache(_MOST_KEPT)(self._make_plan)
        # Of each phase the rows before each pass whose predecessors were planned.
        self._starts: list[list[int]] = [[0] for _ in phases]
        self._lock = threading.Lock()

    def prepare(self, phase_index: int, step: int) -> None:
        """Plans the pass over the text of a step, so that batches come at once."""
        num_rows = self.settings.phases[phase_index].num_rows
        self._rows(phase_index, step * num_rows, num_rows)

    def batch(self, phase_index: int, step: int, part: int = 0) -> Batch:
        """The batch of a step of a phase, from 0, or one part of it under accumulation.

        `(inputs, labels)` of `PretrainingModel`, B rows divided by `accumulation`.
        """
        settings = self.settings
        phase, parts = settings.phases[phase_index], settings.optimizer.accumulation
        num_rows = phase.num_rows // parts
        first = step * phase.num_rows + part * num_rows
        found = [
            assemble(self.corpus.tokens, *part, phase.max_tokens, self.kinds)
            for part in self._rows(phase_index, first, num_rows)
        ]
        arrays = {
            name: np.concatenate([part[name] for part in found]) for name in found[0]
        }
        nsp = {name: arrays.pop(name) for name in ("nsp_labels", "nsp_weights")}
        rng = self._rng(_MASKING, phase_index, step, part)
        rate = phase.own("masking_rate", settings.masking.rate)
        masking = dataclasses.replace(settings.masking, rate=rate)
        positions, weights = choose_positions(
            arrays["input_ids"], self.kinds, masking, rng, self._draw_weights
        )
        arrays["input_ids"], mlm_labels = hide(
            arrays["input_ids"], positions, weights, self.kinds, masking, rng
        )
        arrays["mlm_positions"] = positions
        if settings.layer_keep_rate < 1:
            done = settings.phase_ends[phase_index] - phase.num_steps
            rng = self._rng(_LAYERS, phase_index, step)
            scales = layer_scales(settings, done + step, rng)
            arrays["layer_scales"] = np.tile(scales, (num_rows, 1))
        return arrays, {"mlm_labels": mlm_labels, "mlm_weights": weights, **nsp}

    def _rows(self, phase_index: int, first: int, count: int) -> list[Plan]:
        """Takes some rows of a phase, one after the other, by the passes they are of.

        A row far into a phase needs the plans of all passes before it, to know their
        lengths; they are made once, and again where a run goes on.
        """
        parts: list[Plan] = []
        starts = self._starts[phase_index]
        with self._lock:
            while count:
                while starts[-1] <= first:
                    _, rows = self._plan(phase_index, len(starts) - 1)
                    starts.append(starts[-1] + len(rows))
                epoch = bisect_right(starts, first) - 1
                sequences, rows = self._plan(phase_index, epoch)
                rows = rows[first - starts[epoch] :][:count]
                parts.append((sequences, rows))
                first, count = first + len(rows), count - len(rows)
        return parts

    def _make_plan(self, phase_index: int, epoch: int) -> Plan:
        phase, asked = self.settings.phases[phase_index], self.settings.sequences
        rng = self._rng(_PLANNING, phase_index, epoch)
        weights = self.weights[phase_index]
        times = np.floor(weights + rng.random(len(weights))).astype("int64")
        if not (times * self._is_readable).any():  # a handful of little weight
            times = (weights > 0).astype("int64")
        alone, of_sentences = None, self.sentence_weights[phase_index]
        if of_sentences.any():
            draws = rng.random(len(of_sentences))
            alone = np.floor(of_sentences + draws).astype("int64")
        sequences = draw_sequences(
            self.corpus,
            times,
            phase.max_tokens,
            dataclasses.replace(
                asked,
                short_rate=phase.own("short_rate", asked.short_rate),
                sentence_rate=phase.own("sentence_rate", asked.sentence_rate),
            ),
            rng,
            alone,
            self.settings.corpus.pair_rates,
        )
        most = max(phase.max_tokens // _TOKENS_PER_SEQUENCE, 1)
        rows = pack_rows(sequences.lengths, phase.max_tokens, most, rng)
        if not len(rows):
            raise _nothing_to_read(phase_index)
        return sequences, rows

    def _rng(self, purpose: int, *numbers: int) -> np.random.Generator:
        return np.random.default_rng([self.settings.seed, purpose, *numbers])


def assemble(
    tokens: np.ndarray,
    sequences: Sequences,
    rows: np.ndarray,
    max_tokens: int,
    kinds: TokenKinds,
) -> Arrays:
    """Fills rows with tokens of the corpus.

    `rows` are int `[B, S]`, indices of sequences; -1 where none.

    Returns:
        int32 arrays: `input_ids`, `token_type_ids`, `position_ids` (from 0 in each
        sequence) and `sequence_ids` (from 1 in each row; 0 is padding), all `[B, T]`;
        `cls_positions` and `nsp_labels` `[B, S]`; and float32 `nsp_weights` `[B, S]`.
    """
    is_used = rows >= 0  # [B, S]
    chosen = rows[is_used]  # [C], sequences one after the other
    a_lengths, b_lengths = sequences.a_lengths[chosen], sequences.b_lengths[chosen]
    lengths = sequences.lengths[chosen]
    spread = np.zeros(rows.shape, "int64")
    spread[is_used] = lengths
    before = np.cumsum(spread, axis=1) - spread  # [B, S], first place in the row
    row_of, column_of = np.nonzero(is_used)
    first = row_of * max_tokens + before[is_used]  # [C], in the flattened batch
    b_first = first + a_lengths + 2

    flat = np.full(len(rows) * max_tokens, kinds.pad_token_id, "int32")
    a_places = _places(sequences.a_starts[chosen], a_lengths)
    b_places = _places(sequences.b_starts[chosen], b_lengths)
    flat[_places(first + 1, a_lengths)] = tokens[a_places]
    flat[_places(b_first, b_lengths)] = tokens[b_places]
    flat[first] = kinds.cls_token_id
    flat[b_first - 1] = kinds.sep_token_id
    flat[first + lengths - 1] = kinds.sep_token_id

    everywhere = _places(first, lengths)
    types, positions, owners = (np.zeros(flat.shape, "int32") for _ in range(3))
    types[_places(b_first, b_lengths + (b_lengths > 0))] = 1
    positions[everywhere] = everywhere - np.repeat(first, lengths)
    owners[everywhere] = np.repeat(column_of + 1, lengths)
    size = (len(rows), max_tokens)
    return {
        "input_ids": flat.reshape(size),
        "token_type_ids": types.reshape(size),
        "position_ids": positions.reshape(size),
        "sequence_ids": owners.reshape(size),
        "cls_positions": np.where(is_used, before, 0).astype("int32"),
        "nsp_labels": np.where(is_used, sequences.nsp_labels[rows], 0).astype("int32"),
        "nsp_weights": (is_used * sequences.nsp_weights[rows]).astype("float32"),
    }


def _places(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Every index of stretches that begin at `starts`."""
    offsets = np.cumsum(lengths) - lengths
    return np.arange(lengths.sum()) + np.repeat(starts - offsets, lengths)


def _document_weights(corpus: EncodedCorpus, by_file: dict[str, float]) -> np.ndarray:
    """How often an epoch reads each document; held-out ones never."""
    of_files = np.array([by_file.get(name, 1.0) for name in corpus.file_names] or [1.0])
    return np.where(corpus.is_held_out, 0.0, of_files[corpus.document_files])


def _nothing_to_read(phase_index: int) -> TrainingError:
    return TrainingError(
        "The text gives no sequence of two tokens in phase {phase}. Give more text, or "
        "another weight to its files.",
        phase=phase_index + 1,
    )


def layer_scales(
    settings: PretrainSettings, step: int, rng: np.random.Generator
) -> np.ndarray:
    """Draws which blocks a step goes through, float32 `[L]`; 0 drops one.

    Deeper blocks are dropped more often. What a kept block adds is divided by how
    surely it is kept, so that its mean over many steps is that of the whole model.

    Source: Zhang and He 2020 (arXiv:2010.13369), algorithm 1.
    """
    last = keep_rate(step, settings.num_steps, settings.layer_keep_rate)
    probabilities = keep_rates(settings.model.num_hidden_layers, last)
    is_kept = rng.random(len(probabilities)) < probabilities
    return (is_kept / probabilities).astype("float32")
