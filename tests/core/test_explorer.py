"""From a text to its trace, with and without interventions."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest

from bertviz_core import explorer as explorer_module
from bertviz_core.errors import CheckpointError, TextError
from bertviz_core.interventions import Interventions
from bertviz_core.trace import TRACE_PARTS
from bertviz_core.weights import as_numpy
from tests.core import oracle
from tests.core.cause_models import explorer_named
from tests.core.random_models import CONFIG, TOKENS, agree, explorer_of, random_model

TEXT = "The cats [MASK] on a [MASK]"  # 9 tokens with those that are added
LAYERS, HEADS = CONFIG.num_hidden_layers, CONFIG.num_attention_heads
PARTS = ("hidden_states", "attention_probs", "pooled_output", "nsp_logits")
PARTS += ("class_logits", "mlm_logits")


@pytest.fixture(scope="module")
def weights(post_norm_model):
    return post_norm_model[1]


def test_a_trace_is_what_the_formulas_give(explorer, weights):
    trace = explorer.trace("The cats [MASK]", "a red [MASK].")
    asked = {"mlm_positions": trace.tokenized.mask_positions}
    expected = oracle.forward(weights, CONFIG, trace.tokenized.inputs | asked)
    assert trace.tokenized.tokens == (
        *("[CLS]", "the", "cat", "##s", "[MASK]", "[SEP]"),
        *("a", "[UNK]", "[MASK]", ".", "[SEP]"),
    )
    assert trace.tokenized.token_type_ids.tolist() == [0] * 6 + [1] * 5
    assert trace.mlm_positions.tolist() == [4, 8]
    agree(trace.mlm_logits, expected["mlm_logits"])
    for name in PARTS[:-1]:
        agree(getattr(trace, name), expected[name][0])
    assert {getattr(trace, name).dtype for name in PARTS} == {np.dtype("float32")}


def test_words_can_be_predicted_where_there_is_no_mask(explorer, weights):
    trace = explorer.trace("The cats sat", mlm_positions=[3, 0, 1])
    inputs = {"input_ids": trace.tokenized.input_ids[None], "mlm_positions": [3, 0, 1]}
    assert trace.mlm_positions.tolist() == [3, 0, 1]
    agree(trace.mlm_logits, oracle.forward(weights, CONFIG, inputs)["mlm_logits"])


def test_a_text_without_a_mask_has_a_trace_and_no_predictions(explorer):
    trace = explorer.trace("The cat sat")
    assert trace.mlm_logits.shape == (0, CONFIG.vocab_size)
    assert trace.mlm_positions.shape == (0,)
    with pytest.raises(TextError, match=r"no \[MASK\] in the text"):
        explorer.predict_masks("The cat sat")


@pytest.mark.parametrize("text", [TEXT, "[MASK] [MASK][MASK]", "e[MASK]e"])
def test_predictions_are_those_of_the_trace(explorer, text):
    predictions, trace = explorer.predict_masks(text), explorer.trace(text)
    positions = predictions.tokenized.mask_positions
    assert predictions.positions.tolist() == positions.tolist()
    assert predictions.logits.shape == (text.count("[MASK]"), CONFIG.vocab_size)
    agree(predictions.logits, trace.mlm_logits)
    assert not predictions.logits.flags.writeable


@pytest.mark.parametrize("text", ["", "\n\t ", "\u200b", "\x00", "\u3000\xa0"])
def test_a_text_of_nothing_is_refused(explorer, text):
    for ask in (explorer.tokenize, explorer.trace, explorer.predict_masks):
        for pair in (None, "", " "):
            with pytest.raises(TextError, match="The text is empty"):
                ask(text, pair)


def test_a_long_text_is_refused_with_both_numbers_unless_it_may_be_cut(explorer):
    for ask in (explorer.tokenize, explorer.trace, explorer.predict_masks):
        with pytest.raises(TextError, match=r"10002 tokens.* 11 positions"):
            ask("cat " * 10_000)
    trace = explorer.trace("cat " * 10_000, cut=True)
    assert trace.tokenized.num_tokens == 11
    assert trace.tokenized.num_tokens_uncut == 10_002
    agree(trace.hidden_states, explorer.trace("cat " * 9).hidden_states, 0)


def test_a_mask_that_is_cut_off_cannot_be_predicted(explorer):
    with pytest.raises(TextError, match=r"no \[MASK\]"):
        explorer.predict_masks("cat " * 20 + "[MASK]", cut=True)


def test_more_attention_than_memory_holds_is_refused(explorer, monkeypatch):
    enough = LAYERS * HEADS * 11**2
    monkeypatch.setattr("bertviz_core.explorer.MOST_ATTENTION_PROBS", enough)
    assert explorer.trace("cat " * 9).tokenized.num_tokens == 11
    monkeypatch.setattr("bertviz_core.explorer.MOST_ATTENTION_PROBS", enough - 1)
    with pytest.raises(TextError, match=f"11 tokens, {LAYERS} layers of {HEADS} heads"):
        explorer.trace("cat " * 9)


def test_answers_that_are_no_numbers_are_a_sentence():
    model = random_model(dataclasses.replace(CONFIG, num_hidden_layers=1))[0]
    for weight in model.weights:
        weight.assign(np.full(weight.shape, 3e38, "float32"))
    explorer = explorer_of(model)
    for ask in (explorer.trace, explorer.predict_masks):
        with pytest.raises(CheckpointError, match="infinite or undefined values"):
            ask(TEXT)


def test_a_pair_is_refused_where_there_is_one_segment():
    config = dataclasses.replace(CONFIG, type_vocab_size=1, num_hidden_layers=1)
    explorer = explorer_of(random_model(config)[0])
    assert explorer.tokenize("the cat").num_tokens == 4
    with pytest.raises(TextError, match="The model tiny reads one text at a time"):
        explorer.tokenize("the cat", "sat")


def test_a_model_without_heads_gives_the_encoder_alone(explorer):
    headless = explorer_named("headless")
    trace = headless.trace(TEXT)
    assert trace.hidden_states is not None
    assert trace.attention_probs is not None
    for name in (*PARTS[2:], "mlm_positions"):
        assert getattr(trace, name) is None
    with pytest.raises(CheckpointError, match="The model tiny has no trained MLM head"):
        headless.predict_masks(TEXT)
    with pytest.raises(CheckpointError, match="has no trained NSP head"):
        headless.require_head("nsp")
    explorer.require_head("nsp")


@pytest.fixture(scope="module")
def made(explorer):
    """By what it is called; both texts are of one mask, one unknown word."""
    return {
        "text": explorer.tokenize("a [MASK] q"),
        "trace": explorer.trace("a [MASK] q"),
        "predictions": explorer.predict_masks("a [MASK] q"),
    }


def arrays_of(value):
    return {
        field.name: getattr(value, field.name)
        for field in dataclasses.fields(value)
        if isinstance(getattr(value, field.name), np.ndarray)
    }


def pickled(value):
    return pickle.loads(pickle.dumps(value))


def pickled_with_buffers_outside(value):
    """As a cluster sends arrays: memory that the receiver could write to."""
    buffers = []
    data = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    assert buffers
    return pickle.loads(data, buffers=[bytearray(b.raw()) for b in buffers])


@pytest.mark.parametrize(
    "way",
    [lambda value: value, pickled, pickled_with_buffers_outside, copy.deepcopy],
    ids=["as-made", "pickled", "buffers-outside", "copied"],
)
@pytest.mark.parametrize("name", ["text", "trace", "predictions"])
def test_arrays_are_read_only(made, name, way):
    before, arrays = arrays_of(made[name]), arrays_of(way(made[name]))
    assert len(arrays) >= 2
    for name, array in arrays.items():
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
        np.testing.assert_array_equal(array, before[name])


def test_only_keeps_what_was_asked_for(made):
    trace = made["trace"]
    part = trace.only(("pooled_output", "attention_probs"))
    assert set(arrays_of(part)) == {"pooled_output", "attention_probs"}
    assert part.attention_probs is trace.attention_probs
    assert part.model_id == "tiny"
    assert part.tokenized is trace.tokenized
    words = trace.only(("mlm_logits",))
    assert set(arrays_of(words)) == {"mlm_logits", "mlm_positions"}
    assert not arrays_of(trace.only(()))
    assert set(arrays_of(trace)) == {*TRACE_PARTS, "mlm_positions"}


@pytest.mark.parametrize("parts", [("logits",), ("nsp_logits", "tokenized"), "nsp"])
def test_only_refuses_what_is_no_part(made, parts):
    with pytest.raises(ValueError, match="`parts` must be among"):
        made["trace"].only(parts)


def test_tokenized_text_tells_masks_unknown_words_and_added_tokens(made, explorer):
    value = made["text"]
    assert value.num_tokens == 5
    assert not value.was_cut
    assert dataclasses.replace(value, num_tokens_uncut=6).was_cut
    assert value.mask_positions.tolist() == [2]
    assert value.is_unknown.tolist() == [False, False, False, True, False]
    assert value.is_special.tolist() == [True, False, False, False, True]
    assert value.is_added.tolist() == [True, False, False, False, True]
    assert value.is_word.tolist() == [False, True, False, False, False]
    # A typed separator is special but a place of the text.
    value = explorer.tokenize("a [MASK] [SEP]")
    assert value.is_special.tolist() == [True, False, False, True, True]
    assert value.is_added.tolist() == [True, False, False, False, True]
    assert value.is_word.tolist() == [False, True, False, False, False]


INNER = CONFIG.intermediate_size
SHAPES = {
    "head_mask": (LAYERS, HEADS),
    "edge_mask": (LAYERS, HEADS, TOKENS, TOKENS),
    "neuron_mask": (LAYERS, INNER),
}


def full():
    return {name: np.ones(shape, "float32") for name, shape in SHAPES.items()}


def test_every_part_becomes_an_input_of_a_batch_of_one():
    assert Interventions().inputs(CONFIG, TOKENS) == {}
    inputs = Interventions(**full()).inputs(CONFIG, TOKENS)
    shapes = {name: array.shape for name, array in inputs.items()}
    assert shapes == {name: (1, *shape) for name, shape in SHAPES.items()}
    # Edges may be cut for all layers or heads at once.
    for some in ((1, 1), (1, HEADS), (LAYERS, 1)):
        edges = np.ones((*some, TOKENS, TOKENS), "int32")
        inputs = Interventions(edge_mask=edges).inputs(CONFIG, TOKENS)
        assert inputs["edge_mask"].shape == (1, *edges.shape)


@pytest.mark.parametrize(
    ("name", "axis"),
    [(name, axis) for name in sorted(SHAPES) for axis in range(len(SHAPES[name]))],
)
def test_a_part_of_another_size_is_refused(name, axis):
    shape = list(SHAPES[name])
    shape[axis] += 1
    made = Interventions(**{name: np.ones(shape, "float32")})
    with pytest.raises(ValueError, match=f"`{name}` must have one of the shapes"):
        made.inputs(CONFIG, TOKENS)


def test_a_row_without_an_edge_is_refused():
    edges = full()["edge_mask"]
    edges[1, 4, 5] = 0
    with pytest.raises(ValueError, match="must keep at least one edge"):
        Interventions(edge_mask=edges)


def test_another_form_of_a_small_model_is_kept_and_leaves_the_served_one(monkeypatch):
    model, _ = random_model()
    explorer = explorer_of(model)
    weights = [as_numpy(weight) for weight in model.weights]
    before = explorer.trace(TEXT).hidden_states
    kept = explorer.forward_with(hidden_act="gelu_new")
    assert explorer.forward_with(hidden_act="gelu_new") is kept
    assert explorer.forward_with(pre_norm=True) is not kept
    monkeypatch.setattr(explorer_module, "_MOST_TWICE", model.count_params() - 1)
    one, other = (explorer.forward_with(hidden_act="relu") for _ in range(2))
    assert one is not other
    for weight, old in zip(model.weights, weights, strict=True):
        np.testing.assert_array_equal(as_numpy(weight), old)
    assert model.config == CONFIG
    np.testing.assert_array_equal(explorer.trace(TEXT).hidden_states, before)
