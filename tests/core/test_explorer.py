import dataclasses

import numpy as np
import pytest

from bertviz_core.errors import CheckpointError, TextError
from tests.core import oracle
from tests.core.random_models import CONFIG, agree, explorer_of, random_model

TEXT = "The cats [MASK] on a [MASK]"  # 9 tokens with those that are added
LAYERS, HEADS = CONFIG.num_hidden_layers, CONFIG.num_attention_heads
PARTS = ("hidden_states", "attention_probs", "pooled_output", "nsp_logits")
PARTS += ("class_logits", "mlm_logits")


@pytest.fixture(scope="module")
def weights(post_norm_model):
    return post_norm_model[1]


@pytest.fixture(scope="module")
def headless():
    return explorer_of(random_model(heads=())[0])


def test_a_trace_is_what_the_formulas_give(explorer, weights):
    trace = explorer.trace("The cats [MASK]", "a red [MASK].")
    inputs = {
        "input_ids": trace.tokenized.input_ids[None],
        "token_type_ids": trace.tokenized.token_type_ids[None],
        "mlm_positions": trace.tokenized.mask_positions,
    }
    expected = oracle.forward(weights, CONFIG, inputs)
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
    assert predictions.model_id == "tiny"
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


@pytest.mark.parametrize(
    "text",
    [
        "😀👩‍👩‍👧‍👦",
        "שלום עולם",
        "a\x00b\x00[MASK]",
        "\ud800 [MASK]",
        "[CLS] [SEP] [PAD]",
    ],
)
def test_an_odd_text_is_looked_at_like_any_other(explorer, text):
    trace = explorer.trace(text, cut=True)
    assert trace.tokenized.text == text
    assert np.isfinite(trace.hidden_states).all()


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


def test_a_model_without_heads_gives_the_encoder_alone(explorer, headless):
    trace = headless.trace(TEXT)
    assert trace.hidden_states is not None
    assert trace.attention_probs is not None
    for name in (*PARTS[2:], "mlm_positions"):
        assert getattr(trace, name) is None
    with pytest.raises(CheckpointError, match="The model tiny has no MLM head"):
        headless.predict_masks(TEXT)
    with pytest.raises(CheckpointError, match="has no NSP head"):
        headless.require_head("nsp")
    explorer.require_head("nsp")


def test_information_describes_the_model(explorer, headless):
    info = explorer.info()
    assert info.model_id == "tiny"
    assert info.config == CONFIG
    assert info.heads == ("pooler", "mlm", "nsp", "classifier")
    assert info.labels[-1] == "class 9"
    assert info.lower_case
    assert info.num_weights == explorer.loaded.model.count_params()
    assert info.report.loaded == ("a",)
    assert headless.info().heads == ()
    assert headless.info().num_weights < info.num_weights
