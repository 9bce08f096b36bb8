"""Coverage, prediction files and change of attention, by hand."""

import csv
import io

import numpy as np
import pytest

from bertviz_core.analysis.attention_change import head_change
from bertviz_core.finetune.metrics import coverage_at, wilson_interval
from bertviz_core.finetune.row_prediction import PredictedTable

SURE = np.array([0.5, 0.9, 0.7, 0.9, 0.6])
RIGHT = np.array([False, True, False, False, True])


def test_a_threshold_answers_rows_that_are_at_least_so_sure():
    thresholds = np.array([0.0, 0.5, 0.6, 0.7, 0.9, 0.95])
    found = coverage_at(SURE, RIGHT, thresholds, np.arange(5))
    np.testing.assert_allclose(found.coverage, [1, 1, 4 / 5, 3 / 5, 2 / 5, 0])
    np.testing.assert_allclose(
        found.accuracy, [2 / 5, 2 / 5, 2 / 4, 1 / 3, 1 / 2, np.nan]
    )
    np.testing.assert_allclose(found.intervals[2], wilson_interval(2, 4))
    np.testing.assert_allclose(found.intervals[5], [0, 1])
    # Texts that stand three times count once.
    texts = np.arange(15) // 3
    copied = (np.repeat(part, 3) for part in (SURE, RIGHT))
    again = coverage_at(*copied, thresholds, texts)
    np.testing.assert_allclose(again.coverage, found.coverage)
    np.testing.assert_allclose(again.intervals, found.intervals)


def written(*arguments):
    file = io.StringIO(newline="")
    PredictedTable(*arguments).write_csv(file)
    return list(csv.reader(io.StringIO(file.getvalue(), newline="")))


def test_a_prediction_file_keeps_the_table_and_adds_class_and_probabilities():
    cells = np.array([["a,b", "x\ny"], ["红", "2"], ["", ""]], object)
    outputs = np.array([[0.25, 0.75], [0.5, 0.5], [np.nan, np.nan]])
    assert written(("text", "p(no)"), cells, ("no", "yes"), outputs, 0) == [
        ["text", "p(no)", "predicted", "p(no) 2", "p(yes)"],
        ["a,b", "x\ny", "yes", "0.250000", "0.750000"],
        ["红", "2", "no", "0.500000", "0.500000"],
        ["", "", "", "", ""],
    ]


def test_numbers_are_written_whole():
    cells = np.array([["a"], ["b"], ["c"]], object)
    outputs = np.array([[-2.5], [1234567], [0.1]], "float32")
    found = written(("t",), cells, ("price",), outputs, True)
    expected = [["t", "predicted"], ["a", "-2.5"], ["b", "1234567"], ["c", "0.1"]]
    assert found == expected


def test_attention_that_went_elsewhere_is_counted_by_head():
    before = np.array([[[[1.0, 0.0], [0.5, 0.5]], [[0.2, 0.8], [0.0, 1.0]]]])
    after = np.array([[[[0.0, 1.0], [0.5, 0.5]], [[0.4, 0.6], [0.0, 1.0]]]])
    np.testing.assert_allclose(head_change(before, after), [[0.5, 0.1]])
    eye = np.eye(3)[None, None]  # nothing in common is one
    np.testing.assert_allclose(head_change(eye, np.roll(eye, 1, axis=-1)), [[1.0]])
    with pytest.raises(ValueError, match="alike"):
        head_change(eye, eye[..., :2, :])
