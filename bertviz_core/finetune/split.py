"""Which rows train and which check: by chance, by class, copies kept together."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bertviz_core.errors import DatasetError
from bertviz_core.finetune.dataset import Dataset
from bertviz_core.finetune.examples import TrainingData
from bertviz_core.finetune.notes import Note, excerpt, list_rows, note
from bertviz_core.trace import FrozenArrays

# Numbers have no classes to keep in proportion; ten ranges of equal size do it.
_NUM_RANGES = 10


@dataclass(frozen=True)
class Split(FrozenArrays):
    """Two parts of a dataset that share no text.

    Args:
        train: int `[A]`, indices of the rows to learn from, ascending.
        validation: int `[B]`, indices of the rows to check by, ascending.
        notes: what could not be split as asked.
    """

    train: np.ndarray
    validation: np.ndarray
    notes: tuple[Note, ...] = ()

    def training_data(self, dataset: Dataset) -> TrainingData:
        """The rows themselves.

        Args:
            dataset: the one that was split.
        """
        return _training_data(dataset, self.train, dataset, self.validation)


def text_keys(dataset: Dataset) -> list[str]:
    """What makes two rows the same: their texts without case, width and spacing.

    Returns:
        R strings.

    Source:
        Unicode NFKC and case folding (Unicode Standard Annex #15).
    """
    pairs: Sequence[str] = dataset.pairs or [""] * len(dataset)
    return [
        f"{_normal(text)}\n{_normal(pair)}"
        for text, pair in zip(dataset.texts, pairs, strict=True)
    ]


def split_dataset(
    dataset: Dataset, validation_rate: float = 0.2, seed: int = 0
) -> Split:
    """Draws the validation rows, from each class its share.

    Rows with the same text stay on one side, also where their labels differ. Of
    a class with two texts or more, each side gets at least one.

    Args:
        dataset: R rows.
        validation_rate: share of rows to check by, in (0, 1).
        seed: same seed, same split.

    Raises:
        DatasetError: too few different texts for two sides.
        ValueError: `validation_rate` is out of bounds.
    """
    if not 0 < validation_rate < 1:
        raise ValueError(
            f"`validation_rate` must be in (0, 1). Received: {validation_rate}."
        )
    groups: dict[str, list[int]] = {}
    for index, key in enumerate(text_keys(dataset)):
        groups.setdefault(key, []).append(index)
    if len(groups) < 2:
        raise DatasetError(
            "All rows have the same text, so none is left to check by. Received: "
            "{count} rows. Choose another text column.",
            count=len(dataset),
        )
    rng = np.random.default_rng(seed)
    strata = _strata(dataset)
    by_stratum: dict[int, list[list[int]]] = {}
    for rows in groups.values():
        stratum = int(strata[rows[0]])
        if len(rows) > 1:
            stratum = Counter(strata[rows].tolist()).most_common(1)[0][0]
        by_stratum.setdefault(stratum, []).append(rows)
    validation: list[int] = []
    alone: list[int] = []
    for stratum in sorted(by_stratum):
        members = by_stratum[stratum]
        if len(members) == 1:
            alone.append(stratum)
        validation += _draw(members, validation_rate, rng)
    return _split(dataset, validation, groups, alone)


def join_files(
    train: Dataset, validation: Dataset
) -> tuple[TrainingData, tuple[Note, ...], tuple[Note, ...]]:
    """Takes a user's own validation file.

    Training rows whose text is also in the validation file are left out: a model
    that saw them would look better than it is.

    Args:
        train: rows to learn from.
        validation: made with `label_names` of `train`.

    Returns:
        The rows, what was left out, and warnings of classes that lost all rows.

    Raises:
        DatasetError: no training row is left, or those of one class alone, or only
            one of the files has second texts.
    """
    if (train.pairs is None) != (validation.pairs is None):
        raise DatasetError(
            "One file has two texts a row and the other has one. Choose a second "
            "text column for both, or for neither."
        )
    seen = set(text_keys(validation))
    is_new = np.array([key not in seen for key in text_keys(train)])
    leaked = train.row_numbers[~is_new]
    if not is_new.any():
        raise DatasetError(
            "Every training row is also in the validation file, so none is left to "
            "learn from. Received: {count} rows. Choose another validation file.",
            count=len(train),
        )
    notes: tuple[Note, ...] = ()
    if len(leaked):
        notes += (
            note(
                "Training rows whose text is also in the validation file are left "
                "out: {rows} ({count} in all).",
                count=len(leaked),
                rows=list_rows(leaked),
            ),
        )
    kept = np.flatnonzero(is_new)
    data = _training_data(train, kept, validation, np.arange(len(validation)))
    return data, notes, _warn_of_untrained(train, kept)


def _warn_of_untrained(train: Dataset, kept: np.ndarray) -> tuple[Note, ...]:
    """Tells which classes lost all their rows to the validation file."""
    if train.is_regression:
        return ()
    untrained = np.setdiff1d(train.labels, train.labels[kept])
    if not len(untrained):
        return ()
    names = excerpt(", ".join(train.label_names[label] for label in untrained), 200)
    rows = train.row_numbers[np.isin(train.labels, untrained)]
    if len(np.unique(train.labels[kept])) == 1:
        raise DatasetError(
            "Training rows of a single class are left, so there is nothing to learn: "
            "all rows of the others are also in the validation file. Received: "
            "{names} without a row; it was in rows {rows}. Choose another validation "
            "file.",
            names=names,
            rows=list_rows(rows),
        )
    return (
        note(
            "Classes without a training row cannot be learned: {names} ({count} in "
            "all). All their rows are also in the validation file: {rows}.",
            count=len(untrained),
            names=names,
            rows=list_rows(rows),
        ),
    )


def _training_data(
    train: Dataset,
    train_rows: np.ndarray,
    validation: Dataset,
    validation_rows: np.ndarray,
) -> TrainingData:
    return TrainingData(
        train=train.examples(train_rows),
        validation=validation.examples(validation_rows),
        labels=train.label_names or (train.label_column,),
        is_regression=train.is_regression,
    )


def _normal(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _strata(dataset: Dataset) -> np.ndarray:
    """The class of each row, or the range that its number is in; int `[R]`."""
    if not dataset.is_regression:
        return dataset.labels
    num_ranges = max(1, min(_NUM_RANGES, len(dataset) // 10))
    edges = np.quantile(dataset.labels, np.linspace(0, 1, num_ranges + 1)[1:-1])
    return np.searchsorted(edges, dataset.labels, side="right")


def _smallest(groups: Sequence[list[int]]) -> list[int]:
    return groups[int(np.argmin([len(rows) for rows in groups]))]


def _draw(members: list[list[int]], rate: float, rng: np.random.Generator) -> list[int]:
    """Whole groups of rows, as near to the share as they allow."""
    if len(members) == 1:
        return []
    wanted = max(1, round(rate * sum(map(len, members))))
    drawn: list[int] = []
    num_groups = 0
    for index in rng.permutation(len(members)):
        # A group that overshoots is passed over, unless nothing smaller came.
        fits = len(drawn) + len(members[index]) <= wanted
        if fits and num_groups < len(members) - 1:
            drawn += members[index]
            num_groups += 1
    return drawn or _smallest(members)


def _split(
    dataset: Dataset,
    validation: list[int],
    groups: dict[str, list[int]],
    alone: list[int],
) -> Split:
    if not validation:  # every class has a single text: the least evil
        validation = _smallest(list(groups.values()))
    is_validation = np.zeros(len(dataset), bool)
    is_validation[validation] = True
    notes: tuple[Note, ...] = ()
    if alone and not dataset.is_regression:
        names = ", ".join(dataset.label_names[label] for label in alone)
        notes += (
            note(
                "Classes with a single text are trained on and cannot be checked: "
                "{names} ({count} in all). Rows: {rows}.",
                count=len(alone),
                names=excerpt(names, 200),
                rows=list_rows(dataset.row_numbers[np.isin(dataset.labels, alone)]),
            ),
        )
    return Split(
        train=np.flatnonzero(~is_validation),
        validation=np.flatnonzero(is_validation),
        notes=notes,
    )
