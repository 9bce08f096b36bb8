"""Words lie on an axis where projection puts them, and it can be taken out."""

import numpy as np
import pytest

from bertviz_core.errors import TextError
from bertviz_core.experiments import word_axis as module
from bertviz_core.experiments.word_axis import project_words, remove_axis
from bertviz_core.experiments.word_vectors import word_vectors
from tests.core.random_models import VOCABULARY


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


def test_one_word_is_no_axis(explorer, vectors):
    with pytest.raises(TextError, match="Two different words"):
        project_words(explorer, vectors, "cat", "CAT", ("on",))


def test_too_many_words_are_refused(explorer, vectors, monkeypatch):
    monkeypatch.setattr(module, "MAX_WORDS", 2)
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
    np.testing.assert_allclose(
        found.after.found.scores,
        [cosine(rest[row], rest[own]) for row in after],
        atol=1e-6,
    )
    before = sorted(others, key=lambda row: -cosine(table[row], table[own]))[:5]
    assert found.before.found.ids.tolist() == before
    along = (table[own] @ unit) ** 2 / (table[own] @ table[own])
    assert found.share == pytest.approx(along)
