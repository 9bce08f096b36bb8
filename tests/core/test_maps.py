"""Maps are those of the libraries; neighbours stay, seeds repeat, jobs stop."""

import numpy as np
import pytest
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits

from bertviz_core.analysis.geometry import fit_pca
from bertviz_core.analysis.map_quality import map_quality
from bertviz_core.experiments import maps
from bertviz_core.experiments.maps import draw_map, tsne_map, umap_map
from bertviz_core.experiments.sentence_maps import map_by_neighbours
from bertviz_core.experiments.sentence_states import sentence_states
from bertviz_core.experiments.stored_maps import digest_of, find_map, store_map
from bertviz_core.experiments.vocabulary_maps import map_by_neighbours as map_vocabulary
from bertviz_core.tasks import untold


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
    np.testing.assert_array_equal(again.coordinates, drawn.coordinates)
    assert (drawn.seed, drawn.num_steps, drawn.method) == (7, 900, "tsne")
    assert drawn.quality == map_quality(points, drawn.coordinates, 10)
    assert drawn.quality.num_checked == 42
    first, other = (
        tsne_map(points, seed, perplexity=8, num_stages=stages)
        for seed, stages in ((7, 1), (8, 2))
    )
    # More stages leave more neighbours together.
    assert drawn.quality.neighbours_kept > first.quality.neighbours_kept
    assert np.abs(other.coordinates - first.coordinates).max() > 0.1
    assert other.quality.trustworthiness > 0.9
    # A given start is moved by a seed too.
    first, second = (
        tsne_map(points, seed=seed, perplexity=8, num_stages=1, start=other.coordinates)
        for seed in (0, 1)
    )
    assert np.abs(first.coordinates - second.coordinates).max() > 0.01


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
    np.testing.assert_array_equal(drawn.coordinates, expected)


def test_a_small_cloud_takes_a_smaller_neighbourhood(points):
    drawn = tsne_map(points[:5], num_stages=1)
    assert drawn.neighbourhood == pytest.approx(4 / 3)
    assert drawn.quality.num_neighbours == 2
    alike = tsne_map(np.ones((7, 4)), num_stages=1)
    assert np.isfinite(alike.coordinates).all()
    with pytest.raises(ValueError, match="5 or more"):
        tsne_map(points[:4])
    with pytest.raises(ValueError, match="num_stages"):
        tsne_map(points, num_stages=0)


SENTENCES = ("the cat sat on a mat .", "a red cats sat !", "红 e on the mat", "x y z")
CLOUDS = np.repeat([0, 1], 30)


@pytest.fixture(scope="module")
def clouds():
    rng = np.random.default_rng(3)
    middles = rng.normal(0, 9, (2, 8))
    return (middles[CLOUDS] + rng.normal(size=(60, 8))).astype("f4")


@pytest.fixture(scope="module")
def drawn_by_umap(clouds):
    return umap_map(clouds, seed=7, n_neighbors=8)


@pytest.mark.filterwarnings("ignore:precomputed_knn")
def test_it_is_the_map_of_the_library_begun_at_the_pca_map(clouds):
    start = fit_pca(clouds, 2).project(clouds)
    noise = np.random.default_rng(0).normal(scale=1e-4, size=start.shape)
    start = (start / start.std(axis=0).max()).astype("f4") + noise
    wide = clouds.astype("f8")
    distances = np.sqrt(((wide[:, None] - wide) ** 2).sum(axis=2))
    near = np.argsort(distances, axis=1)[:, :8]
    expected = maps._umap_class()(
        n_neighbors=8,
        n_epochs=500,
        init=start.astype("f4"),
        random_state=0,
        n_jobs=1,
        precomputed_knn=(near, np.take_along_axis(distances, near, 1).astype("f4")),
    ).fit_transform(clouds)
    found = umap_map(clouds, n_neighbors=8)
    np.testing.assert_allclose(found.coordinates, expected, atol=1e-3)
    assert found.quality == map_quality(clouds, found.coordinates, 10)


def test_a_seed_draws_its_map_again_and_another_one_another(clouds, drawn_by_umap):
    again = draw_map(clouds, "umap", 7, untold, 8.0, 4)
    np.testing.assert_array_equal(again.coordinates, drawn_by_umap.coordinates)
    assert (drawn_by_umap.method, drawn_by_umap.seed, drawn_by_umap.neighbourhood) == (
        "umap",
        7,
        8,
    )
    other = umap_map(clouds, seed=8, n_neighbors=8)
    assert np.abs(other.coordinates - drawn_by_umap.coordinates).max() > 0.1


@pytest.mark.parametrize("num_axes", [2, 3])
def test_few_points_and_points_that_are_one_are_drawn(clouds, num_axes):
    few = umap_map(clouds[:5], num_axes=num_axes)
    assert few.coordinates.shape == (5, num_axes)
    assert few.neighbourhood == 4
    for cloud in (np.ones((7, 4)), clouds[:9, :1]):  # fewer axes than the map
        assert np.isfinite(umap_map(cloud, num_axes=num_axes).coordinates).all()
    with pytest.raises(ValueError, match="5 or more"):
        umap_map(clouds[:4])
    with pytest.raises(ValueError, match="num_axes"):
        umap_map(clouds, num_axes=4)
    with pytest.raises(ValueError, match="method"):
        draw_map(clouds, "pca", 0, untold, None, 1)


def test_progress_is_told_changes_nothing_and_may_cancel(clouds, drawn_by_umap):
    seen = []
    followed = umap_map(clouds, 7, lambda done, _: seen.append(done), 8)
    assert seen[0] == 0
    assert seen[-1] == 1
    np.testing.assert_array_equal(followed.coordinates, drawn_by_umap.coordinates)

    def cancel(*_):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        umap_map(clouds, progress=cancel)


def test_every_layer_of_sentences_is_drawn_from_the_one_before(explorer):
    states = sentence_states(explorer, SENTENCES, "token")
    found = map_by_neighbours(states, "umap", 2, 6, neighbourhood=4.0)
    assert (found.method, found.neighbourhood, found.num_steps) == ("umap", 4, 500)
    for vectors, places, quality in zip(
        states.states, found.coordinates, found.qualities, strict=True
    ):
        k = quality.num_neighbours
        assert quality.trustworthiness == pytest.approx(
            map_quality(vectors, places, k).trustworthiness, abs=0.02
        )


def test_a_stored_map_of_one_method_is_none_of_the_other(clouds, cache):
    found, digest = map_vocabulary(clouds, "umap"), digest_of(clouds)
    store_map(found, "some-hub/name", digest)
    assert find_map("some-hub/name", digest, 2, 60) is None
    stored = find_map("some-hub/name", digest, 2, 60, "umap")
    assert (stored.method, stored.neighbourhood) == ("umap", 15)
    assert stored.quality == found.quality
