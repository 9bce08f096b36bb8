import numpy as np
import pytest
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits

from bertviz_core.analysis.geometry import fit_pca
from bertviz_core.analysis.map_quality import map_quality
from bertviz_core.experiments.maps import tsne_map


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(3)
    middles = rng.normal(0, 20, (3, 9))
    return (np.repeat(middles, 14, axis=0) + rng.normal(size=(42, 9))).astype("f4")


@pytest.fixture(scope="module")
def drawn(points):
    return tsne_map(points, seed=7, perplexity=8, num_stages=3)


def test_the_same_seed_draws_the_same_map_and_another_another(points, drawn):
    again = tsne_map(points, seed=7, perplexity=8, num_stages=3)
    np.testing.assert_array_equal(again.positions, drawn.positions)
    assert (drawn.seed, drawn.num_steps, drawn.method) == (7, 900, "tsne")
    assert drawn.quality == map_quality(points, drawn.positions, 10)
    assert drawn.quality.num_checked == 42
    seen = []
    first, other = (
        tsne_map(points, seed, lambda done, _: seen.append(done), 8, num_stages=stages)
        for seed, stages in ((7, 1), (8, 2))
    )
    assert seen == [1, 0.5, 1]
    assert 0 < drawn.divergence < first.divergence
    assert np.abs(other.positions - first.positions).max() > 0.1
    assert other.quality.trustworthiness > 0.9
    # A given start is moved by a seed too.
    first, second = (
        tsne_map(points, seed=seed, perplexity=8, num_stages=1, start=other.positions)
        for seed in (0, 1)
    )
    assert np.abs(first.positions - second.positions).max() > 0.01


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


def test_a_small_cloud_takes_a_smaller_neighbourhood(points):
    drawn = tsne_map(points[:5], num_stages=1)
    assert drawn.neighbourhood == pytest.approx(4 / 3)
    assert drawn.quality.num_neighbours == 2
    alike = tsne_map(np.ones((7, 4)), num_stages=1)
    assert np.isfinite(alike.positions).all()
    with pytest.raises(ValueError, match="5 or more"):
        tsne_map(points[:4])
    with pytest.raises(ValueError, match="num_stages"):
        tsne_map(points, num_stages=0)
