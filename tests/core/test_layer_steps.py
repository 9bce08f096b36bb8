"""Every step against the oracle's loops, and against the pass that it is taken from."""

import dataclasses
import importlib
import inspect
import math
import operator
import re

import numpy as np
import pytest

from bertviz_core.analysis.layer_norm import layer_norm_steps
from bertviz_core.experiments.layer_steps import (
    StepReader,
    list_steps,
    norm_input,
)
from bertviz_core.experiments.step_table import OPERATIONS, layer_operations
from bertviz_core.explorer import Explorer
from tests.core import oracle
from tests.core.checkpoint_copies import number_copy
from tests.core.random_models import (
    CONFIG,
    LABELS,
    PRE_NORM,
    explorer_of,
    random_model,
)
from tests.core.step_reading import close, step_values

TEXT, PAIR = "the [MASK] sat on [MASK] [MASK]", "a mat"
CASES = {
    "post-norm": CONFIG,
    "pre-norm": PRE_NORM,
    "sparse": dataclasses.replace(CONFIG, sparse_window=1, sparse_global=1),
    "tanh": dataclasses.replace(PRE_NORM, hidden_act="gelu_new"),
    "relu": dataclasses.replace(CONFIG, hidden_act="relu"),
    "swish": dataclasses.replace(CONFIG, hidden_act="swish"),
}
LAYERS, HEADS = CONFIG.num_hidden_layers, CONFIG.num_attention_heads
D = CONFIG.head_size


@dataclasses.dataclass(frozen=True)
class Case:
    config: object
    weights: dict
    explorer: object
    trace: object

    def norm(self, weights, x):
        return oracle.layer_norm(x, *weights, self.config.layer_norm_eps)


@pytest.fixture(scope="module", params=CASES)
def case(request):
    config = CASES[request.param]
    model, weights = random_model(config)
    explorer = explorer_of(model)
    return Case(config, weights, explorer, explorer.trace(TEXT, PAIR))


@pytest.fixture(scope="module")
def values(case):
    """All steps by name."""
    reader = StepReader(case.explorer, case.trace)
    return {step.name: reader.values(step.name) for step in reader.steps}


def by_head(x):
    return np.stack([x[:, head * D : (head + 1) * D] for head in range(HEADS)])


def test_the_embedding_sum_is_taken_apart(case, values):
    tokenized, weights = case.trace.tokenized, case.weights
    assert set(tokenized.token_type_ids) == {0, 1}
    words = np.stack([weights["words"][index] for index in tokenized.input_ids])
    segments = np.stack([weights["segments"][i] for i in tokenized.token_type_ids])
    positions = np.stack(
        [weights["positions"][place] for place in range(tokenized.num_tokens)]
    )
    close(values["word_embeddings"], words)
    close(values["position_embeddings"], positions)
    close(values["token_type_embeddings"], segments)
    total = words + positions + segments
    close(values["embedding_sum"], total)
    close(values["embedding_norm"], case.norm(weights["embedding_norm"], total))
    np.testing.assert_allclose(
        values["embedding_norm"], case.trace.hidden_states[0], rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("layer", range(LAYERS))
def test_a_layer_equals_the_oracle_in_the_order_of_its_norms(case, values, layer):
    config, weights = case.config, case.weights["layers"][layer]
    found = {name: values[f"layer_{layer}/{name}"] for name in layer_operations(False)}
    x = case.trace.hidden_states[layer].astype("float64")
    source = case.norm(weights["attention_norm"], x) if config.pre_norm else x
    for name in ("query", "key", "value"):
        close(found[name], by_head(oracle.dense(source, *weights[name])))
    tokens = len(x)
    edges = np.ones((HEADS, tokens, tokens))
    if config.is_sparse:
        places = np.arange(tokens)
        far = abs(places[:, None] - places) > 1
        edges[:, far & (np.minimum(places[:, None], places) > 0)] = 0
    context, scores, probs = oracle.attention(
        weights, HEADS, source, np.ones(tokens), edge_mask=edges
    )
    close(found["attention_scores"], scores)
    close(found["masked_scores"], scores - 10000 * (1 - edges))
    close(found["attention_probs"], probs)
    close(found["context"], context)
    update = oracle.dense(context, *weights["attention_output"])
    close(found["attention_output"], update)
    close(found["attention_residual"], x + update)
    if config.pre_norm:
        close(found["attention_norm"], source)
        enters = case.norm(weights["output_norm"], x + update)
        close(found["output_norm"], enters)
        kept = x + update
    else:
        enters = kept = case.norm(weights["attention_norm"], x + update)
        close(found["attention_norm"], enters)
    inner = oracle.dense(enters, *weights["inner"])
    close(found["intermediate"], inner)
    neurons = oracle.ACTIVATIONS[config.hidden_act](inner)
    close(found["neurons"], neurons)
    update = oracle.dense(neurons, *weights["outer"])
    close(found["feed_forward_output"], update)
    close(found["output_residual"], kept + update)
    if not config.pre_norm:
        close(found["output_norm"], case.norm(weights["output_norm"], kept + update))


@pytest.mark.parametrize("operation", layer_operations(False))
def test_a_step_shows_the_number_that_the_pass_goes_on_with(
    any_norm_explorer, operation
):
    explorer, layer = any_norm_explorer, 1
    trace, name = explorer.trace(TEXT, PAIR), OPERATIONS[operation].activation
    shown = step_values(explorer, trace, f"layer_{layer}/{operation}")[None]

    def leaves(numbers):
        x = trace.hidden_states[layer][None]
        found = explorer.forward.block(layer, x, None, ("output",), None, numbers)
        return found["output"][0]

    close(leaves({name: shown}), trace.hidden_states[2])
    noise = np.random.default_rng(8).normal(size=shown.shape)
    assert np.abs(leaves({name: shown + noise}) - trace.hidden_states[2]).max() > 1e-2


def test_the_steps_end_at_what_the_forward_pass_exposed(case, values):
    trace = case.trace
    for layer in range(LAYERS):
        close(values[f"layer_{layer}/attention_probs"], trace.attention_probs[layer])
        last = layer_operations(case.config.pre_norm)[-1]
        close(values[f"layer_{layer}/{last}"], trace.hidden_states[layer + 1])
    close(values["pooled_output"], trace.pooled_output)
    close(values["nsp_logits"], trace.nsp_logits)
    close(values["class_logits"], trace.class_logits)
    close(values["mlm_logits"], trace.mlm_logits)
    predictions = case.explorer.predict_masks(TEXT, PAIR)
    close(values["mlm_logits"], predictions.logits)


def test_the_heads_equal_the_oracle(case, values):
    config, weights = case.config, case.weights
    x = case.trace.hidden_states[-1].astype("float64")
    if config.pre_norm:
        x = case.norm(weights["final_norm"], x)
        close(values["final_norm"], x)
    close(values["pooler_dense"], oracle.dense(x[0], *weights["pooler"]))
    pooled = oracle.pooler(weights, x)
    close(values["pooled_output"], pooled)
    for name, key in (("nsp", "nsp"), ("class", "classifier")):
        logits = oracle.dense(pooled, *weights[key])
        close(values[f"{name}_logits"], logits)
        close(values[f"{name}_probs"], np.exp(logits) / np.exp(logits).sum())
    asked = case.trace.mlm_positions
    assert len(asked) == 3
    changed = oracle.dense(x[asked], *weights["transform"])
    close(values["mlm_transform"], changed)
    changed = oracle.ACTIVATIONS[config.hidden_act](changed)
    close(values["mlm_activation"], changed)
    close(values["mlm_norm"], case.norm(weights["transform_norm"], changed))
    logits = np.stack([oracle.mlm(weights, config, x[place]) for place in asked])
    close(values["mlm_logits"], logits)
    powers = np.exp(logits)
    close(values["mlm_probs"], powers / powers.sum(axis=1, keepdims=True))


def test_every_shape_is_that_of_the_numbers(case, values):
    tokens = case.trace.tokenized.num_tokens
    sizes = {"T": tokens, "Q": tokens, "K": tokens, "N": HEADS, "D": D, "2": 2}
    sizes |= {"H": 42, "I": 13, "V": 23, "P": 3, "C": LABELS}
    for step in list_steps(case.explorer, case.trace):
        assert values[step.name].shape == step.shape, step.name
        assert step.shape == tuple(sizes[axis] for axis in step.axes)


def test_names_are_unique_and_inputs_come_first(case):
    seen = set()
    for step in list_steps(case.explorer, case.trace):
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


@pytest.mark.parametrize("hidden_act", ["gelu", "gelu_new", "relu", "swish"])
@pytest.mark.parametrize("pre_norm", [False, True])
def test_every_operation_has_its_tap_in_the_core(pre_norm, hidden_act):
    config = dataclasses.replace(CONFIG, pre_norm=pre_norm, hidden_act=hidden_act)
    explorer = explorer_of(random_model(config)[0])
    steps = list_steps(explorer, explorer.trace(TEXT))
    assert {step.operation for step in steps} | {"final_norm"} == set(OPERATIONS)
    taps = {one.activation.rpartition(".")[2] for one in OPERATIONS.values()}
    for step in steps:
        quoted = re.findall(r'\w+\(\s*"(\w+)"', step.place.code)
        own = OPERATIONS[step.operation].activation.rpartition(".")[2]
        assert taps.intersection(quoted) <= {own}, step.name
        # What is a function of its own, or the softmax of an answer.
        is_called = own in ("", "norm", "masked_scores", "post", "final_norm")
        assert own in quoted or is_called, step.name


def test_the_code_holds_all_that_the_formula_says(case):
    steps = {s.name: s.place.code for s in list_steps(case.explorer, case.trace)}
    assert "math.sqrt(self.config.head_size)" in steps["layer_1/attention_scores"]
    assert "ops.matmul(query" in steps["layer_1/attention_scores"]
    assert "+ hidden * MASKED_SCORE" in steps["layer_1/masked_scores"]
    for name in ("nsp_probs", "class_probs", "mlm_probs"):
        assert "np.exp(" in steps[name]
        assert "/ powers.sum(" in steps[name]
        assert "log" not in steps[name].replace("logits", "")
    for name in ("embedding_norm", "layer_0/output_norm", "mlm_norm"):
        for part in ("mean = ", "variance = ", "self.epsilon", "* self.gamma + self."):
            assert part in steps[name]
    assert "ops.matmul(used, value)" in steps["layer_0/context"]
    assert "self._join_heads(head_context)" in steps["layer_0/context"]
    curve = {"gelu": "ops.erf(", "gelu_new": "0.044715"}
    sign = curve.get(case.config.hidden_act, "self.activation(")
    assert sign in steps["layer_2/neurons"]
    assert sign in steps["mlm_activation"]


def test_the_two_residuals_of_a_layer_are_two_lines(explorer):
    steps = {step.name: step for step in list_steps(explorer, explorer.trace(TEXT))}
    first = steps["layer_1/attention_residual"].place
    second = steps["layer_1/output_residual"].place
    assert first.code.partition("(")[2] == second.code.partition("(")[2]
    assert first.line < second.line


def test_both_orders_hold_the_same_operations_and_their_norms_elsewhere():
    post, pre = layer_operations(False), layer_operations(True)
    assert sorted(post) == sorted(pre)
    assert len(set(post)) == len(post)
    without = [
        [name for name in order if not name.endswith("_norm")] for order in (post, pre)
    ]
    assert without[0] == without[1]
    assert pre[0] == "attention_norm"
    assert post[-1] == "output_norm"


def test_formulas_are_balanced_and_tell_the_orders_apart(case):
    formulas = {}
    for step in list_steps(case.explorer, case.trace):
        assert step.formula.count("{") == step.formula.count("}"), step.name
        assert "\\\\" not in step.formula
        formulas[step.operation] = step.formula
    assert formulas["query"].startswith(
        r"Q_n = \hat{x}" if case.config.pre_norm else "Q_n = x"
    )
    sign = {"gelu": r"\Phi", "gelu_new": "0.044715", "relu": r"\max", "swish": "e^{-u}"}
    assert sign[case.config.hidden_act] in formulas["neurons"]
    assert sign[case.config.hidden_act] in formulas["mlm_activation"]


def test_heads_are_put_side_by_side_not_below_each_other(case):
    steps = list_steps(case.explorer, case.trace)
    for step in steps:
        # A semicolon between matrices would stack their rows.
        assert ";" not in step.formula, step.name
    (context,) = [step for step in steps if step.name == "layer_1/context"]
    assert r"\operatorname{concat}(A_1 V_1, \ldots, A_N V_N)" in context.formula
    assert context.shape == (case.trace.tokenized.num_tokens, HEADS * D)


def test_heads_that_are_missing_have_no_steps():
    explorer = explorer_of(random_model(heads=())[0])
    trace = explorer.trace(TEXT)
    assert list_steps(explorer, trace)[-1].name == f"layer_{LAYERS - 1}/output_norm"
    with pytest.raises(ValueError, match="step_name"):
        step_values(explorer, trace, "pooler_dense")


def test_a_model_that_says_a_number_has_no_softmax_over_classes(tmp_path):
    """Over a single number it would be 1 whatever the text."""
    explorer = Explorer.open(str(number_copy(tmp_path)))
    trace = explorer.trace("ab cab")
    *_, last = list_steps(explorer, trace)
    assert (last.name, last.shape) == ("class_logits", (1,))
    close(step_values(explorer, trace, last.name), trace.class_logits)
    assert abs(trace.class_logits[0]) > 1e-3


def test_without_an_asked_position_no_word_is_predicted(explorer):
    names = [s.name for s in list_steps(explorer, explorer.trace("the cat"))]
    assert "nsp_probs" in names
    assert not [name for name in names if name.startswith("mlm")]


def test_embeddings_need_no_hidden_states_and_layers_do(explorer):
    trace = explorer.trace(TEXT).only(("nsp_logits",))
    whole = explorer.trace(TEXT)
    close(
        step_values(explorer, trace, "embedding_norm"),
        step_values(explorer, whole, "embedding_norm"),
    )
    for name in ("layer_0/query", "pooler_dense"):
        with pytest.raises(ValueError, match="hidden_states"):
            step_values(explorer, trace, name)


@pytest.mark.parametrize("name", ["layer_3/query", "query", "layer_0/word", ""])
def test_a_step_that_does_not_exist_is_refused(explorer, name):
    with pytest.raises(ValueError, match="step_name"):
        step_values(explorer, explorer.trace(TEXT), name)


def test_a_norm_by_hand_gives_the_models_own_norm(case, values):
    steps = list_steps(case.explorer, case.trace)
    norms = [step for step in steps if step.operation.endswith("_norm")]
    assert len(norms) == 2 * LAYERS + (3 if case.config.pre_norm else 2)
    for step in norms:
        given = norm_input(case.explorer, case.trace, step.name, 2)
        by_hand = layer_norm_steps(given.vector, given.gamma, given.beta, given.epsilon)
        close(by_hand.output, values[step.name][2])
        assert math.isclose(given.epsilon, 1e-3)


def test_a_norm_input_is_asked_for_a_norm_and_a_token(explorer):
    trace = explorer.trace(TEXT)
    with pytest.raises(ValueError, match="step_name"):
        norm_input(explorer, trace, "layer_0/query", 0)
    with pytest.raises(ValueError, match="token"):
        norm_input(explorer, trace, "mlm_norm", 3)


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
