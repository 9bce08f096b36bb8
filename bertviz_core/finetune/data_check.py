"""Everything that a page says of a dataset before the training starts."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np

from bertviz_core.finetune.checks import check_dataset, check_lengths, check_unknown
from bertviz_core.finetune.dataset import Dataset
from bertviz_core.finetune.examples import Examples, TrainingData
from bertviz_core.finetune.findings import Finding
from bertviz_core.finetune.lengths import Lengths
from bertviz_core.finetune.notes import Note, note
from bertviz_core.finetune.remedies import num_oversampled, propose_remedy
from bertviz_core.finetune.text_checks import check_opposed_files
from bertviz_core.numbers import number_text
from bertviz_core.trace import FrozenArrays

_NUM_BINS = 20
# Rows whose tokens are counted. A share of them is right within 0.7 points, 19 times
# of 20, which no slider shows.
MAX_MEASURED = 20_000


@dataclass(frozen=True)
class LengthCounts(FrozenArrays):
    """How many rows have how many tokens: enough for a slider without a call.

    Args:
        num_tokens: int `[U]`, the lengths that occur, ascending; special tokens
            counted, nothing cut.
        num_rows: int `[U]`, rows of each length.
    """

    num_tokens: np.ndarray
    num_rows: np.ndarray

    def percentile(self, percent: float) -> int:
        """The length that so many percent of rows do not exceed."""
        reached = np.cumsum(self.num_rows)
        wanted = max(1, math.ceil(percent / 100 * int(reached[-1]) - 1e-9))
        return int(self.num_tokens[np.searchsorted(reached, wanted)])

    def share_cut(self, max_tokens: int) -> float:
        """Share of rows, in [0, 1], that lose tokens at this maximum."""
        cut = self.num_rows[self.num_tokens > max_tokens].sum()
        return float(cut / self.num_rows.sum())

    def share_tokens_cut(self, max_tokens: int) -> float:
        """Share of all tokens, in [0, 1], that this maximum cuts off."""
        lost = np.maximum(self.num_tokens - max_tokens, 0) * self.num_rows
        return float(lost.sum() / (self.num_tokens * self.num_rows).sum())


@dataclass(frozen=True)
class DataCheck(FrozenArrays):
    """What was found in the rows that can be used.

    Args:
        label_names: of C classes; for numbers the one name of what is predicted.
        is_regression: labels are numbers.
        label_edges: float `[21]`, bounds of ranges of equal width, in which all
            numbers lie; `[0]` for classes.
        num_train, num_validation, num_test: rows to learn from, to choose the epoch by,
            and to test on; those of validation may be 0.
        train_counts, validation_counts, test_counts: int `[C]`, these rows of each
            class; for numbers `[20]`, of each range.
        notes: which rows were left out and why, and what could not be split.
        validation_notes: which rows of a table to test on were left out and why.
        findings: warnings first.
        remedy: proposal for unequal classes, one of `remedies.REMEDIES`.
        lengths: of the rows in all parts; of very many, of some.
        share_unknown: share of tokens, in [0, 1], that are [UNK].
        default_max_tokens: what 95 % of the rows keep to, in steps of 8.
        max_position_embeddings: of the model; no maximum may be above it.
        warnings: those of both notes that nobody may miss.
    """

    label_names: tuple[str, ...]
    is_regression: bool
    label_edges: np.ndarray
    num_train: int
    num_validation: int
    num_test: int
    train_counts: np.ndarray
    validation_counts: np.ndarray
    test_counts: np.ndarray
    notes: tuple[Note, ...]
    findings: tuple[Finding, ...]
    remedy: str
    lengths: LengthCounts
    share_unknown: float
    default_max_tokens: int
    max_position_embeddings: int
    validation_notes: tuple[Note, ...] = ()
    warnings: tuple[Note, ...] = ()

    @property
    def num_rows(self) -> int:
        """Rows that are used, in all parts."""
        return self.num_train + self.num_validation + self.num_test

    @property
    def by_size(self) -> np.ndarray:
        """Indices of the classes, int `[C]`, largest first.

        What there is to learn from decides, as it does for a remedy; of equals, what
        there is to test on.
        """
        return np.lexsort((-self.test_counts, -self.train_counts))

    @property
    def num_oversampled(self) -> int:
        """Rows to learn from where those of rare classes are repeated."""
        if self.is_regression:
            return self.num_train
        return num_oversampled(self.train_counts)

    def finding(self, kind: str) -> Finding | None:
        """The first finding of a kind."""
        return next((found for found in self.findings if found.kind == kind), None)


@dataclass(frozen=True)
class DataRow:
    """One row as a page shows it.

    Args:
        row: its number in the file, from 1.
        text: the first text.
        pair: the second text, or `None`.
        label: name of the class, or the number as text.
    """

    row: int
    text: str
    pair: str | None
    label: str


def count_lengths(lengths: Lengths) -> LengthCounts:
    """Groups rows by their number of tokens."""
    values, counts = np.unique(lengths.num_tokens, return_counts=True)
    return LengthCounts(values.astype("int64"), counts.astype("int64"))


def check_data(
    dataset: Dataset,
    data: TrainingData,
    lengths: Lengths,
    max_position_embeddings: int,
    notes: tuple[Note, ...] = (),
    measured: Dataset | None = None,
    validation_notes: tuple[Note, ...] = (),
    warnings: tuple[Note, ...] = (),
    judged: Dataset | None = None,
) -> DataCheck:
    """Runs all checks.

    Args:
        dataset: R rows of the table.
        data: the same rows, split; or those that a table to test on leaves.
        lengths: of `rows_in_use`, or of those in `measured`.
        max_position_embeddings: of the model.
        notes: what was left out on the way here.
        measured: see `to_measure`; `None` means all of them.
        validation_notes: what was left out of a table to test on.
        warnings: those of both notes that nobody may miss.
        judged: the table to test on, where there is one.
    """
    rows = rows_in_use(dataset, data, judged)
    part = rows if measured is None else measured
    trained = dataset if judged is None else _trained(dataset, data)
    opposed = [] if judged is None else check_opposed_files(dataset, judged)
    default = lengths.default_max_tokens(max_position_embeddings)
    found = (
        *check_dataset(trained),
        *opposed,
        check_unknown(part, lengths),
        check_lengths(part, lengths, default, max_position_embeddings),
    )
    order = ("warning", "notice", "good")
    edges = _edges(data)
    remedy = "none" if data.is_regression else propose_remedy(trained.counts)
    return DataCheck(
        label_names=data.labels,
        is_regression=data.is_regression,
        label_edges=edges,
        num_train=len(data.train),
        num_validation=len(data.validation),
        num_test=len(data.test),
        train_counts=_counts(data.train, edges, len(data.labels)),
        validation_counts=_counts(data.validation, edges, len(data.labels)),
        test_counts=_counts(data.test, edges, len(data.labels)),
        notes=notes + _say_drawn(part, rows),
        findings=tuple(sorted(found, key=lambda item: order.index(item.severity))),
        remedy=remedy,
        lengths=count_lengths(lengths),
        share_unknown=lengths.share_unknown,
        default_max_tokens=default,
        max_position_embeddings=max_position_embeddings,
        validation_notes=validation_notes,
        warnings=warnings,
    )


def _say_drawn(part: Dataset, rows: Dataset) -> tuple[Note, ...]:
    if len(part) == len(rows):
        return ()
    return (
        note(
            "Lengths and unknown words are those of {count} of {total} rows, "
            "drawn by chance.",
            count=len(part),
            total=len(rows),
        ),
    )


def rows_in_use(
    dataset: Dataset, data: TrainingData, judged: Dataset | None = None
) -> Dataset:
    """All rows that a model meets: those to learn from and those to test on.

    Args:
        dataset: R rows of the table.
        data: see `check_data`.
        judged: the table to test on, where there is one. Its rows follow, with the
            number 0: their own would be taken for rows of the table.
    """
    if judged is None:
        return dataset
    trained, pairs = _trained(dataset, data), None
    if trained.pairs is not None and judged.pairs is not None:
        pairs = trained.pairs + judged.pairs
    return dataclasses.replace(
        trained,
        texts=trained.texts + judged.texts,
        pairs=pairs,
        labels=np.concatenate([trained.labels, judged.labels]),
        row_numbers=np.append(trained.row_numbers, np.zeros(len(judged), "int64")),
    )


def _trained(dataset: Dataset, data: TrainingData) -> Dataset:
    """The rows that are still there to learn from and to choose by."""
    kept = [data.train.rows]
    if data.validation is not data.test:
        kept.append(data.validation.rows)
    is_kept = np.isin(dataset.row_numbers, np.concatenate(kept))
    return dataset.select(np.flatnonzero(is_kept))


def to_measure(dataset: Dataset, most: int = MAX_MEASURED) -> Dataset:
    """The rows whose tokens are counted: all, or some of very many.

    Args:
        dataset: R rows.
        most: rows that are counted.
    """
    if len(dataset) <= most:
        return dataset
    drawn = np.random.default_rng(0).choice(len(dataset), most, replace=False)
    return dataset.select(np.sort(drawn))


def rows_of(
    examples: Examples, labels: tuple[str, ...], indices: tuple[int, ...]
) -> tuple[DataRow, ...]:
    """Some rows by index, in this order; an index that is none is passed over.

    Args:
        examples: R rows.
        labels: class names; for numbers not read.
        indices: of `examples`.
    """
    is_class = np.issubdtype(examples.targets.dtype, np.integer)
    return tuple(
        DataRow(
            row=int(examples.rows[index]),
            text=examples.texts[index],
            pair=None if examples.pairs is None else examples.pairs[index],
            label=labels[int(examples.targets[index])]
            if is_class
            else number_text(examples.targets[index]),
        )
        for index in indices
        if 0 <= index < len(examples)
    )


def _edges(data: TrainingData) -> np.ndarray:
    if not data.is_regression:
        return np.empty(0)
    # A table to test on may go beyond what there is to learn from.
    parts = (data.train, data.validation, data.test)
    targets = np.concatenate([part.targets for part in parts])
    return np.histogram_bin_edges(targets.astype("float64"), _NUM_BINS)


def _counts(part: Examples, edges: np.ndarray, num_classes: int) -> np.ndarray:
    if not len(edges):
        return np.bincount(part.targets, minlength=num_classes)
    return np.histogram(part.targets.astype("float64"), edges)[0]
