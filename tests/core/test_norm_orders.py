"""Norms after each half and in front of it, in the real models, against the oracle."""

import dataclasses

import numpy as np
import pytest

from bertviz_core.experiments.norm_orders import spread_in_both_orders
from bertviz_core.explorer import Explorer
from tests.core import oracle
from tests.core.test_wrong_formulas import TEXTS, weights_in


@pytest.mark.parametrize("name", TEXTS)
def test_both_orders_run_as_the_oracles_do(name):
    explorer = Explorer.open(name)
    text, pair = TEXTS[name]
    found = spread_in_both_orders(explorer, text, pair)
    size, read = explorer.config.hidden_size, explorer.tokenize(text, pair)
    weights = weights_in(explorer.loaded.model)
    weights["final_norm"] = np.ones(size), np.zeros(size)
    for order, spreads in found.items():
        config = dataclasses.replace(explorer.config, pre_norm=order == "pre")
        inputs = {name: np.asarray(array) for name, array in read.inputs.items()}
        by_hand = oracle.forward(weights, config, inputs)
        levels = *by_hand["hidden_states"][0], by_hand["sequence_output"][0]
        np.testing.assert_allclose(spreads, [one.std() for one in levels], rtol=1e-4)
    assert found["pre"][-2] > 1.5 * found["post"][-2]  # they do differ
    own = explorer.trace(text, pair).hidden_states
    np.testing.assert_allclose(found["post"][:-1], own.std(axis=(1, 2)), rtol=1e-4)
