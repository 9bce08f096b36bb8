"""A classifier on texts, held against one text at a time and the oracle."""

import csv
import dataclasses
import io
import json

import numpy as np
import pytest
from scipy.special import softmax

from bertviz_core.errors import CheckpointError, DatasetError, TextError, TrainingError
from bertviz_core.experiments.after_training import nearest_rows, row_vectors
from bertviz_core.experiments.attribution import attribute
from bertviz_core.experiments.cause_results import Target
from bertviz_core.explorer import Explorer
from bertviz_core.model.bert import Bert
from bertviz_core.trace import TrainedInputs
from bertviz_core.training.finetune import row_prediction
from bertviz_core.training.finetune.dataset import Examples, TrainingData
from bertviz_core.training.finetune.row_prediction import (
    NUM_FIRST,
    PredictedTable,
    cut_texts,
    predict_rows,
    predict_table,
    read_text,
)
from bertviz_core.training.finetune.table import read_table
from tests.core.random_models import CONFIG, agree, explorer_of, random_model

TEXTS = ("the cat sat on a mat .", "a mat !", "cats", "the mat sat", "", "e e e e e")
PAIRS = ("a cat .", "the mat sat on a cat !", "e", "cats .", "a", "mat .")


def one_by_one(explorer, texts, pairs=None):
    """Logits of each text alone, without padding."""
    found = []
    for index, text in enumerate(texts):
        pair = None if pairs is None else pairs[index]
        inputs = explorer.tokenizer.encode(text, pair, 11, cut=True).inputs
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
    found, _ = predict_rows(explorer, TEXTS, pairs)
    agree(found, softmax(one_by_one(explorer, TEXTS, pairs), axis=1))
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-6)


def test_a_single_output_is_a_number_and_no_probability(number_explorer):
    found, _ = predict_rows(number_explorer, TEXTS)
    agree(found, one_by_one(number_explorer, TEXTS))
    read = read_text(number_explorer, TEXTS[0])
    assert read.is_regression
    agree(read.outputs, found[0])


def test_rows_that_are_cut_are_counted_and_read_to_the_limit(explorer):
    found, num_cut = predict_rows(explorer, TEXTS, None, 5)
    sizes = [explorer.tokenizer.encode(text).num_tokens for text in TEXTS]
    assert num_cut == sum(size > 5 for size in sizes)
    short, _ = predict_rows(explorer, ["the cat sat"])
    agree(found[0], short[0])
    rows, _ = predict_rows(explorer, TEXTS, PAIRS, 9)
    read = read_text(explorer, TEXTS[1], PAIRS[1], 9)
    agree(read.outputs, rows[1])
    assert read.best == rows[1].argmax()


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
    rows, num_cut = predict_rows(Explorer(loaded), TEXTS[:1], pairs)
    agree(rows[0], told.outputs)
    assert num_cut == 1


@pytest.fixture(scope="module")
def known(explorer):
    return row_vectors(explorer, TEXTS)


def test_batches_hold_every_row_once_and_no_more_tokens_than_asked(monkeypatch):
    monkeypatch.setattr(row_prediction, "_TOKENS_A_PASS", 100)
    lengths = np.random.default_rng(3).integers(1, 60, 203)
    batches = row_prediction.by_tokens(lengths)
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


@pytest.mark.parametrize("read", [row_vectors, predict_rows])
def test_the_bar_of_many_rows_never_goes_back(explorer, read):
    shares = []
    many = TEXTS * (1000 // len(TEXTS))
    read(explorer, many, progress=lambda share, doing: shares.append(share))
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_the_nearest_rows_are_those_of_the_largest_cosine(explorer, known):
    read = read_text(explorer, "the mat sat on a cat")
    part = Examples(TEXTS, None, np.zeros(len(TEXTS), int), np.arange(len(TEXTS)))
    data = TrainingData(part, part, part, ("a",))
    found = nearest_rows(explorer, read.tokenized, known, data, 4)
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


LINES = ["id,said,more", '1,the cat sat,"a, mat"', "2,,x", "3,=e e,on", "4,cats,"]


@pytest.fixture
def table():
    return read_table("\n".join(LINES).encode())


def rows_of(path):
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")  # Excel needs it
    text = path.read_bytes().decode("utf-8-sig")
    return list(csv.reader(io.StringIO(text)))


def predicted(explorer, table, folder, columns=("said", None)):
    return predict_table(explorer, table, columns, 0, folder / "out.csv")


def test_each_row_with_a_text_has_what_the_model_says_of_it(explorer, table, tmp_path):
    found = predicted(explorer, table, tmp_path)
    expected, _ = predict_rows(explorer, ["the cat sat", "=e e", "cats"])
    header, *rows = rows_of(tmp_path / "out.csv")
    labels = explorer.loaded.labels
    assert header == ["id", "said", "more", "predicted", *(f"p({x})" for x in labels)]
    for row, values in zip((rows[0], rows[2], rows[3]), expected, strict=True):
        assert row[3] == labels[values.argmax()]
        np.testing.assert_allclose(np.array(row[4:], float), values, atol=1e-6)
    assert rows[1] == ["2", "", "x", *[""] * 11]
    assert rows[0][2] == "a, mat"
    assert rows[2][1] == "'=e e"
    assert (found.num_rows, found.num_empty) == (4, 1)
    best = expected.argmax(axis=1)
    assert found.counts.tolist() == np.bincount(best, minlength=10).tolist()
    assert [row.row for row in found.first] == [2, 4, 5]
    assert [row.label for row in found.first] == [labels[i] for i in best]
    values = [row.value for row in found.first]
    np.testing.assert_allclose(values, expected.max(axis=1), atol=1e-6)


def test_the_exact_texts_and_probabilities_lie_beside_it(explorer, table, tmp_path):
    predicted(explorer, table, tmp_path)
    lines = (tmp_path / "out.jsonl").read_text("utf-8").splitlines()
    first, empty, formula, _ = map(json.loads, lines)
    assert formula["said"] == "=e e"
    labels = explorer.loaded.labels
    ((expected,), _) = predict_rows(explorer, [formula["said"]])
    probabilities = [formula[f"p({label})"] for label in labels]
    np.testing.assert_allclose(probabilities, expected, rtol=1e-5)
    assert formula["predicted"] == labels[expected.argmax()]
    assert empty.keys() == first.keys()
    assert {empty[name] for name in ("predicted", f"p({labels[0]})")} == {None}


def test_a_pair_needs_both_texts(explorer, table, tmp_path):
    found = predicted(explorer, table, tmp_path, ("said", "more"))
    assert found.num_empty == 2
    expected, _ = predict_rows(explorer, ["the cat sat", "=e e"], ["a, mat", "on"])
    assert found.counts.sum() == 2
    assert found.first[1].value == pytest.approx(expected[1].max(), abs=1e-6)


def test_only_the_beginning_of_a_large_table_is_shown(explorer, tmp_path):
    lines = ["id,said", *(f"{i},a cat {'e ' * (i % 3)}" for i in range(53))]
    found = predicted(explorer, read_table("\n".join(lines).encode()), tmp_path)
    assert len(found.first) == NUM_FIRST
    assert found.counts.sum() == 53
    assert len(rows_of(tmp_path / "out.csv")) == 54


def test_what_cannot_be_predicted_is_a_sentence(explorer, table, tmp_path):
    with pytest.raises(TrainingError, match="stored"):
        predicted(explorer, table, tmp_path / "no")
    table = read_table(b"id,said,none\n1,a,\n2,b,\n")
    for name, words in (("none", "none"), ("text", "no such column")):
        with pytest.raises(DatasetError, match=words):
            predicted(explorer, table, tmp_path, (name, None))


def test_predictions_that_do_not_fit_on_the_disk_leave_the_old_file(
    explorer, table, tmp_path, monkeypatch
):
    path = tmp_path / "out.csv"
    path.write_text("old")

    def refuse(_, file):
        file.write("half of it")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(PredictedTable, "write_csv", refuse)
    with pytest.raises(TrainingError, match="No space left"):
        predicted(explorer, table, tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["out.csv"]
    assert path.read_text() == "old"
