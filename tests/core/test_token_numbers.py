import dataclasses
import itertools

import numpy as np
import pytest

from bertviz_core.experiments.token_numbers import (
    norm_input_at,
    part_numbers,
    step_table,
    steps_for_one_token,
)
from bertviz_core.weights import as_numpy
from tests.core.cause_models import explorer_named
from tests.core.random_models import CONFIG
from tests.core.step_reading import step_values

TEXT = "the [MASK] sat on [MASK]"
TOKEN = 4


@pytest.fixture(scope="module")
def asked(any_norm_explorer):
    explorer = any_norm_explorer
    trace = explorer.trace(TEXT)
    return explorer, trace, steps_for_one_token(explorer, trace)


def share(step, values):
    """By name of the axes, what belongs to the token."""
    for letter, index in (("P", 0), ("T", TOKEN), ("Q", TOKEN), ("K", TOKEN)):
        if letter in step.axes:
            return np.take(values, index, step.axes.index(letter))
    return values


def test_a_token_gets_its_own_share_of_every_step(asked):
    explorer, trace, steps = asked
    at_token = dataclasses.replace(trace, mlm_positions=np.array([TOKEN]))
    for part in dict.fromkeys(step.part for step in steps):
        numbers = part_numbers(explorer, trace, part, TOKEN)
        assert (numbers.part, numbers.token) == (part, TOKEN)
        for step in steps:
            found = numbers.of(step.name)
            if step.part == part:
                whole = step_values(explorer, at_token, step.name)
                np.testing.assert_array_equal(found, share(step, whole), step.name)
            else:
                is_entering = found is not None
                assert not is_entering or np.array_equal(found, numbers.steps[0].values)


def test_parts_follow_each_other_and_each_begins_where_the_one_before_ends(asked):
    explorer, trace, steps = asked
    layers = [f"layer_{layer}" for layer in range(CONFIG.num_hidden_layers)]
    parts = list(dict.fromkeys(step.part for step in steps))
    assert parts == ["embeddings", *layers, "heads"]
    for before, part in itertools.pairwise(parts):
        last = [step for step in steps if step.part == before][-1]
        entering = part_numbers(explorer, trace, part, TOKEN).steps[0]
        assert entering.name == last.name
        ended = part_numbers(explorer, trace, before, TOKEN).of(last.name)
        np.testing.assert_allclose(entering.values, ended, rtol=0, atol=2e-6)


def test_the_pooler_reads_the_first_token_whichever_is_followed(asked):
    explorer, trace, steps = asked
    model = explorer.loaded.model
    first = trace.hidden_states[-1, :1]
    if model.final_norm is not None:
        first = explorer.forward.read("final_norm", first)["output"]
    dense = model.pooler.dense
    (pooler,) = [step for step in steps if step.operation == "pooler_dense"]
    (tanh,) = [step for step in steps if step.operation == "pooled_output"]
    assert pooler.is_pooled
    assert tanh.is_pooled
    assert [step for step in steps if step.is_pooled] == [pooler, tanh]
    for token in (0, TOKEN):
        heads = part_numbers(explorer, trace, "heads", token)
        read = heads.read_by(pooler, *pooler.inputs)
        np.testing.assert_allclose(read, first[0], rtol=0, atol=2e-6)
        made = read @ as_numpy(dense.kernel) + as_numpy(dense.bias)
        np.testing.assert_allclose(made, heads.of("pooler_dense"), atol=2e-6)
        np.testing.assert_array_equal(
            heads.read_by(tanh, "pooler_dense"), heads.of("pooler_dense")
        )


def test_a_model_without_heads_has_no_part_after_its_layers():
    explorer = explorer_named("headless")
    trace = explorer.trace(TEXT)
    parts = {step.part for step in steps_for_one_token(explorer, trace)}
    assert "heads" not in parts
    with pytest.raises(ValueError, match="part"):
        part_numbers(explorer, trace, "heads", 0)


def test_the_norm_of_the_word_head_is_that_of_the_token(asked):
    explorer, trace, _ = asked
    found = norm_input_at(explorer, trace, "mlm_norm", TOKEN)
    before = part_numbers(explorer, trace, "heads", TOKEN).of("mlm_activation")
    np.testing.assert_array_equal(found.vector, before)
    assert found.token == TOKEN


def test_what_there_is_not_is_refused(asked):
    explorer, trace, _ = asked
    for token in (-1, 7):
        with pytest.raises(ValueError, match="token"):
            part_numbers(explorer, trace, "layer_0", token)
        with pytest.raises(ValueError, match="token"):
            norm_input_at(explorer, trace, "embedding_norm", token)
        with pytest.raises(ValueError, match="token"):
            step_table(explorer, trace, "layer_0/query", token)
    for name in ("pooled_output", "mlm_logits"):
        with pytest.raises(ValueError, match="tokens"):
            step_table(explorer, trace, name, TOKEN)
    with pytest.raises(ValueError, match="head"):
        step_table(explorer, trace, "layer_0/query", TOKEN, head=7)


def test_a_table_holds_a_row_for_each_token_and_the_tokens_own_numbers(asked):
    explorer, trace, steps = asked
    for step in steps:
        if not set(step.axes) & set("TQK"):
            continue
        found = step_table(explorer, trace, step.name, TOKEN, head=5)
        whole = step_values(explorer, trace, step.name)
        expected = whole[5] if "N" in step.axes else whole
        np.testing.assert_allclose(found.values, expected, rtol=1e-6)
        assert found.head == (5 if "N" in step.axes else None)
        assert found.first == 0


@pytest.mark.parametrize(("token", "first"), [(0, 0), (3, 2), (6, 4)])
def test_a_table_of_a_long_text_holds_the_tokens_around_one(asked, token, first):
    explorer, trace, _ = asked
    probs = step_values(explorer, trace, "layer_1/attention_probs")[2]
    found = step_table(explorer, trace, "layer_1/attention_probs", token, 2, 3)
    rows = slice(first, first + 3)
    assert found.first == first
    np.testing.assert_allclose(found.values, probs[rows, rows], rtol=1e-6)
    found = step_table(explorer, trace, "embedding_sum", token, 2, 3)
    assert found.values.shape == (3, CONFIG.hidden_size)


def test_another_part_of_the_same_text_runs_that_part_alone(asked):
    explorer, trace, steps = asked
    for part in dict.fromkeys(step.part for step in steps):
        before = explorer.num_forward_passes
        part_numbers(explorer, trace, part, 3)
        is_normed = explorer.config.pre_norm
        num_parts = len(explorer.loaded.model.heads) + is_normed
        assert explorer.num_forward_passes - before == (
            num_parts if part == "heads" else 1
        )


def test_a_text_without_a_mask_has_the_word_head_too(asked):
    explorer = asked[0]
    *_, logits, probs = steps_for_one_token(explorer, explorer.trace("the cat"))
    assert (logits.operation, probs.operation) == ("mlm_logits", "mlm_probs")
    assert logits.shape == (1, CONFIG.vocab_size)
