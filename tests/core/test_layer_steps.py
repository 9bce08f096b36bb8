"""Every step against the oracle's loops, and against the pass that it is taken from."""

import importlib
import inspect
import math
import operator
import re

import numpy as np
import pytest

from bertviz_core.analysis.layer_norm import layer_norm_steps
from bertviz_core.experiments.layer_steps import StepReader, list_steps, norm_input
from bertviz_core.experiments.step_table import OPERATIONS, layer_operations
from bertviz_core.explorer import Explorer
from tests.core import oracle
from tests.core.cause_models import explorer_named
from tests.core.checkpoint_copies import number_copy
from tests.core.random_models import CONFIG, LABELS
from tests.core.step_reading import close, step_values
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


def test_the_embedding_sum_is_taken_apart(case, values):
    text, noted = case.trace.tokenized, {}
    assert set(text.token_type_ids) == {0, 1}
    oracle.embeddings(
        case.weights, case.config, text.input_ids, text.token_type_ids, noted.setdefault
    )
    for name in ("word", "position", "token_type"):
        close(values[f"{name}_embeddings"], noted[name])
    close(values["embedding_sum"], noted["sum"])
    close(values["embedding_norm"], noted["norm"])
    close(values["embedding_norm"], case.trace.hidden_states[0])


@pytest.mark.parametrize("layer", range(LAYERS))
def test_a_layer_equals_the_oracle_in_the_order_of_its_norms(case, values, layer):
    noted = case.steps(layer)
    operations = layer_operations(case.config.pre_norm)
    assert sorted(operations) == sorted(layer_operations(not case.config.pre_norm))
    for name in operations:
        expected = noted[OPERATIONS[name].activation]
        close(values[f"layer_{layer}/{name}"], expected)
    close(values[f"layer_{layer}/attention_probs"], case.trace.attention_probs[layer])
    close(
        values[f"layer_{layer}/{operations[-1]}"], case.trace.hidden_states[layer + 1]
    )


def test_the_heads_equal_the_oracle(case, values):
    config, weights, trace = case.config, case.weights, case.trace
    x = case.last_norm(trace.hidden_states[-1].astype("float64"))
    if config.pre_norm:
        close(values["final_norm"], x)
    close(values["pooler_dense"], oracle.dense(x[0], *weights["pooler"]))
    pooled = oracle.pooler(weights, x)
    close(values["pooled_output"], pooled)
    for name, key in (("nsp", "nsp"), ("class", "classifier")):
        logits = oracle.dense(pooled, *weights[key])
        close(values[f"{name}_logits"], logits)
        close(values[f"{name}_logits"], getattr(trace, f"{name}_logits"))
        close(values[f"{name}_probs"], np.exp(logits) / np.exp(logits).sum())
    assert len(trace.mlm_positions) == 3
    for row, place in enumerate(trace.mlm_positions):
        noted = {}
        oracle.mlm(weights, config, x[place], noted.setdefault)
        for name, key in (
            *(("transform", "pre"), ("activation", "post"), ("norm", "norm")),
            ("logits", "logits"),
        ):
            close(values[f"mlm_{name}"][row], noted[key])
        powers = np.exp(noted["logits"])
        close(values["mlm_probs"][row], powers / powers.sum())
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
        norm_input(explorer, whole, "layer_0/query", 0)
    with pytest.raises(ValueError, match="token"):
        norm_input(explorer, whole, "mlm_norm", 3)


def test_a_norm_by_hand_gives_the_models_own_norm(case, values):
    steps = list_steps(case.explorer, case.trace)
    norms = [step for step in steps if step.operation.endswith("_norm")]
    assert len(norms) == 2 * LAYERS + (3 if case.config.pre_norm else 2)
    for step in norms:
        given = norm_input(case.explorer, case.trace, step.name, 2)
        by_hand = layer_norm_steps(given.vector, given.gamma, given.beta, given.epsilon)
        close(by_hand.output, values[step.name][2])
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
