import dataclasses

import numpy as np
import pytest

from bertviz_core.config import BertConfig
from bertviz_core.errors import TextError
from bertviz_core.experiments.attention_parts import (
    norm_weighted_attention,
    pair_arithmetic,
    require_room,
    value_zeroing,
)
from tests.core import oracle
from tests.core.random_models import CONFIG, PRE_NORM, agree, explorer_of, random_model

WORDS = "the cat sat on a mat"
SPARSE = {"sparse_window": 1, "sparse_global": 1}
CASES = {
    "post-norm": CONFIG,
    "pre-norm": PRE_NORM,
    "sparse": dataclasses.replace(CONFIG, **SPARSE),
    "sparse pre-norm": dataclasses.replace(PRE_NORM, **SPARSE),
}
# Of a distance up to 0.1: what two outputs in float32 leave of it.
ZEROED = 1e-7
LAYERS, HEADS = CONFIG.num_hidden_layers, CONFIG.num_attention_heads


@dataclasses.dataclass(frozen=True)
class Case:
    config: object
    weights: dict
    explorer: object
    trace: object

    def keep(self, query):
        """What the oracle lets a row look at."""
        tokens = self.trace.tokenized.num_tokens
        if not self.config.is_sparse:
            return np.ones(tokens, int)
        return np.array(
            [int(abs(query - k) <= 1 or min(query, k) == 0) for k in range(tokens)]
        )

    def edges(self):
        tokens = self.trace.tokenized.num_tokens
        keep = np.stack([self.keep(query) for query in range(tokens)])
        return np.broadcast_to(keep, (HEADS, tokens, tokens))

    def residual(self, layer):
        return self.trace.hidden_states[layer].astype("float64")

    def source(self, layer):
        """What queries, keys and values are made of."""
        x = self.residual(layer)
        if self.config.pre_norm:
            norm = self.weights["layers"][layer]["attention_norm"]
            return oracle.layer_norm(x, *norm, self.config.layer_norm_eps)
        return x

    def attention(self, layer, weights=None):
        tokens = self.trace.tokenized.num_tokens
        return oracle.attention(
            weights or self.weights["layers"][layer],
            HEADS,
            self.source(layer),
            np.ones(tokens, int),
            edge_mask=self.edges(),
        )


@pytest.fixture(scope="module", params=CASES)
def case(request):
    config = CASES[request.param]
    model, weights = random_model(config)
    explorer = explorer_of(model)
    return Case(config, weights, explorer, explorer.trace(WORDS))


def test_the_steps_of_a_pair_end_at_the_exposed_probability(case):
    tokens = case.trace.tokenized.num_tokens
    for layer, head, query, key in [(0, 6, 1, 2), (2, 3, 5, 6), (1, 0, 7, 1)]:
        steps = pair_arithmetic(case.explorer, case.trace, layer, head, query, key)
        _, scores, probs = case.attention(layer)
        agree(steps.running_sums, np.cumsum(steps.query * steps.key), 1e-12)
        agree(steps.products.sum(), steps.running_sums[-1], 1e-12)
        size = CONFIG.head_size
        assert steps.query.shape == steps.key.shape == (size,)
        assert steps.score == pytest.approx(steps.running_sums[-1] / np.sqrt(size))
        agree(steps.scores, scores[head, query], 2e-6)  # in float32, up to 4.2
        assert steps.scores.shape == steps.probs.shape == (tokens,)
        agree(steps.probs, probs[head, query], 1e-6)
        assert steps.prob == pytest.approx(steps.exposed_prob, abs=1e-6)
        exposed = case.trace.attention_probs[layer, head, query, key]
        assert steps.exposed_prob == exposed


def test_a_pair_lets_through_its_value_times_its_weight(case):
    for layer, head, query, key in [(0, 6, 1, 2), (2, 3, 5, 6)]:
        steps = pair_arithmetic(case.explorer, case.trace, layer, head, query, key)
        weights = case.weights["layers"][layer]
        size = CONFIG.head_size
        own = slice(head * size, (head + 1) * size)
        value = oracle.dense(case.source(layer), *weights["value"])[:, own]
        agree(steps.value, value[key], 1e-6)
        agree(steps.weighted, steps.prob * value[key], 1e-6)
        agree(steps.output, case.attention(layer)[0][query, own], 1e-6)
        part = parts_of(case, layer)[head, query, key]
        assert steps.norm == pytest.approx(np.linalg.norm(part), abs=1e-6)


def test_what_a_pattern_hides_is_seen_in_the_mask_term(case):
    steps = pair_arithmetic(case.explorer, case.trace, 1, 2, 3, 6)
    hidden = np.where(case.keep(3) == 1, 0.0, -10000.0)
    np.testing.assert_array_equal(steps.mask_terms, hidden)
    assert steps.mask_term == hidden[6]
    assert (steps.prob == 0) == case.config.is_sparse


def test_edges_are_those_of_the_pattern(case):
    tokens = case.trace.tokenized.num_tokens
    edges = case.explorer.forward.visible(tokens)
    np.testing.assert_array_equal(edges, case.edges()[0])


def parts_of(case, layer):
    """Each head's and key's contribution to each query, [N, Q, K, H]."""
    weights = case.weights["layers"][layer]
    kernel, _ = weights["attention_output"]
    value = oracle.dense(case.source(layer), *weights["value"])
    probs = case.attention(layer)[2]
    size = CONFIG.head_size
    tokens = len(value)
    parts = np.zeros((HEADS, tokens, tokens, CONFIG.hidden_size))
    for head in range(HEADS):
        own = slice(head * size, (head + 1) * size)
        for q in range(tokens):
            for k in range(tokens):
                parts[head, q, k] = probs[head, q, k] * (value[k, own] @ kernel[own])
    return parts


def test_norms_are_lengths_of_parts_that_add_up_to_the_output_of_attention(case):
    for layer in range(LAYERS):
        result = norm_weighted_attention(case.explorer, case.trace, layer)
        parts = parts_of(case, layer)
        agree(result.norms, np.linalg.norm(parts, axis=-1), 1e-6)
        agree(result.combined, np.linalg.norm(parts.sum(axis=0), axis=-1), 1e-6)
        weights = case.weights["layers"][layer]["attention_output"]
        context = case.attention(layer)[0]
        agree(result.output, oracle.dense(context, *weights), 1e-6)
        agree(parts.sum(axis=(0, 2)) + weights[1], result.output, 1e-6)


def test_the_output_of_attention_leads_to_the_next_hidden_state_of_the_trace(case):
    for layer in range(LAYERS):
        weights = case.weights["layers"][layer]
        eps = case.config.layer_norm_eps
        update = norm_weighted_attention(case.explorer, case.trace, layer).output
        following = finish(case, weights, eps, case.residual(layer), update)
        agree(case.trace.hidden_states[layer + 1], following, 1e-5)


def finish(case, weights, eps, x, update):
    x = x + update
    if case.config.pre_norm:
        normed = oracle.layer_norm(x, *weights["output_norm"], eps)
        return x + oracle.feed_forward(weights, case.config, normed)
    x = oracle.layer_norm(x, *weights["attention_norm"], eps)
    x = x + oracle.feed_forward(weights, case.config, x)
    return oracle.layer_norm(x, *weights["output_norm"], eps)


def zeroed_by_hand(case, layer):
    weights = case.weights["layers"][layer]
    eps = case.config.layer_norm_eps
    value = oracle.dense(case.source(layer), *weights["value"])
    probs = case.attention(layer)[2]
    size, tokens = CONFIG.head_size, len(value)

    def output(values):
        context = np.zeros_like(values)
        for head in range(HEADS):
            own = slice(head * size, (head + 1) * size)
            context[:, own] = probs[head] @ values[:, own]
        update = oracle.dense(context, *weights["attention_output"])
        return finish(case, weights, eps, case.residual(layer), update)

    whole, distances = output(value), np.zeros((tokens, tokens))
    for key in range(tokens):
        without = value.copy()
        without[key] = 0
        changed = output(without)
        for query in range(tokens):
            a, b = whole[query], changed[query]
            cosine = a @ b / np.sqrt((a @ a) * (b @ b))
            distances[query, key] = 1 - cosine
    return distances


@pytest.mark.parametrize("layer", range(LAYERS))
def test_value_zeroing_compares_whole_blocks_one_token_at_a_time(case, layer):
    result = value_zeroing(case.explorer, case.trace, layer)
    expected = zeroed_by_hand(case, layer)
    agree(result.distances, expected, ZEROED)
    agree(result.scores, expected / expected.sum(axis=-1, keepdims=True), 1e-6)
    agree(result.scores.sum(axis=-1), 1, 1e-12)


def test_a_text_in_several_chunks_gives_the_same_and_tells_how_far_it_is(
    case, monkeypatch
):
    whole = value_zeroing(case.explorer, case.trace, 1)
    monkeypatch.setattr("bertviz_core.experiments.attention_parts._MOST_VECTORS", 25)
    told = []
    parts = value_zeroing(
        case.explorer, case.trace, 1, lambda done, _: told.append(done)
    )
    agree(parts.distances, whole.distances, ZEROED)
    assert told == [0, 3 / 8, 6 / 8]


@pytest.mark.parametrize(
    ("limit", "value"), [("_MOST_TOKENS", 7), ("_MOST_BYTES", 10_000)]
)
def test_more_than_fits_is_refused_before_it_is_computed(
    case, monkeypatch, limit, value
):
    monkeypatch.setattr(f"bertviz_core.experiments.attention_parts.{limit}", value)
    with pytest.raises(TextError, match="8 tokens"):
        value_zeroing(case.explorer, case.trace, 1)


def test_the_room_of_the_largest_bert_is_enough_for_its_longest_text():
    large = BertConfig(
        vocab_size=30522,
        hidden_size=1024,
        num_hidden_layers=24,
        num_attention_heads=16,
        intermediate_size=4096,
    )
    require_room(large, 512)


@pytest.mark.parametrize(("act"), ["gelu_new", "relu", "swish"])
def test_value_zeroing_takes_the_models_own_activation(act):
    config = dataclasses.replace(CONFIG, hidden_act=act)
    model, weights = random_model(config)
    explorer = explorer_of(model)
    case = Case(config, weights, explorer, explorer.trace(WORDS))
    result = value_zeroing(explorer, case.trace, 2)
    agree(result.distances, zeroed_by_hand(case, 2), ZEROED)


def test_a_token_that_no_head_may_look_at_changes_nothing():
    config = CASES["sparse"]
    explorer = explorer_of(random_model(config)[0])
    trace = explorer.trace(WORDS)
    distances = value_zeroing(explorer, trace, 0).distances
    hidden = ~explorer.forward.visible(trace.tokenized.num_tokens)
    assert hidden.any()
    assert (distances[hidden] < 1e-12).all()
    assert (distances[~hidden] > 1e-9).all()


@pytest.mark.parametrize(
    "asked",
    [(3, 0, 0, 0), (-1, 0, 0, 0), (0, 7, 0, 0), (0, 0, 8, 0), (0, 0, 0, 8)],
)
def test_a_place_that_does_not_exist_is_refused(explorer, asked):
    with pytest.raises(ValueError, match="must be at least 0 and below"):
        pair_arithmetic(explorer, explorer.trace(WORDS), *asked)


def test_a_trace_without_what_is_needed_is_refused(explorer):
    trace = explorer.trace(WORDS)
    with pytest.raises(ValueError, match="hidden_states"):
        norm_weighted_attention(explorer, trace.only(("attention_probs",)), 0)
    with pytest.raises(ValueError, match="attention_probs"):
        pair_arithmetic(explorer, trace.only(("hidden_states",)), 0, 0, 0, 0)
