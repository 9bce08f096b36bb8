"""One compiled forward pass: equal to the eager call, traced once, thread-safe."""

import dataclasses
import importlib.util
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from bertviz_core.errors import TextError
from bertviz_core.model.compiled import INPUTS, CompiledForward
from tests.core import oracle
from tests.core.random_models import (
    BATCH,
    CONFIG,
    TOKENS,
    agree,
    as_numpy,
    random_inputs,
    random_interventions,
    random_model,
)

ROOT = Path(__file__).parents[2]
INTERVENTIONS = ("head_mask", "edge_mask", "neuron_mask", "replacement")


def everything():
    inputs = random_inputs()
    for name in INTERVENTIONS:
        inputs |= random_interventions(name)
    assert set(inputs) == set(INPUTS)
    return inputs


def agree_everywhere(actual, expected, atol=1e-5):
    assert set(actual) == set(expected)
    for name, array in expected.items():
        np.testing.assert_allclose(actual[name], array, rtol=0, atol=atol, err_msg=name)


@pytest.fixture(scope="module")
def forward(post_norm_model):
    return CompiledForward(post_norm_model[0])


# Compiling takes time by the layer, and one shows as much here as three.
ONE_LAYER = dataclasses.replace(CONFIG, num_hidden_layers=1)


@pytest.fixture
def counted():
    """A forward pass, and how often Python ran the model: graphs do not run it."""
    model, weights = random_model(ONE_LAYER)
    forward = CompiledForward(model)
    runs = []
    call = model.call

    def counting_call(*args, **kwargs):
        runs.append(1)
        return call(*args, **kwargs)

    model.call = counting_call
    return forward, weights, runs


def test_compiled_equals_eager_and_the_formulas(any_norm_model):
    model, weights = any_norm_model
    forward, inputs = CompiledForward(model), random_inputs()
    compiled = forward(inputs)
    agree_everywhere(compiled, as_numpy(model(**inputs)))
    agree_everywhere(compiled, oracle.forward(weights, model.config, inputs))


def test_compiled_equals_the_formulas_with_every_intervention(any_norm_model):
    model, weights = any_norm_model
    compiled = CompiledForward(model)(everything())
    agree_everywhere(compiled, oracle.forward(weights, model.config, everything()))


def test_outputs_are_float32_arrays_of_numpy(forward):
    for array in forward(random_inputs()).values():
        assert type(array) is np.ndarray
        assert array.dtype == "float32"


def test_a_half_precision_model_gives_float32_too():
    model, weights = random_model(ONE_LAYER, dtype="mixed_bfloat16")
    inputs = random_inputs()
    output = CompiledForward(model)(inputs)
    assert {array.dtype for array in output.values()} == {np.dtype("float32")}
    agree_everywhere(output, oracle.forward(weights, ONE_LAYER, inputs), atol=0.3)


def test_new_batch_sizes_and_lengths_are_not_traced_anew(counted):
    forward, weights, runs = counted
    forward(random_inputs())
    assert len(runs) == 1
    for batch, tokens in ((1, 1), (2, 11), (7, 3), (1, 8), (BATCH, TOKENS)):
        inputs = random_inputs(seed=tokens, batch=batch, tokens=tokens)
        inputs["mlm_positions"] = inputs["mlm_positions"][: batch * tokens % 4]
        output = forward(inputs)
        if not len(inputs["mlm_positions"]):
            assert output.pop("mlm_logits").shape == (0, CONFIG.vocab_size)
            del inputs["mlm_positions"]
        agree_everywhere(output, oracle.forward(weights, ONE_LAYER, inputs))
    assert len(runs) == 1


def test_another_set_of_inputs_or_outputs_is_traced_once_each(counted):
    forward, _, runs = counted
    inputs = random_inputs()
    ids = {"input_ids": inputs["input_ids"]}
    calls = [
        (inputs, None),
        (ids, None),
        (inputs, ("mlm_logits",)),
        (ids, ("pooled_output", "hidden_states")),
    ]
    for _ in range(2):
        for given, outputs in calls:
            forward(given, outputs)
    assert len(runs) == len(calls)


def test_only_the_asked_outputs_come_back(counted):
    forward, inputs = counted[0], random_inputs()
    whole = forward(inputs)
    for outputs in (("mlm_logits",), ("nsp_logits", "attention_probs"), ()):
        part = forward(inputs, outputs)
        agree_everywhere(part, {name: whole[name] for name in outputs}, 1e-6)


def test_an_output_that_does_not_exist_is_refused():
    forward = CompiledForward(random_model(ONE_LAYER, heads=("mlm",))[0])
    with pytest.raises(ValueError, match=r"`outputs` must be among.*pooled_output"):
        forward(random_inputs(), ("pooled_output",))


def test_an_unknown_input_is_refused(forward):
    with pytest.raises(ValueError, match="`segment_ids` is not an input"):
        forward(random_inputs() | {"segment_ids": np.zeros((BATCH, TOKENS))})


@pytest.mark.parametrize("name", sorted(INPUTS))
def test_an_input_with_another_number_of_axes_is_refused(forward, name):
    rank = INPUTS[name][1]
    with pytest.raises(ValueError, match=f"`{name}` must have {rank} axes"):
        forward(everything() | {name: np.zeros((1,) * (rank + 1))})


def test_lists_and_other_whole_number_types_are_taken(forward):
    inputs = random_inputs()
    other = {
        "input_ids": inputs["input_ids"].tolist(),
        "attention_mask": inputs["attention_mask"].astype(bool),
        "token_type_ids": inputs["token_type_ids"].astype("uint8"),
        "mlm_positions": inputs["mlm_positions"].astype("int64"),
    }
    agree_everywhere(forward(other), forward(inputs), 0)


@pytest.mark.parametrize("tokens", [12, 10_000])
def test_a_text_beyond_the_last_position_is_refused_with_both_numbers(forward, tokens):
    with pytest.raises(TextError, match=rf"{tokens} tokens.* 11 positions"):
        forward({"input_ids": np.zeros((1, tokens), "int32")})


def test_new_weights_count_at_once(counted):
    forward, weights, runs = counted
    forward(random_inputs())
    changed = {**weights, "decoder_bias": weights["decoder_bias"] + 1}
    forward.model.mlm.bias.assign(changed["decoder_bias"])
    expected = oracle.forward(changed, ONE_LAYER, random_inputs())
    agree_everywhere(forward(random_inputs()), expected)
    assert len(runs) == 1


def test_threads_share_one_graph_and_get_their_own_answers(counted):
    forward, _, runs = counted
    sizes = [(1 + n % 5, 1 + (3 * n) % 11) for n in range(24)]
    batches = [
        random_inputs(seed=n, batch=batch, tokens=tokens)
        for n, (batch, tokens) in enumerate(sizes)
    ]
    for inputs in batches:
        del inputs["mlm_positions"]
    with ThreadPoolExecutor(max_workers=6) as pool:
        together = list(pool.map(forward, batches))
    assert len(runs) == 1
    for inputs, output in zip(batches, together, strict=True):
        agree_everywhere(output, forward(inputs), 1e-6)


TORCH_SCRIPT = """
import sys
import keras
import numpy as np
from bertviz_core.model.compiled import CompiledForward
from tests.core.random_models import CONFIG, PRE_NORM, as_numpy, random_model
assert keras.backend.backend() == "torch"
given = dict(np.load(sys.argv[1]))
results = {}
for order, config in (("post", CONFIG), ("pre", PRE_NORM)):
    model, _ = random_model(config)
    for name, array in as_numpy(model(**given)).items():
        results[f"{order}/eager/{name}"] = array
    for name, array in CompiledForward(model)(given).items():
        results[f"{order}/compiled/{name}"] = array
np.savez(sys.argv[2], **results)
"""


@pytest.mark.peer
@pytest.mark.skipif(
    importlib.util.find_spec("torch") is None,
    reason="torch is not installed: pip install -r requirements-peers.txt",
)
def test_torch_gives_what_tensorflow_gives(post_norm_model, pre_norm_model, tmp_path):
    given = everything()
    np.savez(tmp_path / "given.npz", **given)
    subprocess.run(
        [
            sys.executable,
            "-c",
            TORCH_SCRIPT,
            tmp_path / "given.npz",
            tmp_path / "torch.npz",
        ],
        cwd=ROOT,
        env={**os.environ, "KERAS_BACKEND": "torch", "CUDA_VISIBLE_DEVICES": ""},
        check=True,
        timeout=300,
    )
    results = dict(np.load(tmp_path / "torch.npz"))
    models = {"post": post_norm_model[0], "pre": pre_norm_model[0]}
    for order, model in models.items():
        expected = CompiledForward(model)(given)
        for way in ("eager", "compiled"):
            for name, array in expected.items():
                agree(results.pop(f"{order}/{way}/{name}"), array)
    assert not results
