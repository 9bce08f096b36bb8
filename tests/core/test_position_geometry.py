import numpy as np
import pytest

from bertviz_core.analysis.map_quality import map_quality
from bertviz_core.analysis.position_geometry import (
    OUTLIER_SCORE,
    position_geometry,
    robust_scores,
)


def ring(num_positions=37, size=9, seed=4):
    """Positions along a ring, a little noise on every number."""
    angles = np.linspace(0, 5, num_positions)
    rng = np.random.default_rng(seed)
    table = rng.normal(0, 0.02, (num_positions, size))
    table[:, 2] += np.cos(angles)
    table[:, 5] += 0.8 * np.sin(angles)
    return table


def cosine(one, other):
    return one @ other / np.sqrt((one @ one) * (other @ other))


def test_every_number_is_that_of_a_hand_computation():
    table = ring()
    found = position_geometry(table)
    assert found.cosines[3, 29] == pytest.approx(cosine(table[3], table[29]), abs=1e-6)
    assert found.norms[11] == pytest.approx(np.sqrt((table[11] ** 2).sum()))
    apart = [cosine(table[i], table[i + 8]) for i in range(37 - 8)]
    assert found.by_distance[8] == pytest.approx(np.mean(apart))
    beside = (cosine(table[5], table[4]) + cosine(table[5], table[6])) / 2
    assert found.near_cosines[5] == pytest.approx(beside)
    assert found.near_cosines[0] == pytest.approx(cosine(table[0], table[1]))
    assert found.near_cosines[36] == pytest.approx(cosine(table[36], table[35]))


def test_a_position_unlike_its_neighbours_stands_apart():
    table = ring()
    table[20] = np.random.default_rng(1).normal(0, 0.3, 9)
    apart = position_geometry(table).standing_apart
    # Its neighbours lose one of their two, too.
    assert 20 in apart
    assert set(apart) <= {0, 19, 20, 21, 36}


def test_a_longer_position_stands_apart_by_its_length():
    table = ring()
    table[7] *= 6
    found = position_geometry(table)
    assert found.norm_scores[7] > OUTLIER_SCORE
    assert 7 in found.standing_apart
    # The chain lies on the widest axes, of which a small table has fewer.
    assert found.coordinates.shape == (37, 3)
    assert (np.diff(found.coordinates.var(axis=0)) < 0).all()
    two = position_geometry(ring()[:, [2, 5]])
    assert two.coordinates.shape == (37, 2)
    assert two.explained.sum() == pytest.approx(1)
    with pytest.raises(ValueError, match="P > 1"):
        position_geometry(np.ones((1, 6)))


def test_scores_are_deviations_in_units_of_the_median_deviation():
    values = np.array([1.0, 2.0, 4.0, 5.0, 100.0])
    # Median 4, deviations 3, 2, 0, 1, 96, their median 2.
    expected = 0.6745 * np.array([-1.5, -1, 0, 0.5, 48])
    np.testing.assert_allclose(robust_scores(values), expected)
    # Alike values have no scale and no outlier.
    assert (robust_scores(np.array([2.0, 2.0, 2.0, 9.0])) == 0).all()


def test_every_pair_of_axes_says_which_neighbours_it_keeps():
    table = np.random.default_rng(4).normal(size=(31, 9))
    found = position_geometry(table)
    pairs = [(0, 1), (0, 2), (1, 2)]
    assert list(found.qualities) == [
        map_quality(table, found.coordinates[:, pair], 10) for pair in pairs
    ]
    assert position_geometry(table[:2]).qualities == (None,)
