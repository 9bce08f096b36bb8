import numpy as np
import pytest

from bertviz_core.errors import TextError
from bertviz_core.experiments.attention_parts import (
    norm_weighted_attention,
    pair_arithmetic,
    value_zeroing,
)
from tests.core.random_models import CONFIG, agree
from tests.core.traced_models import CASES, traced

WORDS = "the cat sat on a mat"
# Of a distance up to 0.1: what two outputs in float32 leave of it.
ZEROED = 1e-7
LAYERS, HEADS = CONFIG.num_hidden_layers, CONFIG.num_attention_heads


@pytest.fixture(scope="module", params=CASES)
def case(request):
    return traced(request.param, WORDS)


def test_the_steps_of_a_pair_end_at_the_exposed_probability(case):
    for layer, head, query, key in [(0, 6, 1, 2), (2, 3, 5, 6), (1, 0, 7, 1)]:
        steps = pair_arithmetic(case.explorer, case.trace, layer, head, query, key)
        noted, root = case.steps(layer), np.sqrt(CONFIG.head_size)
        agree(steps.query, noted["attention.query"][head, query], 2e-6)
        agree(steps.key, noted["attention.key"][head, key], 2e-6)
        agree(steps.running_sums, np.cumsum(steps.query * steps.key), 1e-12)
        agree(steps.products.sum(), steps.running_sums[-1], 1e-12)
        assert steps.score == pytest.approx(steps.running_sums[-1] / root)
        # In float32, up to 4.2.
        agree(steps.scores, noted["attention.scores"][head, query], 2e-6)
        agree(steps.probs, noted["attention.probs"][head, query], 1e-6)
        assert steps.prob == pytest.approx(steps.exposed_prob, abs=1e-6)
        exposed = case.trace.attention_probs[layer, head, query, key]
        assert steps.exposed_prob == exposed
        told = steps.running_sums[-1] / root + steps.rounding
        assert told == pytest.approx(steps.score, abs=1e-12)
        agree(steps.unrounded_probs, steps.probs, 1e-6)
        # What it lets through is its value times its weight.
        value = noted["attention.value"][head, key]
        agree(steps.value, value, 1e-6)
        agree(steps.weighted, steps.prob * value, 1e-6)
        agree(steps.output, noted["attention.head_context"][head, query], 1e-6)
        part = case.parts(layer)[head, query, key]
        assert steps.norm == pytest.approx(np.linalg.norm(part), abs=1e-6)


def test_what_a_pattern_hides_is_seen_in_the_mask_term(case):
    steps = pair_arithmetic(case.explorer, case.trace, 1, 2, 3, 6)
    hidden = np.where(case.edges[3], 0.0, -10000.0)
    np.testing.assert_array_equal(steps.mask_terms, hidden)
    assert steps.mask_term == hidden[6]
    assert (steps.prob == 0) == case.config.is_sparse


def test_norms_are_lengths_of_parts_that_add_up_to_the_output_of_attention(case):
    for layer in range(LAYERS):
        result = norm_weighted_attention(case.explorer, case.trace, layer)
        noted = case.steps(layer)
        parts = case.parts(layer)
        agree(result.norms, np.linalg.norm(parts, axis=-1), 1e-6)
        summed = parts.sum(axis=0)
        agree(result.combined, np.linalg.norm(summed, axis=-1), 1e-6)
        summed += np.eye(len(summed))[..., None] * noted["input"]
        agree(result.with_residual, np.linalg.norm(summed, axis=-1), 1e-6)
        bias = case.weights["layers"][layer]["attention_output"][1]
        agree(parts.sum(axis=(0, 2)) + bias, noted["attention.output"], 1e-6)


def zeroed_by_hand(case, layer):
    noted = case.steps(layer)
    whole, tokens = noted["output"], len(noted["output"])
    distances = np.zeros((tokens, tokens))
    for key in range(tokens):
        without = noted["attention.value"].copy()
        without[:, key] = 0
        changed = case.steps(layer, {"attention.value": without})["output"]
        for query, (a, b) in enumerate(zip(whole, changed, strict=True)):
            distances[query, key] = 1 - a @ b / np.sqrt((a @ a) * (b @ b))
    return distances


@pytest.mark.parametrize("layer", range(LAYERS))
def test_value_zeroing_compares_whole_blocks_one_token_at_a_time(case, layer):
    result = value_zeroing(case.explorer, case.trace, layer)
    expected = zeroed_by_hand(case, layer)
    total = expected.sum(axis=-1, keepdims=True)
    agree(result * total, expected, 2 * ZEROED)
    agree(result, expected / total, 1e-6)
    agree(result.sum(axis=-1), 1, 1e-12)


def test_a_text_in_several_chunks_gives_the_same_and_tells_how_far_it_is(
    case, monkeypatch
):
    module, told = "bertviz_core.experiments.attention_parts", []
    whole = value_zeroing(case.explorer, case.trace, 1)
    monkeypatch.setattr(f"{module}._MOST_VECTORS", 25)
    parts = value_zeroing(
        case.explorer, case.trace, 1, lambda done, _: told.append(done)
    )
    agree(parts, whole, 1e-6)
    assert told == [0, 3 / 8, 6 / 8]
    # More than fits is refused before it is computed.
    for limit, value in (("_MOST_TOKENS", 7), ("_MOST_BYTES", 10_000)):
        with monkeypatch.context() as patch:
            patch.setattr(f"{module}.{limit}", value)
            with pytest.raises(TextError, match="8 tokens"):
                value_zeroing(case.explorer, case.trace, 1)


def test_what_there_is_not_is_refused(case):
    explorer, trace = case.explorer, case.trace
    for asked in [
        (3, 0, 0, 0),
        (-1, 0, 0, 0),
        (0, 7, 0, 0),
        (0, 0, 8, 0),
        (0, 0, 0, 8),
    ]:
        with pytest.raises(ValueError, match="must be at least 0 and below"):
            pair_arithmetic(explorer, trace, *asked)
    with pytest.raises(ValueError, match="hidden_states"):
        norm_weighted_attention(explorer, trace.only(("attention_probs",)), 0)
    with pytest.raises(ValueError, match="attention_probs"):
        pair_arithmetic(explorer, trace.only(("hidden_states",)), 0, 0, 0, 0)
