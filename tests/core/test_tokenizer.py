"""The tokenizer equals Hugging Face's; its offsets point into the text."""

import functools
import itertools
import pickle
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import transformers

from bertviz_core.checkpoints.catalogue import BUNDLED_FOLDER
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.errors import TextError
from bertviz_core.tokenizer import BertTokenizer
from tests.core.nasty_texts import NASTY_TEXTS, random_texts

BUNDLED = BUNDLED_FOLDER / DEFAULT_MODEL
RANDOM_TEXTS = random_texts(400, seed=20)
OPTIONS = [
    pytest.param(
        {
            "lower_case": lower_case,
            "strip_accents": strip_accents,
            "tokenize_chinese_chars": chinese,
        },
        id=f"{'uncased' if lower_case else 'cased'}-accents={strip_accents}"
        f"-{'chinese' if chinese else 'no-chinese'}",
    )
    for lower_case, strip_accents, chinese in itertools.product(
        (True, False), (None, True, False), (True, False)
    )
]


@functools.cache
def character_vocabulary():
    """Nearly every character of the texts, and its foldings, as two pieces each.

    With pieces for single characters, the tokens show what became of each one.
    Some are left out, so that there are unknown words too.
    """
    characters = set()
    for text in NASTY_TEXTS + RANDOM_TEXTS:
        for form in (text, text.lower()):
            for normal in ("NFC", "NFD"):
                characters.update(unicodedata.normalize(normal, form))
    kept = [c for c in sorted(characters) if ord(c) % 17 and not c.isspace()]
    pieces = [piece for c in kept for piece in (c, f"##{c}")]
    words = ["the", "capital", "of", "word", "##word", "mask", "hello", "##ing"]
    # The special tokens lie apart and in another order than usual.
    specials = ["[MASK]", "[UNK]", "[PAD]", "[SEP]", "[CLS]"]
    return (specials[0], *words, *specials[1:3], *pieces, *specials[3:])


@functools.cache
def bundled_vocabulary():
    return BertTokenizer.from_folder(BUNDLED).vocabulary


VOCABULARIES = [
    pytest.param(character_vocabulary, id="characters"),
    pytest.param(bundled_vocabulary, id="bundled"),
]


def hugging_face(vocabulary, lower_case, strip_accents, tokenize_chinese_chars):
    return transformers.BertTokenizer(
        vocab={token: index for index, token in enumerate(vocabulary)},
        do_lower_case=lower_case,
        strip_accents=strip_accents,
        tokenize_chinese_chars=tokenize_chinese_chars,
    )


def assert_same(ours, theirs, text, pair=None):
    actual = ours.encode(text, pair)
    expected = theirs(text, pair, return_offsets_mapping=True)
    about = repr((text, pair))
    assert actual.input_ids.tolist() == expected["input_ids"], about
    assert actual.token_type_ids.tolist() == expected["token_type_ids"], about
    assert list(map(tuple, actual.offsets)) == expected["offset_mapping"], about
    tokens = theirs.convert_ids_to_tokens(expected["input_ids"])
    assert list(actual.tokens) == tokens, about
    words = [-1 if word is None else word for word in expected.word_ids()]
    assert actual.word_ids.tolist() == words, about


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
@pytest.mark.parametrize("options", OPTIONS)
def test_nasty_texts_are_split_as_hugging_face_does(vocabulary, options):
    ours = BertTokenizer(vocabulary(), **options)
    theirs = hugging_face(vocabulary(), **options)
    for text in NASTY_TEXTS:
        assert_same(ours, theirs, text)


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
@pytest.mark.parametrize("options", OPTIONS[::5])
def test_random_texts_are_split_as_hugging_face_does(vocabulary, options):
    ours = BertTokenizer(vocabulary(), **options)
    theirs = hugging_face(vocabulary(), **options)
    for text in RANDOM_TEXTS:
        assert_same(ours, theirs, text)


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
@pytest.mark.parametrize("options", OPTIONS[::5])
def test_pairs_are_joined_as_hugging_face_does(vocabulary, options):
    ours = BertTokenizer(vocabulary(), **options)
    theirs = hugging_face(vocabulary(), **options)
    shifted = NASTY_TEXTS[7:] + NASTY_TEXTS[:7]
    for text, pair in zip(NASTY_TEXTS, shifted, strict=True):
        assert_same(ours, theirs, text, pair)


def test_the_texts_exercise_pieces_and_unknown_words():
    """Else the comparisons above could all be of [UNK]."""
    for vocabulary in (character_vocabulary(), bundled_vocabulary()):
        encoded = [BertTokenizer(vocabulary).encode(text) for text in NASTY_TEXTS]
        unknown = sum(one.is_unknown.sum() for one in encoded)
        pieces = sum(t.startswith("##") for one in encoded for t in one.tokens)
        assert unknown > 40
        assert pieces > 100


@pytest.fixture(scope="module")
def uncased():
    return BertTokenizer(character_vocabulary())


@pytest.fixture(scope="module")
def cased():
    return BertTokenizer(character_vocabulary(), lower_case=False)


@pytest.mark.parametrize("codes", [(0xD800,), (0xDFFF,), (0xD83D, 0xDE00)], ids=str)
def test_half_a_surrogate_pair_is_dropped_and_places_stay(uncased, codes):
    """Hugging Face's raises a TypeError; the text can only come from a program."""
    lone = "".join(map(chr, codes))
    text = f"the{lone}word {lone} mask"
    encoded = uncased.encode(text)
    clean = uncased.encode(text.translate(dict.fromkeys(codes, "\ufffd")))
    assert encoded.text == text
    assert encoded.tokens == clean.tokens
    assert (encoded.offsets == clean.offsets).all()
    start, end = encoded.offsets[-2]
    assert text[start:end] == "mask"
    assert pickle.loads(pickle.dumps(encoded)).text == text


def test_a_text_becomes_the_pieces_of_the_paper(uncased):
    encoded = uncased.encode("The capital of wording", "héllo [MASK]")
    assert encoded.tokens == (
        *("[CLS]", "the", "capital", "of", "word", "##ing", "[SEP]"),
        *("hello", "[MASK]", "[SEP]"),
    )
    assert encoded.token_type_ids.tolist() == [0] * 7 + [1] * 3
    assert encoded.word_ids.tolist() == [-1, 0, 1, 2, 3, 3, -1, 0, 1, -1]
    assert encoded.mask_positions.tolist() == [8]
    assert encoded.input_ids.tolist() == [
        uncased.vocabulary.index(token) for token in encoded.tokens
    ]
    assert not encoded.was_cut
    assert encoded.num_tokens_uncut == encoded.num_tokens == 10
    arrays = (encoded.input_ids, encoded.token_type_ids, encoded.offsets)
    assert {array.dtype for array in arrays} == {np.dtype("int32")}


def test_offsets_point_into_the_text_as_it_was_typed(cased):
    """Without folding, each piece is the characters that it stands for."""
    seen = 0
    for text in NASTY_TEXTS + RANDOM_TEXTS:
        encoded = cased.encode(text)
        for token, (start, end), is_added, is_unknown in zip(
            encoded.tokens,
            encoded.offsets,
            encoded.is_added,
            encoded.is_unknown,
            strict=True,
        ):
            if is_added:
                assert (start, end) == (0, 0)
                continue
            assert 0 <= start < end <= len(text)
            if not is_unknown:
                piece = token if token == "##" else token.removeprefix("##")
                assert is_what_was_typed(piece, text[start:end]), repr((text, token))
                seen += 1
    assert seen > 3000


def is_what_was_typed(piece, typed):
    """Whether only control and format characters and U+FFFD were left out."""
    for character in piece:
        if character not in typed:
            return False
        typed = typed.replace(character, "", 1)
    return all(c == "\ufffd" or unicodedata.category(c)[0] == "C" for c in typed)


def test_offsets_lie_in_order_and_do_not_overlap(uncased):
    for text in NASTY_TEXTS + RANDOM_TEXTS:
        inner = uncased.encode(text).offsets[1:-1]
        assert (inner[1:, 0] >= inner[:-1, 0]).all(), repr(text)


def test_folding_keeps_the_places_of_accented_words(uncased):
    text = "The CAFÉ, Cafe\u0301 İx"
    encoded = uncased.encode(text)
    spans = {
        word: (
            min(encoded.offsets[encoded.word_ids == word, 0]),
            max(encoded.offsets[encoded.word_ids == word, 1]),
        )
        for word in range(5)
    }
    found = [text[start:end] for start, end in spans.values()]
    # An accent typed as a character of its own belongs to no piece.
    assert found == ["The", "CAFÉ", ",", "Cafe", "İx"]


def test_the_offsets_of_a_pair_point_into_the_pair(cased):
    encoded = cased.encode("the word", "of the capital")
    second = encoded.token_type_ids == 1
    spans = encoded.offsets[second][:-1]
    assert ["of the capital"[a:b] for a, b in spans] == ["of", "the", "capital"]


def test_an_empty_pair_is_no_pair(uncased):
    assert uncased.encode("the word", "").tokens == uncased.encode("the word").tokens
    assert uncased.encode("the word", "").pair is None


@pytest.mark.parametrize("first", [0, 1, 4, 9, 30])
@pytest.mark.parametrize("second", [1, 4, 5, 12, 30])
def test_pairs_are_cut_as_transformers_does(cased, tmp_path, first, second):
    """As `predict.py` of a trained model does, so that both give the same numbers."""
    cased.save(tmp_path)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    text = " ".join((["the", "of", "word"] * 10)[:first])
    words_a = cased.encode(text).tokens[1:-1]
    pair = " ".join(["mask", "capital", "hello", "wording"] * 8)
    pair = " ".join(pair.split()[:second])
    words_b = cased.encode(pair).tokens[1:-1]
    whole = len(words_a) + len(words_b) + 3
    # At 16 tokens there is an odd room of 13.
    for max_tokens in (3, 4, 7, 8, 15, 16, 17, whole - 1, whole, whole + 1):
        if max_tokens < 3:
            continue
        encoded = cased.encode(text, pair, max_tokens=max_tokens, cut=True)
        expected = theirs(text, pair, truncation=True, max_length=max_tokens)
        assert encoded.input_ids.tolist() == expected["input_ids"]
        assert encoded.token_type_ids.tolist() == expected["token_type_ids"]
        assert encoded.num_tokens == min(max_tokens, whole)
        assert encoded.num_tokens_uncut == whole
        assert encoded.was_cut is (max_tokens < whole)


def test_a_single_text_loses_its_end(cased):
    whole = cased.encode("the capital of wording")
    for max_tokens in range(2, 9):
        encoded = cased.encode(whole.text, max_tokens=max_tokens, cut=True)
        kept = whole.tokens[1:-1][: max_tokens - 2]
        assert encoded.tokens == ("[CLS]", *kept, "[SEP]")
        assert encoded.offsets.tolist() == [
            [0, 0],
            *whole.offsets[1 : len(kept) + 1].tolist(),
            [0, 0],
        ]


def test_a_long_text_is_refused_with_both_numbers_unless_it_may_be_cut(cased):
    text = "word " * 10_000
    with pytest.raises(TextError, match=r"10002 tokens.* 128 positions"):
        cased.encode(text, max_tokens=128)
    encoded = cased.encode(text, max_tokens=128, cut=True)
    assert encoded.num_tokens == 128
    assert encoded.num_tokens_uncut == 10_002
    assert cased.encode(text).num_tokens == 10_002


def test_a_text_of_just_the_right_length_is_not_cut(cased):
    assert cased.encode("the word", max_tokens=4).num_tokens == 4


def test_threads_share_a_tokenizer(uncased):
    texts = NASTY_TEXTS * 4
    alone = [uncased.encode(text).tokens for text in texts]
    with ThreadPoolExecutor(max_workers=5) as pool:
        together = list(pool.map(lambda text: uncased.encode(text).tokens, texts))
    assert together == alone
