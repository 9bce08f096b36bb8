"""Scores equal hiding and predicting by hand, one text at a time."""

import numpy as np
import pytest

from bertviz_core.errors import CheckpointError, TextError
from bertviz_core.experiments import masked_rows
from bertviz_core.experiments.scoring import (
    VARIANTS,
    score_minimal_pair,
    score_sentence,
    score_words,
)
from tests.core.brute_force import OracleWords, written
from tests.core.random_models import VOCABULARY, explorer_of, random_model

HIDDEN = VOCABULARY.index("[MASK]")
SENTENCE = "the cats sat e红 ."  # cat ##s; e 红


@pytest.fixture(scope="module")
def explorer(any_norm_explorer):
    return any_norm_explorer


@pytest.fixture(scope="module")
def words(any_norm_model):
    return OracleWords(any_norm_model)


def rank(log_probs, index):
    better = [i for i, v in enumerate(log_probs) if v > log_probs[index]]
    return len(better) + 1


def test_a_word_of_one_piece_gets_its_entry_of_the_softmax(explorer):
    text = "the [MASK] sat on a mat"
    predictions = explorer.predict_masks(text)
    logits = predictions.logits[0].astype("float64")
    expected = logits - np.log(np.exp(logits).sum())
    names = ["cat", "红", "!", "e", "##s"]
    for score in score_words(explorer, text, names):
        index = VOCABULARY.index(score.word)
        assert score.tokens == (score.word,)
        assert score.log_probs == pytest.approx([expected[index]], abs=1e-5)
        assert np.exp(score.log_prob) == pytest.approx(
            np.exp(expected[index]), abs=1e-6
        )
        assert score.ranks.tolist() == [rank(expected, index)]


def test_a_word_of_several_pieces_is_read_from_left_to_right(explorer, words):
    (score,) = score_words(explorer, "the [MASK] sat [MASK]", ["eees"], mask_index=0)
    assert score.tokens == ("e", "##e", "##e", "##s")
    e, more, s = (VOCABULARY.index(piece) for piece in ("e", "##e", "##s"))
    base = explorer.tokenize("the [MASK] [MASK] [MASK] [MASK] sat [MASK]")
    texts = [
        (base.input_ids, 2, e),
        (written(base.input_ids, p2=e), 3, more),
        (written(base.input_ids, p2=e, p3=more), 4, more),
        (written(base.input_ids, p2=e, p3=more, p4=more), 5, s),
    ]
    for piece, (ids, position, index) in enumerate(texts):
        log_probs = words.log_probs(ids, base.token_type_ids, position)
        assert score.log_probs[piece] == pytest.approx(log_probs[index], abs=1e-5)
        assert score.ranks[piece] == rank(log_probs, index)
    assert score.log_prob == pytest.approx(score.log_probs.sum())


def test_words_of_several_lengths_do_not_disturb_each_other(explorer):
    names = ["eees", "cat", "mats", "红"]
    together = score_words(explorer, "[MASK] sat", names)
    assert [score.word for score in together] == names
    for score in together:
        (alone,) = score_words(explorer, "[MASK] sat", [score.word])
        np.testing.assert_allclose(score.log_probs, alone.log_probs, atol=1e-5)


def test_words_that_begin_alike_are_read_once(explorer, monkeypatch):
    sizes = []
    forward = explorer.forward

    def counted(inputs, outputs):
        sizes.append(len(inputs["input_ids"]))
        return forward(inputs, outputs)

    monkeypatch.setattr(explorer, "forward", counted)
    names = ["cat", "mat", "cats", "mats", "cate", "!", "cat"]
    scores = score_words(explorer, "the [MASK] sat", names)
    # One piece: 1 row; two pieces: 1 first row, and one after "cat" and "mat" each.
    assert sizes == [4]
    monkeypatch.undo()
    for name, score in zip(names, scores, strict=True):
        (alone,) = score_words(explorer, "the [MASK] sat", [name])
        np.testing.assert_allclose(score.log_probs, alone.log_probs, atol=1e-5)
        assert score.ranks.tolist() == alone.ranks.tolist()


def test_the_named_mask_of_the_named_text_is_scored(explorer, words):
    (score,) = score_words(explorer, "the [MASK]", ["mats"], 1, pair="[MASK] sat")
    base = explorer.tokenize("the [MASK]", "[MASK] [MASK] sat")
    log_probs = words.log_probs(base.input_ids, base.token_type_ids, 4)
    assert score.log_probs[0] == pytest.approx(
        log_probs[VOCABULARY.index("mat")], abs=1e-5
    )
    with pytest.raises(ValueError, match="mask_index=2"):
        score_words(explorer, "the [MASK]", ["mats"], 2, pair="[MASK] sat")


@pytest.mark.parametrize("word", ["dog", " ", "", "[MASK]", "cat dog", "[UNK]"])
def test_a_word_that_the_vocabulary_cannot_write_is_refused(explorer, word):
    with pytest.raises(TextError, match="no pieces"):
        score_words(explorer, "the [MASK]", ["cat", word])


def test_no_words_have_no_scores(explorer):
    assert score_words(explorer, "the [MASK]", []) == ()


def test_a_word_that_makes_the_text_too_long_is_refused(explorer):
    with pytest.raises(TextError, match="12 tokens"):
        score_words(explorer, "the [MASK] sat on a mat", ["eeees"])


def hidden_by_hand(tokenized, position, variant):
    """Places to mask: a word of this text is one plus its `##` pieces."""
    last = position
    if variant == "within_word":
        while tokenized.tokens[last + 1].startswith("##"):
            last += 1
    return range(position, last + 1)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("pair", [None, "mats on"])
def test_a_sentence_score_equals_hiding_token_by_token(explorer, words, variant, pair):
    text = SENTENCE if pair is None else "the mats"
    score = score_sentence(explorer, text, pair, variant)
    tokenized = score.tokenized
    expected, places = [], []
    for position, token in enumerate(tokenized.tokens):
        if token in ("[CLS]", "[SEP]"):
            continue
        hide = {f"p{p}": HIDDEN for p in hidden_by_hand(tokenized, position, variant)}
        ids = written(tokenized.input_ids, **hide)
        log_probs = words.log_probs(ids, tokenized.token_type_ids, position)
        index = tokenized.input_ids[position]
        expected.append((log_probs[index], rank(log_probs, index)))
        places.append(position)
    assert score.positions.tolist() == places
    np.testing.assert_allclose(score.log_probs, [e[0] for e in expected], atol=1e-5)
    assert score.ranks.tolist() == [e[1] for e in expected]
    total = sum(e[0] for e in expected)
    assert score.log_prob == pytest.approx(total, abs=1e-4)
    assert score.perplexity == pytest.approx(np.exp(-total / len(places)), rel=1e-4)


def test_the_variants_differ_only_where_a_later_piece_gives_a_word_away(explorer):
    naive, within = (score_sentence(explorer, SENTENCE, variant=v) for v in VARIANTS)
    different = np.flatnonzero(np.abs(naive.log_probs - within.log_probs) > 1e-5)
    assert [naive.tokenized.tokens[naive.positions[i]] for i in different] == ["cat"]


def test_a_long_sentence_runs_in_chunks_with_the_same_result(explorer, monkeypatch):
    whole, seen = score_sentence(explorer, SENTENCE), []
    monkeypatch.setattr(masked_rows, "TOKENS_A_PASS", 20)
    chunked = score_sentence(
        explorer, SENTENCE, progress=lambda fraction, _: seen.append(fraction)
    )
    np.testing.assert_allclose(chunked.log_probs, whole.log_probs, atol=1e-5)
    assert seen == pytest.approx([2 / 7, 4 / 7, 6 / 7, 1])

    def cancel(*_):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        score_sentence(explorer, SENTENCE, progress=cancel)


def test_a_mask_stays_and_is_not_scored(explorer):
    score = score_sentence(explorer, "the [MASK] sat")
    assert [score.tokenized.tokens[p] for p in score.positions] == ["the", "sat"]
    with pytest.raises(TextError, match="nothing but masks"):
        score_sentence(explorer, "[MASK] [MASK]")


def test_a_minimal_pair_stands_side_by_side(explorer):
    seen = []
    found = score_minimal_pair(
        explorer,
        "the cats sat on a mat",
        "the cat on a red mat",
        progress=lambda fraction, _: seen.append(fraction),
    )
    one, other = (
        [score.tokenized.tokens[p] for p in score.positions]
        for score in (found.first, found.second)
    )
    rows = [
        (one[a] if a >= 0 else "", other[b] if b >= 0 else "")
        for a, b in found.aligned.tolist()
    ]
    assert rows == [
        ("the", "the"),
        ("cat", "cat"),
        ("##s", ""),
        ("sat", ""),
        ("on", "on"),
        ("a", "a"),
        ("", "[UNK]"),
        ("mat", "mat"),
    ]
    alone = score_sentence(explorer, "the cat on a red mat", variant="within_word")
    assert found.second.log_prob == pytest.approx(alone.log_prob)
    assert found.difference == pytest.approx(found.first.log_prob - alone.log_prob)
    assert seen == [0.5, 1.0]


def test_an_unknown_variant_is_a_mistake_of_the_caller(explorer):
    with pytest.raises(ValueError, match="sideways"):
        score_sentence(explorer, "the cat", variant="sideways")


def test_a_model_without_the_head_is_refused():
    explorer = explorer_of(random_model(heads=("pooler",))[0])
    for run in (score_sentence, lambda e, t: score_words(e, t, ["cat"])):
        with pytest.raises(CheckpointError, match="MLM"):
            run(explorer, "the [MASK]")
