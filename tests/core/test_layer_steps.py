"""Every step against the oracle's loops, and against the pass that it is taken from."""

import dataclasses
import importlib
import inspect
import itertools
import math
import operator
import re

import numpy as np
import pytest
from scipy.special import softmax

from bertviz_core.analysis.layer_norm import change_vector, layer_norm, layer_norm_steps
from bertviz_core.experiments.layer_steps import StepReader, list_steps
from bertviz_core.experiments.step_table import OPERATIONS, layer_operations
from bertviz_core.experiments.token_numbers import (
    norm_input_at,
    part_numbers,
    step_table,
    steps_for_one_token,
)
from bertviz_core.explorer import Explorer
from bertviz_core.weights import as_numpy
from tests.core import oracle
from tests.core.cause_models import explorer_named
from tests.core.checkpoint_copies import number_copy
from tests.core.random_models import CONFIG, LABELS
from tests.core.traced_models import CASES, traced

TEXT, PAIR = "the [MASK] sat on [MASK] [MASK]", "a mat"
LAYERS, HEADS = CONFIG.num_hidden_layers, CONFIG.num_attention_heads
D = CONFIG.head_size


@pytest.fixture(scope="module", params=CASES)
def case(request):
    return traced(request.param, TEXT, PAIR)


@pytest.fixture(scope="module")
def values(case):
    """All steps by name."""
    reader = StepReader(case.explorer, case.trace)
    return {step.name: reader.values(step.name) for step in reader.steps}


def test_every_step_equals_the_oracle_and_ends_where_the_trace_goes_on(case, values):
    trace, noted = case.trace, case.noted()
    assert set(trace.tokenized.token_type_ids) == {0, 1}
    assert len(trace.mlm_positions) == 3
    for step in list_steps(case.explorer, trace):
        of_logits = step.operation.replace("_probs", "_logits")
        is_answer = not OPERATIONS[step.operation].activation
        name = OPERATIONS[of_logits if is_answer else step.operation].activation
        name = name if step.layer is None else f"layer.{step.layer}.{name}"
        expected = softmax(noted[name], -1) if is_answer else noted[name]
        close(values[step.name], expected)
    operations = layer_operations(case.config.pre_norm)
    assert sorted(operations) == sorted(layer_operations(not case.config.pre_norm))
    close(values["embedding_norm"], trace.hidden_states[0])
    for layer, states in enumerate(trace.hidden_states[1:]):
        close(values[f"layer_{layer}/attention_probs"], trace.attention_probs[layer])
        close(values[f"layer_{layer}/{operations[-1]}"], states)
    for name in ("nsp_logits", "class_logits"):
        close(values[name], getattr(trace, name))
    close(values["mlm_logits"], case.explorer.predict_masks(TEXT, PAIR).logits)


def test_shapes_are_those_of_the_numbers_and_inputs_come_first(case, values):
    tokens = case.trace.tokenized.num_tokens
    sizes = {"T": tokens, "Q": tokens, "K": tokens, "N": HEADS, "D": D, "2": 2}
    sizes |= {"H": 42, "I": 13, "V": 23, "P": 3, "C": LABELS}
    seen = set()
    for step in list_steps(case.explorer, case.trace):
        assert values[step.name].shape == step.shape, step.name
        assert step.shape == tuple(sizes[axis] for axis in step.axes)
        assert step.name not in seen
        assert set(step.inputs) <= seen, step.name
        assert step.inputs or step.operation.endswith("_embeddings")
        seen.add(step.name)


def test_a_sum_is_that_of_its_inputs_and_every_step_leads_to_an_answer(case, values):
    steps = {step.name: step for step in list_steps(case.explorer, case.trace)}
    for step in steps.values():
        if step.operation in ("embedding_sum", "attention_residual", "output_residual"):
            close(values[step.name], sum(values[name] for name in step.inputs))
    reached, waiting = set(), ["mlm_probs"]
    while waiting:
        name = waiting.pop()
        reached.add(name)
        waiting += steps[name].inputs
    pooled = {"pooler_dense", "pooled_output", "nsp_logits", "nsp_probs"}
    assert set(steps) - reached == pooled | {"class_logits", "class_probs"}


def test_the_place_is_lines_of_the_core_that_exist(case):
    for step in list_steps(case.explorer, case.trace):
        place = step.place
        module = importlib.import_module(place.module)
        function = operator.attrgetter(place.qualified_name)(module)
        lines, first = inspect.getsourcelines(function)
        source = inspect.getsource(module).splitlines()[place.line - 1 :]
        for line, shown in zip(source, place.code.splitlines(), strict=False):
            assert line.strip() == shown.strip()
        assert first <= place.line <= place.last_line < first + len(lines)
        assert not place.code.startswith("#")


def test_every_operation_has_its_tap_in_the_core(case):
    steps = list_steps(case.explorer, case.trace)
    assert {step.operation for step in steps} | {"final_norm"} == set(OPERATIONS)
    taps = {one.activation.rpartition(".")[2] for one in OPERATIONS.values()}
    for step in steps:
        quoted = re.findall(r'\w+\(\s*"(\w+)"', step.place.code)
        own = OPERATIONS[step.operation].activation.rpartition(".")[2]
        assert taps.intersection(quoted) <= {own}, step.name
        # What is a function of its own, or the softmax of an answer.
        is_called = own in ("", "norm", "masked_scores", "post", "final_norm")
        assert own in quoted or is_called, step.name


def test_heads_that_are_missing_or_not_asked_have_no_steps(explorer):
    headless = explorer_named("headless")
    trace = headless.trace(TEXT)
    assert list_steps(headless, trace)[-1].name == f"layer_{LAYERS - 1}/output_norm"
    with pytest.raises(ValueError, match="step_name"):
        step_values(headless, trace, "pooler_dense")
    names = [s.name for s in list_steps(explorer, explorer.trace("the cat"))]
    assert "nsp_probs" in names
    assert not [name for name in names if name.startswith("mlm")]


def test_a_model_that_says_a_number_has_no_softmax_over_classes(tmp_path):
    """Over a single number it would be 1 whatever the text."""
    explorer = Explorer.open(str(number_copy(tmp_path)))
    trace = explorer.trace("ab cab")
    *_, last = list_steps(explorer, trace)
    assert (last.name, last.shape) == ("class_logits", (1,))
    close(step_values(explorer, trace, last.name), trace.class_logits)
    assert abs(trace.class_logits[0]) > 1e-3


def test_what_cannot_be_answered_is_refused(explorer):
    whole = explorer.trace(TEXT)
    trace = whole.only(("nsp_logits",))
    close(
        step_values(explorer, trace, "embedding_norm"),
        step_values(explorer, whole, "embedding_norm"),
    )
    for name in ("layer_0/query", "pooler_dense"):
        with pytest.raises(ValueError, match="hidden_states"):
            step_values(explorer, trace, name)
    for name in ("layer_3/query", "query", "layer_0/word", ""):
        with pytest.raises(ValueError, match="step_name"):
            step_values(explorer, whole, name)
    with pytest.raises(ValueError, match="step_name"):
        norm_input_at(explorer, whole, "layer_0/query", 0)


def test_a_norm_by_hand_gives_the_models_own_norm(case, values):
    steps = list_steps(case.explorer, case.trace)
    norms = [step for step in steps if step.operation.endswith("_norm")]
    assert len(norms) == 2 * LAYERS + (3 if case.config.pre_norm else 2)
    for step in norms:
        # Of the word head: at its second mask.
        place = case.trace.mlm_positions[1] if step.name == "mlm_norm" else 2
        given = norm_input_at(case.explorer, case.trace, step.name, place)
        by_hand = layer_norm_steps(given.vector, given.gamma, given.beta, given.epsilon)
        close(by_hand.output, values[step.name][1 if step.name == "mlm_norm" else 2])
        assert math.isclose(given.epsilon, 1e-3)


def test_a_reader_gives_the_same_in_any_order_and_runs_each_part_once(explorer):
    trace = explorer.trace(TEXT)
    reader = StepReader(explorer, trace)
    assert reader.steps == list_steps(explorer, trace)
    names = [step.name for step in reader.steps]
    for name in np.random.default_rng(1).permutation(names):
        np.testing.assert_array_equal(
            reader.values(name), step_values(explorer, trace, name)
        )
    first, before = reader.values("layer_1/query"), explorer.num_forward_passes
    reader.values("layer_1/output_norm")
    assert np.shares_memory(reader.values("layer_1/query"), first)
    assert explorer.num_forward_passes == before
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 0


def step_values(explorer, trace, name):
    """The numbers of one step; see `StepReader.values`."""
    return StepReader(explorer, trace).values(name)


def close(actual, expected, read=None, share=1e-6):
    """To 1e-6 of the largest number, which is as near as float32 comes to float64.

    Args:
        actual: what a model in float32 says.
        expected: the same, by whoever else.
        read: whose largest number counts; `None` for `expected` itself.
        share: of the largest number, where it is another one.
    """
    size = max(1.0, float(np.abs(expected if read is None else read).max()))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=share * size)


TWO_MASKS = "the [MASK] sat on [MASK]"
TOKEN = 4


@pytest.fixture(scope="module")
def asked(any_norm_explorer):
    explorer = any_norm_explorer
    trace = explorer.trace(TWO_MASKS)
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
        assert numbers.token == TOKEN
        for step in steps:
            found = numbers.of(step.name)
            if step.part == part:
                whole = step_values(explorer, at_token, step.name)
                np.testing.assert_array_equal(found, share(step, whole), step.name)
            else:
                assert found is None or step.name == next(iter(numbers.values))


def test_parts_follow_each_other_and_each_begins_where_the_one_before_ends(asked):
    explorer, trace, steps = asked
    layers = [f"layer_{layer}" for layer in range(CONFIG.num_hidden_layers)]
    parts = list(dict.fromkeys(step.part for step in steps))
    assert parts == ["embeddings", *layers, "heads"]
    for before, part in itertools.pairwise(parts):
        last = [step for step in steps if step.part == before][-1]
        name, entering = next(
            iter(part_numbers(explorer, trace, part, TOKEN).values.items())
        )
        assert name == last.name
        ended = part_numbers(explorer, trace, before, TOKEN).of(last.name)
        np.testing.assert_allclose(entering, ended, rtol=0, atol=2e-6)


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
    trace = explorer.trace(TWO_MASKS)
    parts = {step.part for step in steps_for_one_token(explorer, trace)}
    assert "heads" not in parts
    with pytest.raises(ValueError, match="part"):
        part_numbers(explorer, trace, "heads", 0)


def test_the_norm_of_the_word_head_is_that_of_the_token(asked):
    explorer, trace, _ = asked
    found = norm_input_at(explorer, trace, "mlm_norm", TOKEN)
    before = part_numbers(explorer, trace, "heads", TOKEN).of("mlm_activation")
    np.testing.assert_array_equal(found.vector, before)


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


def test_a_text_without_a_mask_has_the_word_head_too(asked):
    explorer = asked[0]
    *_, logits, probs = steps_for_one_token(explorer, explorer.trace("the cat"))
    assert (logits.operation, probs.operation) == ("mlm_logits", "mlm_probs")
    assert logits.shape == (1, CONFIG.vocab_size)


RNG = np.random.default_rng(3)
GAMMA, BETA, VECTOR = RNG.normal(1, 0.5, 11), RNG.normal(size=11), RNG.normal(size=11)


def test_each_step_of_a_small_vector_is_what_pen_and_paper_give():
    steps = layer_norm_steps([1, 3, 8], [2, 1, -1], [0.5, 0, 4], epsilon=7 / 3)
    assert steps.mean == 4
    assert steps.variance == pytest.approx(26 / 3)
    assert steps.deviation == pytest.approx(math.sqrt(11))
    root = math.sqrt(11)
    np.testing.assert_allclose(steps.normed, [-3 / root, -1 / root, 4 / root])
    np.testing.assert_allclose(steps.scaled, [-6 / root, -1 / root, -4 / root])
    np.testing.assert_allclose(
        steps.output, [-6 / root + 0.5, -1 / root, -4 / root + 4]
    )


def test_the_last_step_and_the_whole_equal_the_oracle():
    x = RNG.normal(2, 3, (2, 5, 11))
    expected = oracle.layer_norm(x, GAMMA, BETA, 0.01)
    np.testing.assert_allclose(layer_norm(x, GAMMA, BETA, 0.01), expected, atol=1e-12)
    steps = layer_norm_steps(x[1, 3], GAMMA, BETA, 0.01)
    np.testing.assert_allclose(steps.output, expected[1, 3], atol=1e-12)


def test_a_changed_vector_has_the_mean_and_the_spread_that_were_asked_for():
    changed = change_vector(VECTOR, shift=2.5, scale=-3)
    assert changed.mean() == pytest.approx(VECTOR.mean() + 2.5)
    assert changed.std() == pytest.approx(3 * VECTOR.std())
    np.testing.assert_allclose(change_vector(VECTOR, 0, 1), VECTOR)


def test_equal_numbers_come_out_as_beta_and_need_an_epsilon():
    steps = layer_norm_steps(np.full(11, 4.0), GAMMA, BETA, 1e-6)
    np.testing.assert_array_equal(steps.output, BETA)
    for vector, epsilon in ((np.full(11, 4.0), 0), (VECTOR, -1e-3)):
        with pytest.raises(ValueError, match="epsilon"):
            layer_norm_steps(vector, GAMMA, BETA, epsilon)
    for vector, gamma in ((VECTOR, GAMMA[:1]), (VECTOR[None], GAMMA[None])):
        with pytest.raises(ValueError, match="one size"):
            layer_norm_steps(vector, gamma, BETA, 1e-3)
