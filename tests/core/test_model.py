"""The layers and the whole model: `oracle.py` holds all their formulas."""

import dataclasses
import re

import keras
import numpy as np
import pytest
from keras.backend import standardize_dtype
from keras.ops import cast
from keras.ops import convert_to_numpy as to_numpy

from bertviz_core.model import taps
from bertviz_core.model.attention import SelfAttention
from bertviz_core.model.bert import Bert
from bertviz_core.model.embeddings import Embeddings
from bertviz_core.model.encoder import EncoderBlock
from bertviz_core.model.layers import ACTIVATIONS, LayerNorm
from bertviz_core.model.taps import Taps
from bertviz_core.weights import as_numpy
from tests.core import oracle
from tests.core.random_models import (
    ALL_HEADS,
    BATCH,
    CONFIG,
    LABELS,
    PRE_NORM,
    TOKENS,
    agree,
    agree_by_name,
    evaluate,
    outputs_of,
    random_inputs,
    random_interventions,
    set_weights,
)

HEADS = CONFIG.num_attention_heads


@pytest.fixture(scope="module")
def weights():
    return oracle.random_weights(CONFIG, seed=1)


@pytest.fixture(scope="module")
def vectors():
    shape = (BATCH, TOKENS, CONFIG.hidden_size)
    return np.random.default_rng(2).normal(0.5, 2.0, shape).astype("float32")


@pytest.fixture(scope="module")
def mask():
    return random_inputs()["attention_mask"]


def built(layer, weights, part=None):
    layer.build()
    set_weights(layer, weights, part)
    return layer


def silence(dense, value=0.0):
    dense.kernel.assign(np.zeros(dense.kernel.shape))
    dense.bias.assign(np.full(dense.bias.shape, value))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_layer_norm_of_a_half_precision_model_is_computed_in_float32(
    weights, vectors, dtype
):
    """Only the result is rounded: neither the variance nor the gain."""
    norm = weights["embedding_norm"]
    layer = built(LayerNorm(CONFIG, dtype=f"mixed_{dtype}"), norm)
    # A mean far from 0 ruins a variance in half precision.
    x = cast(vectors + 40.0, dtype)
    exact = to_numpy(cast(x, "float32")).astype("float64")
    expected = oracle.layer_norm(exact, *norm, CONFIG.layer_norm_eps)
    result = layer(x)
    assert standardize_dtype(result.dtype) == dtype
    rounded = to_numpy(cast(cast(expected.astype("float32"), dtype), "float32"))
    actual = to_numpy(cast(result, "float32"))
    # A number on the edge between two roundings may fall to either side.
    assert (actual != rounded).mean() < 0.01
    agree(actual, rounded, atol=np.abs(expected).max() * 2.0**-7)


@pytest.mark.parametrize("name", sorted(oracle.ACTIVATIONS))
def test_activation_matches_the_formula(name):
    assert set(ACTIVATIONS) == set(oracle.ACTIVATIONS)
    assert dataclasses.replace(CONFIG, hidden_act=name).hidden_act == name
    x = np.linspace(-9, 9, 1001, dtype="float32")
    expected = oracle.ACTIVATIONS[name](x.astype("float64"))
    agree(evaluate(ACTIVATIONS[name], x), expected, 1e-6)


def test_embeddings_take_positions_of_each_text(weights):
    """As packed rows need them, which hold several texts."""
    layer, inputs = built(Embeddings(CONFIG), weights, "embeddings"), random_inputs()
    ids, types = inputs["input_ids"][:1], inputs["token_type_ids"][:1]
    places = np.array([[0, 1, 2, 0, 1, 2, 3, 4]], "int32")
    packed = evaluate(layer, ids, types, places)[0]
    agree(packed[:3], evaluate(layer, ids[:, :3], types[:, :3])[0])
    agree(packed[3:], evaluate(layer, ids[:, 3:], types[:, 3:])[0])


def assert_dropped(dropped, whole, rate):
    """A dropped number is 0 and the others are scaled."""
    is_dropped = np.abs(dropped) < 1e-7
    assert is_dropped.mean() == pytest.approx(rate, abs=0.1)
    agree(dropped[~is_dropped], (whole / (1 - rate))[~is_dropped])


def test_embeddings_drop_after_the_norm(weights):
    layer, inputs = built(Embeddings(CONFIG), weights, "embeddings"), random_inputs()
    ids, types = inputs["input_ids"], inputs["token_type_ids"]
    kept = evaluate(layer, ids, types, training=False)
    dropped = to_numpy(layer(ids, types, training=True))
    assert_dropped(dropped, kept, CONFIG.hidden_dropout_prob)


@pytest.mark.parametrize("part", ["attention", "feed-forward"])
def test_a_block_drops_each_update_and_not_what_it_is_added_to(
    weights, vectors, mask, part
):
    config = dataclasses.replace(PRE_NORM, attention_probs_dropout_prob=0.0)
    layer = built(EncoderBlock(config), weights["layers"][2], "blocks")
    is_attention = part == "attention"
    other = layer.feed_forward.output_projection
    silence(other if is_attention else layer.attention_output)
    whole = evaluate(layer, vectors, mask)[0] - vectors
    update = to_numpy(layer(vectors, mask, training=True)[0]) - vectors
    assert_dropped(update, whole, config.hidden_dropout_prob)


@pytest.fixture(scope="module")
def attention(weights):
    return built(SelfAttention(CONFIG), weights["layers"][1], "attention")


def test_padding_gets_no_attention_and_rows_sum_to_one(attention, vectors, mask):
    _, probs = evaluate(attention, vectors, mask)
    padding = np.broadcast_to(mask[:, None, None, :] == 0, probs.shape)
    assert padding.any()
    assert probs[padding].max() == 0.0
    mask = mask.copy()
    mask[3] = 0  # a text that is all padding
    _, probs = evaluate(attention, vectors, mask)
    agree(probs.sum(-1), np.ones((BATCH, HEADS, TOKENS)), 1e-6)


def test_attention_drops_whole_probabilities_after_they_are_handed_out(
    weights, vectors, mask
):
    layer = built(SelfAttention(CONFIG), weights["layers"][1], "attention")
    # With every value 1, a context is the sum of the row that dropout left.
    silence(layer.value, 1.0)
    context, handed = (to_numpy(a) for a in layer(vectors, mask, training=True))
    probs = evaluate(layer, vectors, mask)[1]
    agree(handed, probs, 1e-6)
    by_head = context.reshape(BATCH, TOKENS, HEADS, CONFIG.head_size)
    agree(by_head, np.broadcast_to(by_head[..., :1], by_head.shape), 1e-6)
    scale = 1 / (1 - CONFIG.attention_probs_dropout_prob)
    subsets = (np.arange(2**TOKENS)[:, None] >> np.arange(TOKENS)) & 1
    sums = scale * subsets @ probs[4, 0, 0]
    assert np.abs(sums - by_head[4, 0, 0, 0]).min() < 1e-5
    assert np.abs(by_head - 1).max() > 0.1


@pytest.mark.parametrize("axes", [3, 4])
def test_a_mask_of_rows_or_of_heads_serves_all_layers(post_norm_model, axes):
    model, weights = post_norm_model
    edges = random_interventions("edge_mask")["edge_mask"][:, 1:2]
    if axes == 3:
        edges = edges[:, :, :1]
    inputs = random_inputs()
    expected = oracle.forward(weights, CONFIG, inputs | {"edge_mask": edges})
    mask = edges[:, 0] * inputs["attention_mask"][:, None, None, :]
    inputs["attention_mask"] = mask[:, 0] if axes == 3 else mask
    agree_by_name(outputs_of(model, **inputs), expected)


def test_without_more_than_ids_all_is_one_text_and_no_word_is_scored(any_norm_model):
    model, weights = any_norm_model
    inputs = {"input_ids": random_inputs()["input_ids"]}
    found = outputs_of(model, **inputs)
    assert "mlm_logits" not in found
    for name, array in oracle.forward(weights, model.config, inputs).items():
        agree(found[name], array)


def test_training_drops_also_before_the_classifier_but_not_the_next_sentence_head(
    post_norm_model,
):
    model, weights = post_norm_model
    noisy, quiet = (
        outputs_of(model, **random_inputs(), training=training)
        for training in (True, False)
    )
    assert np.abs(noisy["sequence_output"] - quiet["sequence_output"]).max() > 0.1
    pooled = noisy["pooled_output"].astype("float64")
    agree(noisy["nsp_logits"], oracle.dense(pooled, *weights["nsp"]))
    undropped = oracle.dense(pooled, *weights["classifier"])
    assert np.abs(noisy["class_logits"] - undropped).max() > 0.1


@pytest.mark.parametrize("heads", [("nsp",), ("classifier",), ("pooler", "decoder")])
def test_heads_that_cannot_be_are_refused(heads):
    with pytest.raises(ValueError, match="heads"):
        Bert(CONFIG, heads)


def test_new_weights_start_as_the_paper_says():
    """Kernels within two standard deviations, biases 0, gains 1, no two alike."""
    model = Bert(CONFIG, ALL_HEADS, num_labels=LABELS)
    kernels = []
    for weight in model.weights:
        name, values = weight.path.rsplit("/", 1)[1], as_numpy(weight)
        if name in ("bias", "beta"):
            assert not values.any(), weight.path
        elif name == "gamma":
            assert (values == 1).all(), weight.path
        else:
            assert np.abs(values).max() <= 2 * CONFIG.initializer_range, weight.path
            # Cutting a normal distribution at 2 sigma leaves 0.88 of its width.
            width = 0.88 * CONFIG.initializer_range
            assert values.std() == pytest.approx(width, rel=0.25), weight.path
            kernels.append(values.ravel()[:40].tobytes())
    assert len(set(kernels)) == len(kernels)


LAYER = 1
STEP = 1.2e-7  # of float32: hidden scores are about -10,000


@pytest.fixture(scope="module")
def forward(any_norm_explorer):
    return any_norm_explorer.forward


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
    agree_by_name(found, noted, rtol=STEP)


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
    agree_by_name(found, expected, rtol=STEP)


def changed_blocks(weights, config, x, mask, name, change):
    """Of the oracle: output, probabilities and one activation that was changed."""
    results = []
    for text in range(BATCH):
        seen = {}

        def tap(at, value, text=text, seen=seen):
            return seen.setdefault(at, change(value, text) if at == name else value)

        layer, states = weights["layers"][LAYER], x[text].astype("float64")
        output, probs = oracle.block(layer, config, states, mask[text], tap)
        results.append((output, probs, seen[name]))
    return [np.stack(part) for part in zip(*results, strict=True)]


def test_each_activation_of_a_block_can_be_changed(forward, noted, any_norm_model):
    """Scaled in one order of the norms, replaced in the other: one way for both."""
    model, weights = any_norm_model
    way = "scale" if model.config.pre_norm else "replace"
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
        agree_by_name(found, dict(zip(keep, expected, strict=True)), rtol=STEP)


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
