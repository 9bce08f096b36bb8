"""A table of a user's, predicted row by row, as a file."""

import csv
import dataclasses
import io

import numpy as np
import pytest

from bertviz_core.errors import DatasetError, TrainingError
from bertviz_core.explorer import Explorer
from bertviz_core.finetune import table_prediction
from bertviz_core.finetune.prediction_file import write_predictions
from bertviz_core.finetune.row_prediction import predict_rows
from bertviz_core.finetune.table import read_table
from bertviz_core.finetune.table_prediction import NUM_FIRST, predict_table

LINES = ["id,said,more", '1,the cat sat,"a, mat"', "2,,x", "3,=e e,on", "4,cats,"]


@pytest.fixture
def table():
    return read_table("\n".join(LINES).encode())


def rows_of(path):
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")  # Excel needs it
    text = path.read_bytes().decode("utf-8-sig")
    return list(csv.reader(io.StringIO(text)))


def test_each_row_with_a_text_has_what_the_model_says_of_it(explorer, table, tmp_path):
    path = tmp_path / "out.csv"
    found = predict_table(explorer, table, ("said", None), 0, path)
    expected = predict_rows(explorer, ["the cat sat", "=e e", "cats"]).outputs
    header, *rows = rows_of(path)
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
    np.testing.assert_allclose(
        [row.value for row in found.first], expected.max(axis=1), atol=1e-6
    )


def test_classes_that_are_numbers_are_no_formulas(explorer, table, tmp_path):
    labels = tuple(f"{index - 5:+d}" for index in range(10))
    loaded = dataclasses.replace(explorer.loaded, labels=labels)
    found = predict_table(
        Explorer(loaded), table, ("said", None), 0, tmp_path / "out.csv"
    )
    said = [row[3] for row in rows_of(tmp_path / "out.csv")[1:]]
    assert [said[0], said[2], said[3]] == [row.label for row in found.first]
    assert set(said) <= {"", *labels}


def test_a_pair_needs_both_texts(explorer, table, tmp_path):
    found = predict_table(explorer, table, ("said", "more"), 0, tmp_path / "out.csv")
    assert found.num_empty == 2
    expected = predict_rows(explorer, ["the cat sat", "=e e"], ["a, mat", "on"])
    assert found.counts.sum() == 2
    assert found.first[1].value == pytest.approx(expected.outputs[1].max(), abs=1e-6)


def test_only_the_beginning_of_a_large_table_is_shown(explorer, tmp_path):
    lines = ["id,said", *(f"{i},a cat {'e ' * (i % 3)}" for i in range(53))]
    table = read_table("\n".join(lines).encode())
    found = predict_table(explorer, table, ("said", None), 0, tmp_path / "out.csv")
    assert len(found.first) == NUM_FIRST
    assert found.counts.sum() == 53
    assert len(rows_of(tmp_path / "out.csv")) == 54


def test_a_column_without_texts_and_one_that_is_absent_are_sentences(
    explorer, tmp_path
):
    table = read_table(b"id,said,none\n1,a,\n2,b,\n")
    with pytest.raises(DatasetError, match="none"):
        predict_table(explorer, table, ("none", None), 0, tmp_path / "out.csv")
    with pytest.raises(DatasetError, match="no such column"):
        predict_table(explorer, table, ("text", None), 0, tmp_path / "out.csv")


def test_a_disk_that_takes_nothing_is_a_sentence(explorer, table, tmp_path):
    with pytest.raises(TrainingError, match="stored"):
        predict_table(explorer, table, ("said", None), 0, tmp_path / "no" / "out.csv")


def test_a_predicted_number_is_written_whole():
    file, cells = io.StringIO(), np.array([["a"], ["b"]], object)
    outputs = np.array([[1234567], [0.1]], "float32")
    write_predictions(file, ("text",), cells, ("price",), outputs, True)
    rows = list(csv.reader(io.StringIO(file.getvalue())))
    assert rows == [["text", "predicted"], ["a", "1234567"], ["b", "0.1"]]


def test_predictions_that_do_not_fit_on_the_disk_leave_the_old_file(
    explorer, table, tmp_path, monkeypatch
):
    path = tmp_path / "out.csv"
    path.write_text("old")

    def refuse(file, *_):
        file.write("half of it")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(table_prediction, "write_predictions", refuse)
    with pytest.raises(TrainingError, match="No space left"):
        predict_table(explorer, table, ("said", None), 0, path)
    assert [file.name for file in tmp_path.iterdir()] == ["out.csv"]
    assert path.read_text() == "old"
