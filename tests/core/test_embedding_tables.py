"""The input sum equals the oracle's and the model's own numbers."""

import numpy as np
import pytest

from bertviz_core.analysis.position_geometry import position_geometry
from bertviz_core.experiments.embedding_tables import (
    measure_positions,
    position_table,
    take_input_apart,
)
from tests.core import oracle
from tests.core.random_models import CONFIG, agree, explorer_of

TEXT, PAIR = "the cats sat .", "a 红"


@pytest.mark.parametrize("pair", [None, PAIR])
def test_the_parts_are_rows_of_the_tables_and_their_norm_enters_the_first_block(
    post_norm_model, explorer, pair
):
    model, weights = post_norm_model
    taken = take_input_apart(explorer, TEXT, pair)
    text = taken.tokenized
    tables = (
        weights["words"][text.input_ids],
        weights["positions"][: text.num_tokens],
        weights["segments"][text.token_type_ids],
    )
    np.testing.assert_array_equal(taken.parts, tables)
    agree(taken.summed, sum(tables), atol=1e-6)
    states = explorer.trace(TEXT, pair).hidden_states[0]
    agree(taken.normed, states, atol=1e-6)
    by_oracle = oracle.embeddings(
        weights, model.config, text.input_ids, text.token_type_ids
    )
    agree(taken.normed, by_oracle, atol=1e-6)
    by_hand = oracle.layer_norm(
        taken.summed.astype("f8"), taken.gain, taken.bias, taken.epsilon
    )
    found = np.abs(by_hand - states).max()
    assert taken.largest_difference < 1e-6
    assert taken.largest_difference == pytest.approx(found, abs=2e-7)


def test_a_norm_that_differs_is_not_hidden(post_norm_model, monkeypatch):
    explorer = explorer_of(post_norm_model[0])
    norm = explorer.loaded.model.embeddings.layer_norm
    take_input_apart(explorer, TEXT)  # the graph holds the epsilon of now
    monkeypatch.setattr(norm, "epsilon", norm.epsilon * 9)
    assert take_input_apart(explorer, TEXT).largest_difference > 1e-3


def test_lengths_angles_and_shares_are_those_of_the_vectors(explorer):
    taken = take_input_apart(explorer, TEXT, PAIR)
    parts = taken.parts.astype("f8")
    total = parts.sum(axis=0)
    lengths, own = (np.sqrt((x**2).sum(-1)) for x in (total, parts))
    normed = np.sqrt((taken.normed.astype("f8") ** 2).sum(-1))
    along = (parts * total).sum(-1)
    for found, expected in (
        (taken.sum_norms, lengths),
        (taken.means, total.sum(-1) / CONFIG.hidden_size),
        (taken.deviations, total.std(-1)),
        (taken.normed_norms, normed),
        (taken.part_norms, own),
        (taken.cosines, along / own / lengths),
        (taken.shares, along / lengths**2),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_no_block_runs_and_the_pass_is_counted(explorer, monkeypatch):
    before = explorer.num_forward_passes
    monkeypatch.setattr(explorer.forward, "block", None)
    take_input_apart(explorer, TEXT)
    assert explorer.num_forward_passes == before + 1


def test_a_text_that_is_too_long_is_cut(explorer):
    taken = take_input_apart(explorer, "cat " * 30)
    assert taken.parts.shape[1] == CONFIG.max_position_embeddings


def test_the_positions_are_the_weights_and_stay_when_the_model_is_trained_on(
    post_norm_model, explorer
):
    model, weights = post_norm_model
    table = position_table(explorer)
    expected = position_geometry(weights["positions"])
    agree(measure_positions(explorer).cosines, expected.cosines, 1e-6)
    assert table.dtype == np.float32
    variable = model.embeddings.position_embeddings
    try:
        variable.assign(weights["positions"] + 1)
        np.testing.assert_array_equal(table, weights["positions"])
    finally:
        variable.assign(weights["positions"])
