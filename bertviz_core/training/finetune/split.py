"""Which rows train, choose and test: by chance, by class, copies kept together.

Rows to learn from of rare classes may be repeated: see `oversampled`.
"""

import dataclasses
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bertviz_core.errors import DatasetError, TrainingError, ValidationFileError
from bertviz_core.trace import FrozenArrays
from bertviz_core.training.finetune.columns import ColumnChoice
from bertviz_core.training.finetune.dataset import (
    DataOrigin,
    Dataset,
    Examples,
    TrainingData,
    make_dataset,
)
from bertviz_core.training.finetune.notes import (
    Note,
    excerpt,
    list_rows,
    note,
    row_note,
)
from bertviz_core.training.finetune.table import Table

# Numbers have no classes to keep in proportion; ten ranges of equal size do it.
_NUM_RANGES = 10
# With fewer rows than these, one row is five points, and chance chooses the epoch.
MIN_VALIDATION = 20
# Below this ratio of the largest to the smallest class, plain training does; above
# the second, weights alone make single rows of the smallest class too loud.
_MIN_UNEQUAL, _MAX_WEIGHTED = 3.0, 20.0
REMEDIES = ("none", "weights", "oversample")
# Repeating a few rows very often teaches them by heart and takes for ever.
MAX_OVERSAMPLED = 500_000


@dataclass(frozen=True)
class Split(FrozenArrays):
    """Three parts of a dataset that share no text: indices of rows, ascending."""

    train: np.ndarray  # int [A], to learn from
    # int [B], those that choose the epoch; none if fewer than `MIN_VALIDATION`.
    validation: np.ndarray
    test: np.ndarray  # int [D], those tested on; none where a table has them
    notes: tuple[Note, ...] = ()  # what could not be split as asked


@dataclass(frozen=True)
class PreparedData:
    """Rows, ready to be checked and to be trained on."""

    dataset: Dataset  # all rows of the table that are whole
    data: TrainingData  # to learn from, to choose the epoch by, and to test on
    notes: tuple[Note, ...]  # what was left out, and what could not be split
    validation_notes: tuple[Note, ...] = ()  # what was left out of the table to test on
    warnings: tuple[Note, ...] = ()  # those of both notes that nobody may miss
    judged: Dataset | None = None  # all rows of the table to test on, if there is one


def prepare(
    table: Table,
    columns: ColumnChoice,
    other: Table | None = None,
    validation_rate: float = 0.1,
    seed: int = 0,
    test_rate: float = 0.2,
) -> PreparedData:
    """Takes the rows from a table and divides them; `columns` are those of both tables.

    Without an `other` table to test on, rows are set aside.

    Raises:
        DatasetError: see `make_dataset`, `split_dataset`, `split_beside_test`; of the
            rows of the table to test on it is a `ValidationFileError`.
    """
    dataset, judged = make_dataset(table, columns), None
    warnings = dataset.warnings
    more: tuple[Note, ...] = ()
    if other is None:
        split = split_dataset(dataset, validation_rate, seed, test_rate)
    else:
        try:
            judged = make_dataset(other, columns, dataset.label_names)
        except DatasetError as error:
            raise ValidationFileError.of(error) from error
        split, more = split_beside_test(dataset, judged, validation_rate, seed)
        warnings += more + judged.warnings
    origin = DataOrigin(
        table_sha256=table.sha256,
        encoding=table.encoding,
        separator=table.separator,
        has_header=table.has_header,
        text_column=columns.text,
        label_column=columns.label,
        pair_column=columns.pair,
        is_regression=columns.is_regression,
        validation_sha256=None if other is None else other.sha256,
        validation_encoding=None if other is None else other.encoding,
        validation_separator=None if other is None else other.separator,
        validation_has_header=None if other is None else other.has_header,
        validation_rate=validation_rate,
        split_seed=seed,
        test_rate=test_rate,
    )
    data = TrainingData(
        train=dataset.select(split.train),
        validation=dataset.select(split.validation),
        labels=dataset.label_names or (dataset.label_column,),
        is_regression=dataset.is_regression,
        test=dataset.select(split.test) if judged is None else judged,
        origin=origin,
    )
    return PreparedData(
        dataset,
        data,
        dataset.notes + split.notes + more,
        () if judged is None else judged.notes,
        warnings,
        judged,
    )


def text_keys(rows: Examples) -> list[str]:
    """What makes two rows the same: their texts without case, width and spacing.

    Source: Unicode NFKC and case folding (Unicode Standard Annex #15).
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
    """Draws the test rows, then the validation rows, in proportion to class size.

    Rows with the same text stay in one part, also where their labels differ. Of a class
    with two texts or more, the test part and the rest get at least one each. Too few
    different texts are a `DatasetError`.
    """
    if not (0 < validation_rate < 1 and 0 < test_rate < 1):
        raise ValueError(
            "`validation_rate` and `test_rate` must be in (0, 1). Received: "
            f"{validation_rate}, {test_rate}."
        )
    groups = text_groups(dataset)
    if len(groups) < 2:
        raise DatasetError(
            "All rows have the same text, so none is left to check by. Received: "
            "{count} rows. Choose another text column.",
            count=len(dataset),
        )
    drawn, notes = _drawn(dataset, groups, test_rate, seed)
    rest = np.setdiff1d(np.arange(len(dataset)), drawn)
    chosen, few = _to_choose(dataset, rest, validation_rate / (1 - test_rate), seed)
    return Split(np.setdiff1d(rest, chosen), chosen, drawn, notes + few)


def split_beside_test(
    dataset: Dataset, test: Dataset, validation_rate: float = 0.1, seed: int = 0
) -> tuple[Split, tuple[Note, ...]]:
    """Takes a user's own test file; validation rows are drawn from the table.

    Rows whose text is also in the test file are left out: a model that saw them would
    look better than it is. The file is read with `label_names` of `dataset`. Warnings
    are of classes that lost all rows.

    Raises:
        DatasetError: no row is left to learn from, or those of one class alone, or only
            one of the files has second texts.
    """
    if (dataset.pairs is None) != (test.pairs is None):
        raise DatasetError(
            "One file has two texts a row and the other has one. Choose a second "
            "text column for both, or for neither."
        )
    seen = set(text_keys(test))
    is_new = np.array([key not in seen for key in text_keys(dataset)])
    leaked, kept = dataset.rows[~is_new], np.flatnonzero(is_new)
    if not len(kept):
        raise DatasetError(
            "Every training row is also in the test file, so none is left to "
            "learn from. Received: {count} rows. Choose another test file.",
            count=len(dataset),
        )
    notes = row_note(
        "Training rows whose text is also in the test file are left out: {rows} "
        "({count} in all).",
        leaked,
    )
    warnings = _warn_of_untrained(dataset, kept)
    chosen, few = _to_choose(dataset, kept, validation_rate, seed)
    train, none = np.setdiff1d(kept, chosen), np.empty(0, "int64")
    return Split(train, chosen, none, notes + few), warnings


def _to_choose(
    dataset: Dataset, rows: np.ndarray, rate: float, seed: int
) -> tuple[np.ndarray, tuple[Note, ...]]:
    """Indices of the validation rows among some; none where they would be few."""
    part = dataset.select(rows)
    groups = text_groups(part)
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
    if train.is_regression:
        return ()
    untrained = np.setdiff1d(train.targets, train.targets[kept])
    if not len(untrained):
        return ()
    names = excerpt(", ".join(train.label_names[label] for label in untrained), 200)
    rows = train.rows[np.isin(train.targets, untrained)]
    if len(np.unique(train.targets[kept])) == 1:
        raise DatasetError(
            "Training rows of a single class are left, so there is nothing to learn: "
            "all rows of the others are also in the test file. Received: "
            "{names} without a row; it was in rows {rows}. Choose another test file.",
            names=names,
            rows=list_rows(rows),
        )
    return row_note(
        "Classes without a training row cannot be learned: {names} ({count} in all). "
        "All their rows are also in the test file: {rows}.",
        rows,
        count=len(untrained),
        names=names,
    )


def _normal(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def text_groups(dataset: Dataset) -> list[list[int]]:
    """Indices of the rows of each different text, see `text_keys`."""
    groups: dict[str, list[int]] = {}
    for index, key in enumerate(text_keys(dataset)):
        groups.setdefault(key, []).append(index)
    return list(groups.values())


def _strata(dataset: Dataset) -> np.ndarray:
    """The class of each row, or the range that its number is in; int `[R]`."""
    if not dataset.is_regression:
        return dataset.targets
    num_ranges = max(1, min(_NUM_RANGES, len(dataset) // 10))
    edges = np.quantile(dataset.targets, np.linspace(0, 1, num_ranges + 1)[1:-1])
    return np.searchsorted(edges, dataset.targets, side="right")


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
    names = ", ".join(dataset.label_names[label] for label in alone)
    return row_note(
        "Classes with a single text are trained on and cannot be checked: {names} "
        "({count} in all). Rows: {rows}.",
        dataset.rows[np.isin(dataset.targets, alone)],
        count=len(alone),
        names=excerpt(names, 200),
    )


def imbalance(counts: np.ndarray) -> float:
    """Rows of the largest class for each row of the smallest that has rows."""
    filled = counts[counts > 0]
    return float(filled.max() / filled.min())


def propose_remedy(counts: np.ndarray) -> str:
    """One of `REMEDIES`, by how unequal the classes are."""
    ratio = imbalance(counts)
    if ratio < _MIN_UNEQUAL:
        return "none"
    # More copies than these would be refused, so they are not proposed.
    is_too_much = num_oversampled(counts) > MAX_OVERSAMPLED
    return "weights" if ratio <= _MAX_WEIGHTED or is_too_much else "oversample"


def oversample(labels: np.ndarray, seed: int) -> np.ndarray:
    """Repeats rows, of classes int `[R]`, until every class is as large as the largest.

    Whole copies of a class first, then a draw without repeats. Only for training rows:
    a copy on both sides of a split would be seen twice. Indices int `[S]`, S ≥ R, of
    every row at least once, ascending.
    """
    rng = np.random.default_rng(seed)
    classes, counts = np.unique(labels, return_counts=True)
    chosen: list[np.ndarray] = []
    for label in classes:
        rows = np.flatnonzero(labels == label)
        copies, rest = divmod(int(counts.max()), len(rows))
        chosen += [rows] * copies + [rng.choice(rows, rest, replace=False)]
    return np.sort(np.concatenate(chosen))


def num_oversampled(counts: np.ndarray) -> int:
    """Training rows after `oversample`."""
    return int(counts.max() * np.count_nonzero(counts))


def num_rows_seen(data: TrainingData, oversample: bool) -> int:
    """Training rows of an epoch, repeated ones included."""
    if data.is_regression or not oversample:
        return len(data.train)
    return num_oversampled(np.bincount(data.train.targets))


def oversampled(data: TrainingData, seed: int) -> TrainingData:
    """Repeats training rows of classes; far too many are a `TrainingError`."""
    if data.is_regression:
        return data
    counts = np.bincount(data.train.targets)
    wanted = num_oversampled(counts)
    if wanted > MAX_OVERSAMPLED:
        raise TrainingError(
            "Repeating rows of rare classes would make too many. Received: {rows} "
            "rows, which would become {wanted}; the limit is {limit}. Choose class "
            "weights.",
            rows=len(data.train),
            wanted=wanted,
            limit=MAX_OVERSAMPLED,
        )
    train = data.train.select(oversample(data.train.targets, seed))
    return dataclasses.replace(data, train=train)
