"""Sentences with certain words are read more often, alone, and only those."""

import dataclasses

import numpy as np
import pytest

from bertviz_core.errors import TrainingError
from bertviz_core.pretrain.batches import Batches, sentence_weights
from bertviz_core.pretrain.settings import PretrainSettings
from tests.core import pretrain_samples as samples

KINDS = samples.kinds()


RED, OLD = (samples.VOCABULARY.index(word) for word in ("red", "old"))


def marked_sentences(*places):
    """A corpus in which "red" stands in these sentences and nowhere else."""
    corpus = samples.corpus(40)
    tokens = np.where(corpus.tokens == RED, OLD, corpus.tokens)
    tokens[corpus.sentence_starts[list(places)]] = RED
    return dataclasses.replace(corpus, tokens=tokens)


def batches_of(corpus, **asked):
    return Batches(corpus, KINDS, samples.settings(corpus=asked))


def test_a_sentence_with_a_weighed_word_is_read_more_often_alone():
    corpus = marked_sentences(3, 50)
    batches = batches_of(corpus, sentence_weights={"red": 4.0, "horse": 0.0})
    lengths, alone = np.diff(corpus.sentence_starts), np.repeat([3, 50], 4)
    for epoch in range(3):
        drawn = batches._make_plan(0, epoch).sequences
        assert (drawn.a_starts[-8:] == corpus.sentence_starts[alone]).all()
        assert (drawn.a_lengths[-8:] == lengths[alone]).all()
        assert not drawn.b_lengths[-8:].any()
        assert drawn.a_starts[-9] > corpus.sentence_starts[50]  # the text's own end


def test_half_a_weight_is_drawn_anew_in_each_epoch():
    corpus = marked_sentences(3)
    batches = batches_of(corpus, sentence_weights={"red": 0.5})
    start = corpus.sentence_starts[3]
    ends = [batches._make_plan(0, epoch).sequences.a_starts[-1] for epoch in range(40)]
    assert 8 < sum(end == start for end in ends) < 32


def test_of_several_words_the_highest_weight_counts():
    corpus = marked_sentences(3)
    weights = {"red": 2.5, "the": 1.0, "a": 1.0}
    found = sentence_weights(corpus, weights, KINDS.ids)
    begins = corpus.tokens[corpus.sentence_starts[:-1]]
    articles = [samples.VOCABULARY.index(word) for word in ("the", "a")]
    assert found[3] == 2.5
    assert (np.delete(found, 3) == np.isin(np.delete(begins, 3), articles)).all()
    with pytest.raises(TrainingError, match=r"not one piece.*Received: cats"):
        sentence_weights(corpus, {"cats": 2.0}, KINDS.ids)


def test_sentences_held_out_or_too_long_are_never_read_alone():
    corpus = marked_sentences(3, 50)
    lengths = np.diff(corpus.sentence_starts)
    shorter, longer = sorted([3, 50], key=lambda place: lengths[place])
    assert lengths[shorter] < lengths[longer]
    most = int(lengths[shorter])
    asked = {"sentence_weights": {"red": 4.0}, "sentence_max_tokens": most}
    (found, *_) = batches_of(corpus, **asked).sentence_weights
    assert np.flatnonzero(found).tolist() == [shorter]
    corpus = marked_sentences(3)
    owner = np.searchsorted(corpus.document_starts, 3, "right") - 1
    held_out = np.arange(corpus.num_documents) == owner
    corpus = dataclasses.replace(corpus, is_held_out=held_out)
    assert not sentence_weights(corpus, {"red": 9.0}, KINDS.ids).any()


def test_a_phase_may_weigh_sentences_in_its_own_way():
    corpus = marked_sentences(3, 50)
    raw = samples.settings(corpus={"sentence_weights": {"red": 1.0}}).to_dict()
    raw["phases"][1]["sentence_weights"] = {"horse": 2.0}
    asked = PretrainSettings.from_dict(raw)
    first, second = Batches(corpus, KINDS, asked).sentence_weights
    assert (first == sentence_weights(corpus, {"red": 1.0}, KINDS.ids)).all()
    assert (second == sentence_weights(corpus, {"horse": 2.0}, KINDS.ids)).all()
