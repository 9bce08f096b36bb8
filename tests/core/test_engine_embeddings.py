"""What the engine says about embeddings is what the experiments say."""

import os

import numpy as np
import pytest

from bertviz_core.analysis.geometry import cosine_matrix
from bertviz_core.analysis.position_geometry import position_geometry
from bertviz_core.engine.jobs import JobCancelled
from bertviz_core.engine.memory import WORDS, forget
from bertviz_core.errors import TextError
from bertviz_core.experiments import (
    embedding_tables,
    sentence_maps,
    sentence_states,
    stored_maps,
    word_axis,
    word_vectors,
)
from bertviz_core.experiments.embedding_tables import (
    measure_positions,
    take_input_apart,
)
from bertviz_core.experiments.sentence_maps import (
    layer_facts,
    map_by_neighbours,
    map_by_pca,
)
from bertviz_core.experiments.sentence_states import (
    nearest_points,
    vectors_at,
    word_senses,
)
from bertviz_core.experiments.vocabulary_maps import (
    draw_vocabulary_map,
    exported_vectors,
    vocabulary_map,
)
from bertviz_core.experiments.word_axis import project_words, remove_axis
from bertviz_core.experiments.word_vectors import (
    nearest_words,
    solve_analogy,
    word_norms,
)
from bertviz_core.explorer import Explorer
from bertviz_core.weights import as_numpy
from tests.core.checkpoint_copies import HF, hf_copy
from tests.core.engine_waiting import ended

MODEL = str(HF)
SENTENCES = ("ab cab ba", "cab ab", "ba ba ab cab")


@pytest.fixture(scope="module")
def explorer():
    return Explorer.open(MODEL)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("BERTVIZ_CACHE", str(tmp_path))


def result(client, task, *given, **named):
    question = client.ask(task).about(MODEL, *given, **named)
    status = ended(client, client.start(question))
    assert status.error is None
    return status.result


def word(explorer, index):
    """A word of one entry."""
    own = [w for w in explorer.tokenizer.vocabulary if w.isalpha() and len(w) > 1]
    return own[index]


def test_the_input_sum_is_that_of_the_experiment(client, explorer):
    found = client.ask(take_input_apart)(MODEL, "ab cab", "ba")
    expected = embedding_tables.take_input_apart(explorer, "ab cab", "ba")
    np.testing.assert_array_equal(found.parts, expected.parts)
    assert found.largest_difference < 1e-6


def test_positions_are_those_of_the_model(client, explorer):
    table = as_numpy(explorer.loaded.model.embeddings.position_embeddings)
    expected = position_geometry(table)
    found = client.ask(measure_positions)(MODEL)
    np.testing.assert_allclose(found.cosines, expected.cosines, atol=1e-6)


def test_words_are_asked_of_one_table_that_is_kept(client, explorer):
    vectors = word_vectors.word_vectors(explorer)
    asked = word(explorer, 0)
    found = client.ask(nearest_words)(MODEL, asked, 4, "euclidean", ("special",))
    expected = word_vectors.nearest_words(
        explorer, vectors, asked, 4, "euclidean", ("special",)
    )
    assert found.neighbours.words == expected.neighbours.words
    before = WORDS.values()[-1]
    client.ask(nearest_words)(MODEL, word(explorer, 1))
    assert WORDS.values()[-1] is before
    np.testing.assert_allclose(
        client.ask(word_norms)(MODEL), vectors.table.norms, rtol=1e-6
    )
    np.testing.assert_array_equal(
        client.ask(exported_vectors)(MODEL, (3, 1)), vectors.table.vectors[[3, 1]]
    )


def test_a_model_that_is_forgotten_takes_its_words_along(client, explorer):
    client.ask(nearest_words)(MODEL, word(explorer, 0))
    kept = WORDS.values()[-1]
    forget(MODEL)
    assert all(words is not kept for words in WORDS.values())


def test_analogy_and_axis_pass_everything_on(client, explorer):
    vectors = word_vectors.word_vectors(explorer)
    a, b, c, d = (word(explorer, i) for i in range(4))
    found = client.ask(solve_analogy)(MODEL, (a, b, c), d, 3, "euclidean", ("piece",))
    expected = word_vectors.solve_analogy(
        explorer, vectors, (a, b, c), d, 3, "euclidean", ("piece",)
    )
    assert found.answer.rank == expected.answer.rank
    assert found.nearest.words == expected.nearest.words
    axis = client.ask(project_words)(MODEL, a, b, (c, d), ("piece",))
    by_hand = word_axis.project_words(explorer, vectors, a, b, (c, d), ("piece",))
    np.testing.assert_allclose(axis.cosines, by_hand.cosines)
    assert axis.first_end.words == by_hand.first_end.words
    gone = client.ask(remove_axis)(MODEL, c, a, b, 2)
    alone = word_axis.remove_axis(explorer, vectors, c, a, b, 2)
    assert gone.after.words == alone.after.words
    with pytest.raises(TextError, match="no entry"):
        client.ask(nearest_words)(MODEL, "\U0001f9ff")


def test_the_pca_map_is_there_at_once_and_the_other_when_it_was_drawn(client):
    pytest.importorskip("sklearn")
    flat = client.ask(vocabulary_map)(MODEL, 2)
    assert flat.method == "pca"
    assert client.ask(vocabulary_map)(MODEL, 2, "tsne") is None
    other = result(client, draw_vocabulary_map, num_axes=2, seed=3, neighbourhood=3.0)
    assert other.seed == 3
    # Other settings than the usual ones are the visitor's own.
    assert client.ask(vocabulary_map)(MODEL, 2, "tsne") is None
    drawn = result(client, draw_vocabulary_map, num_axes=2)
    stored = client.ask(vocabulary_map)(MODEL, 2, "tsne")
    assert stored.is_stored
    step = np.ptp(drawn.coordinates, axis=0).max() / 65_535
    np.testing.assert_allclose(stored.coordinates, drawn.coordinates, atol=step + 1e-5)


def test_vectors_are_read_through_once_for_the_maps_of_a_model(
    client, tmp_path, monkeypatch
):
    model, read = hf_copy(tmp_path), []
    digest_of = stored_maps.digest_of
    monkeypatch.setattr(
        stored_maps, "digest_of", lambda vectors: read.append(1) or digest_of(vectors)
    )
    for num_axes in (2, 3, 2):
        assert client.ask(vocabulary_map)(str(model), num_axes, "tsne") is None
    assert len(read) == 1
    # Other weights in the same place have a map of their own.
    os.utime(model / "model.safetensors", ns=(1, 1))
    assert client.ask(vocabulary_map)(str(model), 2, "tsne") is None
    assert len(read) == 2


def test_sentences_are_mapped_as_the_experiment_maps_them(client, explorer):
    found = result(
        client, map_by_pca, SENTENCES, "token", num_axes=3,
        alignment="procrustes", seed=4,
    )  # fmt: skip
    states = sentence_states.sentence_states(explorer, SENTENCES, "token")
    expected = sentence_maps.map_by_pca(states, 3, "procrustes", 4)
    np.testing.assert_allclose(found.coordinates, expected.coordinates, atol=1e-4)
    vectors = client.ask(vectors_at)(MODEL, SENTENCES, "token", 2)
    np.testing.assert_allclose(vectors, states.states[2], atol=1e-5)
    near = client.ask(nearest_points)(MODEL, SENTENCES, "token", 2, 1, 3)
    cosines = cosine_matrix(states.states[2])[1]
    cosines[1] = -np.inf
    assert near.ids.tolist() == np.argsort(-cosines, kind="stable")[:3].tolist()


def test_tsne_of_sentences_takes_its_settings(client):
    pytest.importorskip("sklearn")
    found = result(
        client, map_by_neighbours, SENTENCES, "token", seed=6,
        neighbourhood=2.0,
    )  # fmt: skip
    assert (found.method, found.seed, found.neighbourhood) == ("tsne", 6, 2.0)
    assert found.coordinates.shape[2] == 2


def test_a_word_is_followed_and_layers_are_measured(client, explorer):
    senses = ("x", "y", "x")
    found = result(client, word_senses, SENTENCES, "ab", senses)
    expected = sentence_states.word_senses(explorer, SENTENCES, "ab", senses)
    np.testing.assert_allclose(found.cosines, expected.cosines, atol=1e-5)
    facts = result(client, layer_facts, SENTENCES, "token", num_deviations=1.5, seed=2)
    states = sentence_states.sentence_states(explorer, SENTENCES, "token")
    by_hand = sentence_maps.layer_facts(states, 1.5, 2)
    np.testing.assert_allclose(facts.mean_cosines, by_hand.mean_cosines, atol=1e-5)
    assert facts.outliers == by_hand.outliers


def test_a_map_that_is_drawn_can_be_stopped(explorer):
    pytest.importorskip("sklearn")

    def stop(share, message):
        raise JobCancelled

    states = sentence_states.sentence_states(explorer, SENTENCES, "token")
    with pytest.raises(JobCancelled):
        sentence_maps.map_by_neighbours(states, progress=stop)
