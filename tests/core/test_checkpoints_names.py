import pytest

from bertviz_core.checkpoints.names import (
    GOOGLE,
    HUGGINGFACE,
    is_optimizer_state,
    num_layers_in,
    weights_of,
)
from bertviz_core.model.bert import HEADS
from tests.core.random_models import CONFIG


@pytest.mark.parametrize("kind", [GOOGLE, HUGGINGFACE])
def test_the_table_lists_the_variables_of_the_model_with_their_shapes(
    post_norm_model, kind
):
    model, _ = post_norm_model
    listed = list(weights_of(model.config, model.heads, kind, model.num_labels))
    assert {weight.ours: weight.shape for weight in listed} == {
        variable.path: tuple(variable.shape) for variable in model.weights
    }
    names = {weight.stored for weight in listed} - {""}
    assert len(names) == len(listed) == len(model.weights)


def test_google_transposes_the_two_heads_on_the_pooled_output_only():
    transposed = {w.stored for w in weights_of(CONFIG, HEADS, GOOGLE) if w.transposed}
    assert transposed == {"cls/seq_relationship/output_weights", "output_weights"}


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
