import csv
import dataclasses
import io
import json

import numpy as np
import pytest

from bertviz_core.errors import DatasetError, TrainingError
from bertviz_core.explorer import Explorer
from bertviz_core.finetune.row_prediction import (
    NUM_FIRST,
    PredictedTable,
    predict_rows,
    predict_table,
)
from bertviz_core.finetune.table import read_table

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
    expected = predict_rows(explorer, ["the cat sat", "=e e", "cats"]).outputs
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
    (expected,) = predict_rows(explorer, [formula["said"]]).outputs
    probabilities = [formula[f"p({label})"] for label in labels]
    np.testing.assert_allclose(probabilities, expected, rtol=1e-5)
    assert formula["predicted"] == labels[expected.argmax()]
    assert empty.keys() == first.keys()
    assert {empty[name] for name in ("predicted", f"p({labels[0]})")} == {None}


def test_classes_that_are_numbers_are_no_formulas(explorer, table, tmp_path):
    labels = tuple(f"{index - 5:+d}" for index in range(10))
    loaded = dataclasses.replace(explorer.loaded, labels=labels)
    found = predicted(Explorer(loaded), table, tmp_path)
    said = [row[3] for row in rows_of(tmp_path / "out.csv")[1:]]
    assert [said[0], said[2], said[3]] == [row.label for row in found.first]
    assert set(said) <= {"", *labels}


def test_a_pair_needs_both_texts(explorer, table, tmp_path):
    found = predicted(explorer, table, tmp_path, ("said", "more"))
    assert found.num_empty == 2
    expected = predict_rows(explorer, ["the cat sat", "=e e"], ["a, mat", "on"])
    assert found.counts.sum() == 2
    assert found.first[1].value == pytest.approx(expected.outputs[1].max(), abs=1e-6)


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
