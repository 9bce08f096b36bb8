import numpy as np
import pytest

from bertviz_core.analysis.shown_attention import (
    MASK,
    SPECIAL,
    UNKNOWN,
    WORD,
    AttentionOptions,
    show_attention,
    show_heads,
)
from bertviz_core.trace import TokenizedText

TOKENS = ("[CLS]", "play", "##ing", "[MASK]", "[SEP]", "[UNK]", "on", "[SEP]")
SEGMENTS = np.array([0, 0, 0, 0, 0, 1, 1, 1])
MERGED = ("[CLS]", "playing", "[MASK]", "[SEP]", "[UNK]", "on", "[SEP]")


@pytest.fixture
def tokenized():
    return TokenizedText(
        text="playing [MASK]",
        pair="? on",
        tokens=TOKENS,
        input_ids=np.array([3, 9, 10, 5, 4, 2, 11, 4]),
        token_type_ids=SEGMENTS,
        offsets=np.zeros((8, 2), int),
        word_ids=np.array([-1, 0, 0, 1, -1, 0, 1, -1]),
        unk_token_id=2,
        mask_token_id=5,
        num_tokens_uncut=8,
    )


@pytest.fixture
def matrix():
    values = np.random.default_rng(3).random((8, 8))
    return values / values.sum(axis=1, keepdims=True)


def test_without_options_everything_is_shown_as_it_is(matrix, tokenized):
    shown = show_attention(matrix, tokenized, AttentionOptions())
    np.testing.assert_array_equal(shown.values, matrix)
    assert shown.places.labels == TOKENS
    assert shown.left_out == pytest.approx(0)
    kinds = (SPECIAL, WORD, WORD, MASK, SPECIAL, UNKNOWN, WORD, SPECIAL)
    assert shown.places.kinds == kinds


def test_merged_words_keep_rows_that_sum_to_one(matrix, tokenized):
    shown = show_attention(matrix, tokenized, AttentionOptions(merge_words=True))
    assert shown.places.labels == MERGED
    np.testing.assert_allclose(shown.values.sum(axis=1), 1)
    assert shown.values[0, 1] == pytest.approx(matrix[0, 1] + matrix[0, 2])
    assert shown.values[1, 0] == pytest.approx((matrix[1, 0] + matrix[2, 0]) / 2)
    # Words that were put together before stay as they are.
    options = AttentionOptions(merge_words=True, hide_special=True)
    again = show_attention(shown.values, tokenized, options)
    expected = show_attention(matrix, tokenized, options)
    np.testing.assert_array_equal(again.values, expected.values)
    assert again.places.labels == expected.places.labels


def test_hidden_signs_take_their_weight_with_them(matrix, tokenized):
    shown = show_attention(matrix, tokenized, AttentionOptions(hide_special=True))
    kept = [1, 2, 3, 5, 6]
    np.testing.assert_array_equal(shown.values, matrix[np.ix_(kept, kept)])
    of_signs = matrix[kept][:, [0, 4, 7]].sum() / 5
    assert shown.left_out == pytest.approx(of_signs)
    options = AttentionOptions(hide_special=True, renormalise=True)
    shared = show_attention(matrix, tokenized, options)
    sums = shown.values.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shared.values, shown.values / sums)
    assert shared.left_out == 0


def test_a_segment_filter_shows_one_text_looking_at_the_other(matrix, tokenized):
    options = AttentionOptions(from_segment=1, to_segment=0)
    shown = show_attention(matrix, tokenized, options)
    np.testing.assert_array_equal(shown.values[5:, :5], matrix[5:, :5])
    assert not shown.values[:5].any()
    assert not shown.values[:, 5:].any()
    assert shown.left_out == pytest.approx(matrix[5:, 5:].sum() / 3)


def test_thresholds_leave_the_large_weights(matrix, tokenized):
    shown = show_attention(matrix, tokenized, AttentionOptions(least_weight=0.1))
    np.testing.assert_array_equal(shown.values, np.where(matrix >= 0.1, matrix, 0))
    half = show_attention(matrix, tokenized, AttentionOptions(mass=0.5))
    assert (half.values.sum(axis=1) >= 0.5).all()
    assert ((half.values > 0).sum(axis=1) < 8).all()
    # A share is of the largest, whatever the unit.
    share = show_attention(20 * matrix, tokenized, AttentionOptions(least_share=0.5))
    expected = np.where(matrix >= matrix.max() / 2, 20 * matrix, 0)
    np.testing.assert_allclose(share.values, expected)


@pytest.mark.parametrize(
    "options",
    [
        AttentionOptions(merge_words=True, hide_special=True),
        AttentionOptions(from_segment=0, to_segment=1, renormalise=True),
        AttentionOptions(least_weight=0.1),
        AttentionOptions(hide_special=True, renormalise=True, mass=0.6),
        AttentionOptions(least_share=0.5),
    ],
)
def test_many_heads_are_filtered_as_each_is(tokenized, options):
    heads = np.random.default_rng(5).dirichlet(np.ones(8), (2, 3, 8)).astype("float32")
    found = show_heads(heads, tokenized, options)
    for place in np.ndindex(2, 3):
        one = show_attention(heads[place], tokenized, options).values
        np.testing.assert_array_equal(found[place], one)


@pytest.mark.parametrize("hide", [False, True])
def test_pieces_of_a_word_are_a_group(matrix, tokenized, hide):
    options = AttentionOptions(hide_special=hide)
    groups = show_attention(matrix, tokenized, options).places.groups
    play = 0 if hide else 1
    assert groups[play] == groups[play + 1]
    assert len(set(groups.tolist())) == len(groups) - 1
    merged = show_attention(matrix, tokenized, AttentionOptions(merge_words=True))
    assert len(set(merged.places.groups.tolist())) == len(MERGED)


@pytest.mark.parametrize(
    ("options", "token", "place"),
    [
        (AttentionOptions(), 2, 2),
        (AttentionOptions(merge_words=True), 2, 1),
        (AttentionOptions(hide_special=True), 5, 3),
        (AttentionOptions(hide_special=True), 4, None),
    ],
)
def test_a_token_is_found_where_it_is_shown(matrix, tokenized, options, token, place):
    assert show_attention(matrix, tokenized, options).places.place_of(token) == place
