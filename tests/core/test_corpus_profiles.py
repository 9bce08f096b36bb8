import dataclasses

import numpy as np
import pytest

from bertviz_core.analysis.head_distances import divergence_sums
from bertviz_core.analysis.head_profiles import MEASURES, profile_sums
from bertviz_core.errors import TextError
from bertviz_core.experiments import corpus_profiles
from bertviz_core.experiments.corpus_profiles import corpus_profile
from bertviz_core.sentences import Sentence
from tests.core.random_models import CONFIG, agree, explorer_of, random_model

SMALL = dataclasses.replace(CONFIG, num_hidden_layers=2)
SENTENCES = (
    Sentence("the cat sat on a mat."),
    Sentence("the cat", "sat on the mats"),
    Sentence("a mat"),
    Sentence("on a mat the cat sat"),
    Sentence("the mat", "a cat"),
    Sentence("cat!"),
)


def one_by_one(explorer, sentences):
    sums, divergences = None, None
    for sentence in sentences:
        trace = explorer.trace(sentence.text, sentence.pair, cut=True)
        text = trace.tokenized
        edges = explorer.forward.visible(text.num_tokens)
        one = profile_sums(
            trace.attention_probs,
            text.input_ids,
            text.token_type_ids,
            text.is_special,
            text.is_word,
            edges,
        )
        two = divergence_sums(trace.attention_probs)
        sums = one if sums is None else sums + one
        divergences = two if divergences is None else divergences + two
    return sums.profile(), divergences.distances()


@pytest.mark.parametrize(
    "changes", [{"pre_norm": True}, {"sparse_window": 1}], ids=["pre-norm", "sparse"]
)
def test_texts_read_together_give_what_each_gives_alone(changes, monkeypatch):
    monkeypatch.setattr(corpus_profiles, "_TOKENS_A_PASS", 16)
    explorer = explorer_of(random_model(dataclasses.replace(SMALL, **changes))[0])
    result = corpus_profile(explorer, sentences=SENTENCES)
    profile, distances = one_by_one(explorer, SENTENCES)
    agree(result.profile.values, profile.values)
    agree(result.profile.baselines, profile.baselines, 1e-12)
    np.testing.assert_array_equal(result.profile.num_rows, profile.num_rows)
    assert result.profile.num_texts == len(SENTENCES)
    agree(result.distances, distances, 1e-4)


def test_the_bundled_sentences_are_all_measured(explorer):
    told = []
    result = corpus_profile(explorer, "zh", progress=lambda *one: told.append(one))
    assert result.profile.num_texts == len(told) >= 110
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[0][0] == 0
    assert told[-1][0] < 1
    shape = (CONFIG.num_hidden_layers, CONFIG.num_attention_heads)
    assert result.profile.values.shape == (len(MEASURES), *shape)
    assert result.distances.shape == shape * 2
    assert (result.model_id, result.language) == ("tiny", "zh")
    assert len(result.nearest(1, 2, 4)) == 4


def test_a_model_of_one_segment_reads_a_pair_as_two_texts():
    one_segment = dataclasses.replace(SMALL, type_vocab_size=1)
    explorer = explorer_of(random_model(one_segment)[0])
    result = corpus_profile(explorer, sentences=SENTENCES)
    assert result.profile.num_texts == len(SENTENCES) + 2
    assert result.profile.num_rows[MEASURES.index("to_other_segment")] == 0


def test_no_sentence_is_refused(explorer):
    with pytest.raises(TextError, match="text is empty"):
        corpus_profile(explorer, sentences=())
