"""The steps of layer norm against arithmetic by hand and the loop-written oracle."""

import math

import numpy as np
import pytest

from bertviz_core.analysis.layer_norm import (
    change_vector,
    layer_norm,
    layer_norm_steps,
)
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


@pytest.mark.parametrize(("shift", "scale"), [(40, 1), (0, 0.2), (-7, 12)])
def test_neither_mean_nor_scale_come_through_where_epsilon_is_small(shift, scale):
    before = layer_norm_steps(VECTOR, GAMMA, BETA, 1e-12)
    after = layer_norm_steps(change_vector(VECTOR, shift, scale), GAMMA, BETA, 1e-12)
    np.testing.assert_allclose(after.output, before.output, atol=1e-9)
    assert after.deviation == pytest.approx(scale * before.deviation)


def test_a_mirrored_vector_comes_out_mirrored_around_beta():
    before = layer_norm_steps(VECTOR, GAMMA, BETA, 0.1)
    after = layer_norm_steps(change_vector(VECTOR, 0, -1), GAMMA, BETA, 0.1)
    np.testing.assert_allclose(after.output - BETA, BETA - before.output, atol=1e-12)


def test_epsilon_damps_a_vector_of_small_spread():
    large = layer_norm_steps(VECTOR, GAMMA, BETA, 1e-3)
    small = layer_norm_steps(change_vector(VECTOR, 0, 1e-3), GAMMA, BETA, 1e-3)
    assert np.abs(small.normed).max() < 0.1 * np.abs(large.normed).max()


def test_equal_numbers_come_out_as_beta_and_need_an_epsilon():
    steps = layer_norm_steps(np.full(11, 4.0), GAMMA, BETA, 1e-6)
    np.testing.assert_array_equal(steps.output, BETA)
    with pytest.raises(ValueError, match="epsilon"):
        layer_norm_steps(np.full(11, 4.0), GAMMA, BETA, 0)
    with pytest.raises(ValueError, match="epsilon"):
        layer_norm_steps(VECTOR, GAMMA, BETA, -1e-3)


def test_vectors_of_different_sizes_are_refused():
    with pytest.raises(ValueError, match="one size"):
        layer_norm_steps(VECTOR, GAMMA[:1], BETA, 1e-3)
    with pytest.raises(ValueError, match="one size"):
        layer_norm_steps(VECTOR[None], GAMMA[None], BETA[None], 1e-3)


def test_what_was_given_stays_writable_and_the_result_does_not():
    mine = VECTOR.copy()
    steps = layer_norm_steps(mine, GAMMA, BETA, 1e-3)
    mine[0] = 7
    assert steps.vector[0] == VECTOR[0]
    with pytest.raises(ValueError, match="read-only"):
        steps.output[0] = 1
