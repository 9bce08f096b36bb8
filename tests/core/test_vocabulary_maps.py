import dataclasses
import io
import shutil

import numpy as np
import pytest
from click.testing import CliRunner

from bertviz_core.analysis.geometry import fit_pca
from bertviz_core.analysis.map_quality import map_quality
from bertviz_core.analysis.nearest_words import WordTable
from bertviz_core.analysis.wordlists import KINDS, MAIN_KINDS, main_kinds
from bertviz_core.checkpoints.catalogue import bundled_models
from bertviz_core.cli import main
from bertviz_core.errors import TextError
from bertviz_core.experiments import vocabulary_maps
from bertviz_core.experiments.stored_maps import digest_of, find_map, store_map
from bertviz_core.experiments.vocabulary_maps import (
    draw_vocabulary_map,
    exported_vectors,
    map_by_neighbours,
    map_by_pca,
    vocabulary_map,
)
from bertviz_core.experiments.word_vectors import WordVectors, word_vectors
from bertviz_core.explorer import Explorer
from bertviz_core.weights import as_numpy
from tests.core.checkpoint_copies import HF

NUM_ENTRIES, SIZE = 61, 8


@pytest.fixture(scope="module")
def vectors():
    return np.random.default_rng(2).normal(size=(NUM_ENTRIES, SIZE)).astype("f4")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("BERTVIZ_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def folder(tmp_path, cache):
    """A model that is a folder."""
    shutil.copytree(HF, tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("num_axes", [2, 3])
def test_pca_places_every_entry_on_the_widest_axes(vectors, num_axes, monkeypatch):
    pca = fit_pca(vectors, num_axes)
    # Axes that are known already give the same map.
    for known in (None, fit_pca(vectors, 3)):
        found = map_by_pca(vectors, num_axes, pca=known)
        np.testing.assert_allclose(found.coordinates, pca.project(vectors), atol=1e-6)
        assert found.explained == pytest.approx(pca.explained.sum())
        assert found.quality == map_quality(vectors, pca.project(vectors), 10)
        assert not found.is_stored
    monkeypatch.setattr(vocabulary_maps, "CHECKED_AT_ONCE", 17)
    quality = map_by_pca(vectors, seed=3).quality
    assert (quality.num_checked, quality.num_points) == (17, NUM_ENTRIES)


def test_tsne_tells_its_settings(vectors):
    found = map_by_neighbours(vectors, "tsne", 3, 5, None, 7.0, 1)
    assert found.coordinates.shape == (NUM_ENTRIES, 3)
    assert (found.seed, found.neighbourhood, found.num_steps) == (5, 7.0, 300)
    assert found.explained is None
    assert found.quality.num_checked == NUM_ENTRIES


def test_only_what_a_page_can_write_is_exported(vectors, monkeypatch):
    words = WordVectors((), WordTable(vectors), {})
    np.testing.assert_array_equal(
        exported_vectors(words, (4, 60, 0)), vectors[[4, 60, 0]]
    )
    monkeypatch.setattr(vocabulary_maps, "MAX_EXPORTED_NUMBERS", 2 * SIZE + 1)
    with pytest.raises(TextError, match="too many vectors") as raised:
        exported_vectors(words, (1, 2, 3))
    assert raised.value.details == {"count": 3, "limit": 2}
    with pytest.raises(ValueError, match="below"):
        exported_vectors(words, (NUM_ENTRIES,))


def test_the_digest_is_of_numbers_and_shape(vectors):
    changed = vectors.copy()
    changed[3, 2] = np.nextafter(changed[3, 2], 9)
    turned = vectors.reshape(SIZE, NUM_ENTRIES)
    digests = {digest_of(v) for v in (vectors, changed, turned)}
    assert len(digests) == 3
    assert digest_of(vectors) == digest_of(vectors.astype("f8"))


def test_a_map_comes_back_from_the_cache_as_it_was(vectors, cache):
    made = dataclasses.replace(map_by_pca(vectors), neighbourhood=30.0, divergence=0.5)
    digest = digest_of(vectors)
    assert find_map("some-hub/name", digest, 2, NUM_ENTRIES) is None
    path = store_map(made, "some-hub/name", digest)
    assert path.is_relative_to(cache)
    found = find_map("some-hub/name", digest, 2, NUM_ENTRIES)
    assert found.is_stored
    step = np.ptp(made.coordinates, axis=0).max() / 65_535
    np.testing.assert_allclose(
        found.coordinates, made.coordinates, atol=step * 0.51 + 1e-6
    )
    assert found.quality == made.quality
    assert (found.neighbourhood, found.divergence) == (30.0, 0.5)


def test_a_map_lies_beside_a_model_that_is_a_folder(vectors, cache, folder):
    digest, model_id = digest_of(vectors), str(folder)
    path = store_map(map_by_pca(vectors, 3), model_id, digest)
    assert path == folder / "vocabulary_map_3d.npz"
    assert not (cache / "vocabulary_maps").exists()
    assert find_map(model_id, digest, 3, NUM_ENTRIES) is not None
    assert find_map(model_id, digest, 2, NUM_ENTRIES) is None
    # One of other weights is not shown.
    assert find_map(model_id, digest_of(vectors + 1), 3, NUM_ENTRIES) is None
    assert find_map(model_id, digest, 3, NUM_ENTRIES + 1) is None


def pickled():
    file = io.BytesIO()
    np.savez(file, coordinates=np.array([object()]))
    return file.getvalue()


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04 no zip", b"\x93NUMPY nothing", pickled()]
)
def test_a_broken_file_is_as_none(vectors, folder, content):
    (folder / "vocabulary_map_2d.npz").write_bytes(content)
    assert find_map(str(folder), digest_of(vectors), 2, NUM_ENTRIES) is None


def test_the_command_draws_both_maps_and_writes_the_tables(folder, tmp_path):
    arguments = ["--model", str(folder), "--perplexity", "3", "--seed", "4"]
    result = CliRunner().invoke(
        main, ["map-vocabulary", *arguments, "--tsv", str(tmp_path / "tables")]
    )
    assert result.exit_code == 0, result.output
    assert "trustworthiness" in result.stdout
    explorer = Explorer.open(str(folder))
    table = as_numpy(explorer.loaded.model.embeddings.word_embeddings)
    for num_axes in (2, 3):
        found = find_map(str(folder), digest_of(table), num_axes, len(table))
        assert (found.method, found.seed, found.neighbourhood) == ("tsne", 4, 3.0)
    written = (tmp_path / "tables" / "vectors.tsv").read_text("utf-8").splitlines()
    rows = [[float(number) for number in line.split("\t")] for line in written]
    np.testing.assert_array_equal(np.array(rows, "f4"), table)
    names = (tmp_path / "tables" / "metadata.tsv").read_text("utf-8").splitlines()
    assert len(names) == len(table) + 1


def test_the_first_kind_that_fits_is_the_main_one():
    tokens = ("[row 7]", "[unused3]", "[MASK]", "##红", "红", "水果", "q", "word", "##")
    kinds = [MAIN_KINDS[i] for i in main_kinds(tokens)]
    assert kinds[:5] == ["empty", "unused", "special", "piece", "cjk"]
    assert kinds[5:] == ["cjk", "single_character", "word", "word"]
    assert set(MAIN_KINDS[:-1]) == set(KINDS)


@pytest.mark.parametrize("model_id", [entry.model_id for entry in bundled_models()])
def test_the_bundled_maps_are_of_the_bundled_weights(model_id):
    explorer = Explorer.open(model_id)
    table = as_numpy(explorer.loaded.model.embeddings.word_embeddings)
    for num_axes in (2, 3):
        found = find_map(model_id, digest_of(table), num_axes, len(table))
        assert found.method == "tsne"
        assert found.coordinates.shape == (len(table), num_axes)
        assert found.quality.num_points == len(table)
        assert find_map(model_id, "0", num_axes, len(table)) is None


def test_the_pca_map_is_there_at_once_and_the_other_when_it_was_drawn(cache, explorer):
    words = word_vectors(explorer)
    assert vocabulary_map(explorer, words).method == "pca"
    assert vocabulary_map(explorer, words, 2, "tsne") is None
    # Other settings than the usual ones are the visitor's own.
    other = draw_vocabulary_map(explorer, words, "tsne", 2, 3, 3.0)
    assert (other.seed, other.neighbourhood) == (3, 3.0)
    assert vocabulary_map(explorer, words, 2, "tsne") is None
    drawn = draw_vocabulary_map(explorer, words)
    stored = vocabulary_map(explorer, words, 2, "tsne")
    assert stored.is_stored
    step = np.ptp(drawn.coordinates, axis=0).max() / 65_535
    np.testing.assert_allclose(stored.coordinates, drawn.coordinates, atol=step + 1e-5)
