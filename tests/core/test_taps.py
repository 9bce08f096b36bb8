"""Named activations: what the formulas say, and kept, scaled or replaced by name."""

import re

import keras
import numpy as np
import pytest

from bertviz_core.model import taps
from bertviz_core.model.compiled import CompiledForward
from bertviz_core.model.taps import Taps, untouched, within
from tests.core import oracle
from tests.core.random_models import (
    BATCH,
    CONFIG,
    TOKENS,
    agree,
    evaluate,
    random_inputs,
)

LAYER = 1


@pytest.fixture(scope="module")
def forward(any_norm_model):
    return CompiledForward(any_norm_model[0])


@pytest.fixture(scope="module")
def noted(any_norm_model):
    """Every activation by its name, of the oracle."""
    model, weights = any_norm_model
    seen = {}
    oracle.forward(weights, model.config, random_inputs(), seen)
    return seen


def names_in_table():
    """Those of the table in the docstring, of any layer."""
    for names in re.findall(r"^    ([\w.]+(?:, [\w.]+)*)", taps.__doc__, re.MULTILINE):
        first, *others = names.split(", ")
        yield first
        for name in others:
            yield first.rpartition(".")[0] + name if name[0] == "." else name


def agree_by_name(actual, expected):
    assert set(actual) == set(expected)
    for name, array in expected.items():
        # And a step of float32: hidden scores are about -10,000.
        np.testing.assert_allclose(actual[name], array, 1.2e-7, 1e-5, err_msg=name)


def test_the_table_lists_what_a_model_hands_out(noted, any_norm_model):
    model, handed = any_norm_model[0], set()

    def note(name, value):
        handed.add(name)
        return value

    model(**random_inputs(), tap=note)
    assert handed == set(noted)
    listed = set(names_in_table())
    if not model.config.pre_norm:
        listed.remove("final_norm")
    assert listed == {re.sub(r"layer\.\d+", "layer.3", name) for name in handed}


def test_each_activation_is_what_the_formulas_say(noted, any_norm_model):
    def kept(**inputs):
        tap = Taps(noted)
        any_norm_model[0](**inputs, tap=tap)
        return tap.kept

    found = evaluate(kept, **random_inputs())
    # A row serves all texts.
    assert found["embeddings.position"].shape == (TOKENS, CONFIG.hidden_size)
    found["embeddings.position"] = np.stack([found["embeddings.position"]] * BATCH)
    agree_by_name(found, noted)


def test_each_part_of_a_compiled_pass_keeps_its_activations(forward, noted):
    inputs = random_inputs()

    def within_part(place):
        place += "."
        return [n.removeprefix(place) for n in noted if n.startswith(place)]

    def note(place, kept):
        found.update({f"{place}.{n}": v for n, v in kept.items() if n != "output"})

    found, ids = {}, inputs["input_ids"]
    names = [name for name in within_part("embeddings") if name != "position"]
    kept = forward.embed(ids, inputs["token_type_ids"], ["output", *names])
    note("embeddings", kept)
    for layer in range(CONFIG.num_hidden_layers):
        place, before = f"layer.{layer}", kept["output"]
        keep = ["output", *within_part(place)]
        kept = forward.block(layer, before, inputs["attention_mask"], keep)
        note(place, kept)
    last = kept["output"]
    places = {"mlm": last.reshape(-1, last.shape[-1])[inputs["mlm_positions"]]}
    for head in ("mlm", "pooler", "nsp", "classifier"):
        names = [f"{head}.{name}" for name in within_part(head)]
        found |= forward.read(head, places.get(head, last[:, 0]), names)
    expected = {k: v for k, v in noted.items() if k in found}
    assert set(noted) - set(found) <= {"embeddings.position", "final_norm"}
    agree_by_name(found, expected)


def changed_blocks(weights, config, x, mask, name, change):
    """Of the oracle: output, probabilities and one activation that was changed."""
    results = []
    for text in range(BATCH):
        seen = {}

        def tap(at, value, text=text, seen=seen):
            return seen.setdefault(at, change(value, text) if at == name else value)

        layer = weights["layers"][LAYER]
        output, probs = oracle.block(
            layer, config, x[text].astype("float64"), mask[text], tap=tap
        )
        results.append((output, probs, seen[name]))
    return [np.stack(part) for part in zip(*results, strict=True)]


@pytest.mark.parametrize("way", ["scale", "replace"])
def test_each_activation_of_a_block_can_be_changed(forward, noted, any_norm_model, way):
    model, weights = any_norm_model
    rng, mask = np.random.default_rng(12), random_inputs()["attention_mask"]
    x = rng.normal(size=(BATCH, TOKENS, CONFIG.hidden_size)).astype("float32")
    place = f"layer.{LAYER}."
    of_block = {n.removeprefix(place): v for n, v in noted.items() if place in n}
    for name, value in of_block.items():
        given = rng.uniform(0.5, 1.5, value.shape).astype("float32")

        def change(value, text, given=given):
            return value * given[text] if way == "scale" else given[text]

        keep = ("output", "attention.probs", name)
        found = forward.block(LAYER, x, mask, keep, **{way: {name: given}})
        expected = changed_blocks(weights, model.config, x, mask, name, change)
        agree_by_name(found, dict(zip(keep, expected, strict=True)))


def test_a_few_numbers_scale_what_they_are_spread_over(forward):
    rng = np.random.default_rng(13)
    x = rng.normal(size=(1, TOKENS, CONFIG.hidden_size)).astype("float32")
    by_head = rng.uniform(size=(1, CONFIG.num_attention_heads, 1, 1)).astype("float32")
    name, size = "attention.head_context", CONFIG.head_size
    found = forward.block(0, x, keep=("attention.context",), scale={name: by_head})
    whole = forward.block(0, x, keep=("attention.context",))
    expected = whole["attention.context"] * by_head.repeat(size, -1).reshape(-1)
    agree(found["attention.context"], expected)


@pytest.mark.skipif(
    keras.backend.backend() not in ("openvino", "tensorflow"),
    reason="others look at sizes before they leave anything out",
)
def test_what_leads_only_to_a_replaced_activation_is_not_computed(
    forward, any_norm_model
):
    """It could not be: no weight takes hidden states of this size."""
    model, weights = any_norm_model
    x = np.random.default_rng(15).normal(size=(BATCH, TOKENS, CONFIG.hidden_size))
    given, mask = x.astype("float32"), np.ones((BATCH, TOKENS), "int32")
    name = "attention.residual"
    found = forward.block(
        LAYER, np.zeros((1, 1, 1)), keep=("output",), replace={name: given}
    )
    expected = changed_blocks(
        weights, model.config, x, mask, name, lambda _, text: x[text]
    )
    agree(found["output"], expected[0])


def test_what_is_replaced_is_scaled_and_kept_as_it_became():
    def handed(value, other, factor):
        tap = Taps(["a", "b"], scale={"a": factor}, replace={"a": other})
        return [tap("a", value), tap("b", value), tap.kept]

    numbers = (np.full(2, number, "float32") for number in (2, 3, 5))
    changed, same, kept = evaluate(handed, *numbers)
    assert (changed == 15).all()
    assert (same == 2).all()
    agree_by_name(kept, {"a": changed, "b": same})


def test_a_part_hands_out_names_within_its_place():
    tap = Taps(["layer.3.mlp.pre"])
    within(within(tap, "layer.3"), "mlp")("pre", 2)
    assert tap.kept == {"layer.3.mlp.pre": 2}
    assert within(untouched, "layer.3") is untouched
