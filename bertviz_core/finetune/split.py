"""Which rows train, choose and test: by chance, by class, copies kept together."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bertviz_core.errors import DatasetError
from bertviz_core.finetune.dataset import Dataset
from bertviz_core.finetune.examples import Examples, TrainingData
from bertviz_core.finetune.notes import Note, excerpt, list_rows, note
from bertviz_core.trace import FrozenArrays

# Numbers have no classes to keep in proportion; ten ranges of equal size do it.
_NUM_RANGES = 10
# With fewer rows than these, one row is five points, and chance chooses the epoch.
MIN_VALIDATION = 20


@dataclass(frozen=True)
class Split(FrozenArrays):
    """Three parts of a dataset that share no text.

    Args:
        train: int `[A]`, indices of the rows to learn from, ascending.
        validation: int `[B]`, indices of those that choose the best epoch, ascending;
            none where they would be fewer than `MIN_VALIDATION`. `None`: those to
            test on choose it, as before there were three parts.
        test: int `[D]`, indices of those that the report is of, ascending; `None`
            where they have a table of their own.
        notes: what could not be split as asked.
    """

    train: np.ndarray
    validation: np.ndarray | None
    test: np.ndarray | None = None
    notes: tuple[Note, ...] = ()

    def training_data(
        self, dataset: Dataset, test: Dataset | None = None
    ) -> TrainingData:
        """The rows themselves.

        Args:
            dataset: the one that was split.
            test: the table to test on, where the split has no rows for it.
        """
        if self.test is not None:
            tested = dataset.examples(self.test)
        elif test is not None:
            tested = test.examples(np.arange(len(test)))
        return TrainingData(
            train=dataset.examples(self.train),
            validation=tested
            if self.validation is None
            else dataset.examples(self.validation),
            labels=dataset.label_names or (dataset.label_column,),
            is_regression=dataset.is_regression,
            test=tested,
        )


def text_keys(rows: Dataset | Examples) -> list[str]:
    """What makes two rows the same: their texts without case, width and spacing.

    Returns:
        R strings.

    Source:
        Unicode NFKC and case folding (Unicode Standard Annex #15).
    """
    pairs: Sequence[str] = rows.pairs or [""] * len(rows)
    return [
        f"{_normal(text)}\n{_normal(pair)}"
        for text, pair in zip(rows.texts, pairs, strict=True)
    ]


def split_dataset(
    dataset: Dataset,
    validation_rate: float = 0.1,
    seed: int = 0,
    test_rate: float = 0.2,
) -> Split:
    """Draws the test rows, then those of validation, from each class its share.

    Rows with the same text stay in one part, also where their labels differ. Of
    a class with two texts or more, the test part and the rest get at least one each.

    Args:
        dataset: R rows.
        validation_rate: share of all rows that choose the epoch, in (0, 1).
        seed: same seed, same split.
        test_rate: share of all rows that the report is of; 0 sets none apart, and
            the validation rows do both, as before there were three parts.

    Raises:
        DatasetError: too few different texts.
        ValueError: a share is out of bounds.
    """
    if not 0 < validation_rate < 1 or not 0 <= test_rate < 1:
        raise ValueError(
            "`validation_rate` must be in (0, 1), `test_rate` in [0, 1). Received: "
            f"{validation_rate}, {test_rate}."
        )
    groups = _groups(dataset)
    if len(groups) < 2:
        raise DatasetError(
            "All rows have the same text, so none is left to check by. Received: "
            "{count} rows. Choose another text column.",
            count=len(dataset),
        )
    drawn, notes = _drawn(dataset, groups, test_rate or validation_rate, seed)
    rest = np.setdiff1d(np.arange(len(dataset)), drawn)
    if not test_rate:
        return Split(rest, None, drawn, notes)
    chosen, few = _to_choose(dataset, rest, validation_rate / (1 - test_rate), seed)
    return Split(np.setdiff1d(rest, chosen), chosen, drawn, notes + few)


def split_beside_test(
    dataset: Dataset, test: Dataset, validation_rate: float = 0.1, seed: int = 0
) -> tuple[Split, tuple[Note, ...]]:
    """Takes a user's own test file; validation rows are drawn from the table.

    Rows whose text is also in the test file are left out: a model that saw them would
    look better than it is.

    Args:
        dataset: R rows to learn from and to choose by.
        test: made with `label_names` of `dataset`.
        validation_rate: share of the rows that choose the epoch; 0 lets the test
            file choose, as before there were three parts.
        seed: same seed, same split.

    Returns:
        The split, and warnings of classes that lost all rows.

    Raises:
        DatasetError: no row is left to learn from, or those of one class alone, or
            only one of the files has second texts.
    """
    if (dataset.pairs is None) != (test.pairs is None):
        raise DatasetError(
            "One file has two texts a row and the other has one. Choose a second "
            "text column for both, or for neither."
        )
    seen = set(text_keys(test))
    is_new = np.array([key not in seen for key in text_keys(dataset)])
    leaked, kept = dataset.row_numbers[~is_new], np.flatnonzero(is_new)
    if not len(kept):
        raise DatasetError(
            "Every training row is also in the test file, so none is left to "
            "learn from. Received: {count} rows. Choose another test file.",
            count=len(dataset),
        )
    notes: tuple[Note, ...] = ()
    if len(leaked):
        notes += (
            note(
                "Training rows whose text is also in the test file are left "
                "out: {rows} ({count} in all).",
                count=len(leaked),
                rows=list_rows(leaked),
            ),
        )
    warnings = _warn_of_untrained(dataset, kept)
    if not validation_rate:
        return Split(kept, None, notes=notes), warnings
    chosen, few = _to_choose(dataset, kept, validation_rate, seed)
    return Split(np.setdiff1d(kept, chosen), chosen, notes=notes + few), warnings


def _to_choose(
    dataset: Dataset, rows: np.ndarray, rate: float, seed: int
) -> tuple[np.ndarray, tuple[Note, ...]]:
    """Indices of the validation rows among some; none where they would be few."""
    part = dataset.select(rows)
    groups = _groups(part)
    drawn = np.empty(0, "int64")
    if len(groups) > 1:
        drawn, _ = _drawn(part, groups, rate, seed)
    if len(drawn) >= MIN_VALIDATION:
        return rows[drawn], ()
    few = note(
        "The table is too small to set validation rows apart: they would be {count}, "
        "and fewer than {least} choose an epoch by chance. All epochs run, and the "
        "model is that of the last one.",
        count=len(drawn),
        least=MIN_VALIDATION,
    )
    return np.empty(0, "int64"), (few,)


def _warn_of_untrained(train: Dataset, kept: np.ndarray) -> tuple[Note, ...]:
    """Tells which classes lost all their rows to the test file."""
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
            "all rows of the others are also in the test file. Received: "
            "{names} without a row; it was in rows {rows}. Choose another test file.",
            names=names,
            rows=list_rows(rows),
        )
    return (
        note(
            "Classes without a training row cannot be learned: {names} ({count} in "
            "all). All their rows are also in the test file: {rows}.",
            count=len(untrained),
            names=names,
            rows=list_rows(rows),
        ),
    )


def _normal(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _groups(dataset: Dataset) -> list[list[int]]:
    """Indices of the rows of each different text."""
    groups: dict[str, list[int]] = {}
    for index, key in enumerate(text_keys(dataset)):
        groups.setdefault(key, []).append(index)
    return list(groups.values())


def _strata(dataset: Dataset) -> np.ndarray:
    """The class of each row, or the range that its number is in; int `[R]`."""
    if not dataset.is_regression:
        return dataset.labels
    num_ranges = max(1, min(_NUM_RANGES, len(dataset) // 10))
    edges = np.quantile(dataset.labels, np.linspace(0, 1, num_ranges + 1)[1:-1])
    return np.searchsorted(edges, dataset.labels, side="right")


def _drawn(
    dataset: Dataset, groups: list[list[int]], rate: float, seed: int
) -> tuple[np.ndarray, tuple[Note, ...]]:
    """Indices of a share of the rows, and which classes have too few texts for it."""
    rng = np.random.default_rng(seed)
    strata = _strata(dataset)
    by_stratum: dict[int, list[list[int]]] = {}
    for rows in groups:
        stratum = int(strata[rows[0]])
        if len(rows) > 1:
            stratum = Counter(strata[rows].tolist()).most_common(1)[0][0]
        by_stratum.setdefault(stratum, []).append(rows)
    drawn: list[int] = []
    for stratum in sorted(by_stratum):
        drawn += _draw(by_stratum[stratum], rate, rng)
    alone = [stratum for stratum, found in by_stratum.items() if len(found) == 1]
    found = np.sort(drawn or _smallest(groups))  # a single text each: the least evil
    return found, () if dataset.is_regression else _say_alone(dataset, sorted(alone))


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


def _say_alone(dataset: Dataset, alone: list[int]) -> tuple[Note, ...]:
    if not alone:
        return ()
    names = ", ".join(dataset.label_names[label] for label in alone)
    return (
        note(
            "Classes with a single text are trained on and cannot be checked: "
            "{names} ({count} in all). Rows: {rows}.",
            count=len(alone),
            names=excerpt(names, 200),
            rows=list_rows(dataset.row_numbers[np.isin(dataset.labels, alone)]),
        ),
    )
