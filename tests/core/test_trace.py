import copy
import dataclasses
import pickle

import numpy as np
import pytest

from bertviz_core.trace import TRACE_PARTS, MaskPredictions, TokenizedText, Trace

CLS, SEP, MASK, UNK = 2, 3, 4, 1


def tokenized(**changes):
    fields = {
        "text": "a [MASK] q",
        "pair": None,
        "tokens": ("[CLS]", "a", "[MASK]", "[UNK]", "[SEP]"),
        "input_ids": np.array([CLS, 7, MASK, UNK, SEP], "int32"),
        "token_type_ids": np.zeros(5, "int32"),
        "offsets": np.array([[0, 0], [0, 1], [2, 8], [9, 10], [0, 0]], "int32"),
        "word_ids": np.array([-1, 0, 1, 2, -1], "int32"),
        "unk_token_id": UNK,
        "mask_token_id": MASK,
        "num_tokens_uncut": 5,
    }
    return TokenizedText(**fields | changes)


def full_trace():
    rng = np.random.default_rng(0)
    return Trace(
        model_id="tiny",
        tokenized=tokenized(),
        hidden_states=rng.normal(size=(4, 5, 6)),
        attention_probs=rng.normal(size=(3, 2, 5, 5)),
        pooled_output=rng.normal(size=6),
        nsp_logits=rng.normal(size=2),
        class_logits=rng.normal(size=7),
        mlm_positions=np.array([2]),
        mlm_logits=rng.normal(size=(1, 11)),
    )


def predictions():
    logits = np.random.default_rng(1).normal(size=(1, 11))
    return MaskPredictions("tiny", tokenized(), np.array([2]), logits)


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
@pytest.mark.parametrize("make", [tokenized, full_trace, predictions])
def test_arrays_are_read_only(make, way):
    value = way(make())
    arrays = arrays_of(value)
    assert len(arrays) >= 2
    for name, array in arrays.items():
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
        np.testing.assert_array_equal(array, getattr(make(), name))


def test_only_keeps_what_was_asked_for():
    trace = full_trace()
    part = trace.only(("pooled_output", "attention_probs"))
    assert set(arrays_of(part)) == {"pooled_output", "attention_probs"}
    assert part.attention_probs is trace.attention_probs
    assert part.model_id == "tiny"
    assert part.tokenized is trace.tokenized


def test_only_mlm_logits_bring_their_positions_and_nothing_keeps_the_text():
    part = full_trace().only(("mlm_logits",))
    assert set(arrays_of(part)) == {"mlm_logits", "mlm_positions"}
    assert not arrays_of(part.only(()))
    assert part.only(()).tokenized.text == "a [MASK] q"
    assert part.only(("nsp_logits",)).nsp_logits is None


@pytest.mark.parametrize("parts", [("logits",), ("nsp_logits", "tokenized"), "nsp"])
def test_only_refuses_what_is_no_part(parts):
    with pytest.raises(ValueError, match="`parts` must be among"):
        full_trace().only(parts)


def test_tokenized_text_tells_masks_unknown_words_and_added_tokens():
    value = tokenized()
    assert value.num_tokens == 5
    assert not value.was_cut
    assert tokenized(num_tokens_uncut=6).was_cut
    assert value.mask_positions.tolist() == [2]
    assert value.is_unknown.tolist() == [False, False, False, True, False]
    assert value.is_special.tolist() == [True, False, False, False, True]
    assert value.is_added.tolist() == [True, False, False, False, True]
    assert value.is_word.tolist() == [False, True, False, False, False]


def test_a_typed_separator_is_special_but_a_place_of_the_text():
    value = tokenized(
        text="a [MASK] [SEP]",
        tokens=("[CLS]", "a", "[MASK]", "[SEP]", "[SEP]"),
        input_ids=np.array([CLS, 7, MASK, SEP, SEP], "int32"),
    )
    assert value.is_special.tolist() == [True, False, False, True, True]
    assert value.is_added.tolist() == [True, False, False, False, True]
    assert value.is_word.tolist() == [False, True, False, False, False]


def test_every_array_of_a_trace_is_a_part():
    assert set(arrays_of(full_trace())) == {*TRACE_PARTS, "mlm_positions"}
