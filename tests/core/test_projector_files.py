import numpy as np
import pytest

from bertviz_core.analysis.projector_files import metadata_tsv, vectors_tsv


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_vectors_read_back_as_the_same_floats(dtype):
    points = np.random.default_rng(1).normal(size=(5, 3)).astype(dtype)
    points[0] = [0.1, -1e-7, 3e20]
    written = vectors_tsv(points)
    assert written.endswith("\n")
    rows = [line.split("\t") for line in written[:-1].split("\n")]
    np.testing.assert_array_equal(np.array(rows).astype(dtype), points)


@pytest.mark.parametrize("points", [np.ones(3), np.array([[1, np.nan]])])
def test_what_is_not_a_table_of_numbers_is_refused(points):
    with pytest.raises(ValueError, match="points"):
        vectors_tsv(points)


NASTY = ["a\tb", "a\nb", "a\r\nb", "\\t", "\\", "", "  ", "\n", "a\\\tb"]


def unescaped(text):
    """Reads the escapes one by one, as the docstring tells them."""
    plain, rest = "", iter(text)
    meaning = {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}
    for character in rest:
        plain += meaning[next(rest)] if character == "\\" else character
    return plain


def test_no_word_breaks_a_line_or_gets_lost():
    lines = metadata_tsv({"token": NASTY}).split("\n")
    assert lines.pop() == ""
    assert lines.pop(0) == "token\trow"
    assert all(line.strip() for line in lines)  # the projector skips blank lines
    cells = [line.split("\t") for line in lines]
    assert [unescaped(token) for token, _ in cells] == NASTY
    assert [int(row) for _, row in cells] == list(range(len(NASTY)))


@pytest.mark.parametrize(
    "word", ["=cmd|' /C calc'!A0", "+A1", "-A1+3", "@SUM(A1)", "=1+1", "==", "@me hi"]
)
def test_what_a_spreadsheet_would_run_becomes_text(word):
    written = metadata_tsv({word: [word], "other": ["cat"]})
    assert written == f"'{word}\tother\trow\n'{word}\tcat\t0\n"


@pytest.mark.parametrize("word", ["=", "+", "-", "@", "-3", "+1.5", "a=1", "##-", "'"])
def test_signs_and_numbers_stay_as_they_are(word):
    assert metadata_tsv({"token": [word]}) == f"token\trow\n{word}\t0\n"


@pytest.mark.parametrize(
    "columns", [{}, {"a": [1], "b": [1, 2]}, {"row": [1]}, {"a": [1], "row": [2]}]
)
def test_columns_that_do_not_fit_are_refused(columns):
    with pytest.raises(ValueError, match="columns"):
        metadata_tsv(columns)
    written = metadata_tsv({"token": ["cat", "##红"], "layer": [3, 12]})
    assert written == "token\tlayer\trow\ncat\t3\t0\n##红\t12\t1\n"
