import numpy as np
import pytest

from bertviz_core.analysis.nmf import factorise

RNG = np.random.default_rng(8)
# Three parts that share no row and no column: only one factorisation fits.
BLOCKS = np.zeros((9, 14))
BLOCKS[:2, :6], BLOCKS[2:5, 6:8], BLOCKS[5:, 8:] = 2.5, 3.0, 1.0
NOISE = RNG.uniform(0, 1, (9, 14))


def test_parts_that_share_nothing_are_found_again_largest_first():
    # A start may lead to a worse end: one part twice, two parts as one.
    starts = [factorise(BLOCKS, 3, seed, 400, tolerance=0) for seed in range(6)]
    found = min(starts, key=lambda factorisation: factorisation.error)
    assert found.error < 1e-6
    product = found.weights @ found.factors
    np.testing.assert_allclose(product, BLOCKS, atol=1e-5)
    held = [np.flatnonzero(row > 1e-4).tolist() for row in found.factors]
    assert held == [list(range(6)), list(range(6, 8)), list(range(8, 14))]
    rows = [np.flatnonzero(column > 1e-4).tolist() for column in found.weights.T]
    assert rows == [[0, 1], [2, 3, 4], [5, 6, 7, 8]]


def test_one_factor_is_the_first_singular_pair():
    found = factorise(NOISE, 1, seed=2, num_iterations=300, tolerance=0)
    values = np.linalg.svd(NOISE, compute_uv=False)
    least = np.sqrt(np.square(values[1:]).sum()) / np.linalg.norm(NOISE)
    assert found.error == pytest.approx(least, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_error_never_rises_and_is_that_of_the_result(seed):
    told = []
    found, again, other = (
        factorise(NOISE, 4, one, 60, 0, lambda done, _: told.append(done))
        for one in (seed, seed, seed + 1)
    )
    assert told[:60] == sorted(told[:60])
    np.testing.assert_array_equal(found.weights, again.weights)
    np.testing.assert_array_equal(found.factors, again.factors)
    assert other.errors[0] != found.errors[0]
    assert found.num_iterations == 60
    assert (np.diff(found.errors) <= 1e-12).all()
    assert found.errors[-1] < 0.7 * found.errors[0]
    left = np.linalg.norm(NOISE - found.weights @ found.factors)
    assert found.error == pytest.approx(left / np.linalg.norm(NOISE), abs=1e-12)


def test_every_error_on_the_way_is_that_of_a_run_that_stops_there():
    runs = [factorise(NOISE, 3, 5, count, tolerance=0) for count in range(10)]
    errors = [run.error for run in runs]
    np.testing.assert_allclose(runs[-1].errors, errors, atol=1e-9)


def test_nothing_is_negative_and_factors_have_length_1():
    found = factorise(NOISE, 5, seed=0)
    assert found.weights.min() >= 0
    assert found.factors.min() >= 0
    np.testing.assert_allclose(np.linalg.norm(found.factors, axis=1), 1)
    sizes = np.linalg.norm(found.weights, axis=0)
    assert (np.diff(sizes) <= 0).all()


def test_it_stops_when_nothing_more_is_won():
    found = factorise(NOISE, 2, seed=4, num_iterations=5000, tolerance=1e-4)
    assert found.num_iterations < 5000
    won = -np.diff(found.errors) / found.errors[:-1]
    assert won[-1] < 1e-4
    assert (won[:-1] >= 1e-4).all()


@pytest.mark.parametrize(
    "matrix", [NOISE - 0.5, NOISE[0], NOISE[:0], np.where(NOISE > 0.5, np.nan, NOISE)]
)
def test_what_has_no_parts_is_refused(matrix):
    with pytest.raises(ValueError, match="matrix"):
        factorise(matrix, 2, seed=0)
    with pytest.raises(ValueError, match="num_factors"):
        factorise(NOISE, 0, seed=0)
    nothing = factorise(np.zeros((4, 6)), 2, seed=0)
    assert nothing.error == 0
    assert not (nothing.weights @ nothing.factors).any()
