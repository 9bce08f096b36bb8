"""Each fast piece beside the plain formula and its automatic gradient, in float64."""

import dataclasses
import gc
import weakref

import keras
import numpy as np
import pytest
import tensorflow as tf

from bertviz_core.model.attention import SelfAttention
from bertviz_core.model.encoder import EncoderBlock, FeedForward
from bertviz_core.model.layers import ACTIVATIONS, Dense, LayerNorm
from bertviz_core.model.taps import Taps
from bertviz_core.training.fast import (
    FAST,
    ByteDropout,
    FastSelfAttention,
    FirstTokenBlock,
    fast_gelu,
    forget_gradients,
    made_fast,
)
from bertviz_core.training.finetune.learner import Learner
from bertviz_core.training.finetune.settings import FinetuneSettings
from bertviz_core.training.pretrain.trainer import Trainer
from tests.core import pretrain_samples
from tests.core.finetune_samples import random_data, tiny_loaded
from tests.core.random_models import (
    BATCH,
    CONFIG,
    PRE_NORM,
    TOKENS,
    random_inputs,
    random_model,
)

pytestmark = pytest.mark.tensorflow

HIDDEN = CONFIG.hidden_size
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
QUIET = dataclasses.replace(CONFIG, **NO_DROPOUT)
CONFIGS = {"post-norm": QUIET, "pre-norm": dataclasses.replace(QUIET, pre_norm=True)}
PIECES = {
    "dense": lambda: Dense(HIDDEN, 5, "zeros", dtype="float64"),
    "norm": lambda: LayerNorm(CONFIG, dtype="float64"),
    "mlp": lambda: FeedForward(CONFIG, dtype="float64"),
    "attention": lambda: SelfAttention(QUIET, dtype="float64"),
    "block": lambda: EncoderBlock(QUIET, dtype="float64"),
}


def pair_of(make, seed=1):
    """A plain layer, and one that was made fast, with the same random weights."""
    rng = np.random.default_rng(seed)
    plain, fast = make(), make()
    plain.build()
    fast.build()
    for one, other in zip(plain.variables, fast.variables, strict=True):
        value = rng.normal(0, 0.4, one.shape)
        if one.dtype == "uint32":  # a state of dropout
            value = rng.integers(2**31, size=one.shape).astype("uint32")
        one.assign(value)
        other.assign(value)
    return plain, made_fast(fast)


def vectors(*shape, seed=6):
    return tf.constant(np.random.default_rng(seed).normal(0.5, 2.0, shape))


def derived(forward, x, layer):
    """What comes out; and of its sum, each number times another, the gradients.

    With respect to `x`, float64 or `None`, and to each weight of the layer.
    """
    sources = [v.value for v in layer.trainable_variables]
    if x is not None:
        sources = [x, *sources]
    with tf.GradientTape() as tape:
        if x is not None:
            tape.watch(x)
        y = forward()
        given = np.random.default_rng(8).normal(size=y.shape)
        total = tf.reduce_sum(y * given)
    gradients = tape.gradient(total, sources)
    return [y.numpy(), *(tf.convert_to_tensor(g).numpy() for g in gradients)]


def equal(found, expected, num_gradients=None):
    assert len(found) == len(expected)
    assert num_gradients is None or len(found) == 1 + num_gradients
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def out(result):
    return result[0] if isinstance(result, tuple) else result


@pytest.mark.parametrize("name", PIECES)
def test_a_fast_piece_and_its_gradients_are_those_of_the_plain_formula(name):
    plain, fast = pair_of(PIECES[name])
    x = vectors(BATCH, TOKENS, HIDDEN)
    options = {"training": True} if name in ("attention", "block") else {}
    found, expected = (
        derived(lambda layer=layer: out(layer(x, **options)), x, layer)
        for layer in (fast, plain)
    )
    equal(found, expected, 1 + len(plain.trainable_variables))


def test_graphs_of_trainings_that_are_over_are_let_go():
    def traced(activation):
        """A graph in which a gradient was taken, once nobody here holds it."""

        def derived(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = activation(x)
            return tape.gradient(y, x)

        step = tf.function(derived).get_concrete_function(tf.ones(3))
        return weakref.ref(step.graph)

    ours, other = traced(fast_gelu), traced(tf.custom_gradient(lambda x: (x, tf.exp)))
    gc.collect()
    assert ours() is not None  # or TensorFlow has learnt it
    forget_gradients()
    gc.collect()
    assert ours() is None
    assert other() is not None


@pytest.mark.parametrize(
    ("rate", "axes"), [(0.0, None), (0.25, 2), (0.0, 3), (0.25, 4)]
)
def test_attention_in_training_is_the_plain_one_that_dropped_the_same(rate, axes):
    config = dataclasses.replace(CONFIG, attention_probs_dropout_prob=rate)
    plain, fast = pair_of(lambda: SelfAttention(config, dtype="float64"))
    plain.dropout.__class__ = ByteDropout
    assert isinstance(fast, FastSelfAttention)
    x, mask = vectors(BATCH, TOKENS, HIDDEN), mask_of(axes)
    found, expected, quiet = (
        derived(lambda layer=layer, on=on: layer(x, mask, training=on)[0], x, layer)
        for layer, on in ((fast, True), (plain, True), (fast, False))
    )
    equal(found, expected, 1 + 6)
    apart = np.abs(found[0] - quiet[0]).max()
    assert apart > 0.1 if rate else apart < 1e-9


def mask_of(axes):
    """`[B, T]`, `[B, Q, K]` or `[B, N, Q, K]`; each row of it has something to see."""
    if axes is None:
        return None
    if axes == 2:
        return random_inputs()["attention_mask"]
    shape = (BATCH, CONFIG.num_attention_heads, TOKENS, TOKENS)[-axes:]
    shape = (BATCH, *shape[1:])
    mask = np.random.default_rng(2).integers(0, 2, shape)
    mask[..., 3] = 1
    return mask.astype("int32")


def test_taps_are_told_the_same_of_fast_attention_and_may_change_it():
    plain, fast = pair_of(PIECES["attention"])
    x, mask = vectors(BATCH, TOKENS, HIDDEN), mask_of(2)

    def told(layer):
        seen = {}

        def tap(name, value):
            seen[name] = value.numpy()
            return value * 1.5 if name in ("scores", "value") else value

        layer(x, mask, tap=tap, training=True)
        return seen

    found, expected = told(fast), told(plain)
    assert list(found) == list(expected)
    assert {"query", "scores", "probs", "context"} < set(found)
    equal(found.values(), expected.values())


@pytest.mark.parametrize(
    ("order", "axes"),
    [("post-norm", None), ("post-norm", 2), ("pre-norm", 3), ("pre-norm", 4)],
)
def test_a_block_for_the_first_token_is_a_block_of_which_nothing_else_is_read(
    order, axes
):
    plain, fast = pair_of(lambda: EncoderBlock(CONFIGS[order], dtype="float64"))
    fast.__class__ = FirstTokenBlock
    x, mask = vectors(BATCH, TOKENS, HIDDEN), mask_of(axes)
    found = derived(lambda: fast(x, mask, training=True)[0], x, fast)
    expected = derived(lambda: plain(x, mask, training=True)[0][:, :1], x, plain)
    assert found[0].shape == (BATCH, 1, HIDDEN)
    equal(found, expected, 1 + 16)


def test_taps_see_the_first_token_look_at_all():
    block = pair_of(PIECES["block"])[1]
    block.__class__ = FirstTokenBlock
    taps = Taps(("attention.query", "attention.key", "attention.probs", "mlp.post"))
    block(vectors(BATCH, TOKENS, HIDDEN), tap=taps)
    heads, size = CONFIG.num_attention_heads, CONFIG.head_size
    assert {name: value.shape for name, value in taps.kept.items()} == {
        "attention.query": (BATCH, heads, 1, size),
        "attention.key": (BATCH, heads, TOKENS, size),
        "attention.probs": (BATCH, heads, 1, TOKENS),
        "mlp.post": (BATCH, 1, CONFIG.intermediate_size),
    }


@pytest.mark.parametrize("config", [CONFIG, PRE_NORM], ids=CONFIGS)
def test_a_whole_model_made_fast_learns_what_the_plain_one_learns(config):
    plain, fast = (random_model(config, dtype="float64")[0] for _ in range(2))
    for layer in plain._flatten_layers():
        if type(layer) is keras.layers.Dropout:
            layer.__class__ = ByteDropout
    states = plain.non_trainable_variables, fast.non_trainable_variables
    assert len(states[0]) == 2 + 2 * config.num_hidden_layers
    for one, other in zip(*states, strict=True):
        other.assign(one)
    made_fast(fast)
    found, expected = (
        derived(lambda model=model: answers(model), None, model)
        for model in (fast, plain)
    )
    equal(found, expected, len(plain.trainable_variables))


def answers(model):
    """All heads' logits in training, in one row."""
    found = model(**random_inputs(), training=True)
    names = ("mlm_logits", "nsp_logits", "class_logits")
    return tf.concat([tf.reshape(found[name], [-1]) for name in names], 0)


def test_a_model_made_fast_keeps_its_layers_weights_and_paths():
    model = random_model(CONFIG)[0]
    layers, weights = list(model._flatten_layers()), list(model.weights)
    before = [(weight.path, weight.numpy()) for weight in weights]
    assert made_fast(model) is model
    after = list(model._flatten_layers())
    assert all(one is other for one, other in zip(after, layers, strict=True))
    assert not {type(layer) for layer in after} & set(FAST)
    assert set(FAST.values()) < {type(layer) for layer in after}
    assert model.blocks[0].feed_forward.activation is fast_gelu
    assert model.mlm.activation is fast_gelu
    assert all(one is other for one, other in zip(model.weights, weights, strict=True))
    for weight, (path, value) in zip(model.weights, before, strict=True):
        assert weight.path == path
        np.testing.assert_array_equal(weight.numpy(), value)
    # Other activations stay as they are.
    for name in set(ACTIVATIONS) - {"gelu"}:
        made = made_fast(FeedForward(dataclasses.replace(CONFIG, hidden_act=name)))
        assert made.activation is ACTIVATIONS[name]


@pytest.mark.parametrize("name", ["dense", "norm"])
def test_a_fast_piece_and_its_gradient_take_a_shape_that_is_open(name):
    _, layer = pair_of(PIECES[name])
    x = vectors(BATCH, TOKENS, HIDDEN)

    def both(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = layer(x)
        return y, tape.gradient(y, x, output_gradients=tf.ones_like(y))

    signature = [tf.TensorSpec([None, None, None], "float64")]
    equal(tf.function(both, input_signature=signature)(x), both(x))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_fast_norm_of_a_half_precision_model_is_computed_in_float32(dtype):
    plain, fast = pair_of(lambda: LayerNorm(CONFIG, dtype=f"mixed_{dtype}"))
    # A mean far from 0 ruins a variance in half precision.
    x = tf.cast(vectors(BATCH, TOKENS, HIDDEN) + 40.0, dtype)
    found, expected = (tf.cast(layer(x), "float32").numpy() for layer in (fast, plain))
    assert fast(x).dtype == dtype
    # A number on the edge between two roundings may fall to either side.
    assert (found != expected).mean() < 0.01
    largest = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=largest * 2.0**-7)


def test_both_trainers_train_a_fast_model():
    settings = FinetuneSettings(level="full", max_tokens=9, precision="float32")
    tuned = Learner(tiny_loaded(), random_data(), settings).bert
    vocab_size = len(pretrain_samples.VOCABULARY)
    pretrained = Trainer(pretrain_samples.settings(), vocab_size).bert
    for bert in (tuned, pretrained):
        assert not {type(layer) for layer in bert._flatten_layers()} & set(FAST)
    assert isinstance(tuned.blocks[-1], FirstTokenBlock)
    assert not isinstance(pretrained.blocks[-1], FirstTokenBlock)
