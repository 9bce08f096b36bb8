import dataclasses

import numpy as np
import pytest

from bertviz_core.analysis.attention import group_words
from bertviz_core.chinese_words import (
    as_one_mask,
    characters_along,
    is_character,
    neighbouring_masks,
    with_words,
)
from bertviz_core.errors import TextError
from bertviz_core.mask_text import split_words
from bertviz_core.trace import TokenizedText


def tokenized(text):
    """A token for each word, between two that a model adds."""
    words = split_words(text)
    return TokenizedText(
        text=text,
        pair=None,
        tokens=("[CLS]", *(word.text for word in words), "[SEP]"),
        input_ids=np.array([7, *(9 if word.is_mask else 1 for word in words), 8]),
        token_type_ids=np.zeros(len(words) + 2, int),
        offsets=np.array([(0, 0), *((w.start, w.end) for w in words), (0, 0)]),
        word_ids=np.array([-1, *range(len(words)), -1]),
        unk_token_id=0,
        mask_token_id=9,
        num_tokens_uncut=len(words) + 2,
    )


def test_a_character_is_one_that_the_tokenizer_sets_apart():
    assert all(map(is_character, "红〇"[:1]))
    assert is_character("\U00020001")
    assert not any(map(is_character, ("a", "，", "か", "红色", "", "5")))


@pytest.mark.parametrize(
    ("text", "index", "size", "expected"),
    [
        ("我喜欢吃苹果。", 4, 2, [4, 5]),
        ("我喜欢吃苹果。", 4, 4, [4, 5]),  # a full stop ends the word
        ("我喜欢吃苹果。", 0, 3, [0, 1, 2]),
        ("我喜欢吃苹果。", 6, 2, [6]),  # a full stop is no word
        ("我 喜欢", 0, 2, [0]),  # a space ends the word
        ("I like 苹果", 0, 3, [0]),
        ("吃[MASK][MASK]果", 1, 4, [1, 2]),
        ("吃[MASK] [MASK]果", 1, 4, [1]),
    ],
)
def test_a_word_goes_on_with_neighbours_of_its_kind(text, index, size, expected):
    assert characters_along(split_words(text), index, size) == expected


@pytest.mark.parametrize(
    ("mask_index", "expected", "one"),
    [
        (0, range(1), "[MASK]吃[MASK][MASK] [MASK]!"),
        (1, range(1, 3), "[MASK]吃[MASK] [MASK]!"),
        (2, range(1, 3), "[MASK]吃[MASK] [MASK]!"),
        (3, range(3, 4), "[MASK]吃[MASK][MASK] [MASK]!"),
    ],
)
def test_masks_side_by_side_stand_for_one_word(mask_index, expected, one):
    text = tokenized("[MASK]吃[MASK][MASK] [MASK]!")
    group = neighbouring_masks(text, mask_index)
    assert group == expected
    assert as_one_mask(text, group) == one


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("我喜欢吃苹果", "我 喜欢 吃 苹果", [-1, 0, 1, 1, 2, 3, 3, -1]),
        ("我 喜欢", " 我喜  欢 ", [-1, 0, 0, 1, -1]),
        ("北[MASK]好", "北[MASK] 好", [-1, 0, 0, 1, -1]),
        ("北京", "  ", [-1, 0, 1, -1]),
    ],
)
def test_the_reader_says_where_words_end(text, words, expected):
    before = tokenized(text)
    found = with_words(before, words)
    assert found.word_ids.tolist() == expected
    assert found.tokens == before.tokens


def test_a_typed_separator_is_never_part_of_a_word():
    before = dataclasses.replace(
        tokenized("北京好"),
        text="北[SEP]好",
        tokens=("[CLS]", "北", "[SEP]", "好", "[SEP]"),
        offsets=np.array([(0, 0), (0, 1), (1, 6), (6, 7), (0, 0)]),
    )
    word_ids = with_words(before, "北[SEP]好").word_ids
    types = before.token_type_ids
    assert group_words(word_ids, types).tolist() == [0, 1, 2, 3, 4]
    assert (word_ids < 0).tolist() == [True, False, False, False, True]


def test_each_text_of_a_pair_has_its_own_words():
    both = dataclasses.replace(
        tokenized("北京大学"),
        pair="很好",
        text="北京",
        token_type_ids=np.array([0, 0, 0, 1, 1, 1]),
        offsets=np.array([(0, 0), (0, 1), (1, 2), (0, 1), (1, 2), (0, 0)]),
    )
    assert with_words(both, "", "很好").word_ids.tolist() == [-1, 0, 1, 0, 0, -1]
    assert with_words(both, "北京", "很 好").word_ids.tolist() == [-1, 0, 0, 0, 1, -1]


@pytest.mark.parametrize(
    ("words", "received", "expected"),
    [("北 东", "“东”", "“京”"), ("北", "“”", "“京”"), ("北 京 市", "“市”", "“”")],
)
def test_words_that_are_not_the_text_are_refused(words, received, expected):
    with pytest.raises(TextError) as error:
        with_words(tokenized("北京"), words)
    assert f"Received: {received}, where the text has {expected}" in str(error.value)
