"""A classifier on texts, held against one text at a time and the oracle."""

import dataclasses

import numpy as np
import pytest
from scipy.special import softmax

from bertviz_core.errors import CheckpointError, TextError
from bertviz_core.experiments.attribution import attribute
from bertviz_core.experiments.cause_results import Target
from bertviz_core.explorer import Explorer
from bertviz_core.finetune.dataset import Examples, TrainingData
from bertviz_core.finetune.nearest_rows import nearest_rows, row_vectors
from bertviz_core.finetune.row_prediction import (
    by_tokens,
    cut_texts,
    predict_rows,
    read_text,
)
from bertviz_core.model.bert import Bert
from bertviz_core.trace import TrainedInputs
from tests.core.random_models import CONFIG, agree, explorer_of, random_model

TEXTS = ("the cat sat on a mat .", "a mat !", "cats", "the mat sat", "", "e e e e e")
PAIRS = ("a cat .", "the mat sat on a cat !", "e", "cats .", "a", "mat .")


def one_by_one(explorer, texts, pairs=None):
    """Logits of each text alone, without padding."""
    found = []
    for index, text in enumerate(texts):
        pair = None if pairs is None else pairs[index]
        read = explorer.tokenizer.encode(text, pair, 11, cut=True)
        inputs = {
            "input_ids": read.input_ids[None],
            "token_type_ids": read.token_type_ids[None],
        }
        found.append(explorer.forward(inputs, ("class_logits",))["class_logits"][0])
    return np.stack(found)


@pytest.fixture(scope="module")
def number_explorer():
    model = Bert(CONFIG, ("pooler", "classifier"), num_labels=1)
    rng = np.random.default_rng(8)
    for weight in model.weights:
        weight.assign(rng.normal(size=weight.shape, scale=0.4))
    return explorer_of(model)


@pytest.mark.parametrize("pairs", [None, PAIRS])
def test_rows_in_batches_are_predicted_as_each_one_alone(explorer, pairs):
    told = []
    found = predict_rows(
        explorer, TEXTS, pairs, progress=lambda share, _: told.append(share)
    )
    agree(found.outputs, softmax(one_by_one(explorer, TEXTS, pairs), axis=1))
    np.testing.assert_allclose(found.outputs.sum(axis=1), 1, rtol=1e-6)
    assert not found.is_regression
    assert found.labels == explorer.loaded.labels
    assert told == sorted(told)
    assert told[-1] == pytest.approx(1)


def test_a_single_output_is_a_number_and_no_probability(number_explorer):
    found = predict_rows(number_explorer, TEXTS)
    assert found.is_regression
    agree(found.outputs, one_by_one(number_explorer, TEXTS))
    read = read_text(number_explorer, TEXTS[0])
    assert read.is_regression
    agree(read.outputs, found.outputs[0])


def test_rows_that_are_cut_are_counted_and_read_to_the_limit(explorer):
    found = predict_rows(explorer, TEXTS, None, 5)
    sizes = [explorer.tokenizer.encode(text).num_tokens for text in TEXTS]
    assert found.num_cut == sum(size > 5 for size in sizes)
    short = predict_rows(explorer, ["the cat sat"])
    agree(found.outputs[0], short.outputs[0])
    rows = predict_rows(explorer, TEXTS, PAIRS, 9)
    read = read_text(explorer, TEXTS[1], PAIRS[1], 9)
    agree(read.outputs, rows.outputs[1])
    assert read.best == rows.outputs[1].argmax()


def test_a_cut_text_has_the_tokens_that_the_tokenizer_keeps(explorer):
    for limit in range(5, 11):
        text, pair = cut_texts(explorer, TEXTS[0], PAIRS[1], limit)
        kept = explorer.tokenizer.encode(TEXTS[0], PAIRS[1], limit, cut=True)
        again = explorer.tokenizer.encode(text, pair)
        assert again.tokens == kept.tokens


def test_a_word_that_is_cut_in_its_middle_keeps_its_first_pieces(explorer):
    # "cats" is "cat" and "##s", of which the second goes.
    read = read_text(explorer, "the cats sat", max_tokens=4)
    assert read.tokenized.tokens == ("[CLS]", "the", "cat", "[SEP]")
    assert (read.text, read.was_cut, read.num_tokens_uncut) == ("the cat", True, 6)


@pytest.mark.parametrize("pair", [None, PAIRS[1]])
def test_a_model_is_read_at_the_length_that_it_learned_with(explorer, pair):
    learned = TrainedInputs(max_tokens=6)
    loaded = dataclasses.replace(explorer.loaded, trained_inputs=learned)
    pairs = None if pair is None else [pair]
    told = read_text(explorer, TEXTS[0], pair, 6)
    read = read_text(Explorer(loaded), TEXTS[0], pair)
    assert read.tokenized.tokens == told.tokenized.tokens
    assert read.was_cut
    rows = predict_rows(Explorer(loaded), TEXTS[:1], pairs)
    agree(rows.outputs[0], told.outputs)
    assert rows.num_cut == 1


@pytest.fixture(scope="module")
def known(explorer):
    return row_vectors(explorer, TEXTS)


def test_batches_hold_every_row_once_and_no_more_tokens_than_asked():
    lengths = np.random.default_rng(3).integers(1, 60, 203)
    batches = by_tokens(lengths, 100)
    assert sorted(np.concatenate(batches)) == list(range(203))
    assert all(len(batch) * lengths[batch].max() <= 100 for batch in batches)


def test_no_classifier_and_no_rows_are_sentences(explorer):
    without = explorer_of(random_model(heads=("pooler", "mlm"))[0])
    with pytest.raises(CheckpointError, match="CLASSIFIER"):
        predict_rows(without, TEXTS)
    with pytest.raises(CheckpointError, match="CLASSIFIER"):
        read_text(without, TEXTS[0])
    with pytest.raises(TextError, match="no texts"):
        predict_rows(explorer, [])


def test_the_nearest_rows_are_those_of_the_largest_cosine(explorer, known):
    read = read_text(explorer, "the mat sat on a cat")
    part = Examples(TEXTS, None, np.zeros(len(TEXTS), int), np.arange(len(TEXTS)))
    data = TrainingData(part, part, ("a",))
    found = nearest_rows(explorer, read, known, data, 4)
    pooled = explorer.trace("the mat sat on a cat").pooled_output
    lengths = np.linalg.norm(known, axis=1) * np.linalg.norm(pooled)
    cosines = known @ pooled / lengths
    assert [row.row for row in found.rows] == np.argsort(-cosines)[:4].tolist()
    agree(found.cosines, np.sort(cosines)[::-1][:4])
    assert found.num_searched == len(TEXTS)
    trace = explorer.trace(TEXTS[3], PAIRS[3])
    agree(row_vectors(explorer, TEXTS, PAIRS)[3], trace.pooled_output)


@pytest.mark.tensorflow
def test_what_explains_a_number_is_the_number_itself(number_explorer):
    text = "the cat sat"
    found = attribute(number_explorer, text, Target("classifier", 0))
    alone = one_by_one(
        number_explorer, [text, "[MASK] [MASK] [MASK]", "the [MASK] sat"]
    )
    assert found.value == pytest.approx(alone[0, 0], abs=1e-5)
    assert found.baseline_value == pytest.approx(alone[1, 0], abs=1e-5)
    occluded = found.scores[found.methods.index("occlusion_mask")]
    assert occluded[2] == pytest.approx(alone[0, 0] - alone[2, 0], abs=1e-5)
    gradients = found.scores[found.methods.index("integrated_gradients")]
    change = float(alone[0, 0] - alone[1, 0])
    assert gradients.sum() == pytest.approx(change, abs=0.051 * abs(change))
