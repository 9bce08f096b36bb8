"""The tokenizer equals Hugging Face's; its offsets point into the text."""

import functools
import itertools
import pickle
import unicodedata

import numpy as np
import pytest
import transformers

from bertviz_core.checkpoints.catalogue import BUNDLED_FOLDER
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.errors import TextError
from bertviz_core.tokenizer import BertTokenizer
from bertviz_core.trace import SPECIAL_TOKENS
from tests.core.nasty_texts import NASTY_TEXTS, random_texts

RANDOM_TEXTS = random_texts(150, seed=20)
SWITCHES = list(itertools.product((True, False), (None, True, False), (True, False)))


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


def bundled_vocabulary():
    return BertTokenizer.from_folder(BUNDLED_FOLDER / DEFAULT_MODEL).vocabulary


@pytest.mark.parametrize(
    ("vocabulary", "switches"),
    [
        (bundled_vocabulary, SWITCHES[0]),
        *((character_vocabulary, switches) for switches in SWITCHES),
    ],
)
def test_texts_are_split_and_joined_as_hugging_face_does(vocabulary, switches):
    ours = BertTokenizer(vocabulary(), *switches)
    theirs = transformers.BertTokenizer(
        vocab={token: index for index, token in enumerate(vocabulary())},
        do_lower_case=switches[0],
        strip_accents=switches[1],
        tokenize_chinese_chars=switches[2],
    )
    pairs = zip(NASTY_TEXTS, NASTY_TEXTS[7:] + NASTY_TEXTS[:7], strict=True)
    for text, pair in [*pairs, *((text, None) for text in RANDOM_TEXTS)]:
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
    assert not encoded.was_cut
    assert uncased.encode("the word", "").pair is None
    assert encoded.num_tokens_uncut == encoded.num_tokens == 10
    assert ["héllo [MASK]"[a:b] for a, b in encoded.offsets[7:9]] == ["héllo", "[MASK]"]
    arrays = (encoded.input_ids, encoded.token_type_ids, encoded.offsets)
    assert {array.dtype for array in arrays} == {np.dtype("int32")}


def test_folding_keeps_the_places_of_accented_words(uncased):
    text = "The CAFÉ, Cafe\u0301 İx"
    encoded = uncased.encode(text)
    spans = (encoded.offsets[encoded.word_ids == word] for word in range(5))
    found = [text[min(span[:, 0]) : max(span[:, 1])] for span in spans]
    # An accent typed as a character of its own belongs to no piece.
    assert found == ["The", "CAFÉ", ",", "Cafe", "İx"]


def test_pairs_are_cut_as_transformers_does(tmp_path):
    """As `predict.py` of a trained model does, so that both give the same numbers."""
    ours = BertTokenizer([*SPECIAL_TOKENS, "the", "of", "word", "mask", "##ing"])
    ours.save(tmp_path)
    theirs = transformers.BertTokenizer.from_pretrained(tmp_path)
    texts = [["the", "of", "word"] * 10, ["mask", "the", "hello", "wording"] * 8]
    for counts in itertools.product((0, 1, 4, 9, 30), (1, 5, 12, 30)):
        text, pair = (
            " ".join(words[:count]) for words, count in zip(texts, counts, strict=True)
        )
        whole = ours.encode(text, pair).num_tokens
        # At 16 tokens there is an odd room of 13.
        for limit in (3, 4, 15, 16, whole - 1, whole, whole + 1):
            encoded = ours.encode(text, pair, max_tokens=limit, cut=True)
            expected = theirs(text, pair, truncation=True, max_length=limit)
            assert encoded.input_ids.tolist() == expected["input_ids"]
            assert encoded.token_type_ids.tolist() == expected["token_type_ids"]
            assert encoded.num_tokens == min(limit, whole)
            assert encoded.num_tokens_uncut == whole
            assert encoded.was_cut is (limit < whole)


def test_a_single_text_loses_its_end(cased):
    whole = cased.encode("the capital of wording")
    for max_tokens in range(2, 9):
        encoded = cased.encode(whole.text, max_tokens=max_tokens, cut=True)
        kept = slice(1, min(max_tokens, whole.num_tokens) - 1)
        assert encoded.tokens == ("[CLS]", *whole.tokens[kept], "[SEP]")
        assert (encoded.offsets[1:-1] == whole.offsets[kept]).all()


def test_a_long_text_is_refused_with_both_numbers_unless_it_may_be_cut(cased):
    text = "word " * 10_000
    with pytest.raises(TextError, match=r"10002 tokens.* 128 positions"):
        cased.encode(text, max_tokens=128)
    encoded = cased.encode(text, max_tokens=128, cut=True)
    assert encoded.num_tokens == 128
    assert encoded.num_tokens_uncut == 10_002
    assert cased.encode(text, max_tokens=10_002).num_tokens == 10_002
