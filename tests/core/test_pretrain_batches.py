"""From documents to batches: nothing lost, nothing mixed up, nothing twice the same."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from bertviz_core.errors import TrainingError
from bertviz_core.trace import SPECIAL_TOKENS
from bertviz_core.training.pretrain import corpus as corpora
from bertviz_core.training.pretrain.batches import Batches, assemble, sentence_weights
from bertviz_core.training.pretrain.masking import (
    SPAN_SHARES,
    TokenKinds,
    choose_positions,
    draw_weights,
    hide,
    num_predictions,
)
from bertviz_core.training.pretrain.sequences import (
    IS_NEXT,
    IS_RANDOM,
    draw_sequences,
    pack_rows,
)
from bertviz_core.training.pretrain.settings import (
    MaskingSettings,
    PretrainSettings,
    SequenceSettings,
)
from tests.core import pretrain_samples as samples

MAX_TOKENS = 24
KINDS = samples.kinds()
NOUN, CONTINUATION = (samples.VOCABULARY.index(word) for word in ("cat", "##s"))


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


def within_a_document(corpus, sequences):
    """Whether the end of A and the B after it are of the same document."""
    a_ends = sequences.a_starts + sequences.a_lengths - 1
    return document_of(corpus, a_ends) == document_of(corpus, sequences.b_starts)


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
    corpus = samples.encoded([long, long])
    sequences = drawn(corpus, pair_rate=0.0, short_rate=0.0, join_rate=0.0)
    seen = covered(corpus, sequences.a_starts, sequences.a_lengths)
    assert seen.min() == 1
    assert sequences.a_lengths[:3].tolist() == [22, 22, 22]


def test_every_word_is_read_from_the_begin_of_a_sentence_and_nothing_is_too_long(
    corpus,
):
    sequences = drawn(corpus, join_rate=0.3)
    assert sequences.lengths.max() == MAX_TOKENS
    starts = np.concatenate([sequences.a_starts, sequences.b_starts])
    lengths = np.concatenate([sequences.a_lengths, sequences.b_lengths])
    assert np.isin(starts[lengths > 0], corpus.sentence_starts).all()
    # The two Bs that go from the shortest to the longest may lose a few words.
    assert (covered(corpus, starts, lengths) == 0).sum() < 2 * MAX_TOKENS


def test_a_next_sentence_follows_and_a_random_one_is_of_another_document(corpus):
    sequences = drawn(corpus, pair_rate=1.0, join_rate=0.2)
    asked = sequences.nsp_weights > 0
    follows = sequences.a_starts + sequences.a_lengths == sequences.b_starts
    same = within_a_document(corpus, sequences)
    is_next = asked & (sequences.nsp_labels == IS_NEXT)
    is_random = asked & (sequences.nsp_labels == IS_RANDOM)
    assert is_next.sum() > 50
    assert (follows & same)[is_next].all()
    assert not same[is_random].any()
    assert 0.4 < is_random.sum() / asked.sum() < 0.6
    # A random one that is of the same document by chance is not asked about.
    corpus = samples.corpus(2, most_sentences=40)
    sequences = drawn(corpus, pair_rate=1.0, random_next_rate=1.0, join_rate=0.0)
    same = within_a_document(corpus, sequences) & (sequences.b_lengths > 0)
    assert same.any()
    assert (sequences.nsp_weights[same] == 0).all()


@pytest.mark.parametrize("short_rate", [0.0, 0.4])
def test_neither_length_nor_end_tells_a_random_next(short_rate):
    corpus = samples.corpus(1500, most_sentences=12)
    sequences = drawn(corpus, pair_rate=1.0, short_rate=short_rate)
    asked = sequences.nsp_weights > 0
    ends = sequences.b_starts + sequences.b_lengths
    is_cut = ~np.isin(ends, corpus.sentence_starts)
    num_right = 0
    kinds = sequences.lengths * 2 + is_cut
    for kind in np.unique(kinds[asked]):
        labels = sequences.nsp_labels[asked & (kinds == kind)]
        num_right += max((labels == IS_NEXT).sum(), (labels == IS_RANDOM).sum())
    assert asked.sum() > 1000
    assert num_right / asked.sum() < 0.56
    assert asked.sum() > 0.9 * (sequences.b_lengths > 0).sum()


def test_a_random_sentence_is_of_the_same_kind_of_text(corpus):
    mixed, files = in_two_files(corpus)
    sequences = drawn(mixed, pair_rate=1.0, random_next_rate=1.0, join_rate=0.0)
    pairs = sequences.b_lengths > 0
    a_files = files[document_of(mixed, sequences.a_starts[pairs])]
    b_files = files[document_of(mixed, sequences.b_starts[pairs])]
    assert (a_files != b_files).sum() <= 2


def test_sentences_of_a_file_may_have_nothing_to_do_with_each_other(corpus):
    """Those are no pairs, not even with the document that follows."""
    mixed, files = in_two_files(corpus, np.arange(150) % 50 < 20)
    asked = samples.settings(
        corpus={"pair_rates": {"b.txt": 0.0}},
        sequences={"pair_rate": 1.0, "join_rate": 0.5},
    )
    sequences = Batches(mixed, KINDS, asked)._make_plan(1, 0)[0]
    owners = files[document_of(mixed, sequences.a_starts)]
    is_pair = sequences.b_lengths > 0
    assert not is_pair[owners == 1].any()
    assert is_pair[owners == 0].mean() > 0.5
    assert not files[document_of(mixed, sequences.b_starts[is_pair])].any()
    with pytest.raises(TrainingError, match="pair_rates"):
        samples.settings(corpus={"pair_rates": {"b.txt": 1.5}})


def test_documents_are_joined_only_when_asked_and_only_with_those_of_their_file(corpus):
    def crossing(corpus, rate):
        sequences = drawn(corpus, pair_rate=0.0, join_rate=rate)
        ends = sequences.a_starts + sequences.a_lengths - 1
        return document_of(corpus, ends) - document_of(corpus, sequences.a_starts)

    assert (crossing(corpus, 0.0) == 0).all()
    assert (crossing(corpus, 1.0) > 0).mean() > 0.3
    assert (crossing(in_two_files(corpus)[0], 1.0) == 0).all()


def in_two_files(corpus, is_second=None):
    """The same documents, every other one of a second file; and the file of each."""
    files = np.arange(corpus.num_documents) % 2 if is_second is None else is_second
    files = files.astype("uint8")
    names = ("a.txt", "b.txt")
    return dataclasses.replace(corpus, document_files=files, file_names=names), files


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
    assert sorted(rows[rows >= 0]) == list(range(500))
    filled = np.where(rows >= 0, lengths[rows], 0).sum(axis=1)
    assert filled.max() <= 32
    assert filled.sum() / (32 * len(rows)) > 0.95
    assert pack_rows(np.zeros(0, "int64"), 9, 4, rng).shape == (0, 4)


def chosen(ids, of_ids=None, kinds=KINDS, **asked):
    """What is drawn to be hidden: positions and weights."""
    rng = np.random.default_rng(0)
    more = () if of_ids is None else (of_ids,)
    return choose_positions(ids, kinds, MaskingSettings(**asked), rng, *more)


def hidden_places(ids, drawn):
    """Bool, in the shape of `ids`."""
    hidden = np.zeros(ids.shape, bool)
    np.put_along_axis(hidden, drawn[0], drawn[1] > 0, axis=1)
    return hidden


def noun_weighs_a_quarter():
    of_ids = np.ones(len(samples.VOCABULARY))
    of_ids[NOUN] = 0.25
    return of_ids


def test_a_row_holds_its_sequences_one_after_the_other(corpus):
    sequences = drawn(corpus, pair_rate=0.6)
    rows = pack_rows(sequences.lengths, MAX_TOKENS, 3, np.random.default_rng(1))[:7]
    made = assemble(corpus.tokens, sequences, rows, MAX_TOKENS, KINDS)
    for row in range(7):
        ids, types, positions, owners = [], [], [], []
        for place, index in enumerate(rows[row][rows[row] >= 0]):
            a, b = (
                corpus.tokens[starts[index] : starts[index] + lengths[index]].tolist()
                for starts, lengths in (
                    (sequences.a_starts, sequences.a_lengths),
                    (sequences.b_starts, sequences.b_lengths),
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
        names = ("input_ids", "token_type_ids", "position_ids", "sequence_ids")
        for name, values in zip(names, (ids, types, positions, owners), strict=True):
            assert made[name][row].tolist() == values + padding
        assert (made["nsp_weights"][row][rows[row] < 0] == 0).all()


@pytest.mark.parametrize("unit", ["token", "word", "span"])
def test_the_share_of_hidden_words_is_as_asked_and_no_special_token_is_hidden(unit):
    rng = np.random.default_rng(0)
    ids = rng.integers(0, len(samples.VOCABULARY), (200, 30)).astype("int32")
    positions, weights = chosen(ids, rate=0.25, unit=unit)
    assert positions.shape == weights.shape == (200, num_predictions(30, 0.25))
    labels = np.take_along_axis(ids, positions, axis=1)
    assert not KINDS.is_special[labels[weights > 0]].any()
    # No position twice.
    assert hidden_places(ids, (positions, weights)).sum() == (weights > 0).sum()
    counts = (~KINDS.is_special[ids]).sum(axis=1)
    assert 0.2 < weights.sum() / counts.sum() < 0.27
    if unit == "token":
        expected = np.minimum(np.rint(counts * 0.25), positions.shape[1])
        assert (weights.sum(axis=1) == expected).all()


def test_frequent_words_are_hidden_less_often_by_the_root_of_their_share():
    counts = np.array([0, 10, 40, 160, 790])
    weights = draw_weights(counts, frequent_from=0.04)
    assert np.allclose(weights, [1, 1, 1, 0.5, np.sqrt(0.04 / 0.79)])


@pytest.mark.parametrize("unit", ["token", "word"])
def test_words_are_drawn_by_their_weight(unit):
    dog = samples.VOCABULARY.index("dog")
    ids = np.array([[2, *[NOUN] * 9, dog, 3]] * 9000)
    # One of the ten.
    positions, weights = chosen(ids, noun_weighs_a_quarter(), rate=0.1, unit=unit)
    assert (weights.sum(axis=1) == 1).all()
    # By hand: a weight of 1 among 9 * 0.25 + 1.
    share = (positions[weights > 0] == 10).mean()
    assert abs(share - 1 / 3.25) < 0.02


def test_a_word_of_several_pieces_is_drawn_by_its_rarest_and_stays_whole():
    ids = np.array([[2, *[NOUN] * 8, NOUN, CONTINUATION, 3]] * 9000)
    # Two of the ten.
    drawn = chosen(ids, noun_weighs_a_quarter(), rate=0.2, unit="word")
    hidden = hidden_places(ids, drawn)
    assert (hidden[:, 9] == hidden[:, 10]).all()
    # By hand: first 1 of 8 * 0.25 + 1; drawn second it would not fit.
    assert abs(hidden[:, 9].mean() - 1 / 3) < 0.02


def test_a_run_counts_its_words_in_portions_and_hides_the_frequent_less_often(
    monkeypatch,
):
    corpus = samples.corpus()
    monkeypatch.setattr(corpora, "_COUNTED_AT_ONCE", 7)
    counts = corpus.counts(len(samples.VOCABULARY))
    ids = corpus.tokens.tolist()
    assert counts.tolist() == [ids.count(i) for i in range(len(counts))]
    plain, weighed = (
        samples.settings(masking=asked) for asked in ({}, {"frequent_from": 0.05})
    )
    batches = Batches(corpus, KINDS, weighed)
    assert (batches._draw_weights == draw_weights(counts, 0.05)).all()
    drawn = batches.batch(0, 0)[0]["mlm_positions"]
    others = Batches(corpus, KINDS, plain).batch(0, 0)[0]["mlm_positions"]
    assert (drawn != others).any()


def test_a_phase_may_hide_another_share():
    settings = samples.settings(masking={"rate": 0.4})
    second = dataclasses.replace(settings.phases[0], masking_rate=0.1)
    settings = dataclasses.replace(settings, phases=(settings.phases[0], second))
    batches = Batches(samples.corpus(), KINDS, settings)
    for phase, rate in ((0, 0.4), (1, 0.1)):
        inputs, labels = batches.batch(phase, 0)
        most = num_predictions(16, rate)
        assert inputs["mlm_positions"].shape == (6, most)
        words = (inputs["sequence_ids"] > 0) & ~KINDS.is_special[inputs["input_ids"]]
        words |= inputs["input_ids"] == KINDS.mask_token_id
        wanted = np.clip(np.rint(words.sum(axis=1) * rate), 1, most)
        assert (labels["mlm_weights"].sum(axis=1) == wanted).all()


def test_whole_words_are_hidden_whole():
    word = [NOUN, CONTINUATION, CONTINUATION]
    ids = np.tile(np.array([2, *word * 6, 3]), (99, 1))
    words = hidden_places(ids, chosen(ids, rate=0.4, unit="word"))[:, 1:-1]
    words = words.reshape(99, 6, 3)
    assert (words.any(axis=2) == words.all(axis=2)).all()
    # 7 of 18 tokens: two words and a third that is cut.
    assert (words.all(axis=2).sum(axis=1) == 2).all()


def test_a_lone_word_longer_than_its_share_is_hidden_in_part_rather_than_none():
    ids = np.array([[2, 5, *[CONTINUATION] * 11, 3]])
    assert chosen(ids, rate=0.25, unit="word")[1].sum() == 3


def test_chinese_is_hidden_in_spans_of_one_to_four_characters():
    vocabulary = (*SPECIAL_TOKENS, *"天地玄黄宇宙洪荒", "at", "##om", "。")
    kinds = TokenKinds.of(vocabulary)
    ids = np.random.default_rng(0).integers(5, 13, (400, 200))
    sizes = []
    for row in hidden_places(ids, chosen(ids, kinds=kinds, rate=0.1, unit="span")):
        places = np.flatnonzero(row)
        breaks = np.flatnonzero(np.diff(places) > 1) + 1
        sizes += [len(run) for run in np.split(places, breaks)]
    # Neighbouring spans look like one, so a few are longer than four.
    shares = np.bincount(sizes, minlength=9)[1:5] / len(sizes)
    assert np.allclose(shares, SPAN_SHARES, atol=0.06)


def test_latin_words_between_chinese_ones_are_hidden_whole():
    kinds = TokenKinds.of((*SPECIAL_TOKENS, "天", "地", "at", "##om", "。"))
    ids = np.tile(np.array([2, *[5, 6, 7, 8, 9] * 5, 3]), (99, 1))
    hidden = hidden_places(ids, chosen(ids, kinds=kinds, rate=0.3, unit="span"))
    assert (hidden[ids == 7] == hidden[ids == 8]).all()
    assert (hidden[ids == 9] != hidden[ids == 8]).any()


def test_hidden_words_become_mask_any_word_or_stay_as_in_the_paper():
    ids = np.full((300, 40), NOUN, "int32")
    asked = MaskingSettings(rate=0.5)
    rng = np.random.default_rng(0)
    drawn = choose_positions(ids, KINDS, asked, rng)
    hidden, labels = hide(ids, *drawn, KINDS, asked, rng)
    shown = np.take_along_axis(hidden, drawn[0], axis=1)
    assert (labels == NOUN).all()
    assert abs((shown == KINDS.mask_token_id).mean() - 0.8) < 0.02
    others = 1 - 1 / len(KINDS.ordinary_ids)  # a draw may be the word itself
    is_other = (shown != labels) & (shown != KINDS.mask_token_id)
    assert abs(is_other.mean() - 0.1 * others) < 0.02
    assert not KINDS.is_special[shown[is_other]].any()
    untouched = ~hidden_places(ids, drawn)
    assert (hidden[untouched] == ids[untouched]).all()


def test_a_place_without_weight_keeps_its_word():
    ids = np.array([[2, 5, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]], "int32")
    asked = MaskingSettings(rate=0.5, mask_rate=1.0, random_rate=0.0)
    rng = np.random.default_rng(0)
    positions, weights = choose_positions(ids, KINDS, asked, rng)
    hidden, _ = hide(ids, positions, weights, KINDS, asked, rng)
    assert weights.sum() == 1
    assert hidden[0].tolist() == [2, 4, 3] + [0] * 9


def test_a_batch_depends_on_seed_phase_and_step_alone():
    batches, steps = samples.batches(), range(30)  # three passes and more
    in_order = [rows_read(batches, 0, [step]) for step in steps]
    for step in (29, 12, 0):
        assert rows_read(samples.batches(), 0, [step]) == in_order[step]
    batches = samples.batches()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda step: rows_read(batches, 0, [step]), steps[::-1]))
    assert found[::-1] == in_order
    assert in_order[3] != in_order[4]
    assert in_order[3] != rows_read(samples.batches(seed=4), 0, [3])


def test_a_phase_may_have_a_share_of_short_sequences_of_its_own():
    asked = samples.settings(sequences={"pair_rate": 0.0, "short_rate": 0.0})
    plain, own = asked.phases[0], dataclasses.replace(asked.phases[0], short_rate=1.0)
    asked = dataclasses.replace(asked, phases=(plain, own))
    batches = Batches(samples.corpus(most_sentences=40), KINDS, asked)
    shares = [
        (batches._make_plan(phase, 0)[0].lengths == plain.max_tokens).mean()
        for phase in range(2)
    ]
    assert shares[0] > 0.8
    assert shares[1] < 0.3
    for name in ("short_rate", "sentence_rate"):
        with pytest.raises(TrainingError, match=name):
            dataclasses.replace(plain, **{name: 1.5})


def steps_to_read(batches, phase, num_epochs):
    """The fewest steps that read all of some passes."""
    num_rows = sum(
        len(batches._make_plan(phase, epoch)[1]) for epoch in range(num_epochs)
    )
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
        plan, length = batches._make_plan(phase, epoch), asked.phases[phase].max_tokens
        made = assemble(corpus.tokens, *plan, length, KINDS)
        planned += [row.tobytes() for row in made["input_ids"]]
    read = rows_read(batches, phase, range(steps_to_read(batches, phase, 3)))
    assert read[: len(planned)] == planned
    assert len(read) - len(planned) < asked.phases[phase].num_rows


def test_the_parts_of_a_batch_are_its_rows():
    whole = samples.batches().batch(0, 2)[0]
    asked = samples.settings(optimizer={"learning_rate": 0.01, "accumulation": 2})
    parts = [samples.batches(asked).batch(0, 2, part)[0] for part in range(2)]
    for name in ("sequence_ids", "token_type_ids", "position_ids", "cls_positions"):
        joined = np.concatenate([part[name] for part in parts])
        assert (joined == whole[name]).all()


def test_held_out_documents_are_never_trained_on():
    corpus = samples.corpus(40)
    old, marker = (samples.VOCABULARY.index(word) for word in ("old", "red"))
    bounds = corpus.sentence_starts[corpus.document_starts]
    tokens = np.full(len(corpus.tokens), old, "int32")
    tokens[bounds[7] : bounds[8]] = marker
    corpus = dataclasses.replace(corpus, tokens=tokens, is_held_out=np.arange(40) == 7)
    asked = samples.settings(masking={"mask_rate": 1.0, "random_rate": 0.0})
    batches = Batches(corpus, KINDS, asked)
    for step in range(2 * steps_to_read(batches, 0, num_epochs=1)):
        inputs, labels = batches.batch(0, step)
        assert marker not in inputs["input_ids"]
        assert marker not in labels["mlm_labels"]


@pytest.mark.parametrize("of_phase", [False, True])
def test_a_file_of_weight_two_is_read_twice_as_often(of_phase):
    corpus, _ = in_two_files(samples.corpus(80), np.arange(80) >= 40)
    weights = {"weights": {"a.txt": 2.0, "b.txt": 0.5}}
    asked = samples.settings(corpus=weights)
    if of_phase:  # those of the corpus do not count then
        own = [dataclasses.replace(phase, **weights) for phase in asked.phases]
        asked = samples.settings(corpus={"weights": {"a.txt": 0.5}})
        asked = dataclasses.replace(asked, phases=tuple(own))
    sequences = Batches(corpus, KINDS, asked)._make_plan(0, 0)[0]
    is_a = document_of(corpus, sequences.a_starts) < 40
    found = sequences.lengths[is_a].sum() / sequences.lengths[~is_a].sum()
    size = corpus.document_tokens
    expected = 4 * size[:40].sum() / size[40:].sum()
    assert 0.6 * expected < found < 1.7 * expected


def test_an_epoch_that_draws_nothing_but_single_words_reads_all():
    """One document of a word, read often, and one of a sentence, read hardly ever."""
    texts = samples.encoded([["cat"], ["the old cat purrs."]])
    corpus, _ = in_two_files(texts, np.arange(2))
    weights = {"weights": {"a.txt": 1.0, "b.txt": 1e-9}}
    asked = samples.settings(corpus=weights)
    _, labels = Batches(corpus, KINDS, asked).batch(0, 0)
    assert labels["mlm_weights"].any()


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
        drawn = batches._make_plan(0, epoch)[0]
        assert (drawn.a_starts[-8:] == corpus.sentence_starts[alone]).all()
        assert (drawn.a_lengths[-8:] == lengths[alone]).all()
        assert not drawn.b_lengths[-8:].any()
        assert drawn.a_starts[-9] > corpus.sentence_starts[50]  # the text's own end


def test_half_a_weight_is_drawn_anew_in_each_epoch():
    corpus = marked_sentences(3)
    batches = batches_of(corpus, sentence_weights={"red": 0.5})
    start = corpus.sentence_starts[3]
    ends = [batches._make_plan(0, epoch)[0].a_starts[-1] for epoch in range(40)]
    assert 8 < sum(end == start for end in ends) < 32


def test_of_several_words_the_highest_weight_counts():
    corpus = marked_sentences(3)
    weights = {"red": 2.5, "the": 1.0, "a": 1.0}
    found = sentence_weights(corpus, weights, KINDS.ids)
    begins = corpus.tokens[corpus.sentence_starts[:-1]]
    articles = [samples.VOCABULARY.index(word) for word in ("the", "a")]
    assert found[3] == 2.5
    assert (np.delete(found, 3) == np.isin(np.delete(begins, 3), articles)).all()
    with pytest.raises(TrainingError, match=r"not one piece.*Received: “cats"):
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
