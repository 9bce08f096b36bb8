"""Derivatives and attributions against differences of the NumPy oracle, in float64."""

import itertools

import numpy as np
import pytest
from scipy.special import log_softmax

from bertviz_core.errors import CheckpointError, TextError
from bertviz_core.experiments import attribution
from bertviz_core.experiments.ablation import ablate_heads
from bertviz_core.experiments.attribution import METHODS, attribute
from bertviz_core.experiments.cause_results import Target
from bertviz_core.experiments.gradients import estimate_heads
from bertviz_core.experiments.gradients import slopes as derivatives
from bertviz_core.experiments.neuron_effects import rank_neurons
from bertviz_core.experiments.targets import ask
from bertviz_core.explorer import Explorer
from bertviz_core.trace import LOGITS
from tests.core import oracle
from tests.core.brute_force import written
from tests.core.cause_models import TARGETS, TEXT, WORD, by_oracle, explorer_named
from tests.core.checkpoint_copies import number_copy
from tests.core.random_models import VOCABULARY, agree

pytestmark = pytest.mark.tensorflow
STEP = 1e-4  # of a mask, or along a vector


def differences(name, text, target, quantity="probability", mask="head_mask"):
    """Half the change of the target between masks 1 + step and 1 - step."""
    config = explorer_named(name).config
    is_of_heads = mask == "head_mask"
    width = config.num_attention_heads if is_of_heads else config.intermediate_size
    slopes = np.zeros((config.num_hidden_layers, width))
    for place in np.ndindex(slopes.shape):
        ends = []
        for step in (STEP, -STEP):
            strengths = np.ones((1, *slopes.shape))
            strengths[0][place] += step
            found = by_oracle(name, text, target, **{mask: strengths})
            ends.append(found[quantity == "logit"])
        slopes[place] = (ends[0] - ends[1]) / (2 * STEP)
    return slopes


@pytest.mark.parametrize("quantity", ["probability", "logit"])
@pytest.mark.parametrize("name", ["post-norm", "pre-norm"])
def test_derivatives_are_what_small_steps_find(name, quantity):
    target = Target("mlm", 8, 2)
    explorer, text = explorer_named(name), "a [MASK]"
    expected = differences(name, text, target, quantity)
    question, on = ask(explorer, text, target), np.ones((1, *expected.shape))
    agree(derivatives(question, "heads", on, quantity)[0], expected)
    assert np.abs(expected).max() > 1e-3, "nothing to find"
    if quantity == "probability":
        agree(estimate_heads(explorer, text, target), -expected)


@pytest.mark.parametrize("target", TARGETS[1:], ids=lambda target: target.head)
def test_derivatives_of_a_class_are_what_small_steps_find(target):
    found = estimate_heads(explorer_named("pre-norm"), "cat", target)
    agree(found, -differences("pre-norm", "cat", target))


def test_another_quantity_and_an_absent_head_are_refused():
    with pytest.raises(ValueError, match="rank"):
        derivatives(ask(explorer_named("post-norm"), TEXT, WORD), "heads", None, "rank")
    with pytest.raises(CheckpointError, match="has no trained MLM head"):
        estimate_heads(explorer_named("headless"), TEXT, WORD)


def test_of_one_output_the_number_is_derived(tmp_path):
    explorer = Explorer.open(str(number_copy(tmp_path)))
    target = Target("classifier", 0)
    found = estimate_heads(explorer, "ab cab", target)
    assert np.abs(found).max() > 1e-3
    exact = ablate_heads(explorer, "ab cab", target)
    np.testing.assert_array_equal(exact.deltas, exact.delta_logits)
    assert np.abs(exact.deltas).max() > 1e-3


NAMES = ("post-norm", "pre-norm")


def shape_of(name):
    config = explorer_named(name).config
    return config.num_hidden_layers, config.intermediate_size


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.head)
@pytest.mark.parametrize("name", NAMES)
def test_what_is_measured_is_what_switching_off_by_hand_gives(name, target):
    found = rank_neurons(explorer_named(name), TEXT, target, 6)
    everything = np.ones(shape_of(name))
    before = by_oracle(name, TEXT, target, neuron_mask=everything[None])
    agree([found.before.probability, found.before.logit], before)
    assert len(set(map(tuple, found.neurons.tolist()))) == 6
    for index, place in enumerate(found.neurons.tolist()):
        mask = everything.copy()
        mask[tuple(place)] = 0
        after = by_oracle(name, TEXT, target, neuron_mask=mask[None])
        agree([found.probabilities[index], found.logits[index]], after)
        change = np.subtract(after, before)
        agree([found.deltas[index], found.delta_logits[index]], change)
    sizes = np.abs(found.deltas)
    assert (np.diff(sizes) <= 0).all()
    assert sizes[0] > 1e-4, "nothing to find"


@pytest.mark.parametrize("name", NAMES)
def test_every_neuron_of_every_layer_is_estimated_as_small_steps_find(name):
    shape = shape_of(name)
    slopes = differences(name, TEXT, WORD, mask="neuron_mask")
    question = ask(explorer_named(name), TEXT, WORD)
    on = np.ones((1, *shape))
    agree(derivatives(question, "neurons", on, "probability")[0], slopes)
    found = rank_neurons(explorer_named(name), TEXT, WORD, 5)
    largest = np.argsort(-np.abs(slopes), axis=None)[:5]
    expected = {tuple(map(int, np.unravel_index(i, shape))) for i in largest}
    assert set(map(tuple, found.neurons.tolist())) == expected
    agree(found.estimated_deltas, -slopes[tuple(found.neurons.T)])


def test_an_absent_head_and_no_neurons_are_refused():
    explorer, told = explorer_named("post-norm"), []
    with pytest.raises(CheckpointError, match="has no trained MLM head"):
        rank_neurons(explorer_named("headless"), TEXT, WORD)
    with pytest.raises(ValueError, match="num_neurons"):
        rank_neurons(explorer, TEXT, WORD, 0)
    # Fewer than asked for are all of them.
    found = rank_neurons(
        explorer,
        "cat",
        Target("nsp", 0),
        10**6,
        progress=lambda share, _: told.append(share),
    )
    assert len(found.neurons) == np.prod(shape_of("post-norm"))
    assert told == sorted(told)
    assert told[0] == 0 < told[-1] < 1


THREE_WORDS = "the [MASK] sat ."  # 6 tokens, the mask at 2
CAT, MAT, HIDDEN = (VOCABULARY.index(token) for token in ("cat", "mat", "[MASK]"))
ANSWERS = [
    pytest.param(Target("mlm", CAT, 2), None, id="word"),
    pytest.param(Target("mlm", CAT, 2), MAT, id="word against word"),
    pytest.param(Target("nsp", 1), None, id="next"),
    pytest.param(Target("classifier", 4), 9, id="class against class"),
]


class ByHand:
    """The explained value by the oracle, from word vectors."""

    def __init__(self, model_and_weights, tokenized, target, contrast):
        model, self.weights = model_and_weights
        self.config, self.tokenized = model.config, tokenized
        self.target, self.contrast = target, contrast

    def vectors(self, input_ids):
        return self.weights["words"][np.asarray(input_ids)]

    def value(self, vectors, types=None):
        weights, config, target = self.weights, self.config, self.target
        types = self.tokenized.token_type_ids if types is None else types
        inputs = {
            "input_ids": np.zeros((1, len(types)), int),
            "token_type_ids": [types],
        }

        def tap(name, value):
            return vectors if name == "embeddings.word" else value

        found = oracle.forward_one(weights, config, inputs, 0, tap)
        vector = found["sequence_output"][target.position]
        found["mlm_logits"] = oracle.mlm(weights, config, vector)
        log_probs = log_softmax(found[LOGITS[target.head]])
        value = log_probs[target.index]
        return value if self.contrast is None else value - log_probs[self.contrast]

    def slope(self, at, direction):
        """Derivative of the value along a direction, both `[T, H]`."""
        up, down = (self.value(at + sign * STEP * direction) for sign in (1, -1))
        return (up - down) / (2 * STEP)

    def along(self, at, directions):
        """The derivative along each token's part of `directions`, `[T]`."""
        parts = np.eye(len(at))[:, :, None] * directions
        return np.array([self.slope(at, part) for part in parts])


@pytest.fixture
def only(monkeypatch):
    """Sets which methods there are, and the numbers of integrated gradients."""

    def change(*methods, **numbers):
        for name, value in {"METHODS": methods, **numbers}.items():
            monkeypatch.setattr(attribution, name, value)

    return change


@pytest.mark.parametrize(("target", "contrast"), ANSWERS)
def test_gradient_x_input_equals_finite_differences(
    any_norm_model, any_norm_explorer, target, contrast, only
):
    only("gradient_x_input")
    found = attribute(any_norm_explorer, THREE_WORDS, target, contrast)
    hand = ByHand(any_norm_model, found.tokenized, target, contrast)
    text = hand.vectors(found.tokenized.input_ids)
    assert found.value == pytest.approx(hand.value(text), abs=1e-5)
    np.testing.assert_allclose(found.scores[0], hand.along(text, text), atol=2e-5)


def test_the_gradient_norm_equals_finite_differences(post_norm_model, explorer, only):
    target = Target("mlm", CAT, 2)
    only("gradient_norm")
    found = attribute(explorer, THREE_WORDS, target)
    hand = ByHand(post_norm_model, found.tokenized, target, None)
    text = hand.vectors(found.tokenized.input_ids)
    slopes = []
    for dimension in range(text.shape[1]):
        one = np.zeros_like(text)
        one[3, dimension] = 1
        slopes.append(hand.slope(text, one))
    assert found.scores[0, 3] == pytest.approx(np.linalg.norm(slopes), rel=1e-4)


@pytest.mark.parametrize(("target", "contrast"), ANSWERS[:3])
def test_integrated_gradients_equal_the_sum_over_the_way(
    post_norm_model, explorer, target, contrast, only
):
    baseline = "pad" if target.head == "nsp" else "mask"
    hidden = VOCABULARY.index(f"[{baseline.upper()}]")
    only("integrated_gradients", NUM_STEPS=3, MAX_STEPS=3)
    found = attribute(explorer, THREE_WORDS, target, contrast, baseline=baseline)
    hand = ByHand(post_norm_model, found.tokenized, target, contrast)
    ids = found.tokenized.input_ids
    words = [1, 3, 4] if target.head == "mlm" else [1, 2, 3, 4]
    start = hand.vectors(written(ids, dict.fromkeys(words, hidden)))
    change = hand.vectors(ids) - start
    # The three points and weights of Gauss and Legendre, from a table, on [0, 1].
    far = np.sqrt(3 / 5) / 2
    points = [(0.5 - far, 5 / 18), (0.5, 8 / 18), (0.5 + far, 5 / 18)]
    expected = sum(
        weight * hand.along(start + share * change, change) for share, weight in points
    )
    np.testing.assert_allclose(found.scores[0], expected, atol=5e-5)
    assert found.baseline_value == pytest.approx(hand.value(start), abs=1e-5)
    moved = hand.value(start + change) - hand.value(start)
    error = abs((expected.sum() - moved) / moved)
    assert found.completeness_error == pytest.approx(error, abs=1e-4)


def test_steps_are_doubled_until_the_error_is_small_or_they_are_many(explorer, only):
    def run(tolerance, max_steps=128):
        numbers = {"TOLERANCE": tolerance, "MAX_STEPS": max_steps}
        only("integrated_gradients", NUM_STEPS=1, **numbers)
        return attribute(explorer, THREE_WORDS, Target("mlm", CAT, 2))

    loose, limited = run(1e9), run(0, max_steps=5)
    assert [loose.num_steps, limited.num_steps] == [1, 4]
    tolerance = loose.completeness_error / 2
    tight = run(tolerance)
    assert tight.completeness_error <= tolerance
    assert tight.num_steps > 1


@pytest.mark.parametrize(("target", "contrast"), ANSWERS)
@pytest.mark.parametrize("method", ["occlusion_mask", "occlusion_delete"])
def test_occlusion_equals_changing_the_text(
    post_norm_model, explorer, method, target, contrast, only
):
    only(method)
    found = attribute(explorer, THREE_WORDS, target, contrast, "a mat")
    ids, types = found.tokenized.input_ids, found.tokenized.token_type_ids
    for token, name in enumerate(found.tokenized.tokens):
        if name in ("[CLS]", "[SEP]") or (target.head == "mlm" and token == 2):
            assert np.isnan(found.scores[0, token])
            continue
        moved, other_types = target, types
        other_ids = written(ids, {token: HIDDEN})
        if method == "occlusion_delete":
            other_ids, other_types = np.delete(ids, token), np.delete(types, token)
            if target.head == "mlm" and token < 2:
                moved = Target("mlm", CAT, 1)
        hand = ByHand(post_norm_model, found.tokenized, moved, contrast)
        other = hand.value(hand.vectors(other_ids), other_types)
        assert found.scores[0, token] == pytest.approx(found.value - other, abs=2e-5)


def test_a_typed_separator_stays_like_an_added_one(explorer, only):
    only("occlusion_mask")
    found = attribute(explorer, "the [MASK] [SEP] cat", Target("mlm", CAT, 2))
    assert found.tokenized.tokens[3] == "[SEP]"
    assert np.isnan(found.scores[0]).tolist() == [True, False, True, True, False, True]


def test_agreement_is_the_rank_correlation_over_the_words(explorer, only):
    seen = []
    found = attribute(
        explorer,
        "the [MASK] sat on a mat",
        Target("mlm", CAT, 2),
        progress=lambda *told: seen.append(told),
    )
    assert [name for _, name in seen] == list(found.methods) == list(METHODS)
    assert seen[-1][0] == 1
    assert found.compared.tolist() == [1, 3, 4, 5, 6]
    scores = found.scores[:, found.compared]
    for i, j in itertools.product(range(len(METHODS)), repeat=2):
        pair = scores[[i, j]]
        if "gradient_norm" in (METHODS[i], METHODS[j]):
            pair = np.abs(pair)
        # Spearman without ties: Pearson's correlation of the ranks.
        ranks = np.argsort(np.argsort(pair))
        assert found.agreement[i, j] == pytest.approx(np.corrcoef(ranks)[0, 1])
    only("gradient_norm", "occlusion_mask")
    one = attribute(explorer, "the [MASK]", Target("mlm", CAT, 2))
    assert np.isnan(one.agreement).all()


def test_chunks_change_nothing(explorer, only):
    def run(size):
        only("integrated_gradients", NUM_STEPS=5, MAX_STEPS=5, TOKENS_A_PASS=size)
        return attribute(explorer, THREE_WORDS, Target("mlm", CAT, 2))

    whole, chunked = run(attribution.TOKENS_A_PASS), run(13)
    np.testing.assert_allclose(chunked.scores, whole.scores, atol=1e-5)


def test_what_means_nothing_is_refused(explorer):
    with pytest.raises(ValueError, match="baseline"):
        attribute(explorer, THREE_WORDS, Target("nsp", 0), baseline="x")
    with pytest.raises(ValueError, match="index"):
        attribute(explorer, THREE_WORDS, Target("nsp", 0), contrast=2)
    with pytest.raises(TextError, match="no token"):
        attribute(explorer, THREE_WORDS, Target("mlm", CAT, 6))
    with pytest.raises(CheckpointError, match="MLM"):
        attribute(explorer_named("headless"), THREE_WORDS, Target("mlm", CAT, 2))
