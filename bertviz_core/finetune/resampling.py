"""How far a score can be trusted, and whether chance parts two methods.

Rows with the same text are looked at once, not twice: texts are drawn, with all their
rows. Draws come from a fixed seed: the same rows give the same numbers.

Shapes: R rows, C classes, G different texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from bertviz_core.finetune.scores import macro_f1, ratio, wilson_interval

_SEED = 1
_NUM_DRAWS = 1000
_ENDS = (2.5, 97.5)  # percent


@dataclass(frozen=True)
class Comparison:
    """Whether one method is better than another on the same rows, or by chance.

    Args:
        only_first: rows that the first alone got right; 0 for numbers.
        only_second: rows that the second alone got right; 0 for numbers.
        chance: how often a difference at least as large, either way, would come
            about if both were equally good; 1 where they never differ.
    """

    only_first: int
    only_second: int
    chance: float


def macro_f1_interval(
    targets: np.ndarray, predicted: np.ndarray, num_classes: int, texts: np.ndarray
) -> np.ndarray:
    """Where macro-F1 lies with 95 % confidence.

    The wider of two on each side: a bootstrap, which knows that one mistake lowers the
    F1 of two classes but finds no doubt where all rows are right; and what Wilson's
    intervals of each class give together, which finds it there.

    Args:
        targets: int `[R]`.
        predicted: int `[R]`.
        num_classes: C.
        texts: int `[R]`, which text each row has, from 0.

    Returns:
        float `[2]`, lower and upper end.

    Source:
        Efron 1979, "Bootstrap methods: another look at the jackknife", by percentiles;
        Zou and Donner 2008, "Construction of confidence limits about effect measures",
        for a mean of shares with intervals of their own.
    """
    from scipy.sparse import csr_matrix

    shape = int(texts.max()) + 1, num_classes**2
    cells = targets.astype("int64") * num_classes + predicted
    counts = csr_matrix((np.ones(len(texts)), (texts, cells)), shape)
    square = (num_classes, num_classes)
    drawn = [
        np.nanmean(_f1((counts.T @ draw).reshape(square)))
        for draw in _draws(len(counts.indptr) - 1)
    ]
    low, high = np.percentile(drawn, _ENDS)
    f1, ends = _class_intervals(targets, predicted, num_classes, texts)
    below, above = np.sqrt(np.square(ends - f1[:, None]).sum(axis=0)) / len(f1)
    return np.array([min(low, f1.mean() - below), max(high, f1.mean() + above)])


def mean_interval(values: np.ndarray, texts: np.ndarray) -> np.ndarray:
    """Where the mean of rows lies with 95 % confidence, by bootstrap.

    Args:
        values: float `[R]`.
        texts: see `macro_f1_interval`.
    """
    sums, sizes = np.bincount(texts, values), np.bincount(texts)
    drawn = [draw @ sums / (draw @ sizes) for draw in _draws(len(sums))]
    return np.percentile(drawn, _ENDS)


def compare_right(
    targets: np.ndarray, first: np.ndarray, second: np.ndarray, texts: np.ndarray
) -> Comparison:
    """Counts rows that one of two methods got right and the other did not.

    Args:
        targets: int `[R]`.
        first: int `[R]`, classes that the first method named.
        second: int `[R]`, those of the second.
        texts: see `macro_f1_interval`.

    Source:
        McNemar 1947, "Note on the sampling error of the difference between
        correlated proportions or percentages"; in its exact form, a sign test.
    """
    from scipy.stats import binomtest

    gaps = (first == targets).astype(int) - (second == targets)
    signs = np.sign(np.bincount(texts, gaps))
    won, lost = int((signs > 0).sum()), int((signs < 0).sum())
    chance = float(binomtest(won, won + lost).pvalue) if won + lost else 1.0
    return Comparison(int((gaps > 0).sum()), int((gaps < 0).sum()), chance)


def compare_macro_f1(
    targets: np.ndarray, first: np.ndarray, second: np.ndarray, texts: np.ndarray
) -> Comparison:
    """The same for macro-F1: in each draw, methods swap answers on some texts.

    Source:
        Yeh 2000, "More accurate tests for the statistical significance of result
        differences": approximate randomisation.
    """

    def difference(is_swapped: np.ndarray, _: np.ndarray) -> float:
        swaps = is_swapped.astype(bool)[texts]
        one, other = np.where(swaps, second, first), np.where(swaps, first, second)
        return macro_f1(targets, one) - macro_f1(targets, other)

    rows = compare_right(targets, first, second, texts)
    chance = _swap_chance(difference, int(texts.max()) + 1)
    return Comparison(rows.only_first, rows.only_second, chance)


def compare_errors(
    first: np.ndarray, second: np.ndarray, texts: np.ndarray
) -> Comparison:
    """The same for means of two numbers a row, such as the errors of two methods.

    Args:
        first: float `[R]`.
        second: float `[R]`.
        texts: see `macro_f1_interval`.
    """
    gaps = np.bincount(texts, np.asarray(first, "float64") - second)

    def difference(is_swapped: np.ndarray, _: np.ndarray) -> float:
        return float(np.mean((1 - 2 * is_swapped) * gaps))

    return Comparison(0, 0, _swap_chance(difference, len(gaps)))


def _swap_chance(difference: Callable[..., float], num_texts: int) -> float:
    """How often swaps part both at least as far; with few texts, of all of them."""
    from scipy.stats import permutation_test

    if num_texts < 2:
        return 1.0
    sides = np.zeros(num_texts), np.ones(num_texts)
    found = permutation_test(
        sides,
        difference,
        permutation_type="samples",
        n_resamples=_NUM_DRAWS,
        rng=np.random.default_rng(_SEED),
    )
    return float(found.pvalue)


def _draws(num_texts: int) -> Iterator[np.ndarray]:
    """How often each text was drawn, int `[G]`, for each draw of as many texts."""
    rng = np.random.default_rng(_SEED)
    for _ in range(_NUM_DRAWS):
        yield np.bincount(rng.integers(num_texts, size=num_texts), minlength=num_texts)


def _f1(confusion: np.ndarray) -> np.ndarray:
    """Of each class, float `[C]`; NaN where it neither occurs nor is named."""
    return ratio(2 * np.diag(confusion), confusion.sum(axis=0) + confusion.sum(axis=1))


def _class_intervals(
    targets: np.ndarray, predicted: np.ndarray, num_classes: int, texts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """F1 of the classes that occur or are named `[K]`, and its ends `[K, 2]`.

    Of the rows that are of a class or called so, Wilson's interval is that of those
    that are both, a share J; and F1 is 2 J / (1 + J).
    """
    shares, sizes = [], []
    for label in range(num_classes):
        is_of_class = (targets == label) | (predicted == label)
        if is_of_class.any():
            shares.append((targets == predicted)[is_of_class].mean())
            sizes.append(len(np.unique(texts[is_of_class])))
    share, size = np.array(shares), np.array(sizes)
    ends = wilson_interval(share * size, size)
    return 2 * share / (1 + share), 2 * ends / (1 + ends)
