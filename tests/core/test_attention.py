"""Self-attention against the oracle, and what must hold for any weights."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from keras.ops import convert_to_numpy as to_numpy

from bertviz_core.model.attention import SelfAttention
from tests.core import oracle
from tests.core.random_models import (
    BATCH,
    CONFIG,
    TOKENS,
    agree,
    random_inputs,
    random_interventions,
    set_attention,
)

HEADS = CONFIG.num_attention_heads


@pytest.fixture(scope="module")
def weights():
    return oracle.random_weights(CONFIG, seed=4)["layers"][1]


@pytest.fixture(scope="module")
def layer(weights):
    layer = SelfAttention(CONFIG)
    layer.build()
    set_attention(layer, weights)
    return layer


@pytest.fixture(scope="module")
def vectors():
    shape = (BATCH, TOKENS, CONFIG.hidden_size)
    return np.random.default_rng(6).normal(size=shape).astype("float32")


@pytest.fixture(scope="module")
def mask():
    return random_inputs()["attention_mask"]


def expected_parts(weights, vectors, mask, head_mask=None, edge_mask=None):
    def row(array, index):
        return None if array is None else array[index if len(array) > 1 else 0]

    results = [
        oracle.attention(
            weights,
            HEADS,
            text.astype("float64"),
            keep,
            row(head_mask, index),
            row(edge_mask, index),
        )
        for index, (text, keep) in enumerate(zip(vectors, mask, strict=True))
    ]
    return [np.stack(part) for part in zip(*results, strict=True)]


def test_context_scores_and_probabilities_match_the_formula(
    layer, weights, vectors, mask
):
    context, scores, probs = expected_parts(weights, vectors, mask)
    actual = layer(vectors, mask)
    agree(actual.context, context)
    agree(actual.probs, probs)
    seen = np.broadcast_to(mask[:, None, None, :] == 1, scores.shape)
    agree(to_numpy(actual.scores)[seen], scores[seen])


def test_the_softmax_of_the_scores_is_the_probabilities(layer, vectors, mask):
    actual = layer(vectors, mask)
    scores = to_numpy(actual.scores)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    agree(actual.probs, powers / powers.sum(-1, keepdims=True), 1e-6)


def test_padding_gets_no_attention(layer, vectors, mask):
    probs = to_numpy(layer(vectors, mask).probs)
    padding = np.broadcast_to(mask[:, None, None, :] == 0, probs.shape)
    assert padding.any()
    assert probs[padding].max() == 0.0


def test_padding_does_not_change_what_others_see(layer, vectors, mask):
    other = np.where(mask[:, :, None] == 1, vectors, vectors + 3)
    seen = mask == 1
    agree(
        to_numpy(layer(other, mask).context)[seen],
        to_numpy(layer(vectors, mask).context)[seen],
        1e-6,
    )


def test_rows_sum_to_one_also_where_a_text_is_all_padding(layer, vectors, mask):
    mask = mask.copy()
    mask[3] = 0
    probs = to_numpy(layer(vectors, mask).probs)
    agree(probs.sum(-1), np.ones((BATCH, HEADS, TOKENS)), 1e-6)


def test_probabilities_are_taken_before_dropout(layer, vectors, mask):
    quiet, noisy = layer(vectors, mask), layer(vectors, mask, training=True)
    agree(noisy.probs, quiet.probs, 1e-7)
    assert np.abs(to_numpy(noisy.context) - to_numpy(quiet.context)).max() > 0.1


def test_dropout_changes_the_context_of_a_head_by_whole_probabilities(
    weights, vectors, mask
):
    """Dropout acts on probabilities: each is left out or scaled up."""
    layer = SelfAttention(CONFIG)
    layer.build()
    set_attention(layer, weights)
    layer.value.kernel.assign(np.zeros(layer.value.kernel.shape))
    layer.value.bias.assign(np.ones(layer.value.bias.shape))
    # With every value 1, a context is the sum of the row that dropout left.
    context = to_numpy(layer(vectors, mask, training=True).context)
    by_head = context.reshape(BATCH, TOKENS, HEADS, CONFIG.head_size)
    agree(by_head, np.broadcast_to(by_head[..., :1], by_head.shape), 1e-6)
    probs = to_numpy(layer(vectors, mask).probs)[4, 0, 0]
    scale = oracle.dropout_scale(CONFIG.attention_probs_dropout_prob)
    subsets = (np.arange(2**TOKENS)[:, None] >> np.arange(TOKENS)) & 1
    possible = scale * subsets @ probs
    assert np.abs(possible - by_head[4, 0, 0, 0]).min() < 1e-5


@pytest.mark.parametrize("rate", [0.0, 0.25])
def test_the_gradient_in_training_is_that_of_the_formula_line_by_line(
    weights, vectors, mask, rate
):
    """The products and the softmax once more, whose gradients TensorFlow knows."""
    config = dataclasses.replace(CONFIG, attention_probs_dropout_prob=rate)
    layer = SelfAttention(config, dtype="float64")
    layer.build()
    set_attention(layer, weights)
    drawn = [variable.numpy() for variable in layer.non_trainable_variables]
    x = tf.constant(vectors.astype("float64"))
    given = tf.constant(np.random.default_rng(8).normal(size=vectors.shape))

    def line_by_line(x):
        quiet = layer(x, mask)
        kept = layer.dropout(tf.ones_like(quiet.probs), training=True)
        value = layer._split_heads(layer.value(x))
        return layer._merge_heads(tf.matmul(quiet.probs * kept, value))

    found = []
    for forward in (lambda x: layer(x, mask, training=True).context, line_by_line):
        for variable, state in zip(layer.non_trainable_variables, drawn, strict=True):
            variable.assign(state)  # the same chance
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = forward(x)
        sources = [x, *(v.value for v in layer.trainable_variables)]
        found.append([y, *tape.gradient(y, sources, output_gradients=given)])
    assert len(found[0]) == 2 + 6
    for ours, expected in zip(*found, strict=True):
        np.testing.assert_allclose(ours, expected, atol=1e-9)


@pytest.mark.parametrize("rows", [1, BATCH], ids=["one-row", "row-a-text"])
@pytest.mark.parametrize("name", ["head_mask", "edge_mask"])
def test_an_intervention_matches_the_formula(layer, weights, vectors, mask, name, rows):
    given = random_interventions(name, rows=rows)[name][:, 2]
    context, _, probs = expected_parts(weights, vectors, mask, **{name: given})
    actual = layer(vectors, mask, **{name: given})
    agree(actual.context, context)
    agree(actual.probs, probs)


def test_one_edge_mask_serves_all_heads(layer, vectors, mask):
    edges = random_interventions("edge_mask")["edge_mask"][:, 0, :1]
    everywhere = np.repeat(edges, HEADS, axis=1)
    agree(
        layer(vectors, mask, edge_mask=edges).context,
        layer(vectors, mask, edge_mask=everywhere).context,
        0,
    )


def test_a_head_that_is_off_passes_nothing_on_and_keeps_its_probabilities(
    layer, vectors, mask
):
    off = np.ones((1, HEADS), "float32")
    off[0, 2] = 0
    whole, cut = layer(vectors, mask), layer(vectors, mask, head_mask=off)
    size = CONFIG.head_size
    agree(cut.probs, whole.probs, 0)
    expected = to_numpy(whole.context).copy()
    expected[..., 2 * size : 3 * size] = 0
    agree(cut.context, expected, 0)


def test_permuting_a_batch_permutes_the_outputs(layer, vectors, mask):
    order = np.array([3, 0, 4, 1, 2])
    straight, permuted = layer(vectors, mask), layer(vectors[order], mask[order])
    for one, other in zip(straight, permuted, strict=True):
        agree(to_numpy(one)[order], other, 1e-6)
