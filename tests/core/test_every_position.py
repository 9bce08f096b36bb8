"""Predictions at every place equal predictions at one place at a time."""

import numpy as np
import pytest

from bertviz_core.errors import CheckpointError
from bertviz_core.experiments import every_position, masked_rows
from bertviz_core.experiments.every_position import predict_every_position
from tests.core.brute_force import written
from tests.core.cause_models import explorer_named
from tests.core.random_models import CONFIG, VOCABULARY

TEXT, PAIR = "the [MASK] sat", "cats ."
HIDDEN = VOCABULARY.index("[MASK]")


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("pair", [None, PAIR])
def test_every_place_equals_one_text_at_a_time(explorer, words, masked, pair):
    found = predict_every_position(explorer, TEXT, pair, masked, top_k=4)
    text = found.tokenized
    expected_places = [
        p for p, token in enumerate(text.tokens) if token not in ("[CLS]", "[SEP]")
    ]
    assert found.positions.tolist() == expected_places
    for row, position in enumerate(expected_places):
        ids = written(text.input_ids, **{f"p{position}": HIDDEN} if masked else {})
        log_probs = words.log_probs(ids, text.token_type_ids, position)
        order = sorted(range(len(log_probs)), key=lambda i: -log_probs[i])
        assert found.top_ids[row].tolist() == order[:4]
        np.testing.assert_allclose(
            found.top_log_probs[row], log_probs[order[:4]], atol=1e-5
        )
        entropy = -sum(np.exp(v) * v for v in log_probs) / np.log(2)
        assert found.entropy_bits[row] == pytest.approx(entropy, abs=1e-5)
        true = text.input_ids[position]
        if true == HIDDEN:
            assert np.isnan(found.surprisal_bits[row])
            assert found.ranks[row] == 0
        else:
            bits = -log_probs[true] / np.log(2)
            assert found.surprisal_bits[row] == pytest.approx(bits, abs=1e-5)
            assert found.ranks[row] == order.index(true) + 1


def test_more_candidates_than_words_give_all_words_by_name(explorer):
    found = predict_every_position(explorer, TEXT, top_k=99)
    assert found.top_ids.shape == (3, CONFIG.vocab_size)
    np.testing.assert_allclose(np.exp(found.top_log_probs).sum(axis=1), 1)
    named = dict(zip(found.top_ids[0], found.top_tokens[0], strict=True))
    names = [named[index] for index in range(CONFIG.vocab_size)]
    assert names == [*VOCABULARY, "[row 21]", "[row 22]"]


@pytest.mark.parametrize("masked", [False, True])
def test_chunks_change_nothing(explorer, monkeypatch, masked):
    whole = predict_every_position(explorer, TEXT, PAIR, masked)
    monkeypatch.setattr(masked_rows, "TOKENS_A_PASS", 19)
    monkeypatch.setattr(every_position, "ROWS_AT_ONCE", 2)
    seen = []
    chunked = predict_every_position(
        explorer, TEXT, PAIR, masked, progress=lambda done, _: seen.append(done)
    )
    assert seen[-1] == 1
    np.testing.assert_array_equal(chunked.top_ids, whole.top_ids)
    np.testing.assert_allclose(
        chunked.surprisal_bits, whole.surprisal_bits, atol=1e-5, equal_nan=True
    )


def test_a_model_without_the_head_is_refused():
    with pytest.raises(CheckpointError, match="MLM"):
        predict_every_position(explorer_named("headless"), TEXT)
