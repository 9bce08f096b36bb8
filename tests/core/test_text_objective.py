"""Both losses of one text, in the real models, against the oracle."""

import numpy as np
import pytest

from bertviz_core.errors import CheckpointError
from bertviz_core.experiments.text_objective import objective_of
from bertviz_core.explorer import Explorer
from tests.core import oracle
from tests.core.random_models import explorer_of, random_model
from tests.core.test_wrong_formulas import TEXTS, weights_in

FATES = {"mask", "random", "kept"}


@pytest.fixture(scope="module", params=TEXTS)
def bundled(request):
    return Explorer.open(request.param)


def log_probs(logits):
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def test_the_losses_and_their_sum_are_the_oracles(bundled):
    """Of the row as it is said to stand there, in NumPy from its first product on."""
    weights, config = weights_in(bundled.loaded.model), bundled.config
    text, pair = TEXTS[bundled.model_id]
    read, rate, seen = bundled.tokenize(text, pair), 0.6, set()
    for seed, is_next in ((3, True), (7, False)):
        found = objective_of(bundled, text, pair, seed, rate, is_next)
        ids, places = read.input_ids.copy(), found.positions
        ids[places] = [bundled.vocabulary.index(piece) for piece in found.shown]
        read_by_hand = oracle.forward(
            weights,
            config,
            {
                "input_ids": ids[None],
                "token_type_ids": read.token_type_ids[None],
                "mlm_positions": places,
            },
        )
        words = log_probs(read_by_hand["mlm_logits"])
        losses = -words[np.arange(len(places)), read.input_ids[places]]
        np.testing.assert_allclose(found.losses, losses, atol=1e-4)
        nsp = -log_probs(read_by_hand["nsp_logits"][0])[0 if is_next else 1]
        assert found.nsp_loss == pytest.approx(nsp, abs=1e-4)
        room = round((read.num_tokens - 2) * rate)
        assert found.num_places == room
        assert found.mlm_loss == pytest.approx(losses.sum() / room, abs=1e-4)
        assert found.total == pytest.approx(losses.sum() / room + nsp, abs=1e-4)
        seen |= set(found.fates)
    assert len(seen) > 1


def test_what_was_drawn_is_what_stands_there(bundled):
    text, pair = TEXTS[bundled.model_id]
    first = objective_of(bundled, text, pair, 0, 0.6)
    assert objective_of(bundled, text, pair, 0, 0.6).positions.tolist() == (
        first.positions.tolist()
    )
    seen, drawn = set(), set()
    for seed in range(40):
        found = objective_of(bundled, text, pair, seed, 0.6)
        assert found.positions.tolist() == sorted(set(found.positions.tolist()))
        drawn.add(tuple(found.positions.tolist()))
        for place, shown, fate in zip(
            found.positions, found.shown, found.fates, strict=True
        ):
            true = found.tokens[place]
            assert true not in ("[CLS]", "[SEP]", "[MASK]")
            is_right = {
                "mask": shown == "[MASK]",
                "kept": shown == true,
                "random": shown not in ("[MASK]", true),
            }
            assert is_right[fate]
            seen.add(fate)
        if seen == FATES and len(drawn) > 1:
            return
    raise AssertionError(seen, drawn)


def test_without_a_second_text_there_is_one_loss(bundled):
    text, _ = TEXTS[bundled.model_id]
    found = objective_of(bundled, text, None, 2)
    assert found.nsp_loss is None
    assert found.total == found.mlm_loss > 0
    nothing = objective_of(bundled, "[MASK]")
    assert nothing.positions.size == nothing.total == 0


def test_a_model_without_the_heads_says_so_or_leaves_one_out():
    with pytest.raises(CheckpointError, match="MLM"):
        objective_of(explorer_of(random_model(heads=())[0]), "the cat sat")
    words_only = explorer_of(random_model(heads=("mlm",))[0])
    assert objective_of(words_only, "the cat", "sat on").nsp_loss is None
