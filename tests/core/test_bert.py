"""The whole model: what it hands out, and how its weights begin.

`test_taps` holds all its formulas.
"""

import numpy as np
import pytest
from keras.ops import convert_to_numpy as to_numpy

from bertviz_core.errors import TextError
from bertviz_core.model.bert import Bert
from bertviz_core.model.heads import ClassifierHead
from bertviz_core.weights import as_numpy
from tests.core import oracle
from tests.core.random_models import (
    ALL_HEADS,
    BATCH,
    CONFIG,
    LABELS,
    agree,
    evaluate,
    outputs_of,
    random_inputs,
    random_interventions,
    set_dense,
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


def test_without_more_than_ids_all_is_one_text_and_no_word_is_scored(any_norm_model):
    model, weights = any_norm_model
    inputs = {"input_ids": random_inputs()["input_ids"]}
    found = outputs_of(model, **inputs)
    assert "mlm_logits" not in found
    for name, array in oracle.forward(weights, model.config, inputs).items():
        agree(found[name], array)


def test_a_text_beyond_the_last_position_is_refused_with_both_numbers(post_norm_model):
    model, _ = post_norm_model
    ids = np.zeros((1, CONFIG.max_position_embeddings + 2), "int32")
    with pytest.raises(TextError, match=r"13 tokens.* 11 positions"):
        model(ids)


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


def test_there_are_as_many_weights_as_the_paper_counts(post_norm_model, pre_norm_model):
    """Every part once, and the decoder shares the word embeddings."""
    hidden, inner, words = CONFIG.hidden_size, CONFIG.intermediate_size, 23
    norm, square = 2 * hidden, hidden * hidden + hidden
    layer = 4 * square + 2 * norm + 2 * hidden * inner + inner + hidden
    expected = (words + 11 + 12) * hidden + norm  # embeddings
    expected += CONFIG.num_hidden_layers * layer
    expected += square  # pooler
    expected += square + norm + words  # masked words
    expected += 2 * hidden + 2 + LABELS * hidden + LABELS
    assert post_norm_model[0].count_params() == expected
    assert pre_norm_model[0].count_params() == expected + norm


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


def test_only_the_classifier_of_classes_has_dropout(post_norm_model):
    shape = (BATCH, CONFIG.hidden_size)
    pooled = np.random.default_rng(3).uniform(-1, 1, shape).astype("float32")
    layers = [ClassifierHead(CONFIG, LABELS, dropout=has) for has in (True, False)]
    for layer in layers:
        layer.build()
        set_dense(layer.dense, post_norm_model[1]["classifier"])
    dropped, without = (to_numpy(layer(pooled, training=True)) for layer in layers)
    quiet = evaluate(layers[0], pooled)
    agree(without, quiet, 1e-6)
    assert np.abs(dropped - quiet).max() > 0.1
