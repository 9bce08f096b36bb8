"""Sentences with certain words are read more often, alone, and only those."""

import dataclasses

import numpy as np
import pytest

from bertviz_core.errors import TrainingError
from bertviz_core.pretrain.batches import Batches
from bertviz_core.pretrain.sentence_weights import sentence_weights
from tests.core import pretrain_samples as samples

KINDS = samples.kinds()


def marked_sentences(places):
    """A corpus in which "red" stands in these sentences and nowhere else."""
    corpus = samples.corpus(40)
    red, old = (samples.VOCABULARY.index(word) for word in ("red", "old"))
    tokens = np.where(corpus.tokens == red, old, corpus.tokens)
    tokens[corpus.sentence_starts[places]] = red
    return dataclasses.replace(corpus, tokens=tokens)


def test_a_sentence_with_a_weighed_word_is_read_more_often_alone():
    places = [3, 50]
    corpus = marked_sentences(places)
    weights = {"sentence_weights": {"red": 4.0, "horse": 0.0}}
    batches = Batches(corpus, KINDS, samples.settings(corpus=weights))
    lengths = np.diff(corpus.sentence_starts)
    for epoch in range(3):
        drawn = batches._make_plan(0, epoch).sequences
        alone = np.repeat(places, 4)
        assert (drawn.a_starts[-8:] == corpus.sentence_starts[alone]).all()
        assert (drawn.a_lengths[-8:] == lengths[alone]).all()
        assert not drawn.b_lengths[-8:].any()
        assert drawn.a_starts[-9] > corpus.sentence_starts[50]  # the text's own end


def test_half_a_weight_is_drawn_anew_in_each_epoch():
    weights = {"sentence_weights": {"red": 0.5}}
    corpus = marked_sentences([3])
    batches = Batches(corpus, KINDS, samples.settings(corpus=weights))
    start = corpus.sentence_starts[3]
    ends = [batches._make_plan(0, epoch).sequences.a_starts[-1] for epoch in range(40)]
    assert 8 < sum(end == start for end in ends) < 32


def test_of_several_words_the_highest_weight_counts():
    corpus = marked_sentences([3])
    weights = {"red": 2.5, "the": 1.0, "a": 1.0}
    found = sentence_weights(corpus, weights, KINDS.ids)
    begins = corpus.tokens[corpus.sentence_starts[:-1]]
    articles = [samples.VOCABULARY.index(word) for word in ("the", "a")]
    assert found[3] == 2.5
    assert (np.delete(found, 3) == np.isin(np.delete(begins, 3), articles)).all()


def test_sentences_held_out_are_never_read_alone():
    corpus = marked_sentences([3])
    owner = np.searchsorted(corpus.document_starts, 3, "right") - 1
    held_out = np.arange(corpus.num_documents) == owner
    corpus = dataclasses.replace(corpus, is_held_out=held_out)
    assert not sentence_weights(corpus, {"red": 9.0}, KINDS.ids).any()


def test_sentences_that_are_too_long_are_not_read_alone():
    corpus = marked_sentences([3, 50])
    lengths = np.diff(corpus.sentence_starts)
    shorter, longer = sorted([3, 50], key=lambda place: lengths[place])
    assert lengths[shorter] < lengths[longer]
    settings = {
        "sentence_weights": {"red": 4.0},
        "sentence_max_tokens": int(lengths[shorter]),
    }
    batches = Batches(corpus, KINDS, samples.settings(corpus=settings))
    assert np.flatnonzero(batches.sentence_weights).tolist() == [shorter]


def test_a_weighed_word_of_several_pieces_is_refused():
    with pytest.raises(TrainingError, match=r"not one piece.*Received: cats"):
        sentence_weights(samples.corpus(), {"cats": 2.0}, KINDS.ids)
