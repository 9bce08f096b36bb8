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


# The oracle's names for the weights of a part, in the order of its Keras layer.
PARTS = {
    "attention": ("query", "key", "value"),
    "blocks": (
        *("query", "key", "value", "attention_output", "attention_norm"),
        *("inner", "outer", "output_norm"),
    ),
    "embeddings": ("words", "positions", "segments", "embedding_norm"),
    "mlm": ("decoder_bias", "transform", "transform_norm"),
}


def set_weights(layer, weights, part=None):
    """Gives a layer the oracle's weights, those of a part by their names."""
    if part is not None:
        weights = [weights[name] for name in PARTS.get(part, (part,))]
    flat = [
        array for one in weights for array in (one if type(one) is tuple else [one])
    ]
    layer.set_weights(flat)


def set_model(model, weights):
    for name in ("embeddings", "final_norm", "pooler", "mlm", "nsp", "classifier"):
        if getattr(model, name) is not None:
            set_weights(getattr(model, name), weights, name)
    for block, own in zip(model.blocks, weights["layers"], strict=True):
        set_weights(block, own, "blocks")


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
