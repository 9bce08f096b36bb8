"""Models of odd sizes with random weights, the same in Keras and in the oracle."""

import dataclasses

import numpy as np

from bertviz_core.config import BertConfig
from tests.core import oracle

# No two sizes alike, so that no two axes can be taken for each other: B=5, T=8,
# P=9, L=3 (4 states), N=7, D=6, H=42, I=13, V=23, 10 labels, 11 positions.
BATCH, TOKENS, ASKED, LABELS = 5, 8, 9, 10
CONFIG = BertConfig(
    vocab_size=23,
    hidden_size=42,
    num_hidden_layers=3,
    num_attention_heads=7,
    intermediate_size=13,
    max_position_embeddings=11,
    type_vocab_size=12,
    layer_norm_eps=1e-3,  # large enough to be missed when it is forgotten
    hidden_dropout_prob=0.4,
    attention_probs_dropout_prob=0.3,
)
PRE_NORM = dataclasses.replace(CONFIG, pre_norm=True)
# Two rows of the embeddings belong to no word, as in some checkpoints.
WORDS = ("the", "cat", "sat", "on", "a", "mat", "##s", ".", "红", "e", "##e", "!")
VOCABULARY = (
    "x",
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    *WORDS,
    "y",
    "##y",
    "z",
)
# What rows of the embeddings are called: two belong to no word.
NAMES = (*VOCABULARY, "[row 21]", "[row 22]")
ALL_HEADS = ("pooler", "mlm", "nsp", "classifier")


def set_dense(layer, weights):
    layer.kernel.assign(weights[0])
    layer.bias.assign(weights[1])


def set_norm(layer, weights):
    layer.gamma.assign(weights[0])
    layer.beta.assign(weights[1])


def set_embeddings(layer, weights):
    layer.word_embeddings.assign(weights["words"])
    layer.position_embeddings.assign(weights["positions"])
    layer.token_type_embeddings.assign(weights["segments"])
    set_norm(layer.layer_norm, weights["embedding_norm"])


def set_attention(layer, weights):
    for name in ("query", "key", "value"):
        set_dense(getattr(layer, name), weights[name])


def set_feed_forward(layer, weights):
    set_dense(layer.intermediate, weights["inner"])
    set_dense(layer.output_projection, weights["outer"])


def set_block(layer, weights):
    set_attention(layer.attention, weights)
    set_dense(layer.attention_output, weights["attention_output"])
    set_norm(layer.attention_norm, weights["attention_norm"])
    set_feed_forward(layer.feed_forward, weights)
    set_norm(layer.output_norm, weights["output_norm"])


def set_mlm(layer, weights):
    set_dense(layer.transform, weights["transform"])
    set_norm(layer.transform_norm, weights["transform_norm"])
    layer.bias.assign(weights["decoder_bias"])


def set_model(model, weights):
    set_embeddings(model.embeddings, weights)
    for block, block_weights in zip(model.blocks, weights["layers"], strict=True):
        set_block(block, block_weights)
    if model.final_norm is not None:
        set_norm(model.final_norm, weights["final_norm"])
    if model.pooler is not None:
        set_dense(model.pooler.dense, weights["pooler"])
    if model.mlm is not None:
        set_mlm(model.mlm, weights)
    if model.nsp is not None:
        set_dense(model.nsp.dense, weights["nsp"])
    if model.classifier is not None:
        set_dense(model.classifier.dense, weights["classifier"])


def random_model(config=CONFIG, heads=ALL_HEADS, seed=11, **arguments):
    """A model and the oracle's weights, equal number for number."""
    import keras

    from bertviz_core.model.bert import Bert
    from bertviz_core.weights import as_numpy

    weights = oracle.random_weights(config, seed, LABELS)
    model = Bert(config, heads, num_labels=LABELS, **arguments)
    set_model(model, weights)
    # Nothing reads the start values: on OpenVINO each of them compiles a graph.
    given = [np.float32(array) for array in keras.tree.flatten(weights)]
    untouched = [
        weight.path
        for weight in model.weights
        if not any(np.array_equal(as_numpy(weight), array) for array in given)
    ]
    assert not untouched, "a weight kept its start value"
    return model, weights


def explorer_of(model):
    """An explorer of a model that no file holds."""
    from bertviz_core.checkpoints.library import LoadedModel
    from bertviz_core.explorer import Explorer
    from bertviz_core.tokenizer import BertTokenizer
    from bertviz_core.trace import LoadReport

    report = LoadReport("huggingface", ("a",), (), (), 0, ())
    labels = tuple(f"class {index}" for index in range(LABELS))
    return Explorer(
        LoadedModel("tiny", model, BertTokenizer(VOCABULARY), labels, report)
    )


def random_inputs(seed=5, batch=BATCH, tokens=TOKENS, config=CONFIG):
    """A padded batch; the padding of text 1 lies in its middle, of 2 at its start."""
    rng = np.random.default_rng(seed)
    mask = np.ones((batch, tokens), "int32")
    for row in range(batch):
        mask[row, rng.integers(1, tokens + 1) :] = 0
    mask[1 % batch] = np.arange(tokens) % 3 != 1
    mask[2 % batch] = np.arange(tokens) >= min(2, tokens - 1)
    return {
        "input_ids": rng.integers(0, config.vocab_size, (batch, tokens), "int32"),
        "attention_mask": mask,
        "token_type_ids": rng.integers(
            0, config.type_vocab_size, (batch, tokens), "int32"
        ),
        "mlm_positions": rng.integers(0, batch * tokens, ASKED, "int32"),
    }


def random_interventions(name, seed=3, rows=BATCH):
    """Inputs that intervene, for a batch or with one row that serves all."""
    rng = np.random.default_rng(seed)
    layers, heads = CONFIG.num_hidden_layers, CONFIG.num_attention_heads
    edges = rng.integers(0, 2, (rows, layers, heads, TOKENS, TOKENS), "int32")
    # The first two columns are never all padding: no row is left with nothing.
    edges[..., 0] = edges[..., 2] = 1
    made = {
        "head_mask": rng.uniform(0, 1.5, (rows, layers, heads)).astype("float32"),
        "edge_mask": edges,
        "neuron_mask": rng.uniform(
            0, 1.5, (rows, layers, CONFIG.intermediate_size)
        ).astype("float32"),
    }
    return {name: made[name]}


def evaluate(function, *arrays, **given):
    """What a layer, or a function of tensors, makes of arrays, on any backend.

    Compiled as the app compiles: OpenVINO without that compiles each output alone.

    Args:
        function: a Keras layer or a function without weights.
        arrays: in their order.
        given: arrays by name, and what goes to the function as it is.

    Returns:
        float32 arrays, in a dict or a tuple if the function gives one.
    """
    import keras

    from bertviz_core.model.compile import compile_function

    places = [f"argument {index}" for index in range(len(arrays))]
    inputs = dict(zip(places, arrays, strict=True))
    inputs |= {k: v for k, v in given.items() if isinstance(v, np.ndarray)}
    results, into = [], {}

    def body(tensors):
        named = {k: v for k, v in tensors.items() if k not in places}
        result = function(*(tensors[k] for k in places), **{**given, **named})
        results.append(result)
        flat = {str(n): leaf for n, leaf in enumerate(keras.tree.flatten(result))}
        into.update(dict.fromkeys(flat))
        return flat

    signature = {name: (array.dtype.name, array.ndim) for name, array in inputs.items()}
    weights = getattr(function, "weights", [])
    found = compile_function(signature, body, weights)(inputs, weights, into)
    return keras.tree.pack_sequence_as(results[0], [found[name] for name in into])


def outputs_of(model, **inputs):
    """`evaluate` of a whole model, each output an array as `CompiledForward` has it."""
    found = evaluate(model, **inputs)
    return {k: np.stack(v, 1) if isinstance(v, tuple) else v for k, v in found.items()}


def agree(actual, expected, atol=1e-5):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=atol)


def agree_by_name(actual, expected, atol=1e-5, rtol=0):
    assert set(actual) == set(expected)
    for name, array in expected.items():
        np.testing.assert_allclose(actual[name], array, rtol, atol, err_msg=name)
