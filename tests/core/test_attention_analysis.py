"""Matrices of attention: filtered, merged, joined over layers, and compared."""

import itertools

import numpy as np
import pytest

from bertviz_core.analysis.aggregation import (
    attention_flow,
    max_of_heads,
    mean_of_heads,
    rollout,
)
from bertviz_core.analysis.attention import (
    group_words,
    merge_labels,
    merge_words,
    share_of_row,
    threshold_mass,
    threshold_weight,
)
from bertviz_core.analysis.comparison import align_tokens, attention_difference
from bertviz_core.analysis.shown_attention import (
    MASK,
    SPECIAL,
    UNKNOWN,
    WORD,
    AttentionOptions,
    show_attention,
    show_heads,
)
from bertviz_core.tokenizer import BertTokenizer
from tests.core.random_models import VOCABULARY


def random_attention(*shape, seed=3):
    weights = np.random.default_rng(seed).exponential(size=shape)
    return weights / weights.sum(axis=-1, keepdims=True)


def test_a_row_with_nothing_left_stays_zero_without_a_warning():
    rows = np.array([[0.0, 0.0], [1.0, 3.0]])
    assert share_of_row(rows).tolist() == [[0.0, 0.0], [0.25, 0.75]]


def test_a_weight_at_the_threshold_stays_and_all_of_the_mass_is_every_weight():
    row = np.array([[0.1, 0.4, 0.05, 0.25, 0.2]])
    least = threshold_weight(row, 0.2)
    np.testing.assert_array_equal(least, [[0.0, 0.4, 0.0, 0.25, 0.2]])
    tiny = np.array([[1e-12, 1.0, 1e-20]], "float32")
    np.testing.assert_array_equal(threshold_mass(tiny, 1), tiny)
    for wrong in (0.0, -0.1, 1.01):
        with pytest.raises(ValueError, match="mass"):
            threshold_mass(row, wrong)


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
    for *place, a, b in np.ndindex(2, 3, 3, 3):
        block = attention[*place][groups == a][:, groups == b]
        assert merged[*place, a, b] == pytest.approx(block.sum(axis=1).mean(), abs=1e-6)


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


TOKENS = ("[CLS]", "cat", "##s", "[MASK]", "[SEP]", "[UNK]", "on", "[SEP]")
MERGED = ("[CLS]", "cats", "[MASK]", "[SEP]", "[UNK]", "on", "[SEP]")


@pytest.fixture(scope="module")
def tokenized():
    return BertTokenizer(VOCABULARY).encode("cats [MASK]", "? on")


@pytest.fixture
def matrix():
    return random_attention(8, 8)


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


L, N, T = 3, 4, 4


@pytest.fixture
def attention():
    return random_attention(L, N, T, T, seed=8).astype("float32")


@pytest.mark.parametrize("heads", [[(0, 2), (2, 1)], list(np.ndindex(L, N))])
def test_the_mean_and_the_maximum_go_over_the_chosen_heads(attention, heads):
    chosen = np.zeros((L, N), bool)
    for place in heads:
        chosen[place] = True
    flat = np.stack([attention[place] for place in heads]).astype("float64")
    for given in (chosen, None) if chosen.all() else (chosen,):
        mean = mean_of_heads(attention, given)
        np.testing.assert_allclose(mean, flat.mean(0), atol=1e-7)
    if chosen.all():
        np.testing.assert_array_equal(max_of_heads(attention), flat.max(0))


@pytest.mark.parametrize("chosen", [np.zeros((L, N)), np.ones((N, L))])
def test_a_choice_of_no_head_or_of_another_model_is_refused(attention, chosen):
    with pytest.raises(ValueError, match="chosen"):
        mean_of_heads(attention, chosen)


def test_rollout_multiplies_the_layers_from_the_input_up(attention):
    expected, reached = [], np.eye(T)
    for layer in attention.astype("float64"):
        reached = (np.eye(T) + layer.mean(0)) / 2 @ reached
        expected.append(reached)
    np.testing.assert_allclose(rollout(attention), expected, atol=1e-6)


def _smallest_cut(layers, sources, sinks):
    """What max-flow min-cut says, over every set of tokens between: slow and sure."""
    depth, tokens = layers.shape[:2]
    sides = [np.isin(np.arange(tokens), sinks, invert=True)]  # not the sink: free
    cuts = []
    for flat in itertools.product((False, True), repeat=(depth - 1) * tokens):
        between = np.array(flat, bool).reshape(depth - 1, tokens)
        # True: on the source's side. At the ends, what is neither costs nothing.
        cut = [sides[0], *between, np.isin(np.arange(tokens), sources)]
        cuts.append(
            sum(layers[i][np.ix_(cut[i + 1], ~cut[i])].sum() for i in range(depth))
        )
    return min(cuts)


def test_flow_is_the_smallest_cut_between_two_tokens(attention):
    layers = (np.eye(T) + attention.astype("float64").mean(axis=1)) / 2
    found = attention_flow(attention)
    expected = [[_smallest_cut(layers, [i], [j]) for j in range(T)] for i in range(T)]
    np.testing.assert_allclose(found, expected, atol=1e-7)
    np.testing.assert_allclose(attention_flow(attention[:1]), layers[0], atol=1e-7)


def test_flow_of_words_is_that_of_their_pieces_together(attention):
    layers = (np.eye(T) + attention.astype("float64").mean(axis=1)) / 2
    words = [[0], [1, 2], [3]]
    found = attention_flow(attention, groups=np.array([0, 1, 1, 2]))
    expected = [
        [_smallest_cut(layers, one, other) / len(one) for other in words]
        for one in words
    ]
    np.testing.assert_allclose(found, np.minimum(expected, 1), atol=1e-7)


def paired(alignment):
    return list(zip(alignment.first.tolist(), alignment.second.tolist(), strict=True))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("", "", []),
        ("a", "", []),
        ("a", "b", [(0, 0)]),
        ("ab", "c", []),
        ("abac", "ac", [(2, 0), (3, 1)]),
        # A replaced word is paired with what replaced it.
        ("axbc", "aybc", [(0, 0), (1, 1), (2, 2), (3, 3)]),
        ("abc", "axybcz", [(0, 0), (1, 3), (2, 4)]),
    ],
)
def test_texts_are_aligned_word_by_word(first, second, expected):
    alignment = align_tokens(list(first), list(second))
    assert paired(alignment) == expected
    same = [first[i] == second[j] for i, j in expected]
    assert alignment.is_same.tolist() == same


def longest_common(first, second):
    """Length by trying every choice of tokens."""
    return max(
        size
        for size in range(len(first) + 1)
        for kept in itertools.combinations(first, size)
        if kept in set(itertools.combinations(second, size))
    )


@pytest.mark.parametrize("seed", range(12))
def test_no_other_alignment_has_more_equal_tokens(seed):
    rng = np.random.default_rng(seed)
    first = rng.choice(list("abc"), rng.integers(0, 7)).tolist()
    second = rng.choice(list("abcd"), rng.integers(0, 8)).tolist()
    alignment = align_tokens(first, second)
    # Tokens that were paired as replaced are never the same by chance.
    assert alignment.is_same.sum() == longest_common(first, second)
    assert (np.diff(alignment.first) > 0).all()
    assert (np.diff(alignment.second) > 0).all()
    covered = sorted([*alignment.first, *alignment.only_first])
    assert covered == list(range(len(first)))
    covered = sorted([*alignment.second, *alignment.only_second])
    assert covered == list(range(len(second)))


def test_the_difference_is_second_minus_first_on_pairs_and_names_the_rest():
    rng = np.random.default_rng(2)
    one, other = rng.dirichlet(np.ones(4), (2, 3, 4))[:2]
    replaced = align_tokens(list("abcd"), list("abxd"))
    found = attention_difference(one, other, replaced)
    np.testing.assert_allclose(found.values, other - one)
    first, second = rng.dirichlet(np.ones(3), (2, 3)), rng.dirichlet(np.ones(5), (2, 5))
    alignment = align_tokens(["a", "x", "b"], ["a", "b", "p", "q", "r"])
    result = attention_difference(first, second, alignment)
    assert paired(alignment) == [(0, 0), (2, 1)]
    i, j = alignment.first, alignment.second
    expected = second[:, j][:, :, j] - first[:, i][:, :, i]
    np.testing.assert_allclose(result.values, expected)
    np.testing.assert_allclose(result.outside_first, first[:, i, 1])
    np.testing.assert_allclose(result.outside_second, second[:, j, 2:].sum(-1))
    # Nothing is lost: what rows gain on pairs, they lose outside.
    moved = result.values.sum(-1) + result.outside_second - result.outside_first
    np.testing.assert_allclose(moved, 0, atol=1e-12)


def test_attention_to_tokens_without_a_partner_counts_as_one_place():
    first = np.array([[0.5, 0.5, 0.0], [0.25, 0.25, 0.5], [1.0, 0.0, 0.0]])
    second = np.array([[1.0, 0.0], [0.5, 0.5]])
    alignment = align_tokens(["a", "x", "b"], ["a", "b"])
    # From a: 0.5, 0.5 outside, 0.0 against 1, 0, 0; from b: 1 against 0.5, 0.5.
    assert attention_difference(first, second, alignment).distances == 0.5


def test_attention_that_went_elsewhere_is_counted_by_head():
    before = np.array([[[[1.0, 0.0], [0.5, 0.5]], [[0.2, 0.8], [0.0, 1.0]]]])
    after = np.array([[[[0.0, 1.0], [0.5, 0.5]], [[0.4, 0.6], [0.0, 1.0]]]])
    same = align_tokens("ab", "ab")
    found = attention_difference(before, after, same).distances
    np.testing.assert_allclose(found, [[0.5, 0.1]])
    eye = np.eye(3)[None, None]  # nothing in common is one
    moved = np.roll(eye, 1, axis=-1)
    found = attention_difference(eye, moved, align_tokens("abc", "abc")).distances
    np.testing.assert_allclose(found, [[1.0]])
