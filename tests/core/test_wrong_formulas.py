"""Wrong formulas in the real models, against the oracle with the same slip in it."""

import dataclasses
import math

import numpy as np
import pytest

from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.experiments import wrong_formulas
from bertviz_core.experiments.scoring import score_sentence
from bertviz_core.experiments.wrong_formulas import (
    OPERATION,
    WRONG,
    effect_of_formula,
    explorer_with,
    formulas_of,
    held_out_with,
    wrong_in,
)
from bertviz_core.sentences import bundled_sentences
from bertviz_core.weights import as_numpy
from tests.core import oracle
from tests.core.bundled import open_bundled
from tests.core.matrix_latex import right_side
from tests.core.random_models import CONFIG, explorer_of, random_model

TEXTS = {
    DEFAULT_MODEL: ("The cat sat on the [MASK].", "It was tired."),
    "bert-mini-zh": ("他会说英[MASK]。", "他很高兴。"),
}


def weights_in(model):
    """A model's weights as the oracle takes them."""

    def of(layer, *names):
        arrays = (as_numpy(getattr(layer, name)).astype("float64") for name in names)
        return tuple(arrays)

    def dense(layer):
        return of(layer, "kernel", "bias")

    def norm(layer):
        return of(layer, "gamma", "beta")

    of_heads = ("query", "key", "value")
    tables = ("word_embeddings", "position_embeddings", "token_type_embeddings")
    words, positions, segments = of(model.embeddings, *tables)
    return {
        "words": words,
        "positions": positions,
        "segments": segments,
        "embedding_norm": norm(model.embeddings.layer_norm),
        "layers": [
            {
                **{name: dense(getattr(b.attention, name)) for name in of_heads},
                "attention_output": dense(b.attention_output),
                "attention_norm": norm(b.attention_norm),
                "inner": dense(b.feed_forward.intermediate),
                "outer": dense(b.feed_forward.output_projection),
                "output_norm": norm(b.output_norm),
            }
            for b in model.blocks
        ],
        "pooler": dense(model.pooler.dense),
        "transform": dense(model.mlm.transform),
        "transform_norm": norm(model.mlm.transform_norm),
        "decoder_bias": of(model.mlm, "bias")[0],
        "nsp": dense(model.nsp.dense),
        "classifier": dense(model.nsp.dense),
    }


def spread_of_root(x, epsilon):
    return math.sqrt(1 / len(x)) * ((x - x.mean()) ** 2).sum() + epsilon


def spread_beside(x, epsilon):
    return math.sqrt(((x - x.mean()) ** 2).mean()) + epsilon


SPREADS = {"norm_root": spread_of_root, "norm_epsilon": spread_beside}


class Slip:
    """A tap of the oracle that makes one mistake, and notes what passes."""

    def __init__(self, name, config):
        self.name, self.config, self.seen = name, config, {}

    def __call__(self, name, value):
        heads, seen = self.config.num_attention_heads, self.seen
        if self.name == "embedding_norm" and name == "embeddings.norm":
            value = seen["embeddings.sum"]
        if self.name == "score_scale" and name.endswith("attention.scores"):
            value = value / math.sqrt(heads)
        if self.name == "feed_forward" and name.endswith("mlp.pre"):
            read = seen[name.replace("mlp.pre", "attention.norm")]
            value = np.zeros_like(value)
            value[:, : read.shape[1]] = read
        if self.name == "pooler" and name == "pooler.pre":
            last = self.config.num_hidden_layers - 1
            value = seen[f"layer.{last}.mlp.norm"][0]
        seen[name] = value
        return value


def read(monkeypatch, weights, config, tokenized, position, name=""):
    """One text through the oracle: states, pooled output, probabilities."""
    other = {"gelu": "gelu_new", "gelu_new": "gelu"}.get(config.hidden_act)
    if name == "gelu_curve":
        config = dataclasses.replace(config, hidden_act=other)
    with monkeypatch.context() as patch:
        if spread := SPREADS.get(name):

            def norm(x, gain, bias, epsilon):
                rows = np.atleast_2d(x)
                normed = [(row - row.mean()) / spread(row, epsilon) for row in rows]
                return np.reshape(normed, x.shape) * gain + bias

            patch.setattr(oracle, "layer_norm", norm)
        slip = Slip(name, config)
        found = oracle._forward_one(weights, config, tokenized.inputs, 0, slip)
        vector = found["sequence_output"][position]
        return found | {"mlm_logits": oracle.mlm(weights, config, vector)}


def softmax(logits):
    powers = np.exp(logits - logits.max())
    return powers / powers.sum()


@pytest.fixture(scope="module", params=TEXTS)
def bundled(request):
    explorer = open_bundled(request.param)
    return explorer, weights_in(explorer.loaded.model)


def test_every_number_is_the_oracles_with_the_same_slip(bundled, monkeypatch):
    """To what float32 leaves of states of the size of 7."""
    explorer, weights = bundled
    config, (text, pair) = explorer.config, TEXTS[explorer.model_id]
    tokenized = explorer.tokenize(text, pair)
    (position,) = tokenized.mask_positions
    right = read(monkeypatch, weights, config, tokenized, position)
    names = wrong_in(config, explorer.loaded.model.heads)
    assert names == tuple(WRONG)
    for name in names:
        wrong = read(monkeypatch, weights, config, tokenized, position, name)
        found = effect_of_formula(explorer, text, name, 1, pair)
        apart = np.abs(right["hidden_states"] - wrong["hidden_states"]).max((1, 2))
        np.testing.assert_allclose(found.differences, apart, atol=2e-4, err_msg=name)
        own = np.abs(right["hidden_states"]).max((1, 2))
        np.testing.assert_allclose(found.sizes, own, atol=1e-4)
        pooled = np.abs(right["pooled_output"] - wrong["pooled_output"]).max()
        assert found.pooled_difference == pytest.approx(pooled, abs=1e-4), name
        for side, one in enumerate((right, wrong)):
            follows = softmax(one["nsp_logits"])[0]
            assert found.next_probs[side] == pytest.approx(follows, abs=1e-4), name
            probs = softmax(one["mlm_logits"])
            best = np.sort(probs)[::-1][:5]
            np.testing.assert_allclose(found.top_probs[side, 0], best, atol=1e-4)
            first = explorer.vocabulary[probs.argmax()]
            assert found.top_tokens[side][0][0] == first, name
        is_felt = name not in ("norm_epsilon", "pooler")
        assert (apart.max() > 1e-3) == is_felt, name


def test_epsilon_outside_the_root_counts_where_it_is_large(monkeypatch):
    """With the models' own 1e-12 float32 shows nothing of it."""
    config = dataclasses.replace(CONFIG, layer_norm_eps=0.1)
    model, weights = random_model(config)
    explorer = explorer_of(model)
    text = explorer.tokenize("the mat sat")
    right, wrong = (
        read(monkeypatch, weights, config, text, 1, name)
        for name in ("", "norm_epsilon")
    )
    apart = np.abs(right["hidden_states"] - wrong["hidden_states"]).max((1, 2))
    found = effect_of_formula(explorer, "the mat sat", "norm_epsilon", 1)
    assert apart.min() > 0.05
    np.testing.assert_allclose(found.differences, apart, atol=1e-4)
    assert found.next_probs is None
    assert "self.epsilon" in found.place.code


def test_the_served_model_stays_as_it_is(bundled):
    explorer, _ = bundled
    text, _ = TEXTS[explorer.model_id]
    before = [as_numpy(weight).copy() for weight in explorer.loaded.model.weights]
    logits = explorer.predict_masks(text).logits
    for name in WRONG:
        explorer_with(explorer, name)
    for old, weight in zip(before, explorer.loaded.model.weights, strict=True):
        np.testing.assert_array_equal(old, as_numpy(weight))
    np.testing.assert_array_equal(explorer.predict_masks(text).logits, logits)


def test_the_score_is_that_of_the_sentences_one_by_one(monkeypatch):
    monkeypatch.setattr(wrong_formulas, "NUM_SENTENCES", 5)
    explorer, told = open_bundled(DEFAULT_MODEL), []
    found = held_out_with(
        explorer, "score_scale", "en", lambda share, said: told.append(share)
    )
    for side, one in enumerate((explorer, explorer_with(explorer, "score_scale")[0])):
        scores = [
            score_sentence(one, s.text, s.pair) for s in bundled_sentences("en")[:5]
        ]
        log_probs = np.concatenate([score.log_probs for score in scores])
        ranks = np.concatenate([score.ranks for score in scores])
        assert found.num_tokens == len(ranks)
        expected = math.exp(-log_probs.mean())
        assert found.perplexities[side] == pytest.approx(expected, rel=1e-4)
        assert found.right_firsts[side] == pytest.approx((ranks == 1).mean())
    assert found.perplexities[1] > 1.2 * found.perplexities[0]
    assert told == sorted(told)
    assert told[-1] == 1


@pytest.mark.parametrize("name", ["norm_root", "norm_epsilon"])
def test_what_is_written_of_a_norm_is_what_is_computed(name):
    x = np.random.default_rng(3).normal(size=6)
    names = {"x": x, "H": 6, r"\varepsilon": 0.3, r"\gamma": 1.5, r"\beta": 0.2}
    names |= {r"\mu": lambda one: one.mean()}
    right, wrong = formulas_of(name, CONFIG)
    centred = 1.5 * (x - x.mean())
    for formula, spread in (
        (right, math.sqrt(x.var() + 0.3)),
        (wrong, SPREADS[name](x, 0.3)),
    ):
        found = right_side(formula, names, {"i": 6})
        np.testing.assert_allclose(found, centred / spread + 0.2)


def test_only_what_a_model_has_can_be_wrong_in_it():
    wide = dataclasses.replace(CONFIG, intermediate_size=2 * CONFIG.hidden_size)
    assert wrong_in(wide, ("pooler",)) == tuple(WRONG)
    assert set(WRONG) - set(wrong_in(CONFIG, ("pooler",))) == {"feed_forward"}
    relu = dataclasses.replace(wide, hidden_act="relu")
    assert set(WRONG) - set(wrong_in(relu, ("mlm",))) == {"gelu_curve", "pooler"}
    assert set(OPERATION) == set(WRONG)
    with pytest.raises(ValueError, match="wrong_in"):
        explorer_with(explorer_of(random_model(relu)[0]), "gelu_curve")


def test_both_curves_are_those_of_the_steps():
    right, wrong = formulas_of("gelu_curve", CONFIG)
    assert {r"\Phi" in one for one in (right, wrong)} == {True, False}
