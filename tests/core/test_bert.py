"""The whole model against the oracle: every output, every head."""

import dataclasses

import keras
import numpy as np
import pytest
from keras.backend import standardize_dtype

from bertviz_core.errors import TextError
from bertviz_core.model.bert import HEADS, PRETRAINING_HEADS, Bert
from bertviz_core.weights import as_numpy
from tests.core import oracle
from tests.core.random_models import (
    ALL_HEADS,
    ASKED,
    BATCH,
    CONFIG,
    LABELS,
    PRE_NORM,
    TOKENS,
    agree,
    outputs_of,
    random_inputs,
    random_interventions,
    random_model,
)

OUTPUTS = {
    "hidden_states",
    "attention_probs",
    "sequence_output",
    "pooled_output",
    "nsp_logits",
    "class_logits",
    "mlm_logits",
}


def agree_everywhere(actual, expected):
    assert set(actual) == set(expected) == OUTPUTS
    for name, array in expected.items():
        assert actual[name].shape == array.shape, name
        np.testing.assert_allclose(actual[name], array, rtol=0, atol=1e-5, err_msg=name)


def test_every_output_of_a_padded_batch_matches_the_formulas(any_norm_model):
    model, weights = any_norm_model
    inputs = random_inputs()
    expected = oracle.forward(weights, model.config, inputs)
    agree_everywhere(outputs_of(model, **inputs), expected)


@pytest.mark.parametrize("activation", ["gelu_new", "relu", "swish"])
def test_every_output_matches_with_each_other_activation(activation):
    config = dataclasses.replace(CONFIG, hidden_act=activation, layer_norm_eps=1e-12)
    model, weights = random_model(config)
    inputs = random_inputs(seed=6)
    agree_everywhere(
        outputs_of(model, **inputs), oracle.forward(weights, config, inputs)
    )


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
    agree_everywhere(outputs_of(model, **inputs), expected)


def test_mlm_logits_follow_the_asked_order_and_allow_repeats(post_norm_model):
    model, _ = post_norm_model
    inputs = random_inputs()
    everywhere = np.arange(BATCH * TOKENS, dtype="int32")
    all_logits = outputs_of(model, **inputs | {"mlm_positions": everywhere})[
        "mlm_logits"
    ]
    asked = np.array([17, 3, 3, 39, 0], "int32")
    logits = outputs_of(model, **inputs | {"mlm_positions": asked})["mlm_logits"]
    agree(logits, all_logits[asked])


def test_no_asked_position_gives_no_row(post_norm_model):
    model, _ = post_norm_model
    inputs = random_inputs() | {"mlm_positions": np.zeros(0, "int32")}
    assert outputs_of(model, **inputs)["mlm_logits"].shape == (0, CONFIG.vocab_size)


def test_without_asked_positions_no_word_is_scored(post_norm_model):
    model, _ = post_norm_model
    inputs = random_inputs()
    del inputs["mlm_positions"]
    assert set(model(**inputs)) == OUTPUTS - {"mlm_logits"}


def test_absent_segment_ids_are_zeros(any_norm_model):
    model, _ = any_norm_model
    inputs = random_inputs()
    zeros = inputs | {"token_type_ids": np.zeros_like(inputs["token_type_ids"])}
    del inputs["token_type_ids"]
    agree_everywhere(outputs_of(model, **inputs), outputs_of(model, **zeros))


def test_an_absent_mask_means_no_padding(any_norm_model):
    model, _ = any_norm_model
    inputs = random_inputs()
    ones = inputs | {"attention_mask": np.ones_like(inputs["attention_mask"])}
    del inputs["attention_mask"]
    agree_everywhere(outputs_of(model, **inputs), outputs_of(model, **ones))


def test_a_text_gives_the_same_alone_and_padded_in_a_batch(any_norm_model):
    model, _ = any_norm_model
    inputs = random_inputs()
    del inputs["mlm_positions"]
    inputs["attention_mask"] = (np.arange(TOKENS) < np.arange(2, 7)[:, None]) * 1
    together = outputs_of(model, **inputs)
    for row, length in enumerate(range(2, 7)):
        alone = outputs_of(
            model,
            input_ids=inputs["input_ids"][row : row + 1, :length],
            token_type_ids=inputs["token_type_ids"][row : row + 1, :length],
        )
        agree(alone["pooled_output"][0], together["pooled_output"][row])
        agree(alone["hidden_states"][0], together["hidden_states"][row, :, :length])
        agree(
            alone["attention_probs"][0],
            together["attention_probs"][row, :, :, :length, :length],
        )


def test_permuting_a_batch_permutes_the_outputs(any_norm_model):
    model, _ = any_norm_model
    inputs = random_inputs()
    del inputs["mlm_positions"]
    order = np.array([2, 4, 1, 0, 3])
    permuted = outputs_of(model, **{name: a[order] for name, a in inputs.items()})
    for name, array in outputs_of(model, **inputs).items():
        agree(permuted[name], array[order], 1e-5)


def test_the_last_position_can_be_used(post_norm_model):
    model, weights = post_norm_model
    inputs = random_inputs(tokens=CONFIG.max_position_embeddings)
    agree_everywhere(
        outputs_of(model, **inputs), oracle.forward(weights, CONFIG, inputs)
    )


def test_a_text_beyond_the_last_position_is_refused_with_both_numbers(post_norm_model):
    model, _ = post_norm_model
    ids = np.zeros((1, CONFIG.max_position_embeddings + 2), "int32")
    with pytest.raises(TextError, match=r"13 tokens.* 11 positions"):
        model(ids)


def test_training_mode_drops_and_inference_mode_does_not(post_norm_model):
    model, weights = post_norm_model
    inputs = random_inputs()
    agree_everywhere(
        outputs_of(model, **inputs, training=False),
        oracle.forward(weights, CONFIG, inputs),
    )
    noisy, quiet = (
        outputs_of(model, **inputs, training=training)["sequence_output"]
        for training in (True, False)
    )
    assert np.abs(noisy - quiet).max() > 0.1


def test_in_training_the_classifier_drops_and_the_next_sentence_head_does_not(
    post_norm_model,
):
    model, weights = post_norm_model
    noisy = outputs_of(model, **random_inputs(), training=True)
    pooled = noisy["pooled_output"].astype("float64")
    agree(noisy["nsp_logits"], oracle.dense(pooled, *weights["nsp"]))
    undropped = oracle.dense(pooled, *weights["classifier"])
    assert np.abs(noisy["class_logits"] - undropped).max() > 0.1


@pytest.mark.parametrize(
    ("heads", "absent"),
    [
        ((), {"pooled_output", "nsp_logits", "class_logits", "mlm_logits"}),
        (("mlm",), {"pooled_output", "nsp_logits", "class_logits"}),
        (("pooler",), {"nsp_logits", "class_logits", "mlm_logits"}),
        (("pooler", "classifier"), {"nsp_logits", "mlm_logits"}),
        (PRETRAINING_HEADS, {"class_logits"}),
        (ALL_HEADS, set()),
    ],
)
def test_a_model_has_no_output_and_no_weights_for_a_head_it_lacks(heads, absent):
    model, _ = random_model(heads=heads)
    assert set(model(**random_inputs())) == OUTPUTS - absent
    named = {weight.path.split("/")[1] for weight in model.weights}
    assert named & set(HEADS) == set(heads)


@pytest.mark.parametrize("heads", [("nsp",), ("classifier",), ("pooler", "decoder")])
def test_heads_that_cannot_be_are_refused(heads):
    with pytest.raises(ValueError, match="heads"):
        Bert(CONFIG, heads)


def test_there_are_as_many_weights_as_the_paper_counts():
    """Every part once, and the decoder shares the word embeddings."""
    hidden, inner, words = CONFIG.hidden_size, CONFIG.intermediate_size, 23
    norm, square = 2 * hidden, hidden * hidden + hidden
    layer = 4 * square + 2 * norm + 2 * hidden * inner + inner + hidden
    expected = (words + 11 + 12) * hidden + norm  # embeddings
    expected += CONFIG.num_hidden_layers * layer
    expected += square  # pooler
    expected += square + norm + words  # masked words
    expected += 2 * hidden + 2 + LABELS * hidden + LABELS
    model, _ = random_model()
    assert model.count_params() == expected
    assert random_model(PRE_NORM)[0].count_params() == expected + norm


def test_the_decoder_is_tied_to_the_word_embeddings():
    model, weights = random_model()
    inputs = random_inputs()
    changed = weights["words"] + 0.1
    expected = oracle.forward({**weights, "words": changed}, CONFIG, inputs)
    model.embeddings.word_embeddings.assign(changed)
    agree_everywhere(outputs_of(model, **inputs), expected)


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


def test_zeros_to_start_with_are_zeros():
    """For who fills all of them: they cost no draws."""
    model = Bert(CONFIG, ALL_HEADS, num_labels=LABELS, kernel_initializer="zeros")
    for weight in model.weights:
        assert as_numpy(weight).any() == weight.path.endswith("gamma"), weight.path


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_stays_near_the_formulas(dtype):
    """bfloat16 keeps 8 bits: a few hundredths after three layers."""
    model, weights = random_model(dtype=f"mixed_{dtype}")
    inputs = random_inputs()
    expected = oracle.forward(weights, CONFIG, inputs)
    tensors = keras.tree.flatten(model(**inputs))
    assert {standardize_dtype(value.dtype) for value in tensors} == {dtype}
    tolerance = 0.3 if dtype == "bfloat16" else 0.05
    for name, array in outputs_of(model, **inputs).items():
        agree(array, expected[name], tolerance)
    assert {weight.dtype for weight in model.weights} == {"float32"}


def test_asked_positions_are_as_many_as_the_rows(post_norm_model):
    model, _ = post_norm_model
    shape = outputs_of(model, **random_inputs())["mlm_logits"].shape
    assert shape == (ASKED, CONFIG.vocab_size)
