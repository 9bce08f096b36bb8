"""Questions to the vocabulary get the answers of a loop over all of it."""

import numpy as np
import pytest

from bertviz_core.errors import TextError
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


def test_rows_without_a_word_are_there_and_never_an_answer(vectors):
    assert len(vectors.tokens) == CONFIG.vocab_size
    assert vectors.tokens[len(VOCABULARY) :] == ("[row 21]", "[row 22]")
    allowed = vectors.allowed(())
    assert allowed[: len(VOCABULARY)].all()
    assert not allowed[len(VOCABULARY) :].any()


def test_kinds_are_left_out_together(vectors):
    kept = vectors.allowed(("piece", "special", "cjk"))
    words = [vectors.tokens[i] for i in np.flatnonzero(kept)]
    assert words == [
        "x",
        "the",
        "cat",
        "sat",
        "on",
        "a",
        "mat",
        ".",
        "e",
        "!",
        "y",
        "z",
    ]
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


def test_the_length_is_ranked_among_all_rows(explorer, vectors, table):
    found = nearest_words(explorer, vectors, "mat")
    lengths = np.sqrt((table**2).sum(axis=1))
    assert found.norm == pytest.approx(lengths[row_of("mat")])
    assert found.norm_rank == 1 + sum(lengths > lengths[row_of("mat")])


@pytest.mark.parametrize(
    ("typed", "entry"), [("cat", "cat"), (" CAT ", "cat"), ("##s", "##s"), ("红", "红")]
)
def test_a_word_is_found_as_the_model_reads_it(explorer, typed, entry):
    assert find_rows(explorer, typed) == row_of(entry)


def test_a_special_token_is_found_as_it_stands(explorer):
    assert find_rows(explorer, "[MASK]") == row_of("[MASK]")


def test_a_word_of_several_pieces_is_all_of_them(explorer):
    assert find_rows(explorer, "cats") == (row_of("cat"), row_of("##s"))
    assert find_rows(explorer, "the cat") == (row_of("the"), row_of("cat"))


@pytest.mark.parametrize("typed", ["dog", "the dog"])
def test_what_the_model_cannot_read_is_refused(explorer, typed):
    with pytest.raises(TextError, match="no entry") as raised:
        find_rows(explorer, typed)
    assert "[UNK]" in raised.value.details["pieces"]


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


def test_no_word_is_a_sentence(explorer):
    with pytest.raises(TextError, match="no word to look up"):
        find_rows(explorer, "  ")


def test_the_rank_of_the_hoped_for_counts_all_that_are_nearer(explorer, vectors, table):
    inputs = ("cat", "sat", "mat")
    found = solve_analogy(explorer, vectors, inputs, "on", without=("piece", "special"))
    a, b, c = (table[row_of(word)] for word in inputs)
    query = a - b + c
    candidates = [word for word in VOCABULARY if not word.startswith(("##", "["))]
    closeness = {word: cosine(table[row_of(word)], query) for word in candidates}
    nearer = [word for word in candidates if closeness[word] > closeness["on"]]
    assert found.answer.rank == 1 + len(nearer)
    assert found.answer.rank_without_inputs == 1 + len(set(nearer) - set(inputs))
    assert found.num_compared == len(candidates)
    assert found.nearest.words[0] == max(candidates, key=closeness.__getitem__)
    assert not set(found.nearest_without_inputs.words) & set(inputs)


def test_words_of_a_kind_that_is_left_out_still_take_part_if_asked(explorer, vectors):
    found = solve_analogy(
        explorer, vectors, ("##s", "cat", "mat"), "##e", without=("piece",)
    )
    assert found.answer.rank is not None
    assert found.num_compared == 1 + 18 + 1  # both pieces, and what is no piece


def test_without_hope_there_is_no_rank(explorer, vectors):
    found = solve_analogy(explorer, vectors, ("cat", "sat", "mat"), " ")
    assert (found.answer.rank, found.expected) == (None, "")
