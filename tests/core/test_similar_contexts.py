"""The contexts of a token are those of the nearest vectors, computed by hand."""

import numpy as np
import pytest

from bertviz_core.experiments.embedding_results import SentenceStates
from bertviz_core.experiments.sentence_states import sentence_states
from bertviz_core.experiments.similar_contexts import (
    searched_sentences,
    similar_contexts,
)
from bertviz_core.sentences import LANGUAGES, bundled_sentences

SENTENCES = ("the cats sat !", "a mat", "a red cat || the mat")


def states_of(explorer, sentences, vectors):
    """What the sentences' tokens are, with vectors `[1, M, H]` of our own."""
    read = sentence_states(explorer, sentences, "token")
    return SentenceStates(
        **(vars(read) | {"states": np.array([vectors], np.float32)}),
    )


def test_the_nearest_by_cosine_come_first_where_they_stand(explorer):
    own = states_of(explorer, ("cat mat",), [[0, 2], [1, 0]])
    # the, cat, ##s, sat, !, a, mat, a, red, cat, the, mat
    vectors = [[-1, 0]] * 12
    vectors[2] = [0, 5]  # a cosine of 1, whatever the length
    vectors[11] = [3, 4]  # 0.8
    vectors[6] = [4, 3]  # 0.6
    searched = states_of(explorer, SENTENCES, vectors)
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
