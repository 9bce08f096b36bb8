"""How far a score can be trusted that no formula gives an interval for.

Rows that agree in everything are drawn together, so that a table of 10^5 rows costs
no more than its different kinds of rows. Draws come from a fixed seed: the same rows
give the same numbers.

Shapes: R rows, C classes, B draws, U kinds of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from bertviz_core.finetune.scores import ratio

_SEED = 1
_MOST_DRAWS, _FEWEST_DRAWS = 2000, 200
# Numbers in memory at once, and in all draws together.
_AT_ONCE, _IN_ALL = 2_000_000, 50_000_000
_ENDS = (2.5, 97.5)  # percent

# How often each kind of row was drawn `[B, U]`, its class and the answer `[U]`.
_Rows = tuple[np.ndarray, np.ndarray, np.ndarray]


def macro_f1_interval(
    targets: np.ndarray, predicted: np.ndarray, num_classes: int
) -> np.ndarray:
    """Where macro-F1 lies with 95 % confidence.

    Args:
        targets: int `[R]`.
        predicted: int `[R]`.
        num_classes: C.

    Returns:
        float `[2]`, lower and upper end.

    Source:
        Efron 1979, "Bootstrap methods: another look at the jackknife", by
        percentiles.
    """
    (target, said), counts = _kinds(targets, predicted)
    rng = np.random.default_rng(_SEED)
    total = int(counts.sum())
    drawn = []
    for size in _sizes(len(counts)):
        picked = rng.multinomial(total, counts / total, size)
        drawn.append(_macro_f1(((picked, target, said),), num_classes))
    return np.percentile(np.concatenate(drawn), _ENDS)


def mean_interval(values: np.ndarray) -> np.ndarray:
    """Where the mean of rows lies with 95 % confidence, see `macro_f1_interval`.

    Args:
        values: float `[R]`.
    """
    rng = np.random.default_rng(_SEED)
    count = len(values)
    drawn = [
        values[rng.integers(count, size=(size, count))].mean(axis=1)
        for size in _sizes(count)
    ]
    return np.percentile(np.concatenate(drawn), _ENDS)


def macro_f1_chance(
    targets: np.ndarray, first: np.ndarray, second: np.ndarray, num_classes: int
) -> float:
    """How often chance alone parts the macro-F1 of two methods as far as this.

    If both were equally good, it would not matter which of them gave which answer:
    in each draw they swap theirs on rows that a coin chooses.

    Args:
        targets: int `[R]`.
        first: int `[R]`, classes that the first method named.
        second: int `[R]`, those of the second.
        num_classes: C.

    Source:
        Yeh 2000, "More accurate tests for the statistical significance of result
        differences": approximate randomisation.
    """
    (target, one, other), counts = _kinds(targets, first, second)

    def differences(moved: np.ndarray) -> np.ndarray:
        kept = counts - moved
        left = ((kept, target, one), (moved, target, other))
        right = ((kept, target, other), (moved, target, one))
        return _macro_f1(left, num_classes) - _macro_f1(right, num_classes)

    rng = np.random.default_rng(_SEED)
    return _chance(
        float(differences(np.zeros((1, len(counts)), int))[0]),
        lambda size: differences(rng.binomial(counts, 0.5, (size, len(counts)))),
        len(counts),
    )


def mean_difference_chance(first: np.ndarray, second: np.ndarray) -> float:
    """The same for means of two numbers a row, such as the errors of two methods.

    Args:
        first: float `[R]`.
        second: float `[R]`.
    """
    gaps = np.asarray(first, "float64") - second
    rng = np.random.default_rng(_SEED)
    return _chance(
        float(gaps.mean()),
        lambda size: (rng.choice((-1, 1), (size, len(gaps))) * gaps).mean(axis=1),
        len(gaps),
    )


def _chance(found: float, draw: Callable[[int], np.ndarray], width: int) -> float:
    """Share of draws that part at least as far; what was found counts as one."""
    num_far, num_drawn = 1, 1
    for size in _sizes(width):
        # A tie must not be lost to rounding.
        num_far += int((np.abs(draw(size)) >= abs(found) - 1e-12).sum())
        num_drawn += size
    return num_far / num_drawn


def _sizes(width: int) -> Iterator[int]:
    """B in parts that fit into memory."""
    left = int(np.clip(_IN_ALL // width, _FEWEST_DRAWS, _MOST_DRAWS))
    while left:
        size = min(left, max(1, _AT_ONCE // width))
        left -= size
        yield size


def _kinds(*columns: np.ndarray) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """The different rows, a column each `[U]`, and how often each occurs `[U]`."""
    rows, counts = np.unique(np.stack(columns, axis=1), axis=0, return_counts=True)
    return tuple(rows.T), counts


def _macro_f1(parts: tuple[_Rows, ...], num_classes: int) -> np.ndarray:
    """Macro-F1 of draws, float `[B]`, over all parts together."""
    right = np.zeros((len(parts[0][0]), num_classes))
    seen = np.zeros_like(right)
    for counts, targets, predicted in parts:
        is_right = targets == predicted
        right += _by_class(counts[:, is_right], targets[is_right], num_classes)
        seen += _by_class(counts, targets, num_classes)
        seen += _by_class(counts, predicted, num_classes)
    f1 = ratio(2 * right.ravel(), seen.ravel()).reshape(seen.shape)
    return np.nanmean(f1, axis=1)


def _by_class(counts: np.ndarray, classes: np.ndarray, num_classes: int) -> np.ndarray:
    """Sums the counts of each class, float `[B, C]`."""
    sums = np.zeros((len(counts), num_classes))
    if len(classes):
        order = np.argsort(classes, kind="stable")
        present, starts = np.unique(classes[order], return_index=True)
        sums[:, present] = np.add.reduceat(counts[:, order], starts, axis=1)
    return sums
