"""Linear CKA against the paper's formula, written with loops over features."""

import numpy as np
import pytest

from bertviz_core.analysis.layer_similarity import layer_similarities


def by_features(x, y):
    """||Y'X||² / (||X'X|| ||Y'Y||), columns centred."""
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    cross = np.linalg.norm(y.T @ x) ** 2
    return cross / np.linalg.norm(x.T @ x) / np.linalg.norm(y.T @ y)


@pytest.mark.parametrize("num_tokens", [2, 5, 40])
def test_every_two_layers_are_compared_by_the_formula(num_tokens):
    states = np.random.default_rng(3).normal(size=(4, num_tokens, 7))
    found = layer_similarities(states.astype("float32"))
    for first in range(4):
        for second in range(4):
            expected = by_features(states[first], states[second])
            assert found[first, second] == pytest.approx(expected, abs=1e-6)
    np.testing.assert_allclose(np.diag(found), 1)


def test_equal_tokens_have_no_similarity_and_one_token_is_refused():
    states = np.random.default_rng(5).normal(size=(2, 3, 4))
    states[1] = 1.0
    found = layer_similarities(states)
    assert found[0, 0] == pytest.approx(1)
    assert np.isnan(found[1]).all()
    with pytest.raises(ValueError, match="two tokens"):
        layer_similarities(states[:, :1])
