"""Questions to the vocabulary get the answers of a loop over all of it."""

import numpy as np
import pytest

from bertviz_core.errors import TextError
from bertviz_core.experiments import word_axis
from bertviz_core.experiments.word_axis import project_words, remove_axis
from bertviz_core.experiments.word_vectors import (
    find_rows,
    nearest_words,
    solve_analogy,
    word_vectors,
)
from tests.core.random_models import CONFIG, VOCABULARY


@pytest.fixture(scope="module")
def vectors(explorer):
    return word_vectors(explorer)


@pytest.fixture(scope="module")
def table(post_norm_model):
    return post_norm_model[1]["words"].astype(np.float64)


def row_of(word):
    return VOCABULARY.index(word)


def cosine(one, other):
    return one @ other / np.sqrt((one @ one) * (other @ other))


def test_kinds_are_left_out_together(vectors):
    assert len(vectors.tokens) == CONFIG.vocab_size
    # Rows without a word are there and never an answer.
    assert vectors.tokens[len(VOCABULARY) :] == ("[row 21]", "[row 22]")
    every = np.arange(CONFIG.vocab_size) < len(VOCABULARY)
    np.testing.assert_array_equal(vectors.allowed(()), every)
    kept = vectors.allowed(("piece", "special", "cjk"))
    words = [vectors.tokens[i] for i in np.flatnonzero(kept)]
    assert " ".join(words) == "x the cat sat on a mat . e ! y z"
    with pytest.raises(ValueError, match="odd"):
        vectors.allowed(("odd",))


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_the_nearest_are_those_of_a_loop(explorer, vectors, table, metric):
    found = nearest_words(explorer, vectors, "cat", 6, metric, ("piece",))
    own = row_of("cat")
    scores = {}
    for row, word in enumerate(VOCABULARY):
        if row != own and not word.startswith("##"):
            difference = np.sqrt(((table[row] - table[own]) ** 2).sum())
            is_cosine = metric == "cosine"
            scores[word] = -cosine(table[row], table[own]) if is_cosine else difference
    best = sorted(scores, key=scores.__getitem__)[:6]
    assert found.neighbours.words == tuple(best)
    expected = np.abs([scores[word] for word in best])
    np.testing.assert_allclose(np.abs(found.neighbours.found.scores), expected, 1e-6)
    assert (found.num_compared, found.num_entries) == (17, 23)
    lengths = np.sqrt((table**2).sum(axis=1))
    assert found.norm == pytest.approx(lengths[own])
    assert found.norm_rank == 1 + sum(lengths > lengths[own])


@pytest.mark.parametrize(
    ("typed", "entries"),
    [
        *(("cat", "cat"), (" CAT ", "cat"), ("##s", "##s"), ("红", "红")),
        *(("[MASK]", "[MASK]"), ("cats", "cat ##s"), ("the cat", "the cat")),
    ],
)
def test_a_word_is_found_as_the_model_reads_it(explorer, typed, entries):
    rows = tuple(row_of(entry) for entry in entries.split())
    assert find_rows(explorer, typed) == (rows if len(rows) > 1 else rows[0])


@pytest.mark.parametrize("typed", ["dog", "the dog"])
def test_what_the_model_cannot_read_is_refused(explorer, typed):
    with pytest.raises(TextError, match="no entry") as raised:
        find_rows(explorer, typed)
    assert "[UNK]" in raised.value.details["pieces"]
    with pytest.raises(TextError, match="no word to look up"):
        find_rows(explorer, "  ")


def test_neighbours_of_several_pieces_are_those_of_their_mean(explorer, vectors, table):
    found = nearest_words(explorer, vectors, "Cats", 4)
    mean = (table[row_of("cat")] + table[row_of("##s")]) / 2
    others = [word for word in VOCABULARY if word not in ("cat", "##s")]
    scores = {word: cosine(table[row_of(word)], mean) for word in others}
    best = sorted(others, key=scores.__getitem__, reverse=True)[:4]
    assert found.neighbours.words == tuple(best)
    assert (found.word, found.token_id) == ("Cats", None)
    assert found.in_pieces == (("Cats", ("cat", "##s")),)
    assert found.norm == pytest.approx(np.sqrt(mean @ mean))
    assert nearest_words(explorer, vectors, "cat").in_pieces == ()


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_an_analogy_takes_words_of_several_pieces(explorer, vectors, table, metric):
    inputs, hoped = ("cats", "sat", "mat"), "the mat"
    found = solve_analogy(explorer, vectors, inputs, hoped, metric=metric)
    mean = (table[row_of("cat")] + table[row_of("##s")]) / 2
    query = mean - table[row_of("sat")] + table[row_of("mat")]
    target = (table[row_of("the")] + table[row_of("mat")]) / 2

    def nearness(vector):
        if metric == "cosine":
            return cosine(vector, query)
        return -np.sqrt(((vector - query) ** 2).sum())

    nearer = [w for w in VOCABULARY if nearness(table[row_of(w)]) > nearness(target)]
    assert found.answer.rank == 1 + len(nearer)
    left = [word for word in nearer if word not in ("sat", "mat")]
    assert found.answer.rank_without_inputs == 1 + len(left)
    assert found.answer.expected_score == pytest.approx(abs(nearness(target)))
    assert found.inputs == inputs
    assert [word for word, _ in found.in_pieces] == ["cats", "the mat"]
    assert found.num_without_inputs == found.num_compared - 2


def test_without_hope_there_is_no_rank(explorer, vectors):
    found = solve_analogy(explorer, vectors, ("cat", "sat", "mat"), " ")
    assert (found.answer.rank, found.expected) == (None, "")
    # Words of a kind that is left out still take part if asked.
    asked = ("##s", "cat", "mat")
    found = solve_analogy(explorer, vectors, asked, "##e", without=("piece",))
    assert found.answer.rank is not None
    assert found.num_compared == 1 + 18 + 1  # both pieces, and what is no piece


def test_words_lie_between_two_words_where_projection_puts_them(
    explorer, vectors, table
):
    words = ("sat", "cat", "on", "sat")
    found = project_words(explorer, vectors, "cat", "mat", words, ("piece",))
    start, end = table[row_of("cat")], table[row_of("mat")]
    direction = end - start
    assert found.words == ("sat", "cat", "on")
    assert found.positions[1] == pytest.approx(0, abs=1e-6)
    offset = table[row_of("on")] - start
    assert found.positions[2] == pytest.approx(
        offset @ direction / (direction @ direction), abs=1e-5
    )
    assert found.length == pytest.approx(np.sqrt(direction @ direction))
    others = [
        cosine(table[row], direction)
        for row, word in enumerate(VOCABULARY)
        if not word.startswith("##") and word not in ("cat", "mat")
    ]
    assert found.num_compared == len(others)
    own = cosine(table[row_of("on")], direction)
    assert found.cosines[2] == pytest.approx(own, abs=1e-6)
    share = np.mean(np.array(others) < own - 1e-6)
    assert found.percentiles[2] == pytest.approx(share)
    assert found.second_end.found.scores[0] == pytest.approx(max(others), abs=1e-6)
    assert found.first_end.found.scores[0] == pytest.approx(-min(others), abs=1e-6)


def test_one_word_is_no_axis(explorer, vectors, monkeypatch):
    with pytest.raises(TextError, match="Two different words"):
        project_words(explorer, vectors, "cat", "CAT", ("on",))
    monkeypatch.setattr(word_axis, "MAX_WORDS", 2)
    with pytest.raises(TextError, match="too many words"):
        project_words(explorer, vectors, "cat", "mat", ("on", "a", "the"))


def test_an_axis_of_pairs_is_their_mean_step(explorer, vectors, table):
    first, second, words = ("cat", "sat"), ("mat", "cats"), ("on", "cats")
    found = project_words(explorer, vectors, first, second, words)
    cats = (table[row_of("cat")] + table[row_of("##s")]) / 2
    steps = [table[row_of("mat")] - table[row_of("cat")], cats - table[row_of("sat")]]
    direction = np.mean(steps, axis=0)
    expected = [cosine(table[row_of("on")], direction), cosine(cats, direction)]
    np.testing.assert_allclose(found.cosines, expected, atol=1e-6)
    assert (found.first, found.second) == (("cat", "sat"), ("mat", "cats"))
    assert found.in_pieces == (("cats", ("cat", "##s")),)
    assert found.num_compared == len(VOCABULARY) - 3  # cats is no entry


def test_without_the_axis_neighbours_are_those_of_the_rest(explorer, vectors, table):
    found = remove_axis(explorer, vectors, "on", "cat", "mat", 5)
    unit = table[row_of("mat")] - table[row_of("cat")]
    unit = unit / np.sqrt(unit @ unit)
    rest = table - np.outer(table @ unit, unit)
    own = row_of("on")
    others = [row for row in range(len(VOCABULARY)) if row != own]
    after = sorted(others, key=lambda row: -cosine(rest[row], rest[own]))[:5]
    assert found.after.found.ids.tolist() == after
    expected = [cosine(rest[row], rest[own]) for row in after]
    np.testing.assert_allclose(found.after.found.scores, expected, atol=1e-6)
    before = sorted(others, key=lambda row: -cosine(table[row], table[own]))[:5]
    assert found.before.found.ids.tolist() == before
    along = (table[own] @ unit) ** 2 / (table[own] @ table[own])
    assert found.share == pytest.approx(along)
