import math

import numpy as np
import pytest

from bertviz_core.analysis.padding import in_batches, mask_arithmetic, padding_cost
from bertviz_core.experiments.padding import WAYS, padded_pair, padding_costs
from bertviz_core.sentences import bundled_sentences
from tests.core import oracle
from tests.core.bundled import open_bundled
from tests.core.test_wrong_formulas import TEXTS, weights_in

OTHER = {"bert-mini-zh": "我们昨天一起去公园看花了。"}
LANGUAGES = {"bert-mini-zh": "zh"}


@pytest.fixture(scope="module", params=TEXTS)
def bundled(request):
    return open_bundled(request.param)


def test_the_leak_is_the_oracles(bundled):
    """The oracle reads the padded row as text of its own, without any mask."""
    short = TEXTS[bundled.model_id][1]
    long = OTHER.get(bundled.model_id, "The old bridge was closed in March.")
    found = padded_pair(bundled, long, short)
    ids = bundled.tokenize(short).input_ids
    size = bundled.tokenize(long).num_tokens
    assert size > len(ids) + 2
    padded = np.append(ids, np.full(size - len(ids), bundled.tokenizer.pad_token_id))
    weights, config = weights_in(bundled.loaded.model), bundled.config

    def read(row, **more):
        return oracle.forward(weights, config, {"input_ids": row[None]} | more)

    alone, leaking = read(ids), read(padded)
    states = alone["hidden_states"][0]
    apart = np.abs(leaking["hidden_states"][0][:, : len(ids)] - states).max((1, 2))
    np.testing.assert_allclose(found.unmasked_differences, apart, atol=3e-4)
    given = leaking["attention_probs"][0][:, :, : len(ids), len(ids) :]
    shares = given.sum(-1).mean((1, 2))
    np.testing.assert_allclose(found.unmasked_shares, shares, atol=1e-5)
    assert shares.min() > 0.01
    assert apart[1:].min() > 0.05
    np.testing.assert_allclose(found.masked_differences, 0, atol=1e-4)
    assert not found.masked_shares.any()
    assert found.tokens.count("[PAD]") == size - len(ids)
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


def test_buckets_and_packing_waste_less_than_one_length_for_all(bundled):
    language = LANGUAGES.get(bundled.model_id, "en")
    found = padding_costs(bundled, language)
    assert tuple(found) == WAYS
    lengths = [
        bundled.tokenize(s.text, s.pair).num_tokens
        for s in bundled_sentences(language)[:100]
    ]
    assert found["all"].num_places == 100 * max(lengths)
    for cost in found.values():
        real = cost.num_places * (1 - cost.padding_share)
        assert real == pytest.approx(sum(lengths))
    shares = [found[way].padding_share for way in ("all", "batch", "bucket")]
    assert shares == sorted(shares, reverse=True)
    assert found["packed"].padding_share < found["batch"].padding_share
    assert found["packed"].num_rows < 30
