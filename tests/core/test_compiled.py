"""The compiled pass: what the formulas say, compiled once, safe for threads."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import keras
import numpy as np
import pytest

from bertviz_core.errors import EngineError, TextError
from bertviz_core.model import compile as compiling
from bertviz_core.model import compiled
from bertviz_core.model.compile import uses_openvino
from bertviz_core.model.compiled import INPUTS, CompiledForward
from tests.core import oracle
from tests.core.random_models import (
    BATCH,
    CONFIG,
    PRE_NORM,
    TOKENS,
    agree,
    agree_by_name,
    explorer_of,
    random_inputs,
    random_interventions,
    random_model,
)

INTERVENTIONS = ("head_mask", "edge_mask", "neuron_mask")


def everything():
    inputs = random_inputs()
    for name in INTERVENTIONS:
        inputs |= random_interventions(name)
    assert set(inputs) == set(INPUTS)
    return inputs


@pytest.fixture(scope="module")
def forward(explorer):
    return explorer.forward


# Compiling takes time by the layer, and one shows as much here as three.
ONE_LAYER = dataclasses.replace(CONFIG, num_hidden_layers=1)
SPARSE = dataclasses.replace(PRE_NORM, sparse_window=1, sparse_stride=3)


@pytest.fixture
def compilations(monkeypatch):
    """Grows by one with each function that is compiled."""
    made = []

    def counting(*arguments, **named):
        made.append(arguments)
        return compiling.compile_function(*arguments, **named)

    monkeypatch.setattr(compiled, "compile_function", counting)
    return made


@pytest.fixture
def one_layer():
    model, weights = random_model(ONE_LAYER)
    return CompiledForward(model), weights


def test_other_inputs_outputs_sizes_and_lengths_share_what_is_compiled(
    one_layer, compilations
):
    forward, weights = one_layer
    given = random_inputs()
    forward(given)
    first = len(compilations)
    for batch, tokens in ((1, 1), (2, 11), (7, 3), (1, 8), (BATCH, TOKENS)):
        inputs = random_inputs(seed=tokens, batch=batch, tokens=tokens)
        inputs["mlm_positions"] = inputs["mlm_positions"][: batch * tokens % 4]
        output = forward(inputs)
        if not len(inputs["mlm_positions"]):
            assert output.pop("mlm_logits").shape == (0, CONFIG.vocab_size)
            del inputs["mlm_positions"]
        agree_by_name(output, oracle.forward(weights, ONE_LAYER, inputs))
    ids = {"input_ids": given["input_ids"]}
    forward(ids)
    forward(ids | random_interventions("edge_mask"))
    forward(given, ("mlm_logits",))
    forward(ids, ("pooled_output", "hidden_states"))
    assert len(compilations) == first


@pytest.fixture(scope="module")
def any_norm_forward(any_norm_model, any_norm_explorer):
    return any_norm_explorer.forward, any_norm_model[1]


@pytest.mark.parametrize("rows", [1, BATCH], ids=["one-row", "row-a-text"])
@pytest.mark.parametrize("name", INTERVENTIONS)
def test_every_output_matches_with_and_without_an_intervention(
    any_norm_forward, name, rows
):
    forward, weights = any_norm_forward
    inputs = random_inputs() | random_interventions(name, rows=rows)
    for given in (random_inputs(), inputs):
        found = forward(given)
        expected = oracle.forward(weights, forward.model.config, given)
        agree_by_name(found, expected)
        for array in found.values():
            assert type(array) is np.ndarray
            assert array.dtype == "float32"
    plain = forward(random_inputs())
    assert np.abs(plain["class_logits"] - expected["class_logits"]).max() > 1e-3


def test_a_half_precision_model_gives_float32_too():
    model, weights = random_model(ONE_LAYER, dtype="mixed_bfloat16")
    inputs = random_inputs()
    output = CompiledForward(model)(inputs)
    assert {array.dtype for array in output.values()} == {np.dtype("float32")}
    agree_by_name(output, oracle.forward(weights, ONE_LAYER, inputs), atol=0.3)


def test_only_the_asked_outputs_come_back_and_only_their_parts_are_compiled(
    one_layer, compilations
):
    forward, inputs = one_layer[0], random_inputs()
    parts = {
        ("attention_probs",): 2,  # embeddings and a block
        ("hidden_states",): 0,
        (): 0,
        ("mlm_logits",): 1,
        ("nsp_logits", "attention_probs"): 1,
    }
    found = {}
    for outputs, num_parts in parts.items():
        before = len(compilations)
        found[outputs] = forward(inputs, outputs)
        assert len(compilations) == before + num_parts
    whole = forward(inputs)
    for outputs, part in found.items():
        agree_by_name(part, {name: whole[name] for name in outputs}, 1e-6)


def test_functions_that_were_not_asked_for_long_are_let_go(
    one_layer, compilations, monkeypatch
):
    monkeypatch.setattr(compiled, "_FUNCTIONS_A_PART", 1)
    forward, x = one_layer[0], np.ones((1, 3, CONFIG.hidden_size))
    names = ("query", "key", "value", "scores", "probs", "output", "context")
    for name in names:
        forward.block(0, x, keep=(f"attention.{name}",))
    assert len(compilations) == len(names)
    forward.block(0, x, keep=("attention.context",))
    assert len(compilations) == len(names)
    forward.block(0, x, keep=("attention.query",))
    assert len(compilations) == len(names) + 1


def walks(forward):
    """Part by part, as each layer goes on from what the one before has said."""
    inputs = random_inputs()
    del inputs["attention_mask"]
    whole = forward(inputs)
    states = forward.embed(inputs["input_ids"], inputs["token_type_ids"])["output"]
    for layer in range(forward.model.config.num_hidden_layers):
        found = forward.block(layer, states)
        states = found["output"]
        agree(states, whole["hidden_states"][:, layer + 1])
        agree(found["attention.probs"], whole["attention_probs"][:, layer])
    asked = states.reshape(-1, states.shape[-1])[inputs["mlm_positions"]]
    agree(forward.read("mlm", asked)["output"], whole["mlm_logits"])
    heads = {"pooler": "pooled_output", "nsp": "nsp_logits"}
    for head, name in (heads | {"classifier": "class_logits"}).items():
        agree(forward.read(head, states[:, 0])["output"], whole[name])


def test_a_walk_part_by_part_equals_the_whole_pass(any_norm_forward):
    forward, _ = any_norm_forward
    walks(forward)
    # It may start in the middle of a block.
    x = np.random.default_rng(4).normal(size=(2, 3, CONFIG.hidden_size))
    whole = forward.block(1, x, keep=("attention.output", "output"))
    given = {"attention.output": whole["attention.output"]}
    rest = forward.block(1, x, keep=("output",), replace=given)
    agree(rest["output"], whole["output"], 1e-6)


def test_a_sparse_model_walks_too_and_tells_what_a_pass_lets_look(forward):
    sparse = CompiledForward(random_model(SPARSE)[0])
    walks(sparse)
    inputs = {"input_ids": random_inputs()["input_ids"]}
    seen = sparse(inputs, ("attention_probs",))["attention_probs"] > 0
    visible = sparse.visible(TOKENS)
    assert (seen == visible).all()
    assert not visible.all()
    assert (forward.visible(TOKENS) == np.ones((TOKENS, TOKENS), bool)).all()


@pytest.mark.parametrize("name", sorted(INPUTS))
def test_wrong_inputs_are_refused(forward, name):
    rank = INPUTS[name][1]
    with pytest.raises(ValueError, match=f"`{name}` must have {rank} axes"):
        forward(everything() | {name: np.zeros((1,) * (rank + 1))})
    with pytest.raises(ValueError, match="`segment_ids` is not an input"):
        forward(everything() | {"segment_ids": np.zeros((BATCH, TOKENS))})


def test_a_block_takes_a_mask_of_texts_of_rows_or_of_heads(any_norm_forward):
    forward, _ = any_norm_forward
    x = np.random.default_rng(6).normal(size=(BATCH, TOKENS, CONFIG.hidden_size))
    mask = random_inputs()["attention_mask"]
    rows = np.repeat(mask[:, None], TOKENS, axis=1)
    heads = np.repeat(rows[:, None], CONFIG.num_attention_heads, axis=1)
    expected = forward.block(0, x, mask)
    for given in (rows, heads, rows[:, None]):
        agree_by_name(forward.block(0, x, given), expected, 1e-6)


def test_each_question_is_told_of_once():
    told = []
    forward = CompiledForward(random_model(ONE_LAYER)[0], lambda: told.append(1))
    inputs = random_inputs()
    forward(inputs, ("hidden_states",))
    x = forward.embed(inputs["input_ids"], inputs["token_type_ids"])["output"]
    forward.block(0, x)
    forward.read("mlm", x[0])
    assert len(told) == 4


def test_an_output_that_the_model_lacks_is_refused():
    forward = CompiledForward(random_model(ONE_LAYER, heads=("mlm",))[0])
    with pytest.raises(ValueError, match=r"`outputs` must be among.*pooled_output"):
        forward(random_inputs(), ("pooled_output",))


def test_lists_and_other_whole_number_types_are_taken(forward):
    inputs = random_inputs()
    other = {
        "input_ids": inputs["input_ids"].tolist(),
        "attention_mask": inputs["attention_mask"].astype(bool),
        "token_type_ids": inputs["token_type_ids"].astype("uint8"),
        "mlm_positions": inputs["mlm_positions"].astype("int64"),
    }
    agree_by_name(forward(other), forward(inputs), 0)


@pytest.mark.parametrize("tokens", [12, 10_000])
def test_a_text_beyond_the_last_position_is_refused_with_both_numbers(forward, tokens):
    with pytest.raises(TextError, match=rf"{tokens} tokens.* 11 positions"):
        forward({"input_ids": np.zeros((1, tokens), "int32")})


def test_weights_count_as_they_are_at_each_call_or_on_openvino_at_the_first(one_layer):
    forward, weights = one_layer
    forward(random_inputs())
    changed = {**weights, "decoder_bias": weights["decoder_bias"] + 1}
    forward.model.mlm.bias.assign(changed["decoder_bias"])
    counts = weights if keras.backend.backend() == "openvino" else changed
    expected = oracle.forward(counts, ONE_LAYER, random_inputs())
    agree_by_name(forward(random_inputs()), expected)


@pytest.mark.skipif(
    keras.backend.backend() != "openvino", reason="the others have gradients"
)
def test_a_gradient_on_openvino_is_refused():
    with pytest.raises(EngineError, match="Gradients need TensorFlow"):
        compiling.compile_function({"x": ("float32", 1)}, dict, [], slope_of="x")


@pytest.mark.parametrize("most_bytes_kept", [0, 2**20], ids=["given-back", "kept"])
def test_threads_share_what_is_compiled_and_get_their_own_answers(
    one_layer, compilations, monkeypatch, most_bytes_kept
):
    monkeypatch.setattr(compiling, "_MOST_BYTES_KEPT", most_bytes_kept)
    forward, _ = one_layer
    batches = [
        random_inputs(seed=n, batch=1 + n % 5, tokens=1 + (3 * n) % 11)
        for n in range(24)
    ]
    with ThreadPoolExecutor(max_workers=6) as pool:
        together = list(pool.map(forward, batches))
    assert len(compilations) == 6  # embeddings, a block, four heads
    for inputs, output in zip(batches, together, strict=True):
        agree_by_name(output, forward(inputs))


@pytest.mark.skipif(not uses_openvino(), reason="the precision is OpenVINO's")
def test_the_environment_has_openvino_compute_in_bfloat16(monkeypatch):
    model, _ = random_model(ONE_LAYER)
    inputs = random_inputs()
    exact = CompiledForward(model)(inputs, ("sequence_output",))["sequence_output"]
    monkeypatch.setenv("BERTVIZ_PRECISION", "bfloat16")
    rounded = CompiledForward(model)(inputs, ("sequence_output",))["sequence_output"]
    assert rounded.dtype == np.float32
    # A processor without it computes in float32 all the same.
    assert np.abs(rounded - exact).max() < 0.2
    assert explorer_of(model).info().precision == "bfloat16"
