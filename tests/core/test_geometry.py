"""Geometry equals hand computation, plain loops and full sorts."""

import itertools

import numpy as np
import pytest

from bertviz_core.analysis import geometry
from bertviz_core.analysis import map_quality as module
from bertviz_core.analysis.anisotropy import (
    cosine_contributions,
    mean_cosine,
    outlier_dimensions,
    random_pair_cosines,
    without_dimensions,
)
from bertviz_core.analysis.layer_maps import layer_maps
from bertviz_core.analysis.layer_similarity import layer_similarities
from bertviz_core.analysis.map_quality import map_quality
from bertviz_core.analysis.position_geometry import (
    OUTLIER_SCORE,
    position_geometry,
    robust_scores,
)
from bertviz_core.analysis.separation import Separation, group_separation
from tests.core.brute_force import cosine


def cloud(rows=23, size=7, seed=4):
    """Wider along some numbers than along others, and not around the origin."""
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(rows, size)) * np.arange(1, size + 1) + 2).astype("f4")


def pair_cosines(points):
    """Of every two rows."""
    return [cosine(*pair) for pair in itertools.combinations(points, 2)]


def rotation(size, seed):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(size, size)))[0]


@pytest.mark.parametrize("rows", [5, 7, 8, 5000])
def test_both_ways_to_the_axes_find_the_widest(rows):
    points = cloud(rows)
    pca = geometry.fit_pca(points, 4)
    wide = points.astype("f8")
    values, vectors = np.linalg.eigh(np.cov(wide.T, bias=True))
    np.testing.assert_allclose(pca.variances, values[::-1][:4], rtol=1e-9)
    np.testing.assert_allclose(pca.explained, values[::-1][:4] / values.sum())
    for axis, expected in zip(pca.axes, vectors.T[::-1], strict=False):
        assert abs(axis @ expected) == pytest.approx(1, abs=1e-9)
        # The order of the points does not flip the picture.
        assert axis[np.argmax(abs(axis))] > 0
    by_hand = (wide - wide.mean(axis=0)) @ pca.axes.T
    np.testing.assert_allclose(pca.project(points), by_hand, atol=1e-9)


def test_what_has_no_axes_or_no_spread():
    for num_axes in (0, 8):
        with pytest.raises(ValueError, match="num_axes"):
            geometry.fit_pca(cloud(), num_axes)
    with pytest.raises(ValueError, match="points"):
        geometry.fit_pca(np.zeros((0, 3)), 1)
    assert geometry.fit_pca(np.ones((9, 3)), 2).explained.tolist() == [0, 0]
    with pytest.raises(ValueError, match="reference"):
        geometry.procrustes(cloud(5), cloud(6))


def test_cosines_equal_a_loop():
    points, others = cloud(6), cloud(4, seed=9)
    points[2] = 0
    found = geometry.cosine_matrix(points, others)
    for i, j in np.ndindex(6, 4):
        expected = 0 if i == 2 else cosine(points[i], others[j])
        assert found[i, j] == pytest.approx(expected, abs=1e-12)
    own = geometry.cosine_matrix(points)
    assert (own[2, 2], own[3, 3]) == (0, pytest.approx(1))
    assert abs(own).max() <= 1


def test_rows_apart_are_compared_by_their_distance():
    points = cloud(6)
    curve = geometry.mean_by_distance(points)
    assert curve.shape == (6,)
    expected = [cosine(points[i], points[i + 3]) for i in (0, 1, 2)]
    assert curve[3] == pytest.approx(np.mean(expected))


def test_an_axis_runs_from_the_first_to_the_second():
    points = np.array([[1.0, 1.0], [5.0, 4.0], [1.0, 6.0], [-3.0, -2.0]])
    positions, distances = geometry.project_on_axis(points, points[0], points[1])
    # Direction (4, 3): (0, 5) is 15 / 25 along it and 4 beside it.
    np.testing.assert_allclose(positions, [0, 1, 0.6, -1])
    np.testing.assert_allclose(distances, [0, 0, 4, 0], atol=1e-12)
    with pytest.raises(ValueError, match="differ"):
        geometry.project_on_axis(points, points[0], points[0])


def test_no_other_rotation_brings_two_clouds_closer():
    points, reference = cloud(12, 3).astype("f8"), cloud(12, 3, seed=8).astype("f8")
    left = ((geometry.procrustes(points, reference) - reference) ** 2).sum()
    centred = points - points.mean(axis=0)
    wanted = reference - reference.mean(axis=0)
    for seed in range(50):
        assert ((centred @ rotation(3, seed) - wanted) ** 2).sum() >= left
    # Turned, mirrored and moved, it is put back.
    turn = rotation(3, 2) @ np.diag([1, 1, -1])
    aligned = geometry.procrustes((reference - 4) @ turn, reference)
    np.testing.assert_allclose(aligned, reference, atol=1e-9)


def test_the_mean_cosine_is_that_of_every_pair():
    points = cloud(9)
    assert mean_cosine(points) == pytest.approx(np.mean(pair_cosines(points)))
    directions = points / np.linalg.norm(points.astype("f8"), axis=1)[:, None]
    third = [directions[i, 3] * directions[j, 3] for i in range(9) for j in range(i)]
    assert cosine_contributions(points)[3] == pytest.approx(np.mean(third))
    with pytest.raises(ValueError, match="M at least 2"):
        mean_cosine(points[:1])
    # Many rows are summed in blocks.
    points = cloud(9001, 3)
    directions = points / np.linalg.norm(points.astype("f8"), axis=1)[:, None]
    cosines = (directions.sum(axis=0) ** 2).sum() - 9001
    assert mean_cosine(points) == pytest.approx(cosines / (9001 * 9000))


def test_random_pairs_are_pairs_and_the_seed_decides():
    points = cloud(9)
    drawn = random_pair_cosines(points, 4000, 3)
    np.testing.assert_array_equal(drawn, random_pair_cosines(points, 4000, 3))
    assert (drawn != random_pair_cosines(points, 4000, 5)).any()
    pairs = {round(x, 9) for x in pair_cosines(points)}
    assert {round(x, 9) for x in drawn} == pairs  # every pair, and no row with itself
    assert drawn.mean() == pytest.approx(mean_cosine(points), abs=0.03)
    with pytest.raises(ValueError, match="num_pairs"):
        random_pair_cosines(points, 0, 3)


def test_dimensions_that_stand_out_are_named_and_taken_away():
    points = np.random.default_rng(6).normal(size=(50, 31))
    points[:, 17] += 9
    points[:, 5] -= 6
    found, scores = outlier_dimensions(points, 2.0)
    assert found.tolist() == [17, 5]
    averages = points.mean(axis=0)
    score = (averages[5] - averages.mean()) / averages.std()
    assert scores[5] == pytest.approx(score)
    kept = np.delete(points, [5, 17], axis=1)
    np.testing.assert_array_equal(without_dimensions(points, [17, 5]), kept)
    assert not len(outlier_dimensions(kept, 6.0)[0])
    with pytest.raises(ValueError, match="num_deviations"):
        outlier_dimensions(np.ones((4, 3)), 0)


def layers(seed=3):
    """The same shape three times, turned otherwise and moved."""
    shape = cloud(13, 6).astype("f8")
    return np.stack([shape @ rotation(6, seed + i) + 7 * i for i in range(3)])


def test_shared_axes_are_fitted_once_on_all_layers():
    states = layers()
    coordinates, explained = layer_maps(states, 2, "shared")
    centred = states - states.mean(axis=1, keepdims=True)
    axes = geometry.fit_pca(centred.reshape(-1, 6), 2).axes
    np.testing.assert_allclose(coordinates, centred @ axes.T, atol=1e-9)
    for layer in range(3):
        expected = (coordinates[layer] ** 2).sum() / (centred[layer] ** 2).sum()
        assert explained[layer] == pytest.approx(expected)


def test_turned_layers_lie_still_after_procrustes():
    states = layers()
    maps, explained = layer_maps(states, 3, "procrustes")
    first = geometry.fit_pca(states[0], 3)
    for coordinates in maps:
        np.testing.assert_allclose(coordinates, first.project(states[0]), atol=1e-9)
    np.testing.assert_allclose(explained, first.explained.sum())


@pytest.mark.parametrize("alignment", ["shared", "procrustes"])
def test_a_layer_that_gives_one_vector_to_all_is_a_point(alignment):
    states = layers()
    states[0] = 2.0
    coordinates, explained = layer_maps(states, 2, alignment)
    assert not coordinates[0].any()
    assert explained[0] == 0
    assert np.isfinite(coordinates).all()
    with pytest.raises(ValueError, match="alignment"):
        layer_maps(states, 2, "guess")
    with pytest.raises(ValueError, match="states"):
        layer_maps(states[0], 2, alignment)


def separation_by_hand(points, groups):
    """One vector at a time, centres computed anew without it."""
    units = points / np.linalg.norm(points, axis=1, keepdims=True)
    names, right = np.array(groups), []
    for i, group in enumerate(groups):
        if groups.count(group) > 1:
            rest = np.arange(len(groups)) != i
            cosines = {
                name: cosine(units[i], units[rest & (names == name)].mean(axis=0))
                for name in set(groups)
            }
            right.append(max(cosines, key=cosines.get) == group)
    return np.mean(right), len(right)


@pytest.mark.parametrize("seed", range(4))
def test_separation_equals_a_loop(seed):
    groups = list("abcabbcad")  # "d" is alone
    points = np.random.default_rng(seed).normal(size=(9, 4))
    points += np.array([[ord(g) - 98, 0.5, 0, 0] for g in groups])
    found = group_separation(points, groups)
    score, scored = separation_by_hand(points, groups)
    assert (found.score, found.num_scored) == (pytest.approx(score), scored)
    assert found.largest_share == pytest.approx(3 / 8)
    cosines = {True: [], False: []}
    for i, j in itertools.combinations(range(9), 2):
        cosines[groups[i] == groups[j]].append(cosine(points[i], points[j]))
    assert found.within_cosine == pytest.approx(np.mean(cosines[True]))
    assert found.between_cosine == pytest.approx(np.mean(cosines[False]))


def test_vectors_without_a_group_are_no_group():
    groups = list("abcabbca")
    points = np.random.default_rng(2).normal(size=(8, 4))
    strays = np.random.default_rng(3).normal(size=(4, 4))
    found = group_separation(np.concatenate([strays, points]), [""] * 4 + groups)
    assert found == group_separation(points, groups)
    assert found.num_scored == 8
    # One named group beside unnamed vectors is one group.
    one = group_separation(points, ["a", "", "a", "", "", "a", "", ""])
    assert (one.score, one.between_cosine, one.num_scored) == (None, None, 0)
    assert one.within_cosine is not None
    none = group_separation(points, [""] * 8)
    assert none == Separation(None, 0, None, None, None)
    alone = group_separation(points, list("abcdefgh"))
    assert (alone.score, alone.within_cosine) == (None, None)
    assert group_separation(points[:4], list("abca")).score is None
    with pytest.raises(ValueError, match="groups"):
        group_separation(points, ["a"])


def by_features(x, y):
    """||Y'X||² / (||X'X|| ||Y'Y||), columns centred."""
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    cross = np.linalg.norm(y.T @ x) ** 2
    return cross / np.linalg.norm(x.T @ x) / np.linalg.norm(y.T @ y)


@pytest.mark.parametrize("num_tokens", [2, 5, 40])
def test_every_two_layers_are_compared_by_the_formula(num_tokens):
    states = np.random.default_rng(3).normal(size=(4, num_tokens, 7))
    found = layer_similarities(states.astype("float32"))
    for first, second in np.ndindex(4, 4):
        expected = by_features(states[first], states[second])
        assert found[first, second] == pytest.approx(expected, abs=1e-6)
    np.testing.assert_allclose(np.diag(found), 1)


def test_equal_tokens_have_no_similarity_and_one_token_is_refused():
    states = np.random.default_rng(5).normal(size=(2, 3, 4))
    states[1] = 1.0
    found = layer_similarities(states)
    assert found[0, 0] == pytest.approx(1)
    assert np.isnan(found[1]).all()
    with pytest.raises(ValueError, match="two tokens"):
        layer_similarities(states[:, :1])


def ring(num_positions=37, size=9, seed=4):
    """Positions along a ring, a little noise on every number."""
    angles = np.linspace(0, 5, num_positions)
    rng = np.random.default_rng(seed)
    table = rng.normal(0, 0.02, (num_positions, size))
    table[:, 2] += np.cos(angles)
    table[:, 5] += 0.8 * np.sin(angles)
    return table


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
    with pytest.raises(ValueError, match="M at least 2"):
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


def test_few_points_have_smaller_neighbourhoods_or_none(points):
    assert map_quality(points, points, 15).num_neighbours == 14
    assert map_quality(points[:3], points[:3]).num_neighbours == 1
    with pytest.raises(ValueError, match="3 or more"):
        map_quality(points[:2], points[:2])
    with pytest.raises(ValueError, match="positions"):
        map_quality(points, points[:-1], 3)
