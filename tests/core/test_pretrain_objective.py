"""The model in training: what it computes, what its options keep, how it is moved."""

import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from bertviz_core.config import BertConfig
from bertviz_core.errors import ConfigError
from bertviz_core.model.bert import PRETRAINING_HEADS, Bert
from bertviz_core.model.encoder import EncoderBlock
from bertviz_core.model.sparse import pattern_edges
from bertviz_core.training.optimizer import AdamW, build_without_decay, make_optimizer
from bertviz_core.training.pretrain.objective import PretrainingModel
from bertviz_core.training.pretrain.trainer import Trainer, training_config
from bertviz_core.training.schedule import learning_rate
from tests.core import pretrain_samples as samples

pytestmark = pytest.mark.tensorflow

CONFIG = training_config(samples.settings(), len(samples.VOCABULARY))
SPARSE = {"sparse_block": 2, "sparse_window": 1, "sparse_stride": 3, "sparse_global": 1}


def randomise(model, seed=0):
    """Every weight is random, norms and biases included."""
    rng = np.random.default_rng(seed)
    for variable in model.trainable_variables:
        variable.assign(rng.normal(0, 0.3, variable.shape).astype("float32"))
    return model


def model_of(config=CONFIG, **options):
    return randomise(PretrainingModel(Bert(config, PRETRAINING_HEADS), **options))


@pytest.fixture(scope="module")
def batch():
    return samples.batches().batch(0, 0)


@pytest.mark.parametrize(
    "changes", [{}, {"pre_norm": True}, SPARSE], ids=["post-norm", "pre-norm", "sparse"]
)
def test_a_packed_sequence_is_scored_as_it_would_be_alone(batch, changes):
    inputs, _ = batch
    model = model_of(dataclasses.replace(CONFIG, **changes))
    together = model(inputs)
    checked = 0
    for row in range(len(inputs["input_ids"])):
        for index in range(1, inputs["sequence_ids"][row].max() + 1):
            places = np.flatnonzero(inputs["sequence_ids"][row] == index)
            asked = inputs["mlm_positions"][row]
            is_here = np.isin(asked, places)
            alone = model.bert(
                inputs["input_ids"][row : row + 1, places],
                token_type_ids=inputs["token_type_ids"][row : row + 1, places],
                mlm_positions=asked[is_here] - places[0],
            )
            np.testing.assert_allclose(
                together["mlm_logits"][row][is_here], alone["mlm_logits"], atol=1e-5
            )
            nsp = together["nsp_logits"][row, index - 1]
            np.testing.assert_allclose(nsp, alone["nsp_logits"][0], atol=1e-5)
            checked += 1
    assert checked > len(inputs["input_ids"])  # some rows do hold several


def test_the_loss_is_the_sum_of_both_tasks(batch):
    inputs, labels = batch
    model = model_of()
    scores = model(inputs)
    loss = float(model.compute_loss(inputs, labels, scores))
    means = model.get_metrics_result()
    expected = 0.0
    for task in ("mlm", "nsp"):
        logits = np.asarray(scores[f"{task}_logits"], "float64")
        right, weights = labels[f"{task}_labels"], labels[f"{task}_weights"]
        chosen = np.take_along_axis(logits, right[..., None], -1)[..., 0]
        losses = np.log(np.exp(logits).sum(-1)) - chosen
        room = weights.size if task == "mlm" else len(weights)
        expected += (losses * weights).sum() / room
        mean = (losses * weights).sum() / weights.sum()
        assert np.isclose(float(means[f"{task}_loss"]), mean, atol=1e-5)
        share = ((logits.argmax(-1) == right) * weights).sum() / weights.sum()
        assert np.isclose(float(means[f"{task}_accuracy"]), share, atol=1e-6)
    assert np.isclose(loss, expected, atol=1e-5)


def gradients(model, batch):
    """The loss, and its gradients; of a block that is dropped, zeros."""
    inputs, labels = batch
    variables = [v.value for v in model.trainable_variables]
    with tf.GradientTape() as tape:
        loss = model.compute_loss(inputs, labels, model(inputs, training=True))
    found = tape.gradient(loss, variables, unconnected_gradients="zero")
    return float(loss), [tf.convert_to_tensor(g).numpy() for g in found]


@pytest.mark.parametrize(("remat", "drops"), [(True, False), (2, True), (5, False)])
def test_computing_blocks_anew_gives_the_same_loss_and_gradients(
    batch, monkeypatch, remat, drops
):
    calls = []
    call = EncoderBlock.call

    def counted(self, *args, **kwargs):
        calls.append(self.name)
        return call(self, *args, **kwargs)

    monkeypatch.setattr(EncoderBlock, "call", counted)
    layers = 5
    config = dataclasses.replace(CONFIG, num_hidden_layers=layers)
    if drops:
        scales = np.array([1.0, 0.0, 1.5, 2.0, 0.0], "float32")
        rows = len(batch[0]["input_ids"])
        batch = {**batch[0], "layer_scales": np.tile(scales, (rows, 1))}, batch[1]
    loss, expected = gradients(model_of(config), batch)
    assert len(calls) == layers - 2 * drops
    calls.clear()
    same_loss, found = gradients(model_of(config, remat=remat), batch)
    assert len(calls) == 2 * (layers - 2 * drops)  # once more for the gradient
    assert abs(loss - same_loss) < 1e-5
    for first, second in zip(expected, found, strict=True):
        np.testing.assert_allclose(first, second, atol=1e-5)


def test_a_dropped_block_passes_its_input_on(batch):
    inputs, _ = batch
    model = model_of()
    rows, layers = len(inputs["input_ids"]), CONFIG.num_hidden_layers

    def encoded(scales, training=True):
        given = np.tile(np.array(scales, "float32"), (rows, 1))
        return np.asarray(model.encode({**inputs, "layer_scales": given}, training))

    whole = np.asarray(model.encode(inputs, True))
    np.testing.assert_allclose(encoded([1.0] * layers), whole, atol=1e-6)
    embedded = model.bert.embeddings(
        inputs["input_ids"], inputs["token_type_ids"], inputs["position_ids"]
    )
    np.testing.assert_allclose(encoded([0.0] * layers), embedded, atol=1e-6)
    assert np.abs(encoded([1.0, 0.0]) - whole).max() > 0.1
    np.testing.assert_allclose(encoded([0.0, 0.0], training=False), whole, atol=1e-6)


def test_what_a_kept_block_adds_is_scaled(batch):
    inputs, _ = batch
    config = dataclasses.replace(CONFIG, pre_norm=True, num_hidden_layers=1)
    model = model_of(config)
    block = model.bert.blocks[0]
    states = model.bert.embeddings(
        inputs["input_ids"], inputs["token_type_ids"], inputs["position_ids"]
    )
    same = inputs["sequence_ids"][:, :, None] == inputs["sequence_ids"][:, None]
    mask = (same & (inputs["sequence_ids"][:, None] > 0)).astype("int32")
    # Twice what attention adds, then twice what the second half adds to that.
    context, _ = block.attention(block.attention_norm(states), mask)
    half = states + 2 * block.attention_output(context)
    expected = model.bert.final_norm(
        half + 2 * block.feed_forward(block.output_norm(half))
    )
    scales = np.full((len(states), 1), 2.0, "float32")
    found = model.encode({**inputs, "layer_scales": scales}, training=True)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_batches_say_which_blocks_to_keep_only_when_some_are_dropped():
    assert "layer_scales" not in samples.batches().batch(0, 3)[0]
    batches = samples.batches(layer_keep_rate=0.3)
    seen = {tuple(batches.batch(0, s)[0]["layer_scales"][0]) for s in range(1, 8)}
    assert len(seen) > 1
    inputs, _ = batches.batch(1, 2)
    assert (inputs["layer_scales"] == inputs["layer_scales"][0]).all()


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"sparse_window": 1}, "11000 11100 01110 00111 00011"),
        ({"sparse_stride": 3}, "10010 01001 00100 10010 01001"),
        ({"sparse_global": 1}, "11111 11000 10100 10010 10001"),
        ({"sparse_window": 1, "sparse_block": 2}, "11110 11110 11111 11111 00111"),
    ],
    ids=["window", "stride", "global", "blocks"],
)
def test_a_pattern_has_the_edges_of_its_picture(fields, expected):
    config = dataclasses.replace(CONFIG, **fields)
    edges = np.asarray(pattern_edges(config, np.arange(5)[None]))[0]
    assert " ".join("".join(map(str, row)) for row in edges) == expected
    assert pattern_edges(CONFIG, np.arange(5)[None]) is None  # full attention


@pytest.mark.parametrize("changes", [{"sparse_window": -1}, {"sparse_block": 0}])
def test_a_pattern_that_cannot_be_is_refused(changes):
    with pytest.raises(ConfigError, match=next(iter(changes))):
        BertConfig(vocab_size=7, **changes)


def test_a_sparse_model_is_a_full_one_with_edges_cut():
    sparse = randomise(Bert(dataclasses.replace(CONFIG, **SPARSE)))
    full = randomise(Bert(CONFIG))
    rng = np.random.default_rng(0)
    ids = rng.integers(0, CONFIG.vocab_size, (3, 11))
    mask = np.ones((3, 11), "int32")
    mask[1, 7:] = 0
    edges = pattern_edges(sparse.config, np.arange(11)[None])
    expected = full(ids, mask[:, None] * edges)
    found = sparse(ids, mask)
    for name in ("sequence_output", "attention_probs", "nsp_logits"):
        np.testing.assert_allclose(found[name], expected[name], atol=1e-5)


def optimizer_of(asked, variables):
    return make_optimizer(asked.optimizer, asked.stretches, "float32", variables)


@pytest.mark.parametrize("name", ["adamw", "muon"])
def test_norms_and_biases_do_not_decay_and_all_else_does(name):
    variables = model_of().trainable_variables
    asked = samples.settings(optimizer={"name": name, "weight_decay": 0.5})
    optimizer = optimizer_of(asked, variables)
    before = [v.numpy() for v in variables]
    optimizer.apply([np.zeros(v.shape, "float32") for v in variables])
    rate = learning_rate(0.0, asked.stretches, asked.optimizer, np)
    for variable, old in zip(variables, before, strict=True):
        is_kept = variable.path.endswith(("bias", "gamma", "beta"))
        expected = old if is_kept else old * (1 - 0.5 * rate)
        np.testing.assert_allclose(variable.numpy(), expected, rtol=1e-5)


def test_a_row_looked_up_twice_moves_as_its_summed_gradient_says():
    asked = samples.settings(optimizer={"clip_norm": 0.7})
    rng = np.random.default_rng(0)
    start = rng.normal(size=(5, 3)).astype("float32")
    rows, places = rng.normal(size=(4, 3)).astype("float32"), [2, 0, 2, 2]
    dense = np.zeros((5, 3), "float32")
    np.add.at(dense, places, rows)
    sparse = tf.IndexedSlices(tf.constant(rows), tf.constant(places), (5, 3))
    moved = []
    for gradient in (sparse, tf.constant(dense)):
        variable = keras.Variable(start, name="kernel")
        optimizer = optimizer_of(asked, [variable])
        for _ in range(3):
            optimizer.apply([gradient])
        moved.append(variable.numpy())
    assert np.abs(moved[0] - start).max() > 1e-3
    np.testing.assert_allclose(moved[0], moved[1], atol=1e-6)


def test_our_adamw_moves_weights_as_that_of_keras_does():
    rng = np.random.default_rng(3)
    names = ("kernel", "bias", "gamma", "kernel")
    starts = [rng.normal(size=s).astype("float32") for s in ((9, 4), (4,), (4,), ())]
    # The second is below the largest norm, the others are clipped.
    scales = (1.0, 0.01, 5.0, 0.3)
    steps = [[s * rng.normal(size=x.shape) for x in starts] for s in scales]
    moved = []
    for kind in (AdamW, keras.optimizers.AdamW):
        variables = [
            keras.Variable(x, name=name) for x, name in zip(starts, names, strict=True)
        ]
        rate = keras.optimizers.schedules.PolynomialDecay(0.1, 4, 0.02)
        optimizer = kind(
            rate, weight_decay=0.3, beta_2=0.98, epsilon=1e-3, global_clipnorm=1.0
        )
        build_without_decay(optimizer, variables)
        for gradients in steps:
            optimizer.apply([tf.constant(g, "float32") for g in gradients])
        moved.append([v.numpy() for v in (*variables, *optimizer.variables)])
    assert np.abs(moved[0][0] - starts[0]).max() > 0.1
    for ours, theirs in zip(*moved, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["adamw", "muon"])
def test_parts_of_a_batch_move_the_weights_as_their_mean_does(name):
    rng = np.random.default_rng(0)
    start = rng.normal(size=(4, 3)).astype("float32")
    parts = [rng.normal(size=(4, 3)).astype("float32") for _ in range(4)]
    moved, rates = [], []
    for accumulation in (2, 1):
        wanted = {"name": name, "accumulation": accumulation, "learning_rate": 0.1}
        variable = keras.Variable(start, name="kernel")
        optimizer = optimizer_of(samples.settings(optimizer=wanted), [variable])
        means = [sum(parts[:2]) / 2, sum(parts[2:]) / 2]
        for gradient in parts if accumulation == 2 else means:
            optimizer.apply([tf.constant(gradient)])
        rates.append(float(ops.convert_to_numpy(optimizer.learning_rate)))
        moved.append(variable.numpy())
    np.testing.assert_allclose(moved[0], moved[1], atol=1e-5)
    assert np.isclose(rates[0], rates[1])


def test_weights_start_alike_for_a_seed_and_as_the_paper_says():
    first, second, other = (
        Trainer(samples.settings(seed=seed), len(samples.VOCABULARY)).state()
        for seed in (3, 3, 4)
    )
    spread = []
    for name, values in first.items():
        assert (values == second[name]).all(), name
        if name.startswith("weights/") and name.endswith(("kernel", "embeddings")):
            assert (values != other[name]).any()
            assert np.abs(values).max() <= 0.04
            spread.append(values.reshape(-1))
    # Cutting a normal at two standard deviations leaves 0.88 of its spread.
    assert abs(np.concatenate(spread).std() / 0.02 - 0.88) < 0.02
