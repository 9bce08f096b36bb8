"""Self-attention against the oracle, and what must hold for any weights."""

import numpy as np
import pytest
from keras.ops import convert_to_numpy as to_numpy

from bertviz_core.model.attention import MASKED_SCORE, SelfAttention
from bertviz_core.model.taps import Taps
from tests.core import oracle
from tests.core.random_models import (
    BATCH,
    CONFIG,
    TOKENS,
    agree,
    evaluate,
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


def expected_parts(weights, vectors, mask, edge_mask):
    results = [
        oracle.attention(weights, HEADS, text.astype("float64"), keep, edge_mask=edges)
        for text, keep, edges in zip(vectors, mask, edge_mask, strict=True)
    ]
    return [np.stack(part) for part in zip(*results, strict=True)]


def test_context_and_probabilities_match_the_formula(layer, weights, vectors, mask):
    context, _, probs = expected_parts(weights, vectors, mask, [None] * BATCH)
    actual = evaluate(layer, vectors, mask)
    agree(actual[0], context)
    agree(actual[1], probs)


def test_without_a_mask_everything_is_looked_at(layer, vectors, mask):
    masked = evaluate(layer, vectors, np.ones_like(mask))
    for one, other in zip(evaluate(layer, vectors), masked, strict=True):
        agree(one, other, 1e-6)


@pytest.mark.parametrize("axes", [3, 4])
def test_a_mask_of_rows_or_of_heads_matches_the_formula(
    layer, weights, vectors, mask, axes
):
    edges = random_interventions("edge_mask")["edge_mask"][:, 2]  # [B, N, Q, K]
    if axes == 3:
        edges = edges[:, :1]
    context, _, probs = expected_parts(
        weights, vectors, mask, np.broadcast_to(edges, (BATCH, HEADS, TOKENS, TOKENS))
    )
    given = edges * mask[:, None, None, :]
    actual = evaluate(layer, vectors, given[:, 0] if axes == 3 else given)
    agree(actual[0], context)
    agree(actual[1], probs)


@pytest.mark.parametrize("axis", range(4))
def test_one_row_of_a_mask_serves_all(layer, vectors, axis):
    edges = random_interventions("edge_mask")["edge_mask"][:, 0].take([0], axis)
    everywhere = np.broadcast_to(edges, (BATCH, HEADS, TOKENS, TOKENS)).copy()
    pairs = (evaluate(layer, vectors, given) for given in (edges, everywhere))
    for one, other in zip(*pairs, strict=True):
        agree(one, other, 1e-6)


def test_the_softmax_of_the_masked_scores_is_the_probabilities(layer, vectors, mask):
    def with_scores(hidden_states, attention_mask):
        taps = Taps(["scores", "masked_scores"])
        _, probs = layer(hidden_states, attention_mask, tap=taps)
        return {**taps.kept, "probs": probs}

    found = evaluate(with_scores, vectors, mask)
    hidden = np.where(mask == 1, 0.0, MASKED_SCORE)[:, None, None, :]
    agree(found["masked_scores"], found["scores"] + hidden, 1e-3)  # of 10,000
    masked = found["scores"].astype("float64") + hidden
    powers = np.exp(masked - masked.max(-1, keepdims=True))
    agree(found["probs"], powers / powers.sum(-1, keepdims=True), 1e-6)


def test_padding_gets_no_attention(layer, vectors, mask):
    _, probs = evaluate(layer, vectors, mask)
    padding = np.broadcast_to(mask[:, None, None, :] == 0, probs.shape)
    assert padding.any()
    assert probs[padding].max() == 0.0


def test_padding_does_not_change_what_others_see(layer, vectors, mask):
    other = np.where(mask[:, :, None] == 1, vectors, vectors + 3)
    seen = mask == 1
    changed, whole = (evaluate(layer, given, mask)[0] for given in (other, vectors))
    agree(changed[seen], whole[seen], 1e-6)


def test_rows_sum_to_one_also_where_a_text_is_all_padding(layer, vectors, mask):
    mask = mask.copy()
    mask[3] = 0
    _, probs = evaluate(layer, vectors, mask)
    agree(probs.sum(-1), np.ones((BATCH, HEADS, TOKENS)), 1e-6)


def test_probabilities_are_taken_before_dropout(layer, vectors, mask):
    quiet = evaluate(layer, vectors, mask)
    noisy = [to_numpy(part) for part in layer(vectors, mask, training=True)]
    agree(noisy[1], quiet[1], 1e-6)
    assert np.abs(noisy[0] - quiet[0]).max() > 0.1


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
    context = to_numpy(layer(vectors, mask, training=True)[0])
    by_head = context.reshape(BATCH, TOKENS, HEADS, CONFIG.head_size)
    agree(by_head, np.broadcast_to(by_head[..., :1], by_head.shape), 1e-6)
    probs = evaluate(layer, vectors, mask)[1][4, 0, 0]
    scale = 1 / (1 - CONFIG.attention_probs_dropout_prob)
    subsets = (np.arange(2**TOKENS)[:, None] >> np.arange(TOKENS)) & 1
    possible = scale * subsets @ probs
    assert np.abs(possible - by_head[4, 0, 0, 0]).min() < 1e-5


def test_permuting_a_batch_permutes_the_outputs(layer, vectors, mask):
    order = np.array([3, 0, 4, 1, 2])
    straight = evaluate(layer, vectors, mask)
    permuted = evaluate(layer, vectors[order], mask[order])
    for one, other in zip(straight, permuted, strict=True):
        agree(one[order], other, 1e-6)
