import numpy as np
import pytest

from bertviz_core.analysis.aggregation import max_of_heads, mean_of_heads, rollout

L, N, T = 3, 4, 5


@pytest.fixture
def attention():
    weights = np.random.default_rng(8).exponential(size=(L, N, T, T))
    return (weights / weights.sum(axis=-1, keepdims=True)).astype("float32")


def test_the_mean_and_the_maximum_go_over_all_layers_and_heads(attention):
    flat = attention.astype("float64").reshape(L * N, T, T)
    np.testing.assert_allclose(mean_of_heads(attention), flat.mean(0), atol=1e-7)
    np.testing.assert_allclose(max_of_heads(attention), flat.max(0), atol=1e-7)


def test_only_chosen_heads_count(attention):
    chosen = np.zeros((L, N), bool)
    chosen[0, 2] = chosen[2, 1] = True
    two = np.stack([attention[0, 2], attention[2, 1]]).astype("float64")
    np.testing.assert_allclose(mean_of_heads(attention, chosen), two.mean(0), atol=1e-7)
    np.testing.assert_allclose(max_of_heads(attention, chosen), two.max(0), atol=1e-7)


@pytest.mark.parametrize("function", [mean_of_heads, max_of_heads])
@pytest.mark.parametrize("chosen", [np.zeros((L, N)), np.ones((N, L))])
def test_a_choice_of_no_head_or_of_another_model_is_refused(
    attention, function, chosen
):
    with pytest.raises(ValueError, match="chosen"):
        function(attention, chosen)


def test_rollout_multiplies_the_layers_from_the_input_up(attention):
    means = [layer.astype("float64").mean(0) for layer in attention]
    expected, reached = [], np.eye(T)
    for mean in means:
        step = np.zeros((T, T))
        for q in range(T):
            for k in range(T):
                step[q, k] = 0.5 * (q == k) + 0.5 * mean[q, k]
        reached = np.array(
            [
                [sum(step[q, m] * reached[m, k] for m in range(T)) for k in range(T)]
                for q in range(T)
            ]
        )
        expected.append(reached)
    np.testing.assert_allclose(rollout(attention), expected, atol=1e-6)


def test_rows_of_rollout_sum_to_1_after_many_layers(attention):
    result = rollout(np.concatenate([attention] * 8))
    assert result.shape == (8 * L, T, T)
    np.testing.assert_allclose(result.sum(axis=-1), 1, rtol=0, atol=1e-12)


def test_the_share_of_the_residual_is_the_callers_choice(attention):
    np.testing.assert_array_equal(rollout(attention, 1.0), [np.eye(T)] * L)
    first = attention[0].astype("float64").mean(0)
    np.testing.assert_allclose(rollout(attention, 0.0)[0], first, atol=1e-6)
    with pytest.raises(ValueError, match="residual"):
        rollout(attention, 1.5)
