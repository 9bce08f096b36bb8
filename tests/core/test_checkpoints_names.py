"""One table holds every weight of the model, once, under three names."""

import dataclasses

import pytest

from bertviz_core.checkpoints.names import (
    GOOGLE,
    HUGGINGFACE,
    TABLE,
    is_optimizer_state,
    num_layers_in,
    weights_of,
)
from bertviz_core.model.bert import HEADS
from tests.core.random_models import CONFIG, LABELS, PRE_NORM

KINDS = (GOOGLE, HUGGINGFACE)


@pytest.mark.parametrize("name", ["post_norm_model", "pre_norm_model"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_table_lists_the_variables_of_the_model_with_their_shapes(
    request, name, kind
):
    model, _ = request.getfixturevalue(name)
    listed = list(weights_of(model.config, model.heads, kind, model.num_labels))
    assert len({weight.ours for weight in listed}) == len(listed)
    assert {weight.ours: weight.shape for weight in listed} == {
        variable.path: tuple(variable.shape) for variable in model.weights
    }


@pytest.mark.parametrize("kind", KINDS)
def test_no_two_weights_share_a_name_in_a_checkpoint(kind):
    listed = list(weights_of(CONFIG, HEADS, kind, LABELS))
    assert len({weight.stored for weight in listed}) == len(listed)
    assert all(weight.stored for weight in listed)


def test_hugging_face_transposes_every_kernel_and_nothing_else():
    for weight in weights_of(PRE_NORM, HEADS, HUGGINGFACE, LABELS):
        assert weight.transposed == weight.ours.endswith("/kernel")


def test_google_transposes_the_two_heads_on_the_pooled_output_only():
    transposed = {w.stored for w in weights_of(CONFIG, HEADS, GOOGLE) if w.transposed}
    assert transposed == {"cls/seq_relationship/output_weights", "output_weights"}


def test_a_stored_shape_is_turned_round_exactly_where_the_weight_is():
    weights = {w.stored: w for w in weights_of(CONFIG, HEADS, HUGGINGFACE, LABELS)}
    inner = weights["bert.encoder.layer.2.intermediate.dense.weight"]
    assert (inner.shape, inner.stored_shape) == ((42, 13), (13, 42))
    words = weights["bert.embeddings.word_embeddings.weight"]
    assert words.shape == words.stored_shape == (23, 42)


def test_heads_that_are_not_asked_for_are_not_listed():
    parts = {weight.part for weight in weights_of(CONFIG, ("mlm",), GOOGLE)}
    assert parts == {"encoder", "mlm"}


def test_a_final_norm_is_listed_for_a_pre_norm_model_alone():
    extra = {w.stored for w in weights_of(PRE_NORM, (), HUGGINGFACE)} - {
        w.stored for w in weights_of(CONFIG, (), HUGGINGFACE)
    }
    assert extra == {"bert.final_norm.weight", "bert.final_norm.bias"}


def test_listing_is_lazy_so_a_config_of_a_billion_layers_costs_nothing():
    huge = dataclasses.replace(CONFIG, num_hidden_layers=10**9)
    assert next(weights_of(huge, (), GOOGLE)).shape == (23, 42)


@pytest.mark.parametrize("part", ["encoder", "final_norm", *HEADS])
def test_every_part_of_the_model_has_rows(part):
    assert any(row.part == part for row in TABLE)


@pytest.mark.parametrize(
    "name",
    [
        "global_step",
        "beta1_power",
        "bert/pooler/dense/kernel/adam_m",
        "bert/pooler/dense/kernel/adam_v",
        "bert/embeddings/LayerNorm/beta/Adam_1",
    ],
)
def test_values_of_an_optimiser_are_told_from_weights(name):
    assert is_optimizer_state(name)
    assert not is_optimizer_state(name.rsplit("/", 1)[0] + "/kernel")


@pytest.mark.parametrize(
    ("kind", "names", "layers"),
    [
        (GOOGLE, ["bert/encoder/layer_10/output/dense/bias", "bert/pooler/x"], 11),
        (HUGGINGFACE, ["bert.encoder.layer.3.output.dense.bias"], 4),
        (HUGGINGFACE, ["bert.encoder.layer.x.y", "cls.predictions.bias"], 0),
        (HUGGINGFACE, [f"bert.encoder.layer.{'9' * 5000}.y"], 0),
        (HUGGINGFACE, ["bert.encoder.layer.²."], 0),
    ],
)
def test_layers_are_counted_by_the_names(kind, names, layers):
    assert num_layers_in(names, kind) == layers
