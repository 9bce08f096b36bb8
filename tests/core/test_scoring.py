"""Scores equal hiding and predicting by hand, one text at a time."""

import numpy as np
import pytest

from bertviz_core.errors import CheckpointError, TextError
from bertviz_core.experiments import masked_rows
from bertviz_core.experiments.scoring import (
    VARIANTS,
    score_known_words,
    score_minimal_pair,
    score_sentence,
    score_words,
)
from tests.core.brute_force import written
from tests.core.cause_models import explorer_named
from tests.core.random_models import VOCABULARY

HIDDEN = VOCABULARY.index("[MASK]")
SENTENCE = "the cats sat e红 ."  # cat ##s; e 红


def rank(log_probs, index):
    better = [i for i, v in enumerate(log_probs) if v > log_probs[index]]
    return len(better) + 1


def test_a_word_of_several_pieces_is_read_from_left_to_right(explorer, words):
    text = "the [MASK] sat [MASK]"
    score, one = score_words(explorer, text, ["eees", "红"], mask_index=0)
    assert score.tokens == ("e", "##e", "##e", "##s")
    e, more, s, red = (VOCABULARY.index(piece) for piece in ("e", "##e", "##s", "红"))
    base = explorer.tokenize("the [MASK] [MASK] [MASK] [MASK] sat [MASK]")
    steps = [
        (score, 0, base.input_ids, e),
        (score, 1, written(base.input_ids, p2=e), more),
        (score, 2, written(base.input_ids, p2=e, p3=more), more),
        (score, 3, written(base.input_ids, p2=e, p3=more, p4=more), s),
        (one, 0, explorer.tokenize(text).input_ids, red),
    ]
    for found, piece, ids, index in steps:
        log_probs = words.log_probs(ids, 0 * ids, 2 + piece)
        assert found.log_probs[piece] == pytest.approx(log_probs[index], abs=1e-5)
        assert found.ranks[piece] == rank(log_probs, index)
    assert score.log_prob == pytest.approx(score.log_probs.sum())
    assert score_words(explorer, text, [], mask_index=0) == ()


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


def test_a_long_sentence_runs_in_chunks_with_the_same_result(explorer, monkeypatch):
    whole, seen = score_sentence(explorer, SENTENCE), []
    monkeypatch.setattr(masked_rows, "TOKENS_A_PASS", 20)
    chunked = score_sentence(
        explorer, SENTENCE, progress=lambda fraction, _: seen.append(fraction)
    )
    np.testing.assert_allclose(chunked.log_probs, whole.log_probs, atol=1e-5)
    assert seen == pytest.approx([2 / 7, 4 / 7, 6 / 7, 1])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        *(
            (["cat", word], "no word pieces")
            for word in ("dog", " ", "", "[MASK]", "[UNK]")
        ),
        (["cat dog"], "no word pieces"),
        (["eeeeeeeees"], "13 tokens"),
    ],
)
def test_a_word_that_cannot_be_read_is_refused(explorer, words, said):
    with pytest.raises(TextError, match=said):
        score_words(explorer, "the [MASK]", words)
    with pytest.raises(CheckpointError, match="MLM"):
        score_words(explorer_named("headless"), "the [MASK]", ["cat"])


def test_a_mask_stays_and_is_not_scored(explorer):
    score = score_sentence(explorer, "the [MASK] sat")
    assert [score.tokenized.tokens[p] for p in score.positions] == ["the", "sat"]
    with pytest.raises(TextError, match="only masks"):
        score_sentence(explorer, "[MASK] [MASK]")
    with pytest.raises(ValueError, match="sideways"):
        score_sentence(explorer, "the cat", variant="sideways")


def test_a_minimal_pair_stands_side_by_side(explorer):
    seen = []
    found = score_minimal_pair(
        explorer,
        "the cats sat on a mat",
        "the cat on a red mat",
        progress=lambda fraction, _: seen.append(fraction),
    )
    # The pieces "the cat ##s sat on a mat" beside "the cat on a [UNK] mat".
    pairs = [[0, 0], [1, 1], [2, -1], [3, -1], [4, 2], [5, 3], [-1, 4], [6, 5]]
    assert found.aligned.tolist() == pairs
    alone = score_sentence(explorer, "the cat on a red mat", variant="within_word")
    assert found.second.log_prob == pytest.approx(alone.log_prob)
    assert found.difference == pytest.approx(found.first.log_prob - alone.log_prob)
    assert seen == [0.5, 1.0]


def test_words_that_cannot_be_scored_are_left_out(explorer):
    text, words = "the [MASK] sat [MASK]", ("cat", "[MASK]", "dog", "e" * 9, "mats")
    scores = score_known_words(explorer, text, words, 1)
    assert [score.word for score in scores] == ["cat", "mats"]
    expected = score_words(explorer, text, ["cat", "mats"], 1)
    assert [one.log_prob for one in scores] == [one.log_prob for one in expected]
    assert score_known_words(explorer, text, ("dog",), 1) == ()
