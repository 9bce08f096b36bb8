"""Attribution against finite differences of the oracle, in float64."""

import itertools

import numpy as np
import pytest
from scipy.special import log_softmax

from bertviz_core.errors import CheckpointError, TextError
from bertviz_core.experiments import attribution
from bertviz_core.experiments.attribution import METHODS, AttributionSettings, attribute
from bertviz_core.experiments.cause_results import Target
from tests.core import oracle
from tests.core.brute_force import written
from tests.core.cause_models import explorer_named
from tests.core.random_models import VOCABULARY

TEXT = "the [MASK] sat ."  # 6 tokens, the mask at 2
CAT, MAT, HIDDEN = (VOCABULARY.index(token) for token in ("cat", "mat", "[MASK]"))
pytestmark = pytest.mark.tensorflow
STEP = 1e-4
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
        weights, config = self.weights, self.config
        types = self.tokenized.token_type_ids if types is None else types
        x = vectors + weights["positions"][: len(vectors)] + weights["segments"][types]
        x = oracle.layer_norm(x, *weights["embedding_norm"], config.layer_norm_eps)
        for layer in weights["layers"]:
            x, _ = oracle.block(layer, config, x, np.ones(len(x), int))
        if config.pre_norm:
            x = oracle.layer_norm(x, *weights["final_norm"], config.layer_norm_eps)
        log_probs = log_softmax(self.logits(x))
        value = log_probs[self.target.index]
        return value if self.contrast is None else value - log_probs[self.contrast]

    def logits(self, x):
        if self.target.head == "mlm":
            return oracle.mlm(self.weights, self.config, x[self.target.position])
        name = self.target.head
        return oracle.dense(oracle.pooler(self.weights, x), *self.weights[name])

    def slope(self, at, direction):
        """Derivative of the value along a direction, both `[T, H]`."""
        up, down = (self.value(at + sign * STEP * direction) for sign in (1, -1))
        return (up - down) / (2 * STEP)

    def along(self, at, directions):
        """The derivative along each token's part of `directions`, `[T]`."""
        parts = []
        for token in range(len(at)):
            one = np.zeros_like(at)
            one[token] = directions[token]
            parts.append(self.slope(at, one))
        return np.array(parts)


def only(*methods, **options):
    return AttributionSettings(methods=methods, **options)


@pytest.mark.parametrize(("target", "contrast"), ANSWERS)
def test_gradient_x_input_equals_finite_differences(
    any_norm_model, any_norm_explorer, target, contrast
):
    settings = only("gradient_x_input")
    found = attribute(any_norm_explorer, TEXT, target, contrast, settings=settings)
    hand = ByHand(any_norm_model, found.tokenized, target, contrast)
    text = hand.vectors(found.tokenized.input_ids)
    assert found.value == pytest.approx(hand.value(text), abs=1e-5)
    np.testing.assert_allclose(found.scores[0], hand.along(text, text), atol=2e-5)


def test_the_gradient_norm_equals_finite_differences(post_norm_model, explorer):
    target = Target("mlm", CAT, 2)
    found = attribute(explorer, TEXT, target, settings=only("gradient_norm"))
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
    post_norm_model, explorer, target, contrast
):
    baseline = "pad" if target.head == "nsp" else "mask"
    hidden = VOCABULARY.index(f"[{baseline.upper()}]")
    settings = only("integrated_gradients", num_steps=3, max_steps=3, baseline=baseline)
    found = attribute(explorer, TEXT, target, contrast, settings=settings)
    hand = ByHand(post_norm_model, found.tokenized, target, contrast)
    ids = found.tokenized.input_ids
    words = [1, 3, 4] if target.head == "mlm" else [1, 2, 3, 4]
    start = hand.vectors(written(ids, **{f"p{index}": hidden for index in words}))
    change = hand.vectors(ids) - start
    # The three points and weights of Gauss and Legendre, from a table, on [0, 1].
    far = np.sqrt(3 / 5) / 2
    points = [(0.5 - far, 5 / 18), (0.5, 8 / 18), (0.5 + far, 5 / 18)]
    expected = sum(
        weight * hand.along(start + share * change, change) for share, weight in points
    )
    np.testing.assert_allclose(found.scores[0], expected, atol=5e-5)
    assert found.baseline_value == pytest.approx(hand.value(start), abs=1e-5)
    gap = expected.sum() - (hand.value(start + change) - hand.value(start))
    assert found.completeness_gap == pytest.approx(gap, abs=1e-4)


def test_steps_are_doubled_until_the_error_is_small_or_the_limit_reached(explorer):
    target = Target("mlm", CAT, 2)

    def run(**options):
        settings = only("integrated_gradients", num_steps=1, **options)
        return attribute(explorer, TEXT, target, settings=settings)

    loose, limited = run(tolerance=1e9), run(tolerance=0, max_steps=5)
    assert [loose.num_steps, limited.num_steps] == [1, 4]
    tolerance = loose.completeness_error / 2
    tight = run(tolerance=tolerance)
    assert tight.completeness_error <= tolerance
    assert tight.num_steps > 1


@pytest.mark.parametrize(("target", "contrast"), ANSWERS)
@pytest.mark.parametrize("method", ["occlusion_mask", "occlusion_delete"])
def test_occlusion_equals_changing_the_text(
    post_norm_model, explorer, method, target, contrast
):
    found = attribute(explorer, TEXT, target, contrast, "a mat", only(method))
    ids, types = found.tokenized.input_ids, found.tokenized.token_type_ids
    for token, name in enumerate(found.tokenized.tokens):
        if name in ("[CLS]", "[SEP]") or (target.head == "mlm" and token == 2):
            assert np.isnan(found.scores[0, token])
            continue
        moved, other_types = target, types
        other_ids = written(ids, **{f"p{token}": HIDDEN})
        if method == "occlusion_delete":
            other_ids, other_types = np.delete(ids, token), np.delete(types, token)
            if target.head == "mlm" and token < 2:
                moved = Target("mlm", CAT, 1)
        hand = ByHand(post_norm_model, found.tokenized, moved, contrast)
        other = hand.value(hand.vectors(other_ids), other_types)
        assert found.scores[0, token] == pytest.approx(found.value - other, abs=2e-5)


def test_a_typed_separator_stays_like_an_added_one(explorer):
    text = "the [MASK] [SEP] cat"
    found = attribute(
        explorer, text, Target("mlm", CAT, 2), settings=only("occlusion_mask")
    )
    assert found.tokenized.tokens[3] == "[SEP]"
    assert np.isnan(found.scores[0]).tolist() == [True, False, True, True, False, True]


def test_agreement_is_the_rank_correlation_over_the_words(explorer):
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
    one = attribute(explorer, "the [MASK]", Target("mlm", CAT, 2), settings=only(*LAST))
    assert np.isnan(one.agreement).all()
    assert one.completeness_gap is one.completeness_error is None


LAST = ("gradient_norm", "occlusion_mask")


def test_chunks_change_nothing(explorer, monkeypatch):
    settings = only("integrated_gradients", num_steps=5, max_steps=5)
    target = Target("mlm", CAT, 2)
    whole = attribute(explorer, TEXT, target, settings=settings)
    monkeypatch.setattr(attribution, "TOKENS_A_PASS", 13)
    chunked = attribute(explorer, TEXT, target, settings=settings)
    np.testing.assert_allclose(chunked.scores, whole.scores, atol=1e-5)


def test_what_means_nothing_is_refused(explorer):
    for wrong in (
        *({"methods": ("guess",)}, {"methods": ()}, {"baseline": "x"}),
        {"num_steps": 0},
    ):
        with pytest.raises(ValueError, match="Received"):
            AttributionSettings(**wrong)
    with pytest.raises(ValueError, match="index"):
        attribute(explorer, TEXT, Target("nsp", 0), contrast=2)
    with pytest.raises(TextError, match="no token"):
        attribute(explorer, TEXT, Target("mlm", CAT, 6))
    with pytest.raises(CheckpointError, match="MLM"):
        attribute(explorer_named("headless"), TEXT, Target("mlm", CAT, 2))
