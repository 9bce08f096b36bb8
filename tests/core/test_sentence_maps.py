import numpy as np
import pytest

from bertviz_core.analysis.anisotropy import mean_cosine, outlier_dimensions
from bertviz_core.analysis.geometry import procrustes
from bertviz_core.analysis.layer_maps import layer_maps
from bertviz_core.analysis.map_quality import map_quality
from bertviz_core.errors import TextError
from bertviz_core.experiments import sentence_maps as module
from bertviz_core.experiments.maps import tsne_map
from bertviz_core.experiments.sentence_maps import (
    checked_rows,
    layer_facts,
    map_by_neighbours,
    map_by_pca,
)
from bertviz_core.experiments.sentence_states import sentence_states

SENTENCES = ("the cat sat on a mat .", "a red cats sat !", "红 e on the mat", "x y z")
SEED = 6


@pytest.fixture(scope="module")
def states(explorer):
    return sentence_states(explorer, SENTENCES, "token")


@pytest.mark.parametrize(
    ("alignment", "num_axes"), [("shared", 3), ("procrustes", 2), ("shared", 2)]
)
def test_pca_maps_are_the_layer_maps_of_the_states(states, alignment, num_axes):
    found = map_by_pca(states, num_axes, alignment, SEED)
    maps = layer_maps(states.states, num_axes, alignment)
    np.testing.assert_allclose(found.coordinates, maps.coordinates, atol=1e-5)
    np.testing.assert_allclose(found.explained, maps.explained)
    assert (found.method, found.alignment, found.seed) == ("pca", alignment, SEED)
    assert np.isnan(found.residuals).all() == (alignment == "shared")
    lengths = np.sqrt((states.states[2].astype("f8") ** 2).sum(axis=1))
    np.testing.assert_allclose(found.norms[2], lengths, rtol=1e-6)
    neighbours = min(10, (states.states.shape[1] - 1) // 2)
    for layer, quality in enumerate(found.qualities):
        placed = maps.coordinates[layer]
        assert quality == map_quality(states.states[layer], placed, neighbours)


def test_two_points_of_one_sentence_are_too_few(explorer):
    few = sentence_states(explorer, ("the cat",), "token")
    for ask in (map_by_pca, map_by_neighbours, layer_facts):
        with pytest.raises(TextError, match="too few points") as raised:
            ask(few)
        assert raised.value.details["count"] == 2
    with pytest.raises(ValueError, match="token"):
        layer_facts(sentence_states(explorer, SENTENCES, "mean"))
    # Sentences that were cut are counted.
    long = sentence_states(explorer, ("the cat " * 9, *SENTENCES), "token", cut=True)
    assert map_by_pca(long).num_cut == layer_facts(long).num_cut == 1


def test_a_large_cloud_has_some_points_checked_and_says_so(states, monkeypatch):
    num_points = states.states.shape[1]
    facts = layer_facts(states, 1.5, SEED)
    assert facts.num_checked == facts.num_tokens == num_points
    monkeypatch.setattr(module, "MOST_CHECKED", 7)
    rows = checked_rows(num_points, SEED)
    assert len(set(rows)) == 7 < num_points
    np.testing.assert_array_equal(rows, checked_rows(num_points, SEED, 7))
    assert checked_rows(7, SEED) is None
    found = map_by_pca(states, seed=SEED)
    checked = {(q.num_checked, q.num_points) for q in found.qualities}
    assert checked == {(7, num_points)}
    some = layer_facts(states, 1.5, SEED)
    assert (some.num_checked, some.num_tokens) == (7, num_points)
    assert not np.allclose(some.neighbours_kept, facts.neighbours_kept)
    np.testing.assert_allclose(some.mean_cosines, facts.mean_cosines)


def test_tsne_draws_every_layer_again_alike_and_turned_onto_the_one_before(states):
    told = []
    found = map_by_neighbours(
        states, "tsne", 2, SEED, 4.0, 1, lambda share, message: told.append(share)
    )
    again = map_by_neighbours(states, "tsne", 2, SEED, 4.0, 1)
    np.testing.assert_array_equal(found.coordinates, again.coordinates)
    assert (found.neighbourhood, found.num_steps, found.seed) == (4.0, 300, SEED)
    assert np.isnan(found.explained).all()
    assert told == pytest.approx([0.25, 0.5, 0.75, 1])
    for layer in range(1, 4):
        # Turned already: turning again leaves everything where it is.
        now, before = found.coordinates[layer], found.coordinates[layer - 1]
        turned = procrustes(now, before)
        np.testing.assert_allclose(turned.points, now, atol=1e-3)
        assert turned.residual == pytest.approx(found.residuals[layer], abs=1e-5)


def test_a_map_of_one_point_is_not_measured(explorer):
    """[CLS] before the first layer is the same in every sentence."""
    cls = sentence_states(explorer, SENTENCES * 2, "cls")
    found = map_by_pca(cls, alignment="procrustes")
    assert found.are_one == (True, False, False, False)
    assert np.isnan(found.explained).tolist() == [True, False, False, False]
    assert [quality is None for quality in found.qualities] == [True, *[False] * 3]
    spread = map_by_neighbours(cls, neighbourhood=2.0, num_stages=1)
    assert not spread.coordinates[0].any()
    assert spread.qualities[0] is None
    # The first that is a map begins anew, at its own PCA map.
    alone = tsne_map(cls.states[1], perplexity=2.0, num_stages=1)
    np.testing.assert_allclose(spread.coordinates[1], alone.positions, rtol=1e-6)


def test_facts_are_those_of_each_layer_alone(states):
    found = layer_facts(states, 1.5, SEED)
    num_tokens = states.states.shape[1]
    assert (found.num_tokens, found.num_sentences) == (num_tokens, 4)
    assert any(found.outliers)
    for layer, vectors in enumerate(states.states):
        out = outlier_dimensions(vectors, 1.5)
        assert found.outliers[layer] == tuple(out.dimensions)
        assert found.mean_cosines[layer] == pytest.approx(mean_cosine(vectors))
        rest = np.delete(vectors, out.dimensions, axis=1)
        assert found.mean_cosines_without[layer] == pytest.approx(mean_cosine(rest))
        assert found.contributions[layer].sum() == pytest.approx(mean_cosine(vectors))
        lengths = np.sqrt((vectors.astype("f8") ** 2).sum(axis=1))
        assert found.mean_norms[layer] == pytest.approx(lengths.mean())
        np.testing.assert_allclose(
            found.norm_ranges[layer], np.quantile(lengths, (0.05, 0.95))
        )
    assert (found.pair_quartiles[:, 0] <= found.pair_quartiles[:, 2]).all()


def kept_by_loop(vectors, rest, num_neighbours):
    def nearest(points):
        unit = points / np.sqrt((points**2).sum(axis=1))[:, None]
        cosines = unit @ unit.T
        np.fill_diagonal(cosines, -np.inf)
        return np.argsort(-cosines, axis=1)[:, :num_neighbours]

    pairs = zip(nearest(vectors), nearest(rest), strict=True)
    return np.mean([len(set(a) & set(b)) / num_neighbours for a, b in pairs])


def test_neighbours_that_stay_are_counted_by_cosine(states):
    found = layer_facts(states, 1.5, SEED)
    k = found.num_neighbours
    for layer in (1, 3):
        vectors = states.states[layer].astype("f8")
        rest = np.delete(vectors, found.outliers[layer], axis=1)
        by_hand = kept_by_loop(vectors, rest, k)
        assert found.neighbours_kept[layer] == pytest.approx(by_hand, abs=0.02)
    # A rule that names nothing changes nothing.
    found = layer_facts(states, 40.0, SEED)
    assert found.outliers == ((),) * 4
    np.testing.assert_allclose(found.mean_cosines, found.mean_cosines_without)
    assert (found.neighbours_kept == 1).all()
