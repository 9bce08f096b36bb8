"""UMAP maps are those of the library; neighbours stay, seeds repeat, jobs stop."""

import subprocess
import sys

import numpy as np
import pytest

from bertviz_core.analysis.geometry import fit_pca
from bertviz_core.analysis.map_quality import map_quality
from bertviz_core.experiments import maps
from bertviz_core.experiments.maps import draw_map, umap_map
from bertviz_core.experiments.sentence_maps import map_by_neighbours
from bertviz_core.experiments.sentence_states import sentence_states
from bertviz_core.experiments.stored_maps import digest_of, find_map, store_map
from bertviz_core.experiments.vocabulary_maps import (
    map_by_neighbours as map_vocabulary,
)

SENTENCES = ("the cat sat on a mat .", "a red cats sat !", "红 e on the mat", "x y z")
CLOUDS = np.repeat([0, 1], 30)


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(3)
    middles = rng.normal(0, 9, (2, 8))
    return (middles[CLOUDS] + rng.normal(size=(60, 8))).astype("f4")


@pytest.fixture(scope="module")
def drawn(points):
    return umap_map(points, seed=7, n_neighbors=8)


@pytest.mark.filterwarnings("ignore:precomputed_knn")
def test_it_is_the_map_of_the_library_begun_at_the_pca_map(points):
    start = fit_pca(points, 2).project(points)
    noise = np.random.default_rng(0).normal(scale=1e-4, size=start.shape)
    start = (start / start.std(axis=0).max()).astype("f4") + noise
    wide = points.astype("f8")
    distances = np.sqrt(((wide[:, None] - wide) ** 2).sum(axis=2))
    near = np.argsort(distances, axis=1)[:, :8]
    expected = maps._umap_class()(
        n_neighbors=8,
        n_epochs=500,
        init=start.astype("f4"),
        random_state=0,
        n_jobs=1,
        precomputed_knn=(near, np.take_along_axis(distances, near, 1).astype("f4")),
    ).fit_transform(points)
    found = umap_map(points, n_neighbors=8)
    np.testing.assert_allclose(found.positions, expected, atol=1e-3)
    assert found.quality == map_quality(points, found.positions, 10)


def test_a_seed_draws_its_map_again_and_another_one_another(points, drawn):
    again = draw_map(points, "umap", 7, None, 8.0, 4)
    np.testing.assert_array_equal(again.positions, drawn.positions)
    assert (drawn.method, drawn.seed, drawn.neighbourhood) == ("umap", 7, 8)
    other = umap_map(points, seed=8, n_neighbors=8)
    assert np.abs(other.positions - drawn.positions).max() > 0.1


@pytest.mark.parametrize("num_axes", [2, 3])
def test_few_points_and_points_that_are_one_are_drawn(points, num_axes):
    few = umap_map(points[:5], num_axes=num_axes)
    assert few.positions.shape == (5, num_axes)
    assert few.neighbourhood == 4
    for cloud in (np.ones((7, 4)), points[:9, :1]):  # fewer axes than the map
        assert np.isfinite(umap_map(cloud, num_axes=num_axes).positions).all()
    with pytest.raises(ValueError, match="5 or more"):
        umap_map(points[:4])
    with pytest.raises(ValueError, match="num_axes"):
        umap_map(points, num_axes=4)
    with pytest.raises(ValueError, match="method"):
        draw_map(points, "pca", 0, None, None, 1)


def test_progress_is_told_changes_nothing_and_may_cancel(points, drawn):
    seen = []
    followed = umap_map(points, 7, lambda done, _: seen.append(done), 8)
    assert seen[0] == 0
    assert seen[-1] == 1
    np.testing.assert_array_equal(followed.positions, drawn.positions)

    def cancel(*_):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        umap_map(points, progress=cancel)


def test_every_layer_of_sentences_is_drawn_from_the_one_before(explorer):
    states = sentence_states(explorer, SENTENCES, "token")
    found = map_by_neighbours(states, "umap", 2, 6, neighbourhood=4.0)
    assert (found.method, found.neighbourhood, found.num_steps) == ("umap", 4, 500)
    assert (found.residuals[1:] > 0).all()
    for vectors, places, quality in zip(
        states.states, found.coordinates, found.qualities, strict=True
    ):
        k = quality.num_neighbours
        assert quality.trustworthiness == pytest.approx(
            map_quality(vectors, places, k).trustworthiness, abs=0.02
        )


def test_a_stored_map_of_one_method_is_none_of_the_other(points, tmp_path, monkeypatch):
    monkeypatch.setenv("BERTVIZ_CACHE", str(tmp_path))
    found, digest = map_vocabulary(points, "umap"), digest_of(points)
    store_map(found, "some-hub/name", digest)
    assert find_map("some-hub/name", digest, 2, 60) is None
    stored = find_map("some-hub/name", digest, 2, 60, "umap")
    assert (stored.method, stored.neighbourhood) == ("umap", 15)
    assert stored.quality == found.quality


def test_no_other_framework_comes_along():
    program = (
        "import sys; from bertviz_core.experiments import maps; maps._umap_class();"
        'print({"tensorflow", "keras", "umap.parametric_umap"} & set(sys.modules))'
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout == "set()\n"
    assert not done.stderr
