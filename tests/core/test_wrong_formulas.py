"""Models with wrong formulas, padding and losses, against the oracle."""

import dataclasses
import math

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from bertviz_core.analysis.padding import in_batches, mask_arithmetic, padding_cost
from bertviz_core.errors import CheckpointError
from bertviz_core.experiments import wrong_formulas
from bertviz_core.experiments.norm_orders import spread_in_both_orders
from bertviz_core.experiments.padding import WAYS, padded_pair, padding_costs
from bertviz_core.experiments.scoring import score_sentence
from bertviz_core.experiments.text_objective import objective_of
from bertviz_core.experiments.wrong_formulas import (
    OPERATION,
    WRONG,
    effect_of_formula,
    explorer_with,
    formulas_of,
    held_out_with,
    wrong_in,
)
from bertviz_core.sentences import Sentence, bundled_sentences
from bertviz_core.weights import as_numpy
from tests.core import oracle
from tests.core.bundled import open_bundled
from tests.core.cause_models import explorer_named
from tests.core.random_models import CONFIG, VOCABULARY, explorer_of, random_model
from tests.latex import right_side

TEXT, PAIR = "the cat [MASK] on", "a mat"


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
        found = oracle.forward_one(weights, config, tokenized.inputs, 0, slip)
        vector = found["sequence_output"][position]
        return found | {"mlm_logits": oracle.mlm(weights, config, vector)}


@pytest.fixture(scope="module")
def any_wrong():
    """A model that can be given every wrong formula, with an epsilon as BERT's."""
    sizes = {"num_hidden_layers": 2, "intermediate_size": 60}
    sizes |= {"vocab_size": len(VOCABULARY)}
    config = dataclasses.replace(CONFIG, layer_norm_eps=1e-12, **sizes)
    model, weights = random_model(config, ("pooler", "mlm", "nsp"))
    return explorer_of(model), weights


def test_every_number_is_the_oracles_with_the_same_slip(any_wrong, monkeypatch):
    explorer, weights = any_wrong
    config, tokenized = explorer.config, explorer.tokenize(TEXT, PAIR)
    (position,) = tokenized.mask_positions
    right = read(monkeypatch, weights, config, tokenized, position)
    names = wrong_in(config, explorer.loaded.model.heads)
    assert names == tuple(WRONG)
    for name in names:
        wrong = read(monkeypatch, weights, config, tokenized, position, name)
        found = effect_of_formula(explorer, TEXT, name, 1, PAIR)
        apart = np.abs(right["hidden_states"] - wrong["hidden_states"]).max((1, 2))
        np.testing.assert_allclose(found.differences, apart, atol=2e-5, err_msg=name)
        own = np.abs(right["hidden_states"]).max((1, 2))
        np.testing.assert_allclose(found.sizes, own, atol=2e-5)
        pooled = np.abs(right["pooled_output"] - wrong["pooled_output"]).max()
        assert found.pooled_difference == pytest.approx(pooled, abs=1e-5), name
        for side, one in enumerate((right, wrong)):
            follows = softmax(one["nsp_logits"])[0]
            assert found.next_probs[side] == pytest.approx(follows, abs=1e-5), name
            probs = softmax(one["mlm_logits"])
            best = np.sort(probs)[::-1][:5]
            np.testing.assert_allclose(found.top_probs[side, 0], best, atol=1e-5)
            first = explorer.vocabulary[probs.argmax()]
            assert found.top_tokens[side][0][0] == first, name
        is_felt = name not in ("norm_epsilon", "pooler")
        assert (apart.max() > 1e-4) == is_felt, name


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


def test_the_served_model_stays_as_it_is(any_wrong):
    explorer, text = any_wrong[0], "the [MASK] sat"
    before = [as_numpy(weight).copy() for weight in explorer.loaded.model.weights]
    logits = explorer.predict_masks(text).logits
    for name in WRONG:
        explorer_with(explorer, name)
    for old, weight in zip(before, explorer.loaded.model.weights, strict=True):
        np.testing.assert_array_equal(old, as_numpy(weight))
    np.testing.assert_array_equal(explorer.predict_masks(text).logits, logits)


def test_the_score_is_that_of_the_sentences_one_by_one(any_wrong, monkeypatch):
    explorer, told = any_wrong[0], []
    cut = "a mat . the cat sat on a mat"  # what the model has room for
    texts = (Sentence("the cat sat", "on a"), Sentence(f"{cut} the"), Sentence("never"))
    monkeypatch.setattr(wrong_formulas, "bundled_sentences", {"en": texts}.get)
    monkeypatch.setattr(wrong_formulas, "NUM_SENTENCES", 2)
    found = held_out_with(
        explorer, "score_scale", "en", lambda share, said: told.append(share)
    )
    for side, one in enumerate((explorer, explorer_with(explorer, "score_scale")[0])):
        scores = [score_sentence(one, "the cat sat", "on a"), score_sentence(one, cut)]
        log_probs = np.concatenate([score.log_probs for score in scores])
        ranks = np.concatenate([score.ranks for score in scores])
        assert found.num_tokens == len(ranks)
        expected = math.exp(-log_probs.mean())
        assert found.perplexities[side] == pytest.approx(expected, rel=1e-4)
        assert found.right_firsts[side] == pytest.approx((ranks == 1).mean())
    assert found.perplexities[0] != pytest.approx(found.perplexities[1], rel=1e-2)
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


def test_both_orders_run_as_the_oracles_do(any_norm_model, any_norm_explorer):
    (model, weights), explorer = any_norm_model, any_norm_explorer
    if model.final_norm is None:  # then it begins as training would begin it
        size = explorer.config.hidden_size
        weights = weights | {"final_norm": (np.ones(size), np.zeros(size))}
    found = spread_in_both_orders(explorer, TEXT, PAIR)
    inputs = explorer.tokenize(TEXT, PAIR).inputs
    for order, spreads in found.items():
        config = dataclasses.replace(explorer.config, pre_norm=order == "pre")
        by_hand = oracle.forward(weights, config, inputs)
        levels = *by_hand["hidden_states"][0], by_hand["sequence_output"][0]
        np.testing.assert_allclose(spreads, [one.std() for one in levels], rtol=1e-4)
    assert not np.allclose(found["pre"], found["post"], rtol=0.01)


def test_the_leak_is_the_oracles(explorer, post_norm_model):
    """The oracle reads the padded row as text of its own, without any mask."""
    long, short = "the cat sat on a mat .", "a red"
    found = padded_pair(explorer, long, short)
    ids = explorer.tokenize(short).input_ids
    size = explorer.tokenize(long).num_tokens
    assert size > len(ids) + 2
    padding = np.full(size - len(ids), explorer.tokenizer.pad_token_id)
    _, weights = post_norm_model

    def read(row):
        return oracle.forward(weights, explorer.config, {"input_ids": row[None]})

    alone, leaking = read(ids), read(np.append(ids, padding))
    states = alone["hidden_states"][0]
    apart = np.abs(leaking["hidden_states"][0][:, : len(ids)] - states).max((1, 2))
    np.testing.assert_allclose(found.unmasked_differences, apart, atol=2e-5)
    given = leaking["attention_probs"][0][:, :, : len(ids), len(ids) :]
    shares = given.sum(-1).mean((1, 2))
    np.testing.assert_allclose(found.unmasked_shares, shares, atol=1e-5)
    assert shares.min() > 0.01
    assert apart[1:].min() > 0.05
    np.testing.assert_allclose(found.masked_differences, 0, atol=1e-4)
    assert not found.masked_shares.any()
    assert found.tokens.count("[PAD]") == len(padding)
    assert len(found.tokens) == len(found.other_tokens) == size
    assert min(found.seconds) > 0


def test_each_precision_rounds_a_mask_in_its_own_way():
    found = {(one.precision, one.hiding): one for one in mask_arithmetic()}
    assert len(found) == 6
    assert not any(one.leak for one in found.values())
    assert found["bfloat16", -1e4].stored == -9984
    assert found["float16", -1e9].stored == -math.inf
    kept = 1 / (1 + math.e), math.e / (1 + math.e)
    for (precision, hiding), one in found.items():
        if (precision, hiding) == ("float16", -1e9):
            assert all(map(math.isnan, one.all_hidden))
        else:
            is_kept = (precision, hiding) == ("float32", -1e4)
            expected = kept if is_kept else (0.5, 0.5)
            assert one.all_hidden == pytest.approx(expected, abs=1e-4)


def test_costs_are_counted_by_hand():
    cost = padding_cost([[[2], [4]], [[1]]])
    assert (cost.num_rows, cost.num_places) == (3, 9)
    assert cost.padding_share == pytest.approx(2 / 9)
    assert cost.pair_share == pytest.approx(1 - (4 + 16 + 1) / (16 + 16 + 1))
    packed = padding_cost([[[2, 1], [4]]], width=4)
    assert packed.padding_share == pytest.approx(1 / 8)
    assert packed.pair_share == pytest.approx(1 - 21 / 32)
    assert in_batches([[1], [2], [3]], 2) == [[[1], [2]], [[3]]]


def test_buckets_and_packing_waste_less_than_one_length_for_all():
    explorer = open_bundled("bert-mini-zh")
    found = padding_costs(explorer, "zh")
    assert tuple(found) == WAYS
    lengths = [
        explorer.tokenize(s.text, s.pair).num_tokens
        for s in bundled_sentences("zh")[:100]
    ]
    assert found["all"].num_places == 100 * max(lengths)
    for cost in found.values():
        real = cost.num_places * (1 - cost.padding_share)
        assert real == pytest.approx(sum(lengths))
    shares = [found[way].padding_share for way in ("all", "batch", "bucket")]
    assert shares == sorted(shares, reverse=True)
    assert found["packed"].padding_share < found["batch"].padding_share
    assert found["packed"].num_rows < 30


def test_sentences_are_cut_where_a_model_has_few_positions(explorer):
    size = explorer.config.max_position_embeddings
    assert padding_costs(explorer, "en")["all"].num_places == 100 * size


def test_the_losses_and_their_sum_are_the_oracles(explorer, post_norm_model):
    """Of the row as it is said to stand there, in NumPy from its first product on."""
    _, weights = post_norm_model
    read, rate, seen, drawn = explorer.tokenize(TEXT, PAIR), 0.6, set(), []
    for seed, is_next in ((0, True), (4, False), (4, False)):
        found = objective_of(explorer, TEXT, PAIR, seed, rate, is_next)
        ids, places = read.input_ids.copy(), found.positions
        ids[places] = [explorer.vocabulary.index(piece) for piece in found.shown]
        read_by_hand = oracle.forward(
            weights,
            explorer.config,
            {
                "input_ids": ids[None],
                "token_type_ids": read.token_type_ids[None],
                "mlm_positions": places,
            },
        )
        words = log_softmax(read_by_hand["mlm_logits"], axis=-1)
        losses = -words[np.arange(len(places)), read.input_ids[places]]
        np.testing.assert_allclose(found.losses, losses, atol=1e-4)
        nsp = -log_softmax(read_by_hand["nsp_logits"][0])[0 if is_next else 1]
        assert found.nsp_loss == pytest.approx(nsp, abs=1e-4)
        room = round((read.num_tokens - 2) * rate)
        assert found.num_places == room
        assert found.mlm_loss == pytest.approx(losses.sum() / room, abs=1e-4)
        assert found.total == pytest.approx(losses.sum() / room + nsp, abs=1e-4)
        drawn.append(places.tolist())
        assert drawn[-1] == sorted({*drawn[-1]})
        for place, shown, fate in zip(places, found.shown, found.fates, strict=True):
            true = found.tokens[place]
            assert true not in ("[CLS]", "[SEP]", "[MASK]")
            is_right = {
                "mask": shown == "[MASK]",
                "kept": shown == true,
                "random": shown not in ("[MASK]", true),
            }
            assert is_right[fate]
            seen.add(fate)
    assert seen == {*is_right}
    assert drawn[0] != drawn[1] == drawn[2]


def test_without_a_second_text_there_is_one_loss(explorer):
    found = objective_of(explorer, TEXT, None, 2)
    assert found.nsp_loss is None
    assert found.total == found.mlm_loss > 0
    nothing = objective_of(explorer, "[MASK]")
    assert nothing.positions.size == nothing.total == 0


def test_a_model_without_the_heads_says_so_or_leaves_one_out():
    with pytest.raises(CheckpointError, match="MLM"):
        objective_of(explorer_named("headless"), TEXT)
    words_only = explorer_of(random_model(heads=("mlm",))[0])
    assert objective_of(words_only, "the cat", "sat on").nsp_loss is None
