"""What two savings of pre-training bring, on TensorFlow."""

import numpy as np
import pytest

from bertviz_core.experiments import training_costs
from bertviz_core.experiments.training_costs import (
    PASSED_BYTES,
    REMAT,
    decoding_costs,
    remat_costs,
)
from bertviz_core.explorer import Explorer

pytestmark = pytest.mark.tensorflow

TEXTS = {
    "bert-mini-en": ("The cat sat on the [MASK].", "It was tired."),
    "bert-mini-zh": ("他会说英[MASK]。", "他很高兴。"),
}


def room_of(*costs):
    """Bytes that each took, where TensorFlow counts them: where oneDNN serves."""
    found = [cost.num_bytes for cost in costs]
    if None in found:
        assert set(found) == {None}
        pytest.skip("TensorFlow counts no memory on this processor")
    return found


@pytest.mark.parametrize("name", TEXTS)
def test_fewer_places_are_decoded_alike_in_less_room(name):
    explorer = Explorer.open(name)
    text, pair = TEXTS[name]
    found = decoding_costs(explorer, text, pair, 1, 0.15)
    assert found.difference < 1e-5
    assert found.num_tokens == explorer.tokenize(text, pair).num_tokens
    assert found.num_places == round(0.15 * (found.num_tokens - 2))
    assert min(found.gathered.seconds, found.everywhere.seconds) > 0
    scores = 4 * found.num_rows * found.num_words * found.num_tokens
    gathered, everywhere = room_of(found.gathered, found.everywhere)
    assert everywhere >= scores
    assert gathered < everywhere / 2


def test_blocks_anew_take_less_room_than_all_that_they_compute(monkeypatch):
    monkeypatch.setattr(training_costs, "NUM_BLOCKS", 8)
    monkeypatch.setattr(training_costs, "_NUM_RUNS", 1)
    told = []
    found = remat_costs(lambda fraction, _: told.append(fraction))
    assert list(found) == list(REMAT)
    assert min(cost.seconds for cost in found.values()) > 0
    np.testing.assert_allclose(told, [0, 1 / 3, 2 / 3])
    each, root, kept = room_of(*(found[name] for name in ("each", "root", "kept")))
    assert each < root < kept
    # What enters each of the blocks is kept in every way.
    assert each > 8 * PASSED_BYTES
