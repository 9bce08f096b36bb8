"""Words for masks: scores, fillings and readings equal predicting by hand."""

import dataclasses
import itertools

import numpy as np
import pytest
from scipy.special import log_softmax

from bertviz_core.errors import TextError
from bertviz_core.experiments.every_position import predict_every_position
from bertviz_core.experiments.joint_filling import MODES, best_pairs, fill_masks
from bertviz_core.experiments.lens import read_layers
from bertviz_core.experiments.masked_rows import is_word_allowed
from bertviz_core.experiments.scoring import (
    VARIANTS,
    score_known_words,
    score_minimal_pair,
    score_sentence,
    score_words,
)
from bertviz_core.experiments.whole_word import find_whole_words
from bertviz_core.explorer import Explorer
from bertviz_core.tokenizer import BertTokenizer
from tests.core import oracle
from tests.core.brute_force import ALLOWED, written
from tests.core.random_models import CONFIG, NAMES, VOCABULARY, WORDS
from tests.core.traced_models import traced

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
        (score, 1, written(base.input_ids, {2: e}), more),
        (score, 2, written(base.input_ids, {2: e, 3: more}), more),
        (score, 3, written(base.input_ids, {2: e, 3: more, 4: more}), s),
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


def test_the_named_mask_is_scored(explorer, words):
    (score,) = score_words(explorer, "the [MASK] [MASK] sat", ["mats"], 1)
    base = explorer.tokenize("the [MASK] [MASK] [MASK] sat")
    log_probs = words.log_probs(base.input_ids, base.token_type_ids, 3)
    assert score.log_probs[0] == pytest.approx(
        log_probs[VOCABULARY.index("mat")], abs=1e-5
    )
    with pytest.raises(ValueError, match=r"mask_index.*: 2"):
        score_words(explorer, "the [MASK] [MASK] sat", ["mats"], 2)


def test_no_mask_is_filled_with_what_is_no_word(explorer):
    names = {"x": "", "y": "[unused7]", "z": "[z]"}  # "" is a blank line of the file
    pieces = tuple(names.get(piece, piece) for piece in VOCABULARY)
    loaded = dataclasses.replace(explorer.loaded, tokenizer=BertTokenizer(pieces))
    allowed = np.flatnonzero(is_word_allowed(Explorer(loaded)))
    assert [pieces[index] for index in allowed] == [*WORDS, "##y", "[z]"]


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
        hide = dict.fromkeys(hidden_by_hand(tokenized, position, variant), HIDDEN)
        ids = written(tokenized.input_ids, hide)
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


def test_a_mask_stays_and_is_not_scored(explorer):
    score = score_sentence(explorer, "the [MASK] sat")
    assert [score.tokenized.tokens[p] for p in score.positions] == ["the", "sat"]
    with pytest.raises(TextError, match="only masks"):
        score_sentence(explorer, "[MASK] [MASK]")
    with pytest.raises(ValueError, match="sideways"):
        score_sentence(explorer, "the cat", variant="sideways")


def test_a_minimal_pair_stands_side_by_side(explorer):
    texts = "the cats sat on a mat", "the cat on a red mat"
    found = score_minimal_pair(explorer, *texts)
    # The pieces "the cat ##s sat on a mat" beside "the cat on a [UNK] mat".
    pairs = [[0, 0], [1, 1], [2, -1], [3, -1], [4, 2], [5, 3], [-1, 4], [6, 5]]
    assert found.aligned.tolist() == pairs
    alone = score_sentence(explorer, texts[1], variant="within_word")
    assert found.second.log_prob == pytest.approx(alone.log_prob)
    assert found.difference == pytest.approx(found.first.log_prob - alone.log_prob)


def test_words_that_cannot_be_scored_are_left_out(explorer):
    text, words = "the [MASK] sat [MASK]", ("cat", "[MASK]", "dog", "e" * 9, "mats")
    scores = score_known_words(explorer, text, words, 1)
    assert [score.word for score in scores] == ["cat", "mats"]
    expected = score_words(explorer, text, ["cat", "mats"], 1)
    assert [one.log_prob for one in scores] == [one.log_prob for one in expected]
    assert score_known_words(explorer, text, ("dog",), 1) == ()


THREE = "the [MASK] sat [MASK] a [MASK] ."
TWO = "[MASK] cat [MASK] on ."


def best_allowed(log_probs):
    best = max(ALLOWED, key=lambda index: log_probs[index])
    return best, log_probs[best]


def fill_by_hand(words, tokenized, mode):
    """(position, id, log-probability) of each step, one text at a time."""
    ids, left = tokenized.input_ids, list(tokenized.mask_positions)
    steps = []
    while left:
        seen = tokenized.input_ids if mode == "independent" else ids
        found = {
            p: best_allowed(words.log_probs(seen, tokenized.token_type_ids, p))
            for p in left
        }
        if mode == "most_confident_first":
            position = max(left, key=lambda p: found[p][1])
        else:
            position = left[0]
        steps.append((position, *found[position]))
        ids = written(ids, {position: found[position][0]})
        left.remove(position)
    return steps, ids


@pytest.mark.parametrize("mode", MODES)
def test_each_mode_equals_filling_by_hand(explorer, words, mode):
    filling = fill_masks(explorer, THREE, mode)
    expected, ids = fill_by_hand(words, filling.tokenized, mode)
    for step, (position, index, log_prob) in zip(filling.steps, expected, strict=True):
        assert (step.position, step.token) == (position, VOCABULARY[index])
        assert np.exp(step.log_prob) == pytest.approx(np.exp(log_prob), abs=1e-6)
    np.testing.assert_array_equal(filling.steps[-1].input_ids, ids)
    assert filling.log_prob == pytest.approx(sum(e[2] for e in expected), abs=1e-4)


def test_a_step_knows_the_confidence_of_open_masks_only(explorer):
    steps = fill_masks(explorer, THREE, "most_confident_first", top_k=99).steps
    allowed = {VOCABULARY[index] for index in ALLOWED}  # no special token
    assert len(steps[0].top_tokens) == len(ALLOWED)
    assert set(steps[0].top_tokens) == allowed
    assert (np.diff(steps[0].top_log_probs) <= 0).all()
    for number, step in enumerate(steps):
        filled = [earlier.mask_index for earlier in steps[:number]]
        assert np.flatnonzero(np.isnan(step.confidences)).tolist() == sorted(filled)
        assert np.nanargmax(step.confidences) == step.mask_index
        assert np.exp(step.log_prob) == pytest.approx(np.nanmax(step.confidences))


def brute_pairs(words, tokenized, first, second):
    """log p(a) + log p(b | a) of all pairs, by one pass for each a."""
    ids, types = tokenized.input_ids, tokenized.token_type_ids
    alone = words.log_probs(ids, types, first)
    pairs = {}
    for a in ALLOWED:
        given = words.log_probs(written(ids, {first: a}), types, second)
        pairs |= {(a, b): alone[a] + given[b] for b in ALLOWED}
    return pairs


@pytest.mark.parametrize(
    ("top_k", "num_pairs"), [(2, 3), (6, 99), (len(ALLOWED), 7), (len(ALLOWED), 9999)]
)
def test_pairs_equal_brute_force_and_none_above_the_bound_is_missing(
    explorer, words, top_k, num_pairs
):
    found = best_pairs(explorer, TWO, top_k=top_k, num_pairs=num_pairs)
    shown = [tuple(map(VOCABULARY.index, pair)) for pair in found.tokens]
    text = explorer.tokenize(TWO)
    p, q = text.mask_positions.tolist()
    first, second = (
        words.log_probs(text.input_ids, text.token_type_ids, place) for place in (p, q)
    )
    expected = [first[a] + second[b] for a, b in shown]
    np.testing.assert_allclose(found.log_prob_independent, expected, atol=1e-5)
    mean = found.log_prob_forward + found.log_prob_backward
    assert (np.diff(mean) <= 0).all()
    forward = brute_pairs(words, text, p, q)
    turned = brute_pairs(words, text, q, p)
    backward = {(a, b): value for (b, a), value in turned.items()}
    for values, log_probs, bound in (
        (forward, found.log_prob_forward, found.bound_forward),
        (backward, found.log_prob_backward, found.bound_backward),
    ):
        expected = np.exp([values[pair] for pair in shown])
        np.testing.assert_allclose(np.exp(log_probs), expected, rtol=0, atol=1e-6)
        missing = [v for pair, v in values.items() if pair not in shown]
        assert max(missing, default=-np.inf) <= bound + 1e-5
        if top_k == len(ALLOWED):
            best = sorted(values, key=values.__getitem__, reverse=True)[:num_pairs]
            assert set(best) <= set(shown)
            assert bound == pytest.approx(max(missing, default=-np.inf), abs=1e-5)


def test_pairs_of_a_sure_mask_and_one_that_may_be_anything_have_a_bound(
    explorer, monkeypatch
):
    """The first mask is peaked, the second flat: many pairs are equally good."""
    first, second = explorer.tokenize(TWO).mask_positions
    num_words, sure = explorer.config.vocab_size, VOCABULARY.index("mat")

    def peaked_then_flat(inputs, outputs):
        places = inputs["mlm_positions"] % inputs["input_ids"].shape[1]
        logits = np.zeros((len(places), num_words), "float32")
        logits[places == first, sure] = 9.0
        assert set(places) <= {first, second}
        return {"mlm_logits": logits}

    monkeypatch.setattr(explorer, "forward", peaked_then_flat)
    found = best_pairs(explorer, TWO, top_k=2, num_pairs=3)
    assert 3 <= len(found.tokens) < len(ALLOWED)
    likely = np.exp(9.0) / (np.exp(9.0) + num_words - 1) / num_words
    assert np.exp(found.bound_forward) == pytest.approx(likely)
    assert np.exp(found.bound_backward) == pytest.approx(1 / num_words)


@pytest.mark.parametrize(
    ("text", "run", "error", "said"),
    [
        (THREE, best_pairs, TextError, "Received: 3"),
        ("the cat", best_pairs, TextError, "no \\[MASK\\]"),
        ("the cat", lambda e, t: fill_masks(e, t, MODES[0]), TextError, "no \\[MASK"),
        (THREE, lambda e, t: fill_masks(e, t, "sideways"), ValueError, "sideways"),
    ],
)
def test_what_cannot_be_filled_is_refused(explorer, text, run, error, said):
    with pytest.raises(error, match=said):
        run(explorer, text)


TWO_WORDS = "the [MASK] sat [MASK]"
CHINESE = (*"红绿蓝，a。", "##红", "ab", "1")
BEGIN = ("x", "the", "cat", "sat", "on", "a", "mat", "e", "y", "z")
FOLLOW = ("##s", "##e", "##y")


def with_words(explorer, *words):
    """The same network under other names of its words."""
    rest = [token for token in VOCABULARY if token.startswith("[")]
    tokenizer = BertTokenizer([*rest, *words])
    loaded = dataclasses.replace(explorer.loaded, tokenizer=tokenizer)
    return type(explorer)(loaded)


def enumerated(explorer, pieces, join, mask_index=0):
    """(score, pieces) of every word, likeliest first, by scoring each."""
    words = list(itertools.product(*pieces))
    scores = score_words(
        explorer, TWO_WORDS, [join(word) for word in words], mask_index
    )
    found = [(score.log_prob, word) for score, word in zip(scores, words, strict=True)]
    return sorted(found, key=lambda pair: -pair[0])


@pytest.mark.parametrize("size", [1, 2, 3])
def test_chinese_words_equal_enumeration(explorer, size):
    chinese = with_words(explorer, *CHINESE)
    found = find_whole_words(chinese, TWO_WORDS, size, beam=99)
    expected = enumerated(chinese, ["红绿蓝"] * size, "".join)
    assert found.words == tuple("".join(word) for _, word in expected)
    np.testing.assert_allclose(found.log_prob, [e[0] for e in expected], atol=1e-5)
    assert found.log_probs.shape == (3**size, size)
    assert found.bound == -np.inf


@pytest.mark.parametrize(("size", "mask_index"), [(1, 0), (2, 1), (3, 0)])
def test_words_of_several_pieces_equal_enumeration(explorer, size, mask_index):
    found = find_whole_words(explorer, TWO_WORDS, size, "pieces", mask_index, beam=999)

    def join(word):
        return "".join(piece.removeprefix("##") for piece in word)

    pieces = [BEGIN, *[FOLLOW] * (size - 1)]
    expected = enumerated(explorer, pieces, join, mask_index)
    assert len(found.words) == len(BEGIN) * len(FOLLOW) ** (size - 1)
    np.testing.assert_allclose(found.log_prob, [e[0] for e in expected], atol=1e-5)
    np.testing.assert_allclose(found.log_probs.sum(axis=1), found.log_prob)
    assert found.tokens[0] == expected[0][1]
    assert found.words[0] == join(expected[0][1])


@pytest.mark.parametrize(("size", "beam"), [(1, 6), (2, 2), (3, 9)])
def test_nothing_above_the_bound_is_missing(explorer, size, beam):
    everything = find_whole_words(explorer, TWO_WORDS, size, "pieces", beam=999)
    narrow = find_whole_words(explorer, TWO_WORDS, size, "pieces", beam=beam)
    assert len(narrow.words) == beam
    assert (np.diff(narrow.log_prob) <= 0).all()
    scores = dict(zip(everything.words, everything.log_prob, strict=True))
    best_missing = max(scores[word] for word in scores.keys() - set(narrow.words))
    assert best_missing <= narrow.bound + 1e-5
    assert everything.bound == -np.inf
    if size == 1:
        assert narrow.bound == pytest.approx(everything.log_prob[beam], abs=1e-5)


def test_the_best_words_alone_know_that_the_others_are_missing(explorer):
    found = find_whole_words(explorer, TWO_WORDS, 2, "pieces", beam=999)
    few = found.best(4)
    assert few.words == found.words[:4]
    assert few.log_probs.shape == (4, 2)
    assert few.bound == found.log_prob[4]
    assert found.best(999).bound == -np.inf
    narrow = find_whole_words(explorer, TWO_WORDS, 2, "pieces", beam=6)
    assert narrow.best(6).bound == narrow.bound


def test_what_the_tokenizer_writes_otherwise_takes_no_words_place(explorer):
    capitals = [chr(ord("A") + index) for index in range(12)]
    folding = with_words(explorer, *capitals, *"defg", "##s")
    assert folding.tokenizer.lower_case
    everything = find_whole_words(folding, TWO_WORDS, 1, "pieces", beam=99)
    assert sorted(everything.words) == ["d", "e", "f", "g"]
    assert everything.bound == -np.inf
    few = find_whole_words(folding, TWO_WORDS, 1, "pieces", beam=3)
    assert few.words == everything.words[:3]
    assert few.bound == pytest.approx(everything.log_prob[3])


def test_what_cannot_be_found_is_refused(explorer):
    for words, kind in ((("a", "##b"), "characters"), (("红",), "pieces")):
        with pytest.raises(TextError, match="no word pieces to build"):
            find_whole_words(with_words(explorer, *words), TWO_WORDS, 2, kind)
    for wrong in ({"num_pieces": 0}, {"num_pieces": 9}, {"kind": "x"}, {"beam": 0}):
        with pytest.raises(ValueError, match="Received"):
            find_whole_words(explorer, TWO_WORDS, **({"num_pieces": 1} | wrong))
    with pytest.raises(TextError, match="13 tokens"):
        find_whole_words(explorer, TWO_WORDS, 8, "pieces")


HALF_SEEN = "the [MASK] sat"


@pytest.mark.parametrize("masked", [False, True])
def test_every_place_equals_one_text_at_a_time(explorer, words, masked):
    found = predict_every_position(explorer, HALF_SEEN, masked, top_k=4)
    text = found.tokenized
    expected_places = [
        p for p, token in enumerate(text.tokens) if token not in ("[CLS]", "[SEP]")
    ]
    assert found.positions.tolist() == expected_places
    for row, position in enumerate(expected_places):
        ids = written(text.input_ids, {position: HIDDEN} if masked else {})
        log_probs = words.log_probs(ids, text.token_type_ids, position)
        order = sorted(range(len(log_probs)), key=lambda i: -log_probs[i])
        assert found.top_tokens[row] == tuple(NAMES[i] for i in order[:4])
        np.testing.assert_allclose(
            found.top_log_probs[row], log_probs[order[:4]], atol=1e-5
        )
        entropy = -sum(np.exp(v) * v for v in log_probs) / np.log(2)
        assert found.entropy_bits[row] == pytest.approx(entropy, abs=1e-5)
        true = text.input_ids[position]
        if true == HIDDEN:
            assert np.isnan(found.surprisal_bits[row])
            assert found.ranks[row] == 0
        else:
            bits = -log_probs[true] / np.log(2)
            assert found.surprisal_bits[row] == pytest.approx(bits, abs=1e-5)
            assert found.ranks[row] == order.index(true) + 1


def test_more_candidates_than_words_give_all_words_by_name(explorer):
    found = predict_every_position(explorer, HALF_SEEN, top_k=99)
    assert found.top_log_probs.shape == (3, CONFIG.vocab_size)
    np.testing.assert_allclose(np.exp(found.top_log_probs).sum(axis=1), 1)
    assert sorted(found.top_tokens[0]) == sorted(NAMES)


ONE_MASK = "the [MASK] sat ."


@pytest.mark.parametrize("pair", [None, "a mat"])
def test_every_layer_equals_the_oracles_head(any_norm, pair):
    case = traced(any_norm, ONE_MASK, pair)
    asked = [VOCABULARY.index("cat"), VOCABULARY.index("红")]
    lens = read_layers(case.explorer, ONE_MASK, pair, asked, top_k=4)
    states = [case.last_norm(x.astype("float64")) for x in case.trace.hidden_states]
    assert lens.top_ids.shape == (len(states), len(lens.positions), 4)
    assert len(states) == CONFIG.num_hidden_layers + 1
    for at in np.ndindex(lens.top_ids.shape[:2]):
        vector = states[at[0]][lens.positions[at[1]]]
        log_probs = log_softmax(oracle.mlm(case.weights, case.config, vector))
        order = np.argsort(-log_probs)
        best = order[:4]
        assert lens.top_ids[at].tolist() == best.tolist()
        assert lens.top_tokens[at[0]][at[1]] == tuple(NAMES[i] for i in best)
        np.testing.assert_allclose(lens.top_log_probs[at], log_probs[best], atol=1e-5)
        entropy = -(np.exp(log_probs) * log_probs).sum() / np.log(2)
        assert lens.entropy_bits[at] == pytest.approx(entropy, abs=1e-4)
        for row, index in enumerate(asked):
            found = lens.word_log_probs[row, *at]
            assert found == pytest.approx(log_probs[index], abs=1e-5)
            rank = order.tolist().index(index) + 1
            assert lens.word_ranks[row, *at] == rank


def test_only_the_asked_places_are_read(explorer):
    lens = read_layers(explorer, ONE_MASK, positions=[4, 0])
    whole = read_layers(explorer, ONE_MASK, positions=range(6))
    np.testing.assert_array_equal(lens.top_ids, whole.top_ids[:, [4, 0]])
    nothing = read_layers(explorer, ONE_MASK)
    assert nothing.positions.tolist() == [1, 2, 3, 4]
    assert nothing.word_ranks.shape == (0, CONFIG.num_hidden_layers + 1, 4)


@pytest.mark.parametrize(
    "wrong",
    [{"positions": [6]}, {"positions": [-1]}, {"word_ids": [CONFIG.vocab_size]}],
)
def test_places_and_words_that_do_not_exist_are_refused(explorer, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        read_layers(explorer, ONE_MASK, **wrong)
