"""A t-SNE map keeps groups together, repeats itself, and tells what it is worth."""

import numpy as np
import pytest

from bertviz_core.analysis.map_quality import map_quality

pytest.importorskip("sklearn")
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits

from bertviz_core.analysis.geometry import fit_pca
from bertviz_core.experiments.maps import tsne_map


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(3)
    middles = rng.normal(0, 20, (3, 9))
    return (np.repeat(middles, 14, axis=0) + rng.normal(size=(42, 9))).astype("f4")


@pytest.fixture(scope="module")
def drawn(points):
    return tsne_map(points, seed=7, perplexity=8, num_stages=3)


def test_the_same_seed_draws_the_same_map(points, drawn):
    again = tsne_map(points, seed=7, perplexity=8, num_stages=3)
    np.testing.assert_array_equal(again.positions, drawn.positions)
    assert (drawn.seed, drawn.num_steps, drawn.method) == (7, 900, "tsne")


def test_another_seed_draws_another_map(points, drawn):
    for seed in (0, 8):
        other = tsne_map(points, seed=seed, perplexity=8, num_stages=3)
        assert np.abs(other.positions - drawn.positions).max() > 0.1
        assert other.quality.trustworthiness > 0.9


def test_seed_0_begins_at_the_pca_map_itself(points):
    start = fit_pca(points, 2).project(points)
    method = TSNE(
        perplexity=8,
        init=(start / start.std(axis=0).max() * 1e-4).astype("f4"),
        learning_rate=50.0,
        max_iter=300,
        random_state=0,
    )
    with threadpool_limits(limits=1, user_api="openmp"):
        expected = method.fit_transform(points)
    drawn = tsne_map(points, seed=0, perplexity=8, num_stages=1)
    np.testing.assert_array_equal(drawn.positions, expected)


def test_a_given_start_is_moved_by_a_seed_too(points):
    start = tsne_map(points, perplexity=8, num_stages=1).positions
    first, second = (
        tsne_map(points, seed=seed, perplexity=8, num_stages=1, start=start)
        for seed in (0, 1)
    )
    assert np.abs(first.positions - second.positions).max() > 0.01


def test_groups_far_apart_stay_groups(drawn):
    groups = np.repeat([0, 1, 2], 14)
    squared = ((drawn.positions[:, None] - drawn.positions) ** 2).sum(axis=2)
    np.fill_diagonal(squared, np.inf)
    np.testing.assert_array_equal(groups[squared.argmin(axis=1)], groups)


def test_the_quality_is_that_of_the_map(points, drawn):
    assert drawn.quality == map_quality(points, drawn.positions, 10)
    assert drawn.quality.num_checked == 42
    assert drawn.quality.trustworthiness > 0.9


def test_more_stages_lower_what_is_left(points, drawn):
    first = tsne_map(points, seed=7, perplexity=8, num_stages=1)
    assert 0 < drawn.divergence < first.divergence


def test_a_small_cloud_takes_a_smaller_neighbourhood(points):
    drawn = tsne_map(points[:5], num_stages=1)
    assert drawn.perplexity == pytest.approx(4 / 3)
    assert drawn.quality.num_neighbours == 2
    with pytest.raises(ValueError, match="5 or more"):
        tsne_map(points[:4])
    with pytest.raises(ValueError, match="num_stages"):
        tsne_map(points, num_stages=0)


def test_points_on_top_of_each_other_are_drawn():
    drawn = tsne_map(np.ones((7, 4)), num_stages=1)
    assert np.isfinite(drawn.positions).all()


def test_progress_counts_stages_and_may_cancel(points):
    seen = []
    tsne_map(points, num_stages=2, progress=lambda done, _: seen.append(done))
    assert seen == [0.5, 1.0]

    def cancel(*_):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        tsne_map(points, progress=cancel)
