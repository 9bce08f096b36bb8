import numpy as np
import pytest

from bertviz_core.analysis.attention import (
    group_words,
    merge_labels,
    merge_words,
    segment_tokens,
    select_tokens,
    share_of_row,
    threshold_mass,
    threshold_weight,
)

SEGMENTS = np.array([0, 0, 0, 1, 1])
ROW = np.array([[0.1, 0.4, 0.05, 0.25, 0.2]])


def random_attention(*shape, seed=3):
    weights = np.random.default_rng(seed).exponential(size=shape)
    return weights / weights.sum(axis=-1, keepdims=True)


def test_a_segment_pair_takes_rows_of_one_text_and_columns_of_the_other():
    attention = random_attention(2, 3, 5, 5)
    shown = select_tokens(
        attention, segment_tokens(SEGMENTS, 0), segment_tokens(SEGMENTS, 1)
    )
    np.testing.assert_array_equal(shown, attention[:, :, :3, 3:])
    assert segment_tokens(SEGMENTS, None).tolist() == [True] * 5


def test_hidden_tokens_take_their_weight_with_them_unless_it_is_shared_anew():
    columns = np.array([False, True, True, False, True])
    rows = np.array([True])
    plain = select_tokens(ROW, rows, columns)
    np.testing.assert_allclose(plain, [[0.4, 0.05, 0.2]])
    shared = select_tokens(ROW, rows, columns, renormalise=True)
    np.testing.assert_allclose(shared, [[0.4 / 0.65, 0.05 / 0.65, 0.2 / 0.65]])


def test_a_row_with_nothing_left_stays_zero_without_a_warning():
    assert share_of_row(np.array([[0.0, 0.0], [1.0, 3.0]])).tolist() == [
        [0.0, 0.0],
        [0.25, 0.75],
    ]


def test_a_weight_equal_to_the_threshold_stays():
    np.testing.assert_array_equal(
        threshold_weight(ROW, 0.2), [[0.0, 0.4, 0.0, 0.25, 0.2]]
    )


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


def test_of_equal_weights_the_left_one_reaches_the_mass_first():
    assert threshold_mass(np.array([[0.25, 0.25, 0.25, 0.25]]), 0.5).tolist() == [
        [0.25, 0.25, 0.0, 0.0]
    ]


def test_all_of_the_mass_keeps_a_weight_too_small_to_move_the_sum():
    row = np.array([[1e-12, 1.0, 1e-20]], "float32")
    np.testing.assert_array_equal(threshold_mass(row, 1), row)


def test_every_row_of_every_head_keeps_its_own_mass():
    attention = random_attention(3, 4, 6, 7)
    shown = threshold_mass(attention, 0.6)
    for place in np.ndindex(3, 4, 6):
        ordered = sorted(attention[place], reverse=True)
        fewest = next(n for n in range(1, 8) if sum(ordered[:n]) >= 0.6)
        assert sorted(shown[place], reverse=True)[:fewest] == ordered[:fewest]
        assert np.count_nonzero(shown[place]) == fewest


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


@pytest.mark.parametrize("mass", [0.05, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("digits", [1, 2, 9])
def test_weights_are_kept_as_if_taken_one_by_one(mass, digits):
    """Few digits make many equal weights, also at the line."""
    attention = np.round(random_attention(2, 3, 40, 40), digits).astype("float32")
    attention[0, 0, 0] = 0
    expected = [kept_by_place(row, mass) for row in attention.reshape(-1, 40)]
    shown = threshold_mass(attention, mass)
    np.testing.assert_array_equal(shown.reshape(-1, 40), expected)
    assert shown.dtype == attention.dtype


@pytest.mark.parametrize("mass", [0.0, -0.1, 1.01])
def test_a_mass_outside_its_range_is_refused(mass):
    with pytest.raises(ValueError, match="mass"):
        threshold_mass(ROW, mass)


def test_pieces_of_a_word_are_one_group_and_special_tokens_stand_alone():
    word_ids = np.array([-1, 0, 1, 1, 1, -1, 0, -1, -1])
    segments = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1])
    assert group_words(word_ids, segments).tolist() == [0, 1, 2, 2, 2, 3, 4, 5, 6]


def test_the_same_word_number_in_two_segments_is_two_words():
    assert group_words(np.array([0, 0]), np.array([0, 1])).tolist() == [0, 1]


def test_words_sum_to_columns_and_average_from_rows():
    attention = random_attention(2, 3, 5, 5)
    groups = np.array([0, 1, 1, 1, 2])
    merged = merge_words(attention, groups)
    assert merged.shape == (2, 3, 3, 3)
    for place in np.ndindex(2, 3):
        for a in range(3):
            for b in range(3):
                block = attention[place][groups == a][:, groups == b]
                expected = block.sum(axis=1).mean()
                assert merged[place][a, b] == pytest.approx(expected, abs=1e-12)


def test_rows_of_words_still_sum_to_1_in_the_precision_of_the_model():
    attention = random_attention(2, 3, 200, 200).astype("float32")
    merged = merge_words(attention, np.arange(200) // 3)
    assert merged.dtype == np.float32
    np.testing.assert_allclose(merged.sum(axis=-1), 1, rtol=0, atol=1e-6)


def test_chinese_characters_merge_by_any_spans_that_are_given():
    tokens = ("[CLS]", "我", "爱", "北", "京", "[SEP]")
    groups = group_words(np.array([-1, 7, 2, 5, 5, -1]), np.zeros(6, int))
    assert merge_labels(tokens, groups) == ("[CLS]", "我", "爱", "北京", "[SEP]")


def test_labels_of_words_lose_the_signs_between_their_pieces_only():
    groups = np.array([0, 0, 0, 1])
    assert merge_labels(("em", "##bed", "##ding", "##s"), groups) == (
        "embedding",
        "##s",
    )


@pytest.mark.parametrize("groups", [[1, 1, 2], [0, 2, 2], [0, 1, 0], [0, 1]])
def test_groups_that_do_not_number_words_are_refused(groups):
    with pytest.raises(ValueError, match="groups"):
        merge_words(random_attention(3, 3), np.array(groups))
