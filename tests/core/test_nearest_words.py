"""Neighbours and ranks equal a full sort in float64."""

import numpy as np
import pytest

from bertviz_core.analysis.nearest_words import WordTable

ROWS, SIZE = 501, 13


@pytest.fixture(scope="module")
def vectors():
    """Far from the origin and close together, with twins and a zero."""
    rng = np.random.default_rng(2)
    table = (5 + rng.normal(size=(ROWS, SIZE)) * 1e-3).astype("f4")
    table[40:44] = table[39]
    table[77] = 0
    table[100:200] = rng.normal(size=(100, SIZE))
    return table


def scores_by_hand(vectors, query, metric):
    wide = vectors.astype("f8")
    if metric == "euclidean":
        return np.array([np.sqrt(((row - query) ** 2).sum()) for row in wide])
    lengths = [np.linalg.norm(row) * np.linalg.norm(query) for row in wide]
    return np.array(
        [row @ query / n if n else 0 for row, n in zip(wide, lengths, strict=True)]
    )


def order_by_hand(vectors, query, metric, rows):
    scores = scores_by_hand(vectors, query, metric)
    signed = -scores if metric == "cosine" else scores
    return sorted(rows, key=lambda row: (round(signed[row], 15), row))


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("row", [0, 41, 77, 150])
@pytest.mark.parametrize("num_neighbours", [10, ROWS + 3])
def test_neighbours_equal_a_full_sort(vectors, metric, row, num_neighbours):
    query = vectors[row].astype("f8") + 1e-4
    found = WordTable(vectors).nearest(query, num_neighbours, metric)
    expected = order_by_hand(vectors, query, metric, range(ROWS))[:num_neighbours]
    scores = scores_by_hand(vectors, query, metric)
    assert len(found.ids) == min(num_neighbours, ROWS)
    np.testing.assert_allclose(found.scores, scores[expected], rtol=0, atol=1e-13)
    if num_neighbours == 10:
        assert found.ids.tolist() == expected


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_one_that_is_alike_stands_above_only_by_its_row(vectors, metric):
    found = WordTable(vectors).nearest(vectors[42], 5, metric)
    assert found.ids.tolist() == [39, 40, 41, 42, 43]
    assert found.metric == metric


def test_only_what_is_allowed_is_found(vectors):
    allowed = np.zeros(ROWS, bool)
    allowed[[3, 9, 200]] = True
    found = WordTable(vectors).nearest(vectors[3], 7, allowed=allowed)
    assert found.ids[0] == 3
    assert sorted(found.ids) == [3, 9, 200]
    nothing = WordTable(vectors).nearest(vectors[3], 7, allowed=allowed & False)
    assert not len(nothing.ids)


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_ranks_count_the_rows_that_are_nearer(vectors, metric):
    query = vectors[300].astype("f8") + 0.01
    table = WordTable(vectors)
    scores = scores_by_hand(vectors, query, metric)
    allowed = np.arange(ROWS) % 3 > 0
    for row in (0, 43, 77, 130, 300, 500):
        ahead = scores - scores[row] if metric == "cosine" else scores[row] - scores
        nearer = ahead > 1e-14
        assert table.rank(query, row, metric) == 1 + nearer.sum()
        assert table.rank(query, row, metric, allowed) == 1 + (nearer & allowed).sum()


WORDS = ("king", "man", "woman", "queen", "royal", "apple")
PLANE = np.array([[5, 1], [1, 1], [1, 3], [5, 2.5], [5, 2.9], [-4, 0]], "f4")


def test_an_analogy_has_both_ranks():
    # king - man + woman = (5, 3): nearest are royal, queen, king; in Euclid's
    # measure 0.1, 0.5, 2, then woman at 4.
    found = WordTable(PLANE).analogy(
        (0, 1, 2), expected=3, num_neighbours=4, metric="euclidean"
    )
    nearest = [WORDS[i] for i in found.neighbours.ids]
    assert nearest == ["royal", "queen", "king", "woman"]
    np.testing.assert_allclose(found.neighbours.scores, [0.1, 0.5, 2, 4], atol=1e-6)
    others = [WORDS[i] for i in found.neighbours_without_inputs.ids]
    assert others == ["royal", "queen", "apple"]
    assert (found.rank, found.rank_without_inputs) == (2, 2)
    assert found.expected_score == pytest.approx(0.5)


def test_the_inputs_themselves_may_stand_before_the_expected_word():
    # king - apple + royal = (14, 3.9); from it apple is furthest of all.
    found = WordTable(PLANE).analogy((0, 5, 4), expected=5, metric="euclidean")
    assert (found.rank, found.rank_without_inputs) == (6, None)
    # (5, 1) - (5, 2.5) + (1, 3) = (1, 1.5): man 0.5, woman 1.5, then queen.
    found = WordTable(PLANE).analogy((0, 3, 2), expected=4, metric="euclidean")
    assert found.neighbours.ids[:2].tolist() == [1, 2]
    assert (found.rank, found.rank_without_inputs) == (5, 2)
    # Nothing expected has no rank.
    allowed = np.array([1, 0, 0, 1, 0, 1], bool)
    found = WordTable(PLANE).analogy((0, 1, 2), allowed=allowed)
    assert (found.rank, found.rank_without_inputs, found.expected_score) == (None,) * 3
    assert set(found.neighbours.ids) == {0, 3, 5}
    assert set(found.neighbours_without_inputs.ids) == {3, 5}


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        *(((np.ones(3), 1), "query"), ((np.ones(2), 0), "num_neigh")),
        ((np.ones(2), 1, "taxi"), "metric"),
    ],
)
def test_questions_that_make_no_sense_are_refused(wrong, match):
    with pytest.raises(ValueError, match=match):
        WordTable(PLANE).nearest(*wrong)
