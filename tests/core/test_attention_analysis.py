import numpy as np
import pytest

from bertviz_core.analysis.attention import (
    group_words,
    merge_labels,
    merge_words,
    share_of_row,
    threshold_mass,
    threshold_weight,
)

ROW = np.array([[0.1, 0.4, 0.05, 0.25, 0.2]])


def random_attention(*shape, seed=3):
    weights = np.random.default_rng(seed).exponential(size=shape)
    return weights / weights.sum(axis=-1, keepdims=True)


def test_a_row_with_nothing_left_stays_zero_without_a_warning():
    rows = np.array([[0.0, 0.0], [1.0, 3.0]])
    assert share_of_row(rows).tolist() == [[0.0, 0.0], [0.25, 0.75]]


@pytest.mark.parametrize(
    ("mass", "kept"),
    [
        (0.3, [1]),
        (0.41, [1, 3]),
        (0.7, [1, 3, 4]),
        (0.9, [0, 1, 3, 4]),
        (1.0, [0, 1, 2, 3, 4]),
    ],
)
def test_a_share_of_the_mass_keeps_the_fewest_largest_weights(mass, kept):
    # Twice the row: the share is of the row's sum, whatever that is.
    for row in (ROW, 2 * ROW):
        shown = threshold_mass(row, mass)
        assert np.flatnonzero(shown[0]).tolist() == kept
        np.testing.assert_array_equal(shown[0, kept], row[0, kept])
    for wrong in (0.0, -0.1, 1.01):
        with pytest.raises(ValueError, match="mass"):
            threshold_mass(ROW, wrong)
    # A weight equal to a threshold stays.
    least = threshold_weight(ROW, 0.2)
    np.testing.assert_array_equal(least, [[0.0, 0.4, 0.0, 0.25, 0.2]])


def test_all_of_the_mass_keeps_a_weight_too_small_to_move_the_sum():
    row = np.array([[1e-12, 1.0, 1e-20]], "float32")
    np.testing.assert_array_equal(threshold_mass(row, 1), row)


def kept_by_place(row, mass):
    """Weights taken one by one, the largest first, of equal ones the left one."""
    taken, reached = np.zeros_like(row), 0.0
    line = float(mass * (-np.sort(-row)).sum())
    for place in np.argsort(-row, kind="stable"):
        if reached >= line:
            break
        taken[place] = row[place]
        reached += float(row[place])
    return taken


@pytest.mark.parametrize(
    ("mass", "digits"), [(0.05, 1), (0.5, 2), (0.9, 1), (0.999, 9)]
)
def test_weights_are_kept_as_if_taken_one_by_one(mass, digits):
    """Few digits make many equal weights, also at the line."""
    attention = np.round(random_attention(2, 3, 40, 40), digits).astype("float32")
    attention[0, 0, 0] = 0
    expected = [kept_by_place(row, mass) for row in attention.reshape(-1, 40)]
    shown = threshold_mass(attention, mass)
    np.testing.assert_array_equal(shown.reshape(-1, 40), expected)
    assert shown.dtype == attention.dtype


def test_pieces_of_a_word_are_one_group_and_special_tokens_stand_alone():
    word_ids = np.array([-1, 0, 1, 1, 1, -1, 0, -1, -1])
    segments = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1])
    assert group_words(word_ids, segments).tolist() == [0, 1, 2, 2, 2, 3, 4, 5, 6]
    # The same word number in two segments is two words.
    assert group_words(np.array([0, 0]), np.array([0, 1])).tolist() == [0, 1]


def test_words_sum_to_columns_and_average_from_rows():
    attention = random_attention(2, 3, 5, 5)
    groups = np.array([0, 1, 1, 1, 2])
    merged = merge_words(attention.astype("float32"), groups)
    assert merged.dtype == np.float32
    np.testing.assert_allclose(merged.sum(axis=-1), 1, rtol=0, atol=1e-6)
    for place in np.ndindex(2, 3):
        for a in range(3):
            for b in range(3):
                block = attention[place][groups == a][:, groups == b]
                expected = block.sum(axis=1).mean()
                assert merged[place][a, b] == pytest.approx(expected, abs=1e-6)


def test_chinese_characters_merge_by_any_spans_that_are_given():
    tokens = ("[CLS]", "我", "爱", "北", "京", "[SEP]")
    groups = group_words(np.array([-1, 7, 2, 5, 5, -1]), np.zeros(6, int))
    assert merge_labels(tokens, groups) == ("[CLS]", "我", "爱", "北京", "[SEP]")
    # Words lose the signs between their pieces only.
    pieces, groups = ("em", "##bed", "##ding", "##s"), np.array([0, 0, 0, 1])
    assert merge_labels(pieces, groups) == ("embedding", "##s")


@pytest.mark.parametrize("groups", [[1, 1, 2], [0, 2, 2], [0, 1, 0], [0, 1]])
def test_groups_that_do_not_number_words_are_refused(groups):
    with pytest.raises(ValueError, match="groups"):
        merge_words(random_attention(3, 3), np.array(groups))
