"""From documents to batches: nothing lost, nothing mixed up, nothing twice the same."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from bertviz_core.errors import TrainingError
from bertviz_core.pretrain import corpus as corpora
from bertviz_core.pretrain.batches import Batches, assemble
from bertviz_core.pretrain.chunks import IS_NEXT, IS_RANDOM, draw_sequences
from bertviz_core.pretrain.data_settings import MaskingSettings, SequenceSettings
from bertviz_core.pretrain.epochs import plan_epoch
from bertviz_core.pretrain.masking import (
    SPAN_SHARES,
    TokenKinds,
    choose_positions,
    draw_weights,
    hide,
    num_predictions,
)
from bertviz_core.pretrain.packing import pack_rows
from bertviz_core.trace import SPECIAL_TOKENS
from tests.core import pretrain_samples as samples

MAX_TOKENS = 24
KINDS = samples.kinds()


@pytest.fixture(scope="module")
def corpus():
    return samples.corpus(150)


def drawn(corpus, seed=0, times=None, **changes):
    times = np.ones(corpus.num_documents, "int64") if times is None else times
    asked = SequenceSettings(**changes)
    rng = np.random.default_rng(seed)
    return draw_sequences(corpus, times, MAX_TOKENS, asked, rng)


def document_of(corpus, places):
    bounds = corpus.sentence_starts[corpus.document_starts]
    return np.searchsorted(bounds, places, "right") - 1


def covered(corpus, starts, lengths):
    seen = np.zeros(len(corpus.tokens), int)
    for start, length in zip(starts, lengths, strict=True):
        seen[start : start + length] += 1
    return seen


def test_every_word_is_read_and_no_sequence_is_too_long(corpus):
    sequences = drawn(corpus, join_rate=0.3)
    assert sequences.lengths.max() == MAX_TOKENS
    starts = np.concatenate([sequences.a_starts, sequences.b_starts])
    lengths = np.concatenate([sequences.a_lengths, sequences.b_lengths])
    # The two Bs that go from the shortest to the longest may lose a few words.
    assert (covered(corpus, starts, lengths) == 0).sum() < 2 * MAX_TOKENS


def test_every_sequence_begins_with_a_sentence(corpus):
    sequences = drawn(corpus, short_rate=0.4)
    starts = np.concatenate(
        [sequences.a_starts, sequences.b_starts[sequences.b_lengths > 0]]
    )
    assert np.isin(starts, corpus.sentence_starts).all()


def test_a_short_sequence_ends_with_a_sentence(corpus):
    sequences = drawn(corpus, pair_rate=0.0, short_rate=1.0)
    ends = sequences.a_starts + sequences.a_lengths
    is_cut = ~np.isin(ends, corpus.sentence_starts)
    assert (sequences.lengths[is_cut] == MAX_TOKENS).all()
    assert is_cut.mean() < 0.3
    assert (sequences.lengths < MAX_TOKENS // 2).mean() > 0.1


@pytest.mark.parametrize("rate", [0.0, 0.4, 1.0])
def test_a_share_of_the_sequences_is_one_sentence(corpus, rate):
    sequences = drawn(corpus, pair_rate=0.0, short_rate=0.0, sentence_rate=rate)
    ends = sequences.a_starts + sequences.a_lengths
    places = np.searchsorted(corpus.sentence_starts, sequences.a_starts, "right")
    is_sentence = ends <= corpus.sentence_starts[places]
    # One is a whole row, or the last of its document, all the same.
    could_be_more = corpus.sentence_starts[places] < ends.max()
    assert abs(is_sentence[could_be_more].mean() - rate) < 0.15
    if rate == 1:
        assert is_sentence.all()


def test_a_sentence_longer_than_a_row_is_read_on_in_the_next_one():
    long = ["the " + "old " * 60 + "cat.", "a dog."]
    corpus = samples.encode_documents(iter([(0, long), (0, long)]), samples.tokenizer())
    sequences = drawn(corpus, pair_rate=0.0, short_rate=0.0, join_rate=0.0)
    seen = covered(corpus, sequences.a_starts, sequences.a_lengths)
    assert seen.min() == 1
    assert sequences.a_lengths[:3].tolist() == [22, 22, 22]


def test_a_next_sentence_follows_and_a_random_one_is_of_another_document(corpus):
    sequences = drawn(corpus, pair_rate=1.0, join_rate=0.2)
    asked = sequences.nsp_weights > 0
    follows = sequences.a_starts + sequences.a_lengths == sequences.b_starts
    a_ends = sequences.a_starts + sequences.a_lengths - 1
    same = document_of(corpus, a_ends) == document_of(corpus, sequences.b_starts)
    is_next = asked & (sequences.nsp_labels == IS_NEXT)
    is_random = asked & (sequences.nsp_labels == IS_RANDOM)
    assert is_next.sum() > 50
    assert (follows & same)[is_next].all()
    assert not same[is_random].any()
    share = is_random.sum() / asked.sum()
    assert 0.4 < share < 0.6


@pytest.mark.parametrize("short_rate", [0.0, 0.4])
def test_neither_length_nor_end_tells_a_random_next(short_rate):
    corpus = samples.corpus(3000, most_sentences=12)
    sequences = drawn(corpus, pair_rate=1.0, short_rate=short_rate)
    asked = sequences.nsp_weights > 0
    ends = sequences.b_starts + sequences.b_lengths
    is_cut = ~np.isin(ends, corpus.sentence_starts)
    num_right = 0
    kinds = sequences.lengths * 2 + is_cut
    for kind in np.unique(kinds[asked]):
        labels = sequences.nsp_labels[asked & (kinds == kind)]
        num_right += max((labels == IS_NEXT).sum(), (labels == IS_RANDOM).sum())
    assert asked.sum() > 2000
    assert num_right / asked.sum() < 0.55
    pairs = sequences.b_lengths > 0
    assert asked.sum() > 0.9 * pairs.sum()


def test_a_random_sentence_is_of_the_same_kind_of_text(corpus):
    files = (np.arange(corpus.num_documents) % 2).astype("uint8")
    mixed = dataclasses.replace(corpus, document_files=files)
    sequences = drawn(mixed, pair_rate=1.0, random_next_rate=1.0, join_rate=0.0)
    pairs = sequences.b_lengths > 0
    a_files = files[document_of(mixed, sequences.a_starts[pairs])]
    b_files = files[document_of(mixed, sequences.b_starts[pairs])]
    assert (a_files != b_files).sum() <= 2


def test_a_pair_within_one_document_by_chance_is_not_asked_about():
    corpus = samples.corpus(2, most_sentences=40)
    sequences = drawn(corpus, pair_rate=1.0, random_next_rate=1.0, join_rate=0.0)
    a_ends = sequences.a_starts + sequences.a_lengths - 1
    same = document_of(corpus, a_ends) == document_of(corpus, sequences.b_starts)
    is_pair = sequences.b_lengths > 0
    assert (same & is_pair).any()
    assert (sequences.nsp_weights[same & is_pair] == 0).all()


def test_the_share_of_pairs_is_as_asked(corpus):
    assert (drawn(corpus, pair_rate=0.0).b_lengths == 0).all()
    long = (corpus.document_tokens > 2 * MAX_TOKENS).astype("int64")
    shares = [
        (drawn(corpus, seed, long, pair_rate=0.5).b_lengths > 0).mean()
        for seed in range(5)
    ]
    assert 0.35 < np.mean(shares) < 0.55


def test_sentences_of_a_file_may_have_nothing_to_do_with_each_other():
    """Those are no pairs, not even with the document that follows."""
    files = (np.arange(150) % 50 < 20).astype("uint8")
    mixed = dataclasses.replace(
        samples.corpus(150), document_files=files, file_names=("a.txt", "b.txt")
    )
    asked = samples.settings(
        corpus={"pair_rates": {"b.txt": 0.0}},
        sequences={"pair_rate": 1.0, "join_rate": 0.5},
    )
    sequences = Batches(mixed, KINDS, asked)._make_plan(1, 0).sequences
    owners = files[document_of(mixed, sequences.a_starts)]
    is_pair = sequences.b_lengths > 0
    assert not is_pair[owners == 1].any()
    assert is_pair[owners == 0].mean() > 0.5
    of_b = files[document_of(mixed, sequences.b_starts[is_pair])]
    assert not of_b.any()
    with pytest.raises(TrainingError, match="pair_rates"):
        samples.settings(corpus={"pair_rates": {"b.txt": 1.5}})


def test_documents_are_joined_only_when_asked_and_only_with_their_neighbour(corpus):
    def crossing(rate):
        sequences = drawn(corpus, pair_rate=0.0, join_rate=rate)
        ends = sequences.a_starts + sequences.a_lengths - 1
        return document_of(corpus, ends) - document_of(corpus, sequences.a_starts)

    assert (crossing(0.0) == 0).all()
    assert (crossing(1.0) > 0).mean() > 0.3


def test_documents_of_two_files_are_never_joined(corpus):
    files = (np.arange(corpus.num_documents) % 2).astype("uint8")
    mixed = dataclasses.replace(corpus, document_files=files)
    sequences = drawn(mixed, pair_rate=0.0, join_rate=1.0)
    ends = sequences.a_starts + sequences.a_lengths - 1
    assert (document_of(mixed, ends) == document_of(mixed, sequences.a_starts)).all()


def test_a_document_is_read_as_often_as_it_is_weighed(corpus):
    times = np.arange(corpus.num_documents) % 3
    sequences = drawn(corpus, 0, times, pair_rate=0.0, short_rate=0.0, join_rate=0.0)
    begins = corpus.sentence_starts[corpus.document_starts[:-1]]
    counts = [(sequences.a_starts == begin).sum() for begin in begins]
    assert counts == times.tolist()


def test_each_sequence_lies_in_one_row_and_no_row_overflows():
    rng = np.random.default_rng(0)
    lengths = rng.integers(3, 33, 500)
    rows = pack_rows(lengths, 32, 5, rng)
    used = rows[rows >= 0]
    assert sorted(used) == list(range(500))
    filled = np.where(rows >= 0, lengths[rows], 0).sum(axis=1)
    assert filled.max() <= 32
    assert filled.sum() / (32 * len(rows)) > 0.95


def test_no_sequence_makes_no_row():
    rng = np.random.default_rng(0)
    assert pack_rows(np.zeros(0, "int64"), 9, 4, rng).shape == (0, 4)


def test_a_row_holds_its_sequences_one_after_the_other(corpus):
    sequences = drawn(corpus, pair_rate=0.6)
    rows = pack_rows(sequences.lengths, MAX_TOKENS, 3, np.random.default_rng(1))[:7]
    made = assemble(corpus.tokens, sequences, rows, MAX_TOKENS, KINDS)
    for row in range(7):
        ids, types, positions, owners = [], [], [], []
        for place, index in enumerate(rows[row][rows[row] >= 0]):
            a, b = (
                corpus.tokens[start : start + length].tolist()
                for start, length in (
                    (sequences.a_starts[index], sequences.a_lengths[index]),
                    (sequences.b_starts[index], sequences.b_lengths[index]),
                )
            )
            assert made["cls_positions"][row, place] == len(ids)
            assert made["nsp_labels"][row, place] == sequences.nsp_labels[index]
            assert made["nsp_weights"][row, place] == sequences.nsp_weights[index]
            second = [*b, 3] if b else []
            ids += [2, *a, 3, *second]
            types += [0] * (len(a) + 2) + [1] * len(second)
            positions += range(len(a) + 2 + len(second))
            owners += [place + 1] * (len(a) + 2 + len(second))
        padding = [0] * (MAX_TOKENS - len(ids))
        assert made["input_ids"][row].tolist() == ids + padding
        assert made["token_type_ids"][row].tolist() == types + padding
        assert made["position_ids"][row].tolist() == positions + padding
        assert made["sequence_ids"][row].tolist() == owners + padding
        unused = rows[row] < 0
        assert (made["nsp_weights"][row][unused] == 0).all()


def random_rows(seed=0, rows=200, tokens=30):
    rng = np.random.default_rng(seed)
    return rng.integers(0, len(samples.VOCABULARY), (rows, tokens)).astype("int32")


@pytest.mark.parametrize("unit", ["token", "word", "span"])
def test_the_share_of_hidden_words_is_as_asked_and_no_special_token_is_hidden(unit):
    ids = random_rows()
    asked = MaskingSettings(rate=0.25, unit=unit)
    rng = np.random.default_rng(0)
    positions, weights = choose_positions(ids, KINDS, asked, rng)
    assert positions.shape == weights.shape == (200, num_predictions(30, 0.25))
    labels = np.take_along_axis(ids, positions, axis=1)
    assert not KINDS.is_special[labels[weights > 0]].any()
    for row in range(200):
        chosen = positions[row][weights[row] > 0]
        assert len(set(chosen)) == len(chosen)
    share = weights.sum() / (~KINDS.is_special[ids]).sum()
    assert 0.2 < share < 0.27
    if unit == "token":
        counts = (~KINDS.is_special[ids]).sum(axis=1)
        expected = np.minimum(np.rint(counts * 0.25), positions.shape[1])
        assert (weights.sum(axis=1) == expected).all()


def test_frequent_words_are_hidden_less_often_by_the_root_of_their_share():
    counts = np.array([0, 10, 40, 160, 790])
    weights = draw_weights(counts, frequent_from=0.04)
    assert np.allclose(weights, [1, 1, 1, 0.5, np.sqrt(0.04 / 0.79)])


@pytest.mark.parametrize("unit", ["token", "word"])
def test_words_are_drawn_by_their_weight(unit):
    cat, dog = (samples.VOCABULARY.index(word) for word in ("cat", "dog"))
    ids = np.array([[2, *[cat] * 9, dog, 3]] * 9000)
    of_ids = np.ones(len(samples.VOCABULARY))
    of_ids[cat] = 0.25
    asked = MaskingSettings(rate=0.1, unit=unit)  # one of the ten
    rng = np.random.default_rng(0)
    positions, weights = choose_positions(ids, KINDS, asked, rng, of_ids)
    assert (weights.sum(axis=1) == 1).all()
    # By hand: a weight of 1 among 9 * 0.25 + 1.
    share = (positions[weights > 0] == 10).mean()
    assert abs(share - 1 / 3.25) < 0.02


def test_a_word_of_several_pieces_is_drawn_by_its_rarest_and_stays_whole():
    continuation = samples.VOCABULARY.index("##s")
    noun = samples.VOCABULARY.index("cat")
    ids = np.array([[2, *[noun] * 8, noun, continuation, 3]] * 9000)
    of_ids = np.ones(len(samples.VOCABULARY))
    of_ids[noun] = 0.25
    asked = MaskingSettings(rate=0.2, unit="word")  # two of the ten
    rng = np.random.default_rng(0)
    positions, weights = choose_positions(ids, KINDS, asked, rng, of_ids)
    hidden = np.zeros(ids.shape, bool)
    np.put_along_axis(hidden, positions, weights > 0, axis=1)
    assert (hidden[:, 9] == hidden[:, 10]).all()
    # By hand: first 1 of 8 * 0.25 + 1; drawn second it would not fit.
    assert abs(hidden[:, 9].mean() - 1 / 3) < 0.02


def hidden_shares(batches, phase, num_steps):
    """`[V]`, how often a piece was hidden where it stood."""
    shown = hidden = np.zeros(len(samples.VOCABULARY))
    for step in range(num_steps):
        inputs, labels = batches.batch(phase, step)
        places, words = inputs["mlm_positions"], labels["mlm_labels"]
        ids = inputs["input_ids"]
        np.put_along_axis(ids, places, words, axis=1)
        shown = shown + np.bincount(ids.ravel(), minlength=len(shown))
        hidden = hidden + np.bincount(
            words[labels["mlm_weights"] > 0], minlength=len(hidden)
        )
    return hidden / np.maximum(shown, 1)


def test_pieces_are_counted_in_portions(monkeypatch):
    corpus = samples.corpus()
    monkeypatch.setattr(corpora, "_COUNTED_AT_ONCE", 7)
    counts = corpus.counts(len(samples.VOCABULARY) + 2)
    ids = corpus.tokens.tolist()
    assert counts.tolist() == [ids.count(i) for i in range(len(counts))]


def test_a_run_hides_the_frequent_words_of_its_text_less_often():
    corpus = samples.corpus(150)
    counts = np.bincount(corpus.tokens, minlength=len(samples.VOCABULARY))
    weights = draw_weights(counts, frequent_from=0.05)
    is_frequent = weights < 0.8
    assert is_frequent.sum() >= 2  # at least the full stop and the s of verbs
    settings = samples.settings(masking={"rate": 0.1, "frequent_from": 0.05})
    shares = hidden_shares(Batches(corpus, KINDS, settings), 0, num_steps=1500)
    others = (weights == 1) & (counts > 0)
    # Without putting back, little more than one of each row: nearly as they weigh.
    ratio = shares[is_frequent] / shares[others].mean()
    assert np.allclose(ratio, weights[is_frequent], rtol=0.15)


def test_a_phase_may_hide_another_share():
    settings = samples.settings(masking={"rate": 0.4})
    second = dataclasses.replace(settings.phases[0], masking_rate=0.1)
    settings = dataclasses.replace(settings, phases=(settings.phases[0], second))
    batches = Batches(samples.corpus(), KINDS, settings)
    for phase, rate in ((0, 0.4), (1, 0.1)):
        inputs, labels = batches.batch(phase, 0)
        assert inputs["mlm_positions"].shape == (6, num_predictions(16, rate))
        words = (inputs["sequence_ids"] > 0) & ~KINDS.is_special[inputs["input_ids"]]
        words |= inputs["input_ids"] == KINDS.mask_token_id
        wanted = np.rint(words.sum(axis=1) * rate)
        wanted = np.minimum(wanted, inputs["mlm_positions"].shape[1])
        assert (labels["mlm_weights"].sum(axis=1) == np.maximum(wanted, 1)).all()


def test_whole_words_are_hidden_whole():
    continuation = samples.VOCABULARY.index("##s")
    noun = samples.VOCABULARY.index("cat")
    ids = np.tile(np.array([2, *[noun, continuation, continuation] * 6, 3]), (99, 1))
    asked = MaskingSettings(rate=0.4, unit="word")
    positions, weights = choose_positions(ids, KINDS, asked, np.random.default_rng(0))
    for row in range(99):
        chosen = set(positions[row][weights[row] > 0])
        words = {(place - 1) // 3 for place in chosen}
        assert chosen == {1 + 3 * word + part for word in words for part in range(3)}
        assert len(words) == 2  # 7 of 18 tokens: two words and a third that is cut


def test_a_lone_word_longer_than_its_share_is_hidden_in_part_rather_than_none():
    continuation = samples.VOCABULARY.index("##s")
    ids = np.array([[2, 5, *[continuation] * 11, 3]])
    asked = MaskingSettings(rate=0.25, unit="word")
    _, weights = choose_positions(ids, KINDS, asked, np.random.default_rng(0))
    assert weights.sum() == 3


def test_chinese_is_hidden_in_spans_of_one_to_four_characters():
    vocabulary = (*SPECIAL_TOKENS, *"天地玄黄宇宙洪荒", "at", "##om", "。")
    kinds = TokenKinds.of(vocabulary)
    rng = np.random.default_rng(0)
    ids = rng.integers(5, 13, (400, 200))
    asked = MaskingSettings(rate=0.1, unit="span")
    positions, weights = choose_positions(ids, kinds, asked, rng)
    sizes = []
    for row in range(400):
        chosen = np.sort(positions[row][weights[row] > 0])
        breaks = np.flatnonzero(np.diff(chosen) > 1) + 1
        sizes += [len(run) for run in np.split(chosen, breaks)]
    # Neighbouring spans look like one, so a few are longer than four.
    shares = np.bincount(sizes, minlength=9)[1:5] / len(sizes)
    assert np.allclose(shares, SPAN_SHARES, atol=0.06)


def test_latin_words_between_chinese_ones_are_hidden_whole():
    vocabulary = (*SPECIAL_TOKENS, "天", "地", "at", "##om", "。")
    kinds = TokenKinds.of(vocabulary)
    ids = np.tile(np.array([2, *[5, 6, 7, 8, 9] * 5, 3]), (99, 1))
    asked = MaskingSettings(rate=0.3, unit="span")
    positions, weights = choose_positions(ids, kinds, asked, np.random.default_rng(0))
    hidden = np.zeros(ids.shape, bool)
    np.put_along_axis(hidden, positions, weights > 0, axis=1)
    assert (hidden[ids == 7] == hidden[ids == 8]).all()
    assert (hidden[ids == 9] != hidden[ids == 8]).any()


def test_hidden_words_become_mask_any_word_or_stay_as_in_the_paper():
    ids = np.full((300, 40), samples.VOCABULARY.index("cat"), "int32")
    asked = MaskingSettings(rate=0.5)
    rng = np.random.default_rng(0)
    positions, weights = choose_positions(ids, KINDS, asked, rng)
    hidden, labels = hide(ids, positions, weights, KINDS, asked, rng)
    shown = np.take_along_axis(hidden, positions, axis=1)
    assert (labels == samples.VOCABULARY.index("cat")).all()
    assert abs((shown == KINDS.mask_token_id).mean() - 0.8) < 0.02
    others = 1 - 1 / len(KINDS.ordinary_ids)  # a draw may be the word itself
    is_other = (shown != labels) & (shown != KINDS.mask_token_id)
    assert abs(is_other.mean() - 0.1 * others) < 0.02
    assert not KINDS.is_special[shown[is_other]].any()
    untouched = np.ones(ids.shape, bool)
    np.put_along_axis(untouched, positions, False, axis=1)
    assert (hidden[untouched] == ids[untouched]).all()


def test_a_place_without_weight_keeps_its_word():
    ids = np.array([[2, 5, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]], "int32")
    asked = MaskingSettings(rate=0.5, mask_rate=1.0, random_rate=0.0)
    rng = np.random.default_rng(0)
    positions, weights = choose_positions(ids, KINDS, asked, rng)
    hidden, _ = hide(ids, positions, weights, KINDS, asked, rng)
    assert weights.sum() == 1
    assert hidden[0].tolist() == [2, 4, 3] + [0] * 9


def same(first, second):
    arrays = [{**inputs, **labels} for inputs, labels in (first, second)]
    return all((arrays[0][name] == arrays[1][name]).all() for name in arrays[0])


def test_a_batch_depends_on_seed_phase_and_step_alone():
    one, other = samples.batches(), samples.batches()
    for phase, step in ((1, 4), (0, 3), (0, 700), (1, 0)):
        assert same(one.batch(phase, step), other.batch(phase, step))
    assert not same(one.batch(0, 3), one.batch(0, 4))
    assert not same(one.batch(0, 3), samples.batches(seed=4).batch(0, 3))


def test_a_phase_may_have_a_share_of_short_sequences_of_its_own():
    asked = samples.settings(sequences={"pair_rate": 0.0, "short_rate": 0.0})
    plain, own = asked.phases[0], dataclasses.replace(asked.phases[0], short_rate=1.0)
    corpus = samples.corpus(most_sentences=40)
    times = np.ones(corpus.num_documents, int)
    full, short = (
        plan_epoch(corpus, times, phase, asked, np.random.default_rng(0)).sequences
        for phase in (plain, own)
    )
    is_full = lambda drawn: (drawn.lengths == plain.max_tokens).mean()  # noqa: E731
    assert is_full(full) > 0.8
    assert is_full(short) < 0.3
    for name in ("short_rate", "sentence_rate"):
        with pytest.raises(TrainingError, match=name):
            dataclasses.replace(plain, **{name: 1.5})


def steps_to_read(batches, phase, num_epochs):
    """The fewest steps that read all of some passes."""
    num_rows = sum(batches.epochs.num_rows(phase, epoch) for epoch in range(num_epochs))
    return -(-num_rows // batches.settings.phases[phase].num_rows)


def rows_read(batches, phase, steps):
    """The text of each row that steps read, hidden words put back."""
    rows = []
    for step in steps:
        inputs, labels = batches.batch(phase, step)
        ids, is_hidden = inputs["input_ids"].copy(), labels["mlm_weights"] > 0
        where = np.nonzero(is_hidden)[0], inputs["mlm_positions"][is_hidden]
        ids[where] = labels["mlm_labels"][is_hidden]
        rows += [row.tobytes() for row in ids]
    return rows


@pytest.mark.parametrize("phase", [0, 1])
@pytest.mark.parametrize("sizes", [(60, 9), (2, 2)], ids=["long", "below a batch"])
def test_every_row_of_every_pass_is_read_once(phase, sizes):
    """Special tokens and padding once were not counted, and up to 14 % left out."""
    asked = samples.settings(corpus={"sentence_weights": {"red": 0.5}})
    corpus = samples.corpus(sizes[0], most_sentences=sizes[1])
    batches = Batches(corpus, KINDS, asked)
    planned = []
    for epoch in range(3):
        plan = batches._make_plan(phase, epoch)
        length = asked.phases[phase].max_tokens
        made = assemble(corpus.tokens, plan.sequences, plan.rows, length, KINDS)
        planned += [row.tobytes() for row in made["input_ids"]]
    read = rows_read(batches, phase, range(steps_to_read(batches, phase, 3)))
    assert read[: len(planned)] == planned
    assert len(read) - len(planned) < asked.phases[phase].num_rows


def test_a_batch_is_the_same_whichever_was_asked_for_before():
    steps = list(range(30))  # three passes and more
    in_order = rows_read(samples.batches(), 0, steps)
    backwards = [rows_read(samples.batches(), 0, [step]) for step in steps]
    assert in_order == [row for rows in backwards for row in rows]
    batches = samples.batches()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda step: rows_read(batches, 0, [step]), steps[::-1]))
    assert found[::-1] == backwards


def test_words_are_hidden_afresh_in_every_epoch():
    batches = samples.batches()
    steps = batches.epochs.num_rows(0, 0) // batches.settings.phases[0].num_rows
    first, later = (
        [batches.batch(0, epoch * steps + i)[0] for i in range(steps)]
        for epoch in (0, 1)
    )
    assert not same((first[0], {}), (later[0], {}))

    def hidden_texts(batch):
        return {row.tobytes() for inputs in batch for row in inputs["input_ids"]}

    assert len(hidden_texts(first) & hidden_texts(later)) < 0.2 * len(
        hidden_texts(first)
    )


def test_the_parts_of_a_batch_are_its_rows():
    whole = samples.batches().batch(0, 2)[0]
    asked = samples.settings(optimizer={"learning_rate": 0.01, "accumulation": 2})
    parts = [samples.batches(asked).batch(0, 2, part)[0] for part in range(2)]
    for name in ("sequence_ids", "token_type_ids", "position_ids", "cls_positions"):
        joined = np.concatenate([part[name] for part in parts])
        assert (joined == whole[name]).all()


def test_held_out_documents_are_never_trained_on():
    corpus = samples.corpus(40)
    marker = samples.VOCABULARY.index("red")
    held_out = np.zeros(40, bool)
    held_out[7] = True
    bounds = corpus.sentence_starts[corpus.document_starts]
    tokens = np.full(len(corpus.tokens), samples.VOCABULARY.index("old"), "int32")
    tokens[bounds[7] : bounds[8]] = marker
    corpus = dataclasses.replace(corpus, tokens=tokens, is_held_out=held_out)
    asked = samples.settings(masking={"mask_rate": 1.0, "random_rate": 0.0})
    batches = Batches(corpus, KINDS, asked)
    for step in range(2 * steps_to_read(batches, 0, num_epochs=1)):
        inputs, labels = batches.batch(0, step)
        assert marker not in inputs["input_ids"]
        assert marker not in labels["mlm_labels"]


@pytest.mark.parametrize("of_phase", [False, True])
def test_a_file_of_weight_two_is_read_twice_as_often(of_phase):
    corpus = samples.corpus(80)
    files = (np.arange(80) >= 40).astype("uint8")
    corpus = dataclasses.replace(
        corpus, document_files=files, file_names=("a.txt", "b.txt")
    )
    weights = {"weights": {"a.txt": 2.0, "b.txt": 0.5}}
    asked = samples.settings(corpus=weights)
    if of_phase:  # those of the corpus do not count then
        own = [dataclasses.replace(phase, **weights) for phase in asked.phases]
        asked = samples.settings(corpus={"weights": {"a.txt": 0.5}})
        asked = dataclasses.replace(asked, phases=tuple(own))
    batches = Batches(corpus, KINDS, asked)
    plan = batches._make_plan(0, 0)
    owner = document_of(corpus, plan.sequences.a_starts)
    of_a = plan.sequences.lengths[owner < 40].sum()
    of_b = plan.sequences.lengths[owner >= 40].sum()
    size = corpus.document_tokens
    expected = 4 * size[:40].sum() / size[40:].sum()
    assert 0.6 * expected < of_a / of_b < 1.7 * expected


def test_little_of_a_batch_is_padding():
    batches = samples.batches()
    shares = [
        (batches.batch(1, step)[0]["sequence_ids"] == 0).mean()
        for step in range(steps_to_read(batches, 1, num_epochs=1))
    ]
    assert np.mean(shares) < 0.05


def test_a_text_smaller_than_a_batch_fills_it_by_repeating():
    asked = samples.settings()
    batches = Batches(samples.corpus(2, most_sentences=2), KINDS, asked)
    assert batches.epochs.num_rows(0, 0) < asked.phases[0].num_rows
    assert (batches.batch(0, 5)[0]["sequence_ids"][:, 0] == 1).all()
