"""Trustworthiness equals the paper's formula written as loops."""

import numpy as np
import pytest

from bertviz_core.analysis import map_quality as module
from bertviz_core.analysis.map_quality import map_quality


def neighbours_by_hand(points, i):
    """All other points, nearest first."""
    others = [j for j in range(len(points)) if j != i]
    return sorted(others, key=lambda j: sum((points[i] - points[j]) ** 2))


def quality_by_hand(points, positions, k, rows):
    n, penalty, kept = len(points), 0, 0
    for i in rows:
        order = neighbours_by_hand(points, i)
        near, on_map = set(order[:k]), neighbours_by_hand(positions, i)[:k]
        for j in on_map:
            if j in near:
                kept += 1
            else:
                penalty += order.index(j) + 1 - k
    worst = len(rows) * k * (2 * n - 3 * k - 1)
    return 1 - 2 / worst * penalty, kept / (len(rows) * k)


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(1).normal(3, 1, (29, 6))


@pytest.mark.parametrize("k", [1, 4, 14])
@pytest.mark.parametrize("rows", [None, [3, 28, 11]])
def test_quality_equals_the_loops(points, k, rows, monkeypatch):
    monkeypatch.setattr(module, "_VALUES_A_BLOCK", 150)  # several blocks
    positions = points[:, :2] + np.random.default_rng(7).normal(0, 0.3, (29, 2))
    found = map_quality(points, positions, k, rows)
    checked = range(29) if rows is None else rows
    trust, kept = quality_by_hand(points, positions, k, list(checked))
    assert found.trustworthiness == pytest.approx(trust)
    assert found.neighbours_kept == pytest.approx(kept)
    assert (found.num_neighbours, found.num_points) == (k, 29)
    assert found.num_checked == len(checked)


def test_a_map_that_only_turns_and_stretches_is_perfect(points):
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(6, 6)))[0]
    found = map_quality(points, points @ turn * 5 - 2, 7)
    assert (found.trustworthiness, found.neighbours_kept) == (1, 1)


def test_a_point_is_not_its_own_neighbour_even_with_a_twin():
    line = np.array([0.0, 0, 1, 2.5, 4.5, 7])[:, None]
    apart = np.array([0.0, 90, 1, 2.5, 4.5, 7])[:, None]
    for points, positions in ((line, apart), (apart, line)):
        found = map_quality(points, positions, 2)
        trust, kept = quality_by_hand(points, positions, 2, range(6))
        assert found.trustworthiness == pytest.approx(trust)
        assert found.neighbours_kept == pytest.approx(kept)


@pytest.mark.parametrize("k", [0, 15])
def test_neighbourhoods_outside_the_measure_are_refused(points, k):
    with pytest.raises(ValueError, match="num_neighbours"):
        map_quality(points, points, k)
    with pytest.raises(ValueError, match="positions"):
        map_quality(points, points[:-1], 3)
