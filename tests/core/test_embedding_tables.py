"""The input sum equals the oracle's and the model's own numbers."""

import numpy as np
import pytest

from bertviz_core.errors import TextError
from bertviz_core.experiments.embedding_tables import (
    position_table,
    take_input_apart,
)
from tests.core import oracle
from tests.core.random_models import CONFIG, agree, explorer_of

TEXT, PAIR = "the cats sat .", "a 红"


@pytest.fixture(scope="module")
def explorer(any_norm_explorer):
    return any_norm_explorer


@pytest.mark.parametrize("pair", [None, PAIR])
def test_the_parts_are_rows_of_the_tables(any_norm_model, explorer, pair):
    _, weights = any_norm_model
    taken = take_input_apart(explorer, TEXT, pair)
    text = taken.tokenized
    tokens = text.num_tokens
    assert taken.parts.shape == (3, tokens, CONFIG.hidden_size)
    np.testing.assert_array_equal(taken.parts[0], weights["words"][text.input_ids])
    np.testing.assert_array_equal(taken.parts[1], weights["positions"][:tokens])
    np.testing.assert_array_equal(
        taken.parts[2], weights["segments"][text.token_type_ids]
    )
    assert (len(set(text.token_type_ids)) > 1) == (pair is not None)
    agree(taken.summed, taken.parts.astype("f8").sum(axis=0), atol=1e-6)


@pytest.mark.parametrize("pair", [None, PAIR])
def test_after_the_norm_it_is_what_enters_the_first_block(
    any_norm_model, explorer, pair
):
    model, weights = any_norm_model
    taken = take_input_apart(explorer, TEXT, pair)
    trace = explorer.trace(TEXT, pair)
    agree(taken.normed, trace.hidden_states[0], atol=1e-6)
    text = taken.tokenized
    by_oracle = oracle.embeddings(
        weights, model.config, text.input_ids, text.token_type_ids
    )
    agree(taken.normed, by_oracle, atol=1e-6)
    assert taken.largest_difference < 1e-6
    by_hand = oracle.layer_norm(
        taken.summed.astype("f8"), taken.gain, taken.bias, taken.epsilon
    )
    found = np.abs(by_hand - trace.hidden_states[0]).max()
    assert taken.largest_difference == pytest.approx(found, abs=2e-7)


def test_a_norm_that_differs_is_not_hidden(any_norm_model, monkeypatch):
    explorer = explorer_of(any_norm_model[0])
    norm = explorer.loaded.model.embeddings.layer_norm
    take_input_apart(explorer, TEXT)  # the graph holds the epsilon of now
    monkeypatch.setattr(norm, "epsilon", norm.epsilon * 9)
    assert take_input_apart(explorer, TEXT).largest_difference > 1e-3


def test_lengths_angles_and_shares_are_those_of_the_vectors(explorer):
    taken = take_input_apart(explorer, TEXT, PAIR)
    summed = taken.parts.astype("f8").sum(axis=0)
    for t, total in enumerate(summed):
        length = np.sqrt(sum(total**2))
        assert taken.sum_norms[t] == pytest.approx(length, rel=1e-6)
        assert taken.means[t] == pytest.approx(sum(total) / len(total), abs=1e-6)
        assert taken.deviations[t] == pytest.approx(total.std(), rel=1e-6)
        assert taken.normed_norms[t] == pytest.approx(
            np.sqrt(sum(taken.normed[t].astype("f8") ** 2))
        )
        for part in range(3):
            vector = taken.parts[part, t].astype("f8")
            own = np.sqrt(sum(vector**2))
            assert taken.part_norms[part, t] == pytest.approx(own)
            assert taken.cosines[part, t] == pytest.approx(
                sum(vector * total) / own / length, abs=1e-6
            )
            assert taken.shares[part, t] == pytest.approx(
                sum(vector * total) / length**2, abs=1e-6
            )
    np.testing.assert_allclose(taken.shares.sum(axis=0), 1, atol=1e-6)


def test_no_block_runs_and_the_pass_is_counted(explorer, monkeypatch):
    take_input_apart(explorer, TEXT)
    before = explorer.num_forward_passes

    def refuse(*_):
        raise RuntimeError

    monkeypatch.setattr(explorer.forward, "block", refuse)
    take_input_apart(explorer, TEXT)
    assert explorer.num_forward_passes == before + 1


def test_a_text_that_is_too_long_is_refused_or_cut(explorer):
    long = "cat " * 30
    with pytest.raises(TextError):
        take_input_apart(explorer, long)
    taken = take_input_apart(explorer, long, cut=True)
    assert taken.parts.shape[1] == CONFIG.max_position_embeddings


def test_the_positions_are_the_weights_and_stay_when_the_model_is_trained_on(
    any_norm_model,
):
    model, weights = any_norm_model
    explorer = explorer_of(model)
    table = position_table(explorer)
    assert table.dtype == np.float32
    variable = explorer.loaded.model.embeddings.position_embeddings
    try:
        variable.assign(weights["positions"] + 1)
        np.testing.assert_array_equal(table, weights["positions"])
    finally:
        variable.assign(weights["positions"])
