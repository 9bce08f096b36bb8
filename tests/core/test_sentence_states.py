"""Vectors of sentences: read, mapped, measured, and searched for like ones."""

import numpy as np
import pytest

from bertviz_core.analysis.anisotropy import mean_cosine, outlier_dimensions
from bertviz_core.analysis.geometry import cosine_matrix, procrustes
from bertviz_core.analysis.layer_maps import layer_maps
from bertviz_core.analysis.map_quality import map_quality
from bertviz_core.analysis.separation import group_separation
from bertviz_core.errors import TextError
from bertviz_core.experiments import sentence_maps as maps_module
from bertviz_core.experiments import sentence_states as module
from bertviz_core.experiments.embedding_results import SentenceStates
from bertviz_core.experiments.maps import tsne_map
from bertviz_core.experiments.sentence_maps import (
    checked_rows,
    layer_facts,
    map_by_neighbours,
    map_by_pca,
)
from bertviz_core.experiments.sentence_states import (
    find_word,
    nearest_points,
    sentence_states,
    vectors_at,
    word_senses,
)
from bertviz_core.experiments.similar_contexts import (
    searched_sentences,
    similar_contexts,
)
from bertviz_core.sentences import LANGUAGES, bundled_sentences
from tests.core import oracle
from tests.core.random_models import CONFIG, agree

# Of 3, 1, 5, 3 and 2 tokens of their own; the second and a later one are alike.
SENTENCES = ("the cat .", "mat", "A red cats sat", "a mat !", "红 e")
STATES = CONFIG.num_hidden_layers + 1


def states_by_hand(post_norm_model, text):
    """float64 `[L + 1, T, H]` of the oracle, one sentence alone."""
    model, weights = post_norm_model
    return oracle.forward(weights, model.config, text.inputs)["hidden_states"][0]


@pytest.fixture(scope="module")
def by_hand(post_norm_model, explorer):
    texts = [explorer.tokenize(sentence) for sentence in SENTENCES]
    return [(text, states_by_hand(post_norm_model, text)) for text in texts]


def test_every_token_of_its_own_is_a_point(explorer, by_hand):
    found = sentence_states(explorer, SENTENCES, "token")
    point = 0
    for index, (text, states) in enumerate(by_hand):
        for t in range(1, text.num_tokens - 1):
            place = found.sentence_index[point], found.position[point]
            assert (*place, found.labels[point]) == (index, t, text.tokens[t])
            agree(found.states[:, point], states[:, t])
            point += 1
    assert found.states.shape == (STATES, point, CONFIG.hidden_size)


@pytest.mark.parametrize("reading", ["cls", "mean"])
def test_one_point_a_sentence_in_the_order_of_the_sentences(explorer, by_hand, reading):
    found = sentence_states(explorer, SENTENCES, reading)
    assert found.labels == SENTENCES
    assert found.sentence_index.tolist() == [0, 1, 2, 3, 4]
    assert found.position.tolist() == [0 if reading == "cls" else -1] * 5
    assert found.states.dtype == np.float32
    for index, (_, states) in enumerate(by_hand):
        expected = states[:, 0] if reading == "cls" else states[:, 1:-1].mean(axis=1)
        agree(found.states[:, index], expected)


def test_a_pair_is_read_as_first_and_second_text(explorer):
    found = sentence_states(explorer, ["the cat || a mat sat", "mat"], "token")
    assert found.labels == ("the", "cat", "a", "mat", "sat", "mat")
    assert found.segments.tolist() == [0, 0, 1, 1, 1, 0]
    inputs = explorer.trace("the cat", "a mat sat").hidden_states
    agree(found.states[:, 3], inputs[:, 5])


def test_sentences_of_one_length_share_a_pass(explorer, monkeypatch):
    lengths = {explorer.tokenize(sentence).num_tokens for sentence in SENTENCES}
    whole = sentence_states(explorer, SENTENCES).states
    before = explorer.num_forward_passes
    sentence_states(explorer, SENTENCES)
    assert explorer.num_forward_passes - before == len(lengths) < len(SENTENCES)
    monkeypatch.setattr(module, "_TOKENS_A_PASS", 1)
    before = explorer.num_forward_passes
    alone = sentence_states(explorer, SENTENCES).states
    assert explorer.num_forward_passes - before == len(SENTENCES)
    np.testing.assert_allclose(alone, whole, rtol=0, atol=1e-5)


def test_what_cannot_all_be_kept_is_refused_not_sampled(explorer, monkeypatch):
    with pytest.raises(TextError, match="text is empty"):
        sentence_states(explorer, [])
    with pytest.raises(TextError, match=r"201\b.*\b200\b"):
        sentence_states(explorer, ["mat"] * 201)
    with pytest.raises(ValueError, match="reading"):
        sentence_states(explorer, SENTENCES, "last")
    monkeypatch.setattr(module, "MAX_VALUES", 6 * STATES * CONFIG.hidden_size)
    with pytest.raises(TextError, match=r"14\b.*\b6\b"):
        sentence_states(explorer, SENTENCES, "token")
    assert sentence_states(explorer, SENTENCES, "mean").states.shape[1] == 5


def test_a_sentence_that_is_too_long_is_cut(explorer):
    long = "cat " * 20
    found = sentence_states(explorer, [long], "token")
    assert len(found.labels) == CONFIG.max_position_embeddings - 2
    assert found.texts[0].was_cut
    assert sentence_states(explorer, ["cat", long, long]).num_cut == 2
    assert sentence_states(explorer, SENTENCES).num_cut == 0


@pytest.mark.parametrize(
    ("text", "word", "spans"),
    [
        ("the cat sat on a cat", "cat", [[2, 3], [6, 7]]),
        ("the CAT sat", "cat", [[2, 3]]),
        ("the cats sat", "cat", []),  # a piece of another word
        ("the cats sat", "cats", [[2, 4]]),  # two pieces
        ("the cats sat", "s", []),
        ("a 红e 红", "红", [[2, 3], [4, 5]]),  # no spaces between
        ("a 红红 e", "红红", [[2, 4]]),
        ("the cat, the mat.", "cat", [[2, 3]]),
        ("the cat sat", "the cat", [[1, 3]]),
        ("the cat sat", " sat ", [[3, 4]]),
        ("a (e) .", "(e)", [[2, 5]]),  # not a pattern
        ("the cat", ".", []),
        ("a " * 9 + "cat", "cat", []),  # cut off
    ],
)
def test_a_word_is_found_where_it_stands_whole(explorer, text, word, spans):
    read = explorer.tokenize(text, cut=True)
    assert find_word(read, word, lower_case=True) == spans
    if "CAT" in text:
        assert find_word(read, word, lower_case=False) == []


SENSE_TEXTS = ("the cats sat", "a cats !", "cats on cats", "e cats .")
SENSES = ("x", "y", "x", "y")


def test_the_word_is_followed_through_every_layer(post_norm_model, explorer):
    pair = word_senses(explorer, ["the mat || a cat", "cat"], "cat", "xy")
    assert pair.spans.tolist() == [[5, 6], [1, 2]]
    found = word_senses(explorer, SENSE_TEXTS, "cats", SENSES)
    assert found.sentence_index.tolist() == [0, 1, 2, 2, 3]
    assert found.spans.tolist() == [[2, 4], [2, 4], [1, 3], [4, 6], [2, 4]]
    assert found.senses == ("x", "y", "x", "x", "y")
    assert found.word == "cats"
    for point, (index, (first, end)) in enumerate(
        zip(found.sentence_index, found.spans, strict=True)
    ):
        states = states_by_hand(post_norm_model, explorer.tokenize(SENSE_TEXTS[index]))
        agree(found.states[:, point], states[:, first:end].mean(axis=1))
    for layer, vectors in enumerate(found.states.astype("f8")):
        lengths = np.linalg.norm(vectors, axis=1)
        expected = vectors @ vectors.T / np.outer(lengths, lengths)
        np.testing.assert_allclose(found.cosines[layer], expected, atol=1e-9)
        separation = group_separation(found.states[layer], found.senses)
        assert found.separations[layer] == separation
    assert len(found.separations) == STATES
    assert pair.map is None  # of two points
    places, _ = layer_maps(found.states, 2, "procrustes")
    np.testing.assert_allclose(found.map.coordinates, places, atol=1e-5)
    assert found.map.labels == tuple(SENSE_TEXTS[i] for i in found.sentence_index)
    assert found.map.at(2).quality == map_quality(found.states[2], places[2])
    # The embeddings know the place and not the sense: same place, same vector.
    assert found.cosines[0, 0, 1] == pytest.approx(1)
    assert found.cosines[1, 0, 1] < 0.9999


def test_occurrences_without_a_sense_stay_and_are_not_scored(explorer):
    texts = (*SENSE_TEXTS, "cats cats", "mat cats")
    found = word_senses(explorer, texts, "cats", (*SENSES, "", ""))
    assert found.senses == ("x", "y", "x", "x", "y", "", "", "")
    assert found.states.shape[1] == 8
    named = word_senses(explorer, SENSE_TEXTS, "cats", SENSES)
    for separation, expected in zip(found.separations, named.separations, strict=True):
        assert separation.num_scored == expected.num_scored == 5
        assert separation.between_cosine == pytest.approx(expected.between_cosine)


def test_a_word_beyond_what_is_read_is_not_said_to_be_missing(explorer):
    texts = ["the cat", "a " * 9 + "cat"]
    with pytest.raises(TextError, match="Sentence 2 is longer") as raised:
        word_senses(explorer, texts, "cat", "xy")
    assert raised.value.details["limit"] == CONFIG.max_position_embeddings
    assert raised.value.details["count"] == 12
    found = word_senses(explorer, ["the cat", "cat" + " a" * 9], "cat", "xy")
    assert found.num_cut == 1


def test_a_sentence_without_the_word_is_named(explorer):
    with pytest.raises(TextError, match=r"Sentence 2 .* “cats”"):
        word_senses(explorer, ["cats", "the cat"], "cats", "xy")
    with pytest.raises(TextError, match="no word"):
        word_senses(explorer, ["cats"], "  ", "x")
    with pytest.raises(ValueError, match="senses"):
        word_senses(explorer, ["cats"], "cats", "xy")


def test_the_nearest_points_of_a_layer_are_those_of_the_whole_vectors(explorer):
    states = sentence_states(explorer, SENTENCES, "token")
    np.testing.assert_array_equal(vectors_at(states, 2), states.states[2])
    cosines = cosine_matrix(states.states[2])[1]
    cosines[1] = -np.inf
    expected = np.argsort(-cosines, kind="stable")[:3]
    assert nearest_points(states, 2, 1, 3).ids.tolist() == expected.tolist()


MAPPED = ("the cat sat on a mat .", "a red cats sat !", "红 e on the mat", "x y z")
SEED = 6


@pytest.fixture(scope="module")
def states(explorer):
    return sentence_states(explorer, MAPPED, "token")


@pytest.mark.parametrize(
    ("alignment", "num_axes"), [("shared", 3), ("procrustes", 2), ("shared", 2)]
)
def test_pca_maps_are_the_layer_maps_of_the_states(states, alignment, num_axes):
    found = map_by_pca(states, num_axes, alignment, SEED)
    coordinates, explained = layer_maps(states.states, num_axes, alignment)
    np.testing.assert_allclose(found.coordinates, coordinates, atol=1e-5)
    np.testing.assert_allclose(found.explained, explained)
    assert (found.method, found.seed) == ("pca", SEED)
    lengths = np.sqrt((states.states[2].astype("f8") ** 2).sum(axis=1))
    np.testing.assert_allclose(found.norms[2], lengths, rtol=1e-6)
    neighbours = min(10, (states.states.shape[1] - 1) // 2)
    for layer, quality in enumerate(found.qualities):
        placed = coordinates[layer]
        assert quality == map_quality(states.states[layer], placed, neighbours)


def test_two_points_of_one_sentence_are_too_few(explorer):
    few = sentence_states(explorer, ("the cat",), "token")
    for ask in (map_by_pca, map_by_neighbours, layer_facts):
        with pytest.raises(TextError, match="too few points") as raised:
            ask(few)
        assert raised.value.details["count"] == 2
    with pytest.raises(ValueError, match="token"):
        layer_facts(sentence_states(explorer, MAPPED, "mean"))
    # Sentences that were cut are counted.
    long = sentence_states(explorer, ("the cat " * 9, *MAPPED), "token")
    assert map_by_pca(long).num_cut == layer_facts(long).num_cut == 1


def test_a_large_cloud_has_some_points_checked_and_says_so(states, monkeypatch):
    num_points = states.states.shape[1]
    facts = layer_facts(states, 1.5, SEED)
    assert facts.num_checked == facts.num_tokens == num_points
    monkeypatch.setattr(maps_module, "MOST_CHECKED", 7)
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
        np.testing.assert_allclose(procrustes(now, before), now, atol=1e-3)


def test_a_map_of_one_point_is_not_measured(explorer):
    """[CLS] before the first layer is the same in every sentence."""
    cls = sentence_states(explorer, MAPPED * 2, "cls")
    found = map_by_pca(cls, alignment="procrustes")
    assert found.are_one == (True, False, False, False)
    assert np.isnan(found.explained).tolist() == [True, False, False, False]
    assert [quality is None for quality in found.qualities] == [True, *[False] * 3]
    spread = map_by_neighbours(cls, neighbourhood=2.0, num_stages=1)
    assert not spread.coordinates[0].any()
    assert spread.qualities[0] is None
    # The first that is a map begins anew, at its own PCA map.
    alone = tsne_map(cls.states[1], perplexity=2.0, num_stages=1)
    np.testing.assert_allclose(spread.coordinates[1], alone.coordinates, rtol=1e-6)


def test_facts_are_those_of_each_layer_alone(states):
    found = layer_facts(states, 1.5, SEED)
    num_tokens = states.states.shape[1]
    assert (found.num_tokens, found.num_sentences) == (num_tokens, 4)
    assert any(found.outliers)
    for layer, vectors in enumerate(states.states):
        out, scores = outlier_dimensions(vectors, 1.5)
        assert found.outliers[layer] == tuple(out)
        np.testing.assert_array_equal(found.scores[layer], scores)
        assert found.mean_cosines[layer] == pytest.approx(mean_cosine(vectors))
        rest = np.delete(vectors, out, axis=1)
        assert found.mean_cosines_without[layer] == pytest.approx(mean_cosine(rest))
        assert found.contributions[layer].sum() == pytest.approx(mean_cosine(vectors))
        lengths = np.sqrt((vectors.astype("f8") ** 2).sum(axis=1))
        assert found.mean_norms[layer] == pytest.approx(lengths.mean())
        without = np.linalg.norm(rest.astype("f8"), axis=1).mean()
        assert found.mean_norms_without[layer] == pytest.approx(without)
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


SEARCHED = ("the cats sat !", "a mat", "a red cat || the mat")


def states_of(explorer, sentences, vectors):
    """What the sentences' tokens are, with vectors `[1, M, H]` of our own."""
    read = sentence_states(explorer, sentences, "token")
    return SentenceStates(**(vars(read) | {"states": np.array([vectors], np.float32)}))


def test_the_nearest_by_cosine_come_first_where_they_stand(explorer):
    own = states_of(explorer, ("cat mat",), [[0, 2], [1, 0]])
    # the, cat, ##s, sat, !, a, mat, a, red, cat, the, mat
    vectors = [[-1, 0]] * 12
    vectors[2] = [0, 5]  # a cosine of 1, whatever the length
    vectors[11] = [3, 4]  # 0.8
    vectors[6] = [4, 3]  # 0.6
    searched = states_of(explorer, SEARCHED, vectors)
    assert searched.labels[2] == "##s"
    found = similar_contexts(own, searched, 0, 0, 3)
    assert [(one.before, one.token, one.after) for one in found.contexts] == [
        ("the cat", "s", " sat !"),
        ("the ", "mat", ""),
        ("a ", "mat", ""),
    ]
    np.testing.assert_allclose([one.cosine for one in found.contexts], [1, 0.8, 0.6])
    assert found.mean_cosine == pytest.approx((1 + 0.8 + 0.6) / 12)
    assert (found.num_tokens, found.num_sentences) == (12, 3)
    other = similar_contexts(own, searched, 0, 1, 1)
    assert other.contexts[0].cosine == pytest.approx(0.8)


def test_every_layer_has_its_own(explorer):
    own = sentence_states(explorer, ("the red cat",), "token")
    searched = sentence_states(explorer, ("a cat sat", "the red cat"), "token")
    for layer in range(len(own.states)):
        found = similar_contexts(own, searched, layer, 2, 1)
        (same,) = found.contexts
        assert (same.before, same.token) == ("the red ", "cat")
        assert same.cosine == pytest.approx(1)
    sentences = sentence_states(explorer, ("a cat",))
    with pytest.raises(ValueError, match="token"):
        similar_contexts(own, sentences, 0, 0)


@pytest.mark.parametrize("language", LANGUAGES)
def test_both_texts_of_every_pair_are_searched(language):
    sentences = bundled_sentences(language)
    pairs = [one.pair for one in sentences if one.pair is not None]
    searched = searched_sentences(language)
    assert set(searched) == {one.text for one in sentences} | set(pairs)
    assert len(searched) == len(sentences) + len(pairs) <= 200
