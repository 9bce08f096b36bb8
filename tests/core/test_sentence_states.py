import numpy as np
import pytest

from bertviz_core.analysis.geometry import cosine_matrix
from bertviz_core.analysis.separation import group_separation
from bertviz_core.errors import TextError
from bertviz_core.experiments import sentence_states as module
from bertviz_core.experiments.sentence_states import (
    find_word,
    nearest_points,
    sentence_states,
    vectors_at,
    word_senses,
)
from tests.core import oracle
from tests.core.random_models import CONFIG, agree

# Of 3, 1, 5, 3 and 2 tokens of their own; the second and a later one are alike.
SENTENCES = ("the cat .", "mat", "A red cats sat", "a mat !", "红 e")
STATES = CONFIG.num_hidden_layers + 1


def states_by_hand(post_norm_model, text):
    """float64 `[L + 1, T, H]` of the oracle, one sentence alone."""
    model, weights = post_norm_model
    inputs = {"input_ids": text.input_ids[None]}
    return oracle.forward(weights, model.config, inputs)["hidden_states"][0]


@pytest.fixture(scope="module")
def by_hand(post_norm_model, explorer):
    texts = [explorer.tokenize(sentence) for sentence in SENTENCES]
    return [(text, states_by_hand(post_norm_model, text)) for text in texts]


def test_every_token_of_its_own_is_a_point(explorer, by_hand):
    seen = []
    found = sentence_states(
        explorer, SENTENCES, "token", progress=lambda done, _: seen.append(done)
    )
    assert seen == sorted(seen)
    assert seen[-1] == 1
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


def test_a_sentence_that_is_too_long_is_refused_or_cut(explorer):
    long = "cat " * 20
    with pytest.raises(TextError, match="too long"):
        sentence_states(explorer, [long])
    found = sentence_states(explorer, [long], "token", cut=True)
    assert len(found.labels) == CONFIG.max_position_embeddings - 2
    assert found.texts[0].was_cut
    assert sentence_states(explorer, ["cat", long, long], cut=True).num_cut == 2
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
        states = states_by_hand(post_norm_model, found.texts[index])
        agree(found.states[:, point], states[:, first:end].mean(axis=1))
    for layer, vectors in enumerate(found.states.astype("f8")):
        lengths = np.linalg.norm(vectors, axis=1)
        expected = vectors @ vectors.T / np.outer(lengths, lengths)
        np.testing.assert_allclose(found.cosines[layer], expected, atol=1e-9)
        separation = group_separation(found.states[layer], found.senses)
        assert found.separations[layer] == separation
    assert len(found.separations) == STATES
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
        word_senses(explorer, texts, "cat", "xy", cut=True)
    assert raised.value.details["limit"] == CONFIG.max_position_embeddings
    assert raised.value.details["count"] == 12
    found = word_senses(explorer, ["the cat", "cat" + " a" * 9], "cat", "xy", cut=True)
    assert found.num_cut == 1


def test_a_sentence_without_the_word_is_named(explorer):
    with pytest.raises(TextError, match=r"Sentence 2 .* cats"):
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
