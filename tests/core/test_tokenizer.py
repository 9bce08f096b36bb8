"""The tokenizer equals Hugging Face's, and reads its files and Google's."""

import functools
import itertools
import json
import pickle
import unicodedata

import numpy as np
import pytest
import transformers
from tokenizers import AddedToken

from bertviz_core.checkpoints.catalogue import BUNDLED_FOLDER
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.errors import BertVizError, ConfigError, TextError, TokenizerError
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
    assert encoded.mask_positions.tolist() == [8]
    assert uncased.encode("the word", "").pair is None
    arrays = (encoded.input_ids, encoded.token_type_ids, encoded.offsets)
    assert {array.dtype for array in arrays} == {np.dtype("int32")}


@pytest.mark.parametrize("text", ["the 한국어 word 각", "éé [MASK]", *RANDOM_TEXTS])
def test_what_was_read_of_a_text_is_no_longer_than_what_was_cut(uncased, text):
    """Also where a cut parts a Korean syllable, whose letters are a piece each."""
    whole = uncased.encode(text).num_tokens
    for limit in range(3, whole):
        read = uncased.encode(text, max_tokens=limit, cut=True)
        again = uncased.encode(text[: read.offsets[:, 1].max()])
        kept = again.tokens[:-1]
        assert kept == read.tokens[: len(kept)]
        assert limit - len(again.tokens) in (0, 1, 2)


def test_texts_and_pairs_are_cut_as_transformers_does(tmp_path):
    """As `predict.py` of a trained model does, so that both give the same numbers."""
    ours = BertTokenizer([*SPECIAL_TOKENS, "the", "of", "word", "mask", "##ing"])
    ours.save(tmp_path)
    theirs = transformers.BertTokenizer.from_pretrained(tmp_path)
    texts = [["the", "of", "word"] * 10, ["mask", "the", "hello", "wording"] * 8]
    for counts in itertools.product((0, 1, 4, 9, 30), (0, 1, 5, 12, 30)):
        text, pair = (
            " ".join(words[:count]) for words, count in zip(texts, counts, strict=True)
        )
        whole = ours.encode(text, pair).num_tokens
        # At 16 tokens there is an odd room of 13.
        for limit in (3, 4, 15, 16, max(3, whole - 1), whole, whole + 1):
            encoded = ours.encode(text, pair, max_tokens=limit, cut=True)
            expected = theirs(
                text,
                pair or None,
                truncation=True,
                max_length=limit,
                return_offsets_mapping=True,
            )
            assert encoded.input_ids.tolist() == expected["input_ids"]
            assert encoded.token_type_ids.tolist() == expected["token_type_ids"]
            assert list(map(tuple, encoded.offsets)) == expected["offset_mapping"]
            assert encoded.num_tokens == min(limit, whole)
            assert encoded.num_tokens_uncut == whole
            assert encoded.was_cut is (limit < whole)
    assert ours.encode("word " * 30, max_tokens=32).num_tokens == 32
    with pytest.raises(TextError, match=r"33 tokens.* 32 positions"):
        ours.encode("word " * 31, max_tokens=32)


VOCABULARY = ("[UNK]", "a", "[MASK]", "##b", "[PAD]", "é", "e", "[SEP]", "[CLS]", "中")
VOCAB = {token: index for index, token in enumerate(VOCABULARY)}
LINES = "\n".join(VOCABULARY)
TEXTS = ("a ab É A中a", "[MASK] A\u0301")


def write_vocabulary(folder, content=LINES):
    path = folder / "vocab.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def write_json(folder, name, content):
    (folder / name).write_text(json.dumps(content), encoding="utf-8")


def tokenizer_json(**changes):
    """As `tokenizers` writes it; a change names a part and its new keys."""
    theirs = transformers.BertTokenizer(vocab=VOCAB, do_lower_case=False)
    parts = json.loads(theirs.backend_tokenizer.to_str())
    for name, part in changes.items():
        both = isinstance(part, dict) and isinstance(parts[name], dict)
        parts[name] = parts[name] | part if both else part
    return parts


@pytest.mark.parametrize("missing", SPECIAL_TOKENS)
def test_a_vocabulary_without_a_special_token_is_refused(missing):
    vocabulary = [token for token in (*SPECIAL_TOKENS, "a") if token != missing]
    with pytest.raises(TokenizerError) as caught:
        BertTokenizer(vocabulary)
    assert f"5 entries without {missing}." in str(caught.value)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["", "\n", "\n\n\n"])
def test_line_ends_and_blank_lines_at_the_end_do_not_matter(tmp_path, end, last):
    content = ("\n".join(VOCABULARY) + last).replace("\n", end)
    path = write_vocabulary(tmp_path, content)
    assert BertTokenizer.from_vocab_file(path).vocabulary == VOCABULARY


@pytest.mark.parametrize("odd", ["\u2028", "\x85", "\x0b", "\x1c", " ", ""])
def test_an_odd_line_in_the_middle_keeps_the_ids_after_it(tmp_path, odd):
    """Some vocabularies hold a line separator as a token."""
    tokens = (*VOCABULARY[:3], odd, *VOCABULARY[3:])
    path = write_vocabulary(tmp_path, "\n".join(tokens))
    tokenizer = BertTokenizer.from_vocab_file(path)
    assert tokenizer.vocabulary == tokens
    assert tokenizer.cls_token_id == 9


def test_of_a_word_that_stands_twice_the_last_counts_as_at_hugging_face(tmp_path):
    path = write_vocabulary(tmp_path, "\n".join((*VOCABULARY, "a")))
    tokenizer = BertTokenizer.from_vocab_file(path)
    theirs = transformers.BertTokenizer(str(path))
    assert tokenizer.encode("a").input_ids.tolist() == theirs("a")["input_ids"]
    assert tokenizer.vocab_size == 11


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[PAD]\n中".encode("gbk"), r"vocab\.txt cannot be read as UTF-8"),
        (b"\x80\x04\x95", r"vocab\.txt cannot be read as UTF-8"),
        ("\n\n", r"lacks special tokens.*\[CLS\], \[SEP\]"),
        ("just\ntext\n", r"lacks special tokens.*\[CLS\], \[SEP\]"),
    ],
)
def test_a_vocabulary_that_is_not_berts_is_refused(tmp_path, content, said):
    path = write_vocabulary(tmp_path, content)
    with pytest.raises(TokenizerError, match=said):
        BertTokenizer.from_folder(tmp_path)
    path.unlink()
    with pytest.raises(TokenizerError, match=r"vocab\.txt cannot be read"):
        BertTokenizer.from_vocab_file(path)
    with pytest.raises(TokenizerError, match=r"The folder .* has no vocabulary"):
        BertTokenizer.from_folder(tmp_path)


@pytest.mark.parametrize(
    ("stated", "asked", "expected"),
    [
        ({}, None, True),
        ({}, False, False),
        ({"do_lower_case": False}, True, False),
        ({"do_lower_case": True}, False, True),
        ({"do_lower_case": None}, False, False),
    ],
)
def test_the_folder_decides_the_casing_and_then_the_caller(
    tmp_path, stated, asked, expected
):
    write_vocabulary(tmp_path)
    write_json(tmp_path, "tokenizer_config.json", stated)
    tokenizer = BertTokenizer.from_folder(tmp_path, lower_case=asked)
    assert tokenizer.lower_case is expected


@pytest.mark.parametrize(
    ("key", "value"),
    [("do_lower_case", 0), ("strip_accents", "yes"), ("tokenize_chinese_chars", [])],
)
def test_a_switch_that_is_neither_true_nor_false_is_refused(tmp_path, key, value):
    write_vocabulary(tmp_path)
    write_json(tmp_path, "tokenizer_config.json", {key: value})
    with pytest.raises(TokenizerError, match=f"{key} in tokenizer_config.json must"):
        BertTokenizer.from_folder(tmp_path)


def test_switches_that_are_not_json_are_refused(tmp_path):
    write_vocabulary(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text("do_lower_case: true")
    with pytest.raises(ConfigError, match=r"tokenizer_config\.json cannot be read"):
        BertTokenizer.from_folder(tmp_path)


@pytest.mark.parametrize(
    ("lower_case", "strip_accents", "chinese"),
    [
        (True, None, False),
        (True, False, True),
        (False, None, True),
        (False, True, True),
    ],
)
def test_a_tokenizer_survives_saving_and_loads_at_hugging_face(
    tmp_path, lower_case, strip_accents, chinese
):
    saved = BertTokenizer(VOCABULARY, lower_case, strip_accents, chinese)
    saved.save(tmp_path)
    ours = BertTokenizer.from_folder(tmp_path, lower_case=not lower_case)
    theirs = transformers.BertTokenizer.from_pretrained(tmp_path)
    assert ours.vocabulary == VOCABULARY
    for text in TEXTS:
        ids = saved.encode(text).input_ids.tolist()
        assert ours.encode(text).input_ids.tolist() == ids
        assert theirs(text)["input_ids"] == ids


@pytest.mark.parametrize("lower_case", [True, False])
def test_a_folder_of_hugging_face_without_a_vocabulary_file_is_read(
    tmp_path, lower_case
):
    theirs = transformers.BertTokenizer(
        vocab=VOCAB,
        do_lower_case=lower_case,
        strip_accents=not lower_case,
        tokenize_chinese_chars=False,
    )
    theirs.save_pretrained(tmp_path)
    assert not (tmp_path / "vocab.txt").exists()
    ours = BertTokenizer.from_folder(tmp_path, lower_case=not lower_case)
    assert ours.vocabulary == VOCABULARY
    for text in TEXTS:
        assert ours.encode(text).input_ids.tolist() == theirs(text)["input_ids"]
    # What somebody has changed in it counts more than tokenizer.json, there as here.
    changed = {"do_lower_case": not lower_case, "strip_accents": lower_case}
    changed |= {"tokenize_chinese_chars": True}
    write_json(tmp_path, "tokenizer_config.json", changed)
    theirs = transformers.BertTokenizer.from_pretrained(tmp_path)
    ours = BertTokenizer.from_folder(tmp_path)
    for text in TEXTS:
        assert ours.encode(text).input_ids.tolist() == theirs(text)["input_ids"]


ADDED_TEXTS = (
    "a covid ab",
    "acovidab COVID",
    "[E1]a[E1] [e1] é É",
    "[MASK] covid中covid",
    "b dose doses",
)


def with_added_tokens(lower_case):
    theirs = transformers.BertTokenizer(vocab=VOCAB, do_lower_case=lower_case)
    added = ["covid", AddedToken("[E1]", special=True)]
    theirs.add_tokens([*added, AddedToken("dose", single_word=True)])
    theirs.add_tokens([AddedToken("é", normalized=False)])  # of the vocabulary already
    return theirs


def assert_split_alike(ours, theirs):
    for text in (*TEXTS, *ADDED_TEXTS):
        expected = theirs(text, return_offsets_mapping=True)
        actual = ours.encode(text)
        assert actual.input_ids.tolist() == expected["input_ids"], text
        assert list(map(tuple, actual.offsets)) == expected["offset_mapping"], text


@pytest.mark.parametrize("lower_case", [True, False])
def test_tokens_that_were_added_split_text_as_at_hugging_face_and_survive_saving(
    tmp_path, lower_case
):
    theirs = with_added_tokens(lower_case)
    theirs.save_pretrained(tmp_path / "theirs")
    ours = BertTokenizer.from_folder(tmp_path / "theirs")
    assert ours.vocabulary == (*VOCABULARY, "covid", "[E1]", "dose")
    assert_split_alike(ours, theirs)
    (tmp_path / "ours").mkdir()
    ours.save(tmp_path / "ours")
    saved = (tmp_path / "ours" / "vocab.txt").read_text("utf-8").split()
    assert saved == list(VOCABULARY)
    again = BertTokenizer.from_folder(tmp_path / "ours")
    assert_split_alike(again, theirs)
    assert_split_alike(
        again, transformers.BertTokenizer.from_pretrained(tmp_path / "ours")
    )


def test_tokens_that_an_old_version_added_are_read(tmp_path):
    write_vocabulary(tmp_path)
    write_json(tmp_path, "added_tokens.json", {"covid": 10, "sars": 11})
    encoded = BertTokenizer.from_folder(tmp_path).encode("a sarscovid")
    assert encoded.tokens == ("[CLS]", "a", "sars", "covid", "[SEP]")
    assert encoded.input_ids.tolist() == [8, 1, 11, 10, 7]


def test_an_added_token_of_which_folding_leaves_nothing_is_found_as_typed(tmp_path):
    """Hugging Face's panics at the first text with more than ASCII."""
    write_vocabulary(tmp_path)
    write_json(tmp_path, "added_tokens.json", {"\u200d": 10})
    encoded = BertTokenizer.from_folder(tmp_path).encode("中a\u200da")
    assert encoded.input_ids.tolist()[2:] == [1, 10, 1, 7]


@pytest.mark.parametrize(
    "added",
    [{"covid": 11}, {"covid": 1}, {"covid": -1}, {"a": 10}, {"covid": 10, "sars": 10}],
    ids=str,
)
def test_added_tokens_that_leave_a_gap_or_take_a_place_are_refused(tmp_path, added):
    write_vocabulary(tmp_path)
    write_json(tmp_path, "added_tokens.json", added)
    with pytest.raises(TokenizerError, match="where the vocabulary ends"):
        BertTokenizer.from_folder(tmp_path)


def test_the_padding_that_a_tokenizer_json_asks_for_is_not_made(tmp_path):
    theirs = transformers.BertTokenizer(vocab=VOCAB).backend_tokenizer
    theirs.enable_padding(length=9, pad_id=VOCAB["[PAD]"])
    assert "[PAD]" in theirs.encode("ab").tokens
    theirs.save(str(tmp_path / "tokenizer.json"))
    tokens = BertTokenizer.from_folder(tmp_path).encode("ab").tokens
    assert tokens == ("[CLS]", "a", "##b", "[SEP]")


def test_keys_that_an_old_tokenizer_json_lacks_have_berts_values(tmp_path):
    content = tokenizer_json() | {"model": {"vocab": VOCAB}}
    del content["normalizer"]["clean_text"]
    write_json(tmp_path, "tokenizer.json", content)
    assert BertTokenizer.from_folder(tmp_path).vocabulary == VOCABULARY


BAD_ADDED = (
    *(7, [7], {"ten": {"content": "covid"}}),
    *([{"content": "covid"} | one] for one in ({}, {"id": True}, {"id": "10"})),
    *([{"id": 10} | one] for one in ({"content": ""}, {"content": "co\nvid"})),
    [{"content": 7, "id": 10}],
    [{"content": "covid", "id": 10, "special": "no"}],
)
BAD_IDS = ([0, 2], [0, 0], [0, -1], ["0", "1"], [0, None], [0, 1.5], [0, [1]])
ANOTHER_KIND = (
    {"model": {"type": "BPE"}},
    {"model": {"vocab": [["a", 0.5]]}},
    {"model": {"continuing_subword_prefix": "@@"}},
    {"model": {"unk_token": "<unk>"}},
    {"model": {"max_input_chars_per_word": 200}},
    {"model": {"vocab": {"line\nbreak": 0}}},
    {"model": {"vocab": {"half a pair \ud800": 0}}},
    {"normalizer": {"type": "NFC"}},
    {"normalizer": {"clean_text": False}},
    {"normalizer": None},
    {"pre_tokenizer": {"type": "ByteLevel"}},
)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        *(({"added_tokens": added}, "cannot be read") for added in BAD_ADDED),
        *(
            ({"model": {"vocab": dict(zip("ab", ids, strict=True))}}, "from 0")
            for ids in BAD_IDS
        ),
        *((changes, "does not describe BERT's WordPiece") for changes in ANOTHER_KIND),
    ],
    ids=str,
)
def test_a_tokenizer_json_that_is_not_berts_is_refused(tmp_path, changes, said):
    write_json(tmp_path, "tokenizer.json", tokenizer_json(**changes))
    with pytest.raises(TokenizerError, match=said):
        BertTokenizer.from_folder(tmp_path)


@pytest.mark.parametrize("content", ["", "[]", "{}", "\x00"])
def test_any_broken_tokenizer_json_gives_a_sentence(tmp_path, content):
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(BertVizError, match=r"tokenizer\.json"):
        BertTokenizer.from_folder(tmp_path)
