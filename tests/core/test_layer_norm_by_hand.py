"""The steps of layer norm against arithmetic by hand and the loop-written oracle."""

import math

import numpy as np
import pytest

from bertviz_core.analysis.layer_norm import change_vector, layer_norm, layer_norm_steps
from tests.core import oracle

RNG = np.random.default_rng(3)
GAMMA, BETA, VECTOR = RNG.normal(1, 0.5, 11), RNG.normal(size=11), RNG.normal(size=11)


def test_each_step_of_a_small_vector_is_what_pen_and_paper_give():
    steps = layer_norm_steps([1, 3, 8], [2, 1, -1], [0.5, 0, 4], epsilon=7 / 3)
    assert steps.mean == 4
    assert steps.centred.tolist() == [-3, -1, 4]
    assert steps.variance == pytest.approx(26 / 3)
    assert steps.deviation == pytest.approx(math.sqrt(11))
    root = math.sqrt(11)
    np.testing.assert_allclose(steps.normed, [-3 / root, -1 / root, 4 / root])
    np.testing.assert_allclose(steps.scaled, [-6 / root, -1 / root, -4 / root])
    np.testing.assert_allclose(
        steps.output, [-6 / root + 0.5, -1 / root, -4 / root + 4]
    )


def test_the_last_step_and_the_whole_equal_the_oracle():
    x = RNG.normal(2, 3, (2, 5, 11))
    expected = oracle.layer_norm(x, GAMMA, BETA, 0.01)
    np.testing.assert_allclose(layer_norm(x, GAMMA, BETA, 0.01), expected, atol=1e-12)
    steps = layer_norm_steps(x[1, 3], GAMMA, BETA, 0.01)
    np.testing.assert_allclose(steps.output, expected[1, 3], atol=1e-12)


def test_a_changed_vector_has_the_mean_and_the_spread_that_were_asked_for():
    changed = change_vector(VECTOR, shift=2.5, scale=-3)
    assert changed.mean() == pytest.approx(VECTOR.mean() + 2.5)
    assert changed.std() == pytest.approx(3 * VECTOR.std())
    np.testing.assert_allclose(change_vector(VECTOR, 0, 1), VECTOR)


def test_equal_numbers_come_out_as_beta_and_need_an_epsilon():
    steps = layer_norm_steps(np.full(11, 4.0), GAMMA, BETA, 1e-6)
    np.testing.assert_array_equal(steps.output, BETA)
    for vector, epsilon in ((np.full(11, 4.0), 0), (VECTOR, -1e-3)):
        with pytest.raises(ValueError, match="epsilon"):
            layer_norm_steps(vector, GAMMA, BETA, epsilon)
    for vector, gamma in ((VECTOR, GAMMA[:1]), (VECTOR[None], GAMMA[None])):
        with pytest.raises(ValueError, match="one size"):
            layer_norm_steps(vector, gamma, BETA, 1e-3)


def test_what_was_given_stays_writable_and_the_result_does_not():
    mine = VECTOR.copy()
    steps = layer_norm_steps(mine, GAMMA, BETA, 1e-3)
    mine[0] = 7
    assert steps.vector[0] == VECTOR[0]
    with pytest.raises(ValueError, match="read-only"):
        steps.output[0] = 1
