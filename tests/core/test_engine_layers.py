"""What the engine says about layers equals the model's own intermediate values."""

import numpy as np
import pytest

from bertviz_core.engine.model_tasks import forward_count
from bertviz_core.experiments.cause_results import Switches, Target
from bertviz_core.experiments.neuron_effects import rank_neurons
from bertviz_core.experiments.neuron_factors import neuron_factors
from bertviz_core.experiments.neurons import (
    neuron_activations,
    strongest_neurons,
    words_of_neuron,
    words_of_neuron_here,
)
from bertviz_core.experiments.residual_stream import layer_similarity, residual_stream
from bertviz_core.experiments.step_table import layer_operations
from bertviz_core.experiments.switching import switch_off
from bertviz_core.experiments.token_numbers import (
    norm_input_at,
    part_numbers,
    step_table,
    steps_for_one_token,
)
from bertviz_core.explorer import Explorer
from bertviz_core.trace import Texts, Trace
from tests.core.checkpoint_copies import HF
from tests.core.engine_waiting import ended

MODEL = str(HF)
TEXT = "ab cab [MASK] ba"


@pytest.fixture(scope="module")
def trace(client):
    parts = ("hidden_states", "attention_probs", "pooled_output", "nsp_logits")
    return client.ask(Trace.only)(MODEL, Texts(TEXT), (*parts, "mlm_logits"))


@pytest.fixture(scope="module")
def steps(client):
    return client.ask(steps_for_one_token)(MODEL, Texts(TEXT))


def last_operation(client):
    pre_norm = bool(client.ask(Explorer.info)(MODEL).config.pre_norm)
    return layer_operations(pre_norm)[-1]


def close(actual, expected):
    """To 1e-6 of the largest number: as near as float32 can be to float64."""
    size = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-6 * size)


def test_every_step_has_its_numbers_in_the_shape_it_says(client, steps):
    token = 2
    parts = dict.fromkeys(step.part for step in steps)
    assert list(parts)[:2] == ["embeddings", "layer_0"]
    for part in parts:
        numbers = client.ask(part_numbers)(MODEL, Texts(TEXT), part, token)
        own = [step for step in steps if step.part == part]
        assert [n.name for n in numbers.steps][-len(own) :] == [s.name for s in own]
        for step in own:
            found = numbers.of(step.name)
            expected = [
                size
                for axis, size in zip(step.axes, step.shape, strict=True)
                if axis not in "TQP" and not (axis == "K" and "Q" not in step.axes)
            ]
            assert list(found.shape) == expected, step.name
            is_softmax = step.operation in ("nsp_probs", "class_probs", "mlm_probs")
            assert found.dtype == (np.float64 if is_softmax else np.float32)


@pytest.mark.parametrize("token", [0, 3, 8])
def test_numbers_equal_the_models_own_to_a_millionth(client, trace, token):
    embeddings = client.ask(part_numbers)(MODEL, Texts(TEXT), "embeddings", token)
    close(embeddings.of("embedding_norm"), trace.hidden_states[0, token])
    last = last_operation(client)
    for layer in range(len(trace.hidden_states) - 1):
        numbers = client.ask(part_numbers)(MODEL, Texts(TEXT), f"layer_{layer}", token)
        close(
            numbers.of(f"layer_{layer}/attention_probs"),
            trace.attention_probs[layer, :, token],
        )
        close(
            numbers.of(f"layer_{layer}/{last}"), trace.hidden_states[layer + 1, token]
        )
    heads = client.ask(part_numbers)(MODEL, Texts(TEXT), "heads", token)
    close(heads.of("pooled_output"), trace.pooled_output)
    close(heads.of("nsp_logits"), trace.nsp_logits)


def test_the_word_head_is_asked_at_the_token_that_is_followed(client, trace):
    (position,) = trace.mlm_positions
    heads = client.ask(part_numbers)(MODEL, Texts(TEXT), "heads", int(position))
    close(heads.of("mlm_logits"), trace.mlm_logits[0])
    elsewhere = client.ask(part_numbers)(MODEL, Texts(TEXT), "heads", 1).of(
        "mlm_logits"
    )
    assert np.abs(elsewhere - trace.mlm_logits[0]).max() > 1e-3
    shapes = {
        step.operation: step.shape
        for step in client.ask(steps_for_one_token)(MODEL, Texts(TEXT))
    }
    assert shapes["mlm_logits"] == (1, trace.mlm_logits.shape[1])


def test_a_text_without_a_mask_has_the_word_head_too(client):
    names = [
        step.name for step in client.ask(steps_for_one_token)(MODEL, Texts("ab ba"))
    ]
    assert names[-1] == "mlm_probs"


def test_a_part_brings_what_enters_it(client, trace, steps):
    for layer in (0, 1):
        numbers = client.ask(part_numbers)(MODEL, Texts(TEXT), f"layer_{layer}", 4)
        close(numbers.steps[0].values, trace.hidden_states[layer, 4])
        first = next(step for step in steps if step.layer == layer)
        assert numbers.steps[0].name in first.inputs
    heads = client.ask(part_numbers)(MODEL, Texts(TEXT), "heads", 4)
    reads = {"mlm_transform": 4, "pooler_dense": 0}
    for step in steps:
        if step.operation in reads:
            entering = heads.read_by(step, *step.inputs)
            close(entering, trace.hidden_states[-1, reads.pop(step.operation)])
    assert not reads


def test_another_part_of_the_same_text_runs_that_part_alone(client, steps):
    num_heads = len(client.ask(Explorer.info)(MODEL).heads)
    for part in dict.fromkeys(step.part for step in steps):
        before = client.ask(forward_count)()
        client.ask(part_numbers)(MODEL, Texts(TEXT), part, 3)
        num_parts = num_heads if part == "heads" else 1
        assert client.ask(forward_count)() - before == num_parts


def test_what_a_norm_got_gives_what_it_said(client):
    steps = client.ask(steps_for_one_token)(MODEL, Texts(TEXT))
    norms = [step for step in steps if step.operation.endswith("_norm")]
    assert {"embedding_norm", "mlm_norm"} <= {step.name for step in norms}
    for step in norms:
        found = client.ask(norm_input_at)(MODEL, Texts(TEXT), step.name, 3)
        centred = found.vector - found.vector.mean()
        normed = centred / np.sqrt(np.mean(centred**2) + found.epsilon)
        numbers = client.ask(part_numbers)(MODEL, Texts(TEXT), step.part, 3)
        expected = numbers.of(step.name)
        close(normed * found.gamma + found.beta, expected)
        assert found.token == 3


def test_lengths_are_those_of_the_vectors(client, trace):
    stream = client.ask(residual_stream)(MODEL, Texts(TEXT))
    norms = np.linalg.norm(trace.hidden_states, axis=-1)
    np.testing.assert_allclose(stream.residual_norms, norms[:-1], rtol=1e-5)
    np.testing.assert_allclose(stream.output_norms, norms[1:], rtol=1e-5)
    numbers = client.ask(part_numbers)(MODEL, Texts(TEXT), "layer_1", 2)
    update = numbers.of("layer_1/attention_output")
    assert stream.attention_norms[1, 2] == pytest.approx(np.linalg.norm(update))


def test_lengths_are_a_job_too_which_says_how_far_it_is(client):
    text = "ba cab [MASK]"
    job_id = client.start(client.ask(residual_stream).about(MODEL, Texts(text)))
    status = ended(client, job_id)
    assert status.error is None
    again = client.ask(residual_stream)(MODEL, Texts(text))
    np.testing.assert_array_equal(status.result.output_norms, again.output_norms)


def test_the_strongest_neuron_is_the_largest_of_the_step(client):
    activations = client.ask(part_numbers)(MODEL, Texts(TEXT), "layer_2", 3).of(
        "layer_2/neurons"
    )
    found = client.ask(strongest_neurons)(MODEL, Texts(TEXT), 2, 3, num_neurons=4)
    order = np.argsort(-activations)[:4]
    np.testing.assert_array_equal(found.neurons, order)
    np.testing.assert_allclose(found.activations, activations[order])
    over_text = client.ask(neuron_activations)(MODEL, Texts(TEXT), 2, int(order[0]))
    assert over_text.activations[3] == pytest.approx(activations[order[0]])


def test_words_are_read_with_and_without_a_text(client):
    alone = client.ask(words_of_neuron)(MODEL, 1, 5, 3)
    here = client.ask(words_of_neuron_here)(MODEL, Texts(TEXT), 1, 5, 2, 3)
    assert (alone.reading, alone.token) == ("embedding", None)
    assert (here.reading, here.token) == ("head", 2)
    assert len(alone.promoted_tokens) == len(here.suppressed_tokens) == 3
    assert (np.diff(alone.promoted_changes) <= 0).all()


def test_a_neuron_off_in_the_last_layer_moves_logits_as_its_words_say(client):
    """At the last layer the reading through the head is the model's own change."""
    layer = int(client.ask(Explorer.info)(MODEL).config.num_hidden_layers) - 1
    strong = client.ask(strongest_neurons)(
        MODEL, Texts(TEXT), layer, 3, 1, "contribution"
    )
    neuron = int(strong.neurons[0])
    words = client.ask(words_of_neuron_here)(MODEL, Texts(TEXT), layer, neuron, 3, 1)
    target = Target("mlm", int(words.promoted_ids[0]), 3)
    switches = Switches(neurons=((layer, neuron),))
    switched = client.ask(switch_off)(MODEL, TEXT, target, switches)
    assert -switched.delta_logit == pytest.approx(words.promoted_changes[0], abs=1e-5)


def test_groups_of_neurons_are_a_job_that_is_kept(client):
    asked = client.ask(neuron_factors)
    status = ended(client, client.start(asked.about(MODEL, Texts(TEXT), 3, 7)))
    assert status.error is None
    found = status.result
    tokens = client.ask(Explorer.tokenize)(MODEL, TEXT).num_tokens
    assert found.weights.shape == (3, tokens)
    assert 0 <= found.error < 1
    again = ended(client, client.start(asked.about(MODEL, Texts(TEXT), 3, 7))).result
    np.testing.assert_array_equal(again.weights, found.weights)
    one = ended(client, client.start(asked.about(MODEL, Texts(TEXT), 3, 7, (1,))))
    assert one.result.layers == (1,)


def test_a_table_of_all_tokens_is_that_of_the_trace(client, trace):
    name = f"layer_1/{last_operation(client)}"
    close(
        client.ask(step_table)(MODEL, Texts(TEXT), name, 2).values,
        trace.hidden_states[2],
    )
    probs = client.ask(step_table)(MODEL, Texts(TEXT), "layer_2/attention_probs", 2, 4)
    close(probs.values, trace.attention_probs[2, 4])


def test_every_task_reads_the_second_text(client):
    both = Texts(TEXT, "cab ba")
    whole = client.ask(Trace.only)(MODEL, both, ("hidden_states", "nsp_logits"))
    tokens = whole.tokenized.num_tokens
    last = tokens - 1
    assert client.ask(steps_for_one_token)(MODEL, both)[0].shape[0] == tokens
    name = f"layer_1/{last_operation(client)}"
    numbers = client.ask(part_numbers)(MODEL, both, "layer_1", last)
    close(numbers.of(name), whole.hidden_states[2, last])
    heads = client.ask(part_numbers)(MODEL, both, "heads", last)
    close(heads.of("nsp_logits"), whole.nsp_logits)
    table = client.ask(step_table)(MODEL, both, name, last)
    close(table.values, whole.hidden_states[2])
    stream = client.ask(residual_stream)(MODEL, both)
    norms = np.linalg.norm(whole.hidden_states, axis=-1)
    np.testing.assert_allclose(stream.output_norms, norms[1:], rtol=1e-5)
    alone = client.ask(residual_stream)(MODEL, Texts(TEXT))
    assert len(alone.tokens) < tokens
    neurons = numbers.of("layer_1/neurons")
    strong = client.ask(strongest_neurons)(MODEL, both, 1, last, 3)
    np.testing.assert_array_equal(strong.neurons, np.argsort(-neurons)[:3])
    over = client.ask(neuron_activations)(MODEL, both, 1, 2)
    assert over.activations[last] == pytest.approx(neurons[2])
    here = client.ask(words_of_neuron_here)(MODEL, both, 1, 2, last, 3)
    assert here.token == last
    norm = client.ask(norm_input_at)(MODEL, both, "embedding_norm", last)
    embeddings = client.ask(part_numbers)(MODEL, both, "embeddings", last)
    np.testing.assert_allclose(norm.vector, embeddings.of("embedding_sum"))
    job = client.start(client.ask(neuron_factors).about(MODEL, both, 2, 1))
    assert ended(client, job).result.weights.shape == (2, tokens)
    job = client.start(client.ask(residual_stream).about(MODEL, both))
    assert len(ended(client, job).result.tokens) == tokens


@pytest.mark.tensorflow
def test_the_best_neurons_of_all_layers_are_a_job(client):
    target = Target("mlm", 7, 3)
    job = client.start(
        client.ask(rank_neurons).about(MODEL, TEXT, target, num_neurons=2, pair="ba")
    )
    status = ended(client, job)
    assert status.error is None
    (place, *_) = status.result.neurons.tolist()
    switched = client.ask(switch_off)(
        MODEL, TEXT, target, Switches(neurons=(tuple(place),)), "ba"
    )
    first = status.result.delta_probabilities[0]
    assert switched.delta_probability == pytest.approx(first, abs=1e-7)


def test_the_similarity_of_layers_has_a_row_for_each_and_reads_both_texts(client):
    found = client.ask(layer_similarity)(MODEL, Texts(TEXT))
    layers = int(client.ask(Explorer.info)(MODEL).config.num_hidden_layers)
    assert found.shape == (layers + 1, layers + 1)
    np.testing.assert_allclose(np.diag(found), 1)
    both = client.ask(layer_similarity)(MODEL, Texts(TEXT, "cab ba"))
    assert np.abs(both - found).max() > 1e-3
