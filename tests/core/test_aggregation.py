import itertools

import numpy as np
import pytest

from bertviz_core.analysis.aggregation import (
    attention_flow,
    max_of_heads,
    mean_of_heads,
    rollout,
)

L, N, T = 3, 4, 5


@pytest.fixture
def attention():
    weights = np.random.default_rng(8).exponential(size=(L, N, T, T))
    return (weights / weights.sum(axis=-1, keepdims=True)).astype("float32")


@pytest.mark.parametrize("heads", [[(0, 2), (2, 1)], list(np.ndindex(L, N))])
def test_the_mean_and_the_maximum_go_over_the_chosen_heads(attention, heads):
    chosen = np.zeros((L, N), bool)
    for place in heads:
        chosen[place] = True
    flat = np.stack([attention[place] for place in heads]).astype("float64")
    for given in (chosen, None) if chosen.all() else (chosen,):
        mean, most = mean_of_heads(attention, given), max_of_heads(attention, given)
        np.testing.assert_allclose(mean, flat.mean(0), atol=1e-7)
        np.testing.assert_allclose(most, flat.max(0), atol=1e-7)


@pytest.mark.parametrize("function", [mean_of_heads, max_of_heads])
@pytest.mark.parametrize("chosen", [np.zeros((L, N)), np.ones((N, L))])
def test_a_choice_of_no_head_or_of_another_model_is_refused(
    attention, function, chosen
):
    with pytest.raises(ValueError, match="chosen"):
        function(attention, chosen)


def test_rollout_multiplies_the_layers_from_the_input_up(attention):
    expected, reached = [], np.eye(T)
    for layer in attention.astype("float64"):
        reached = (np.eye(T) + layer.mean(0)) / 2 @ reached
        expected.append(reached)
    np.testing.assert_allclose(rollout(attention), expected, atol=1e-6)


def test_the_share_of_the_residual_is_the_callers_choice(attention):
    np.testing.assert_array_equal(rollout(attention, 1.0), [np.eye(T)] * L)
    first = attention[0].astype("float64").mean(0)
    np.testing.assert_allclose(rollout(attention, 0.0)[0], first, atol=1e-6)
    with pytest.raises(ValueError, match="residual"):
        rollout(attention, 1.5)


def _smallest_cut(layers, sources, sinks):
    """What max-flow min-cut says, over every set of tokens between: slow and sure."""
    depth, tokens = layers.shape[:2]
    sides = [np.isin(np.arange(tokens), sinks, invert=True)]  # not the sink: free
    cuts = []
    for flat in itertools.product((False, True), repeat=(depth - 1) * tokens):
        between = np.array(flat, bool).reshape(depth - 1, tokens)
        # True: on the source's side. At the ends, what is neither costs nothing.
        cut = [sides[0], *between, np.isin(np.arange(tokens), sources)]
        cuts.append(
            sum(layers[i][np.ix_(cut[i + 1], ~cut[i])].sum() for i in range(depth))
        )
    return min(cuts)


def test_flow_is_the_smallest_cut_between_two_tokens(attention):
    layers = (np.eye(T) + attention.astype("float64").mean(axis=1)) / 2
    found = attention_flow(attention)
    expected = [[_smallest_cut(layers, [i], [j]) for j in range(T)] for i in range(T)]
    np.testing.assert_allclose(found, expected, atol=1e-7)
    np.testing.assert_allclose(attention_flow(attention[:1]), layers[0], atol=1e-7)


def test_flow_of_words_is_that_of_their_pieces_together(attention):
    layers = (np.eye(T) + attention.astype("float64").mean(axis=1)) / 2
    words = [[0], [1, 2], [3], [4]]
    found = attention_flow(attention, groups=np.array([0, 1, 1, 2, 3]))
    expected = [
        [_smallest_cut(layers, one, other) / len(one) for other in words]
        for one in words
    ]
    np.testing.assert_allclose(found, np.minimum(expected, 1), atol=1e-7)


def test_flow_tells_how_far_it_is_and_can_be_stopped(attention):
    told = []
    attention_flow(attention, tell=lambda fraction, _: told.append(fraction))
    assert told == [i / T for i in range(T)]
