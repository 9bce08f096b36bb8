"""Reading and writing a tokenizer's files, sound and broken."""

import json

import pytest
import transformers
from tokenizers import AddedToken

from bertviz_core.errors import BertVizError, ConfigError, TokenizerError
from bertviz_core.tokenizer import BertTokenizer
from bertviz_core.trace import SPECIAL_TOKENS

VOCABULARY = ("[UNK]", "a", "[MASK]", "##b", "[PAD]", "é", "e", "[SEP]", "[CLS]", "中")
TEXTS = ("a ab É A中a", "[MASK] A\u0301")


def write_vocabulary(folder, content):
    path = folder / "vocab.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def lines(*tokens, end="\n"):
    return end.join(tokens) + end


def write_json(folder, name, content):
    (folder / name).write_text(json.dumps(content), encoding="utf-8")


def tokenizer_json(**changes):
    """As `tokenizers` writes it; a change names a part and its new keys."""
    parts = {
        "version": "1.0",
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": False,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {token: index for index, token in enumerate(VOCABULARY)},
        },
    }
    for name, part in changes.items():
        parts[name] = parts[name] | part if isinstance(part, dict) else part
    return parts


def test_special_ids_are_those_of_the_vocabulary():
    tokenizer = BertTokenizer(VOCABULARY)
    ids = (
        tokenizer.pad_token_id,
        tokenizer.unk_token_id,
        tokenizer.cls_token_id,
        tokenizer.sep_token_id,
        tokenizer.mask_token_id,
    )
    assert [VOCABULARY[index] for index in ids] == list(SPECIAL_TOKENS)


@pytest.mark.parametrize("missing", SPECIAL_TOKENS)
def test_a_vocabulary_without_a_special_token_is_refused(missing):
    vocabulary = [token for token in (*SPECIAL_TOKENS, "a") if token != missing]
    with pytest.raises(TokenizerError) as caught:
        BertTokenizer(vocabulary)
    assert f"5 entries without {missing}." in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        lines(*VOCABULARY),
        lines(*VOCABULARY).rstrip("\n"),
        lines(*VOCABULARY, end="\r\n"),
        lines(*VOCABULARY) + "\n\n\n",
        lines(*VOCABULARY, end="\r\n") + "\r\n\r\n",
    ],
    ids=["plain", "no-last-end", "crlf", "blank-end", "crlf-blank-end"],
)
def test_line_ends_and_blank_lines_at_the_end_do_not_matter(tmp_path, content):
    tokenizer = BertTokenizer.from_vocab_file(write_vocabulary(tmp_path, content))
    assert tokenizer.vocabulary == VOCABULARY


@pytest.mark.parametrize("odd", ["\u2028", "\u2029", "\x85", "\x0b", "\x1c", " ", ""])
def test_an_odd_line_in_the_middle_keeps_the_ids_after_it(tmp_path, odd):
    """Some vocabularies hold a line separator as a token."""
    tokens = (*VOCABULARY[:3], odd, *VOCABULARY[3:])
    path = write_vocabulary(tmp_path, lines(*tokens))
    tokenizer = BertTokenizer.from_vocab_file(path)
    assert tokenizer.vocabulary == tokens
    assert tokenizer.cls_token_id == 9


def test_of_a_word_that_stands_twice_the_last_counts_as_at_hugging_face(tmp_path):
    tokens = (*VOCABULARY, "a")
    path = write_vocabulary(tmp_path, lines(*tokens))
    tokenizer = BertTokenizer.from_vocab_file(path)
    theirs = transformers.BertTokenizer(str(path))
    assert tokenizer.encode("a").input_ids.tolist() == theirs("a")["input_ids"]
    assert tokenizer.vocab_size == 11


@pytest.mark.parametrize(
    "content", [b"[PAD]\n\xff\xfe", "[PAD]\n中".encode("gbk"), b"\x80\x04\x95"]
)
def test_a_vocabulary_that_is_not_utf8_is_refused(tmp_path, content):
    path = write_vocabulary(tmp_path, content)
    with pytest.raises(TokenizerError, match=r"vocab\.txt cannot be read as UTF-8"):
        BertTokenizer.from_vocab_file(path)


def test_an_absent_vocabulary_is_refused(tmp_path):
    with pytest.raises(TokenizerError, match=r"vocab\.txt cannot be read"):
        BertTokenizer.from_vocab_file(tmp_path / "vocab.txt")


@pytest.mark.parametrize("content", ["", "\n\n", "just\ntext\n"])
def test_a_file_of_other_lines_is_refused(tmp_path, content):
    path = write_vocabulary(tmp_path, content)
    with pytest.raises(TokenizerError, match=r"lacks special tokens.*\[CLS\], \[SEP\]"):
        BertTokenizer.from_vocab_file(path)


def test_a_folder_without_a_vocabulary_is_named(tmp_path):
    folder = tmp_path / "my-model"
    folder.mkdir()
    with pytest.raises(TokenizerError, match="The folder my-model has no vocabulary"):
        BertTokenizer.from_folder(folder)


@pytest.mark.parametrize(
    ("stated", "asked", "expected"),
    [
        ({}, None, True),
        ({}, False, False),
        ({"do_lower_case": False}, None, False),
        ({"do_lower_case": False}, True, False),
        ({"do_lower_case": True}, False, True),
        ({"do_lower_case": None}, False, False),
    ],
)
def test_the_folder_decides_the_casing_and_then_the_caller(
    tmp_path, stated, asked, expected
):
    write_vocabulary(tmp_path, lines(*VOCABULARY))
    write_json(tmp_path, "tokenizer_config.json", stated)
    tokenizer = BertTokenizer.from_folder(tmp_path, lower_case=asked)
    assert tokenizer.lower_case is expected


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("do_lower_case", "false"),
        ("do_lower_case", 0),
        ("strip_accents", "yes"),
        ("tokenize_chinese_chars", []),
    ],
)
def test_a_switch_that_is_neither_true_nor_false_is_refused(tmp_path, key, value):
    write_vocabulary(tmp_path, lines(*VOCABULARY))
    write_json(tmp_path, "tokenizer_config.json", {key: value})
    with pytest.raises(TokenizerError, match=f"{key} in tokenizer_config.json must"):
        BertTokenizer.from_folder(tmp_path)


def test_switches_that_are_not_json_are_refused(tmp_path):
    write_vocabulary(tmp_path, lines(*VOCABULARY))
    (tmp_path / "tokenizer_config.json").write_text("do_lower_case: true")
    with pytest.raises(ConfigError, match=r"tokenizer_config\.json cannot be read"):
        BertTokenizer.from_folder(tmp_path)


@pytest.mark.parametrize("lower_case", [True, False])
@pytest.mark.parametrize("strip_accents", [None, True, False])
@pytest.mark.parametrize("chinese", [True, False])
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
        vocab={token: index for index, token in enumerate(VOCABULARY)},
        do_lower_case=lower_case,
        strip_accents=not lower_case,
        tokenize_chinese_chars=False,
    )
    theirs.save_pretrained(tmp_path)
    assert not (tmp_path / "vocab.txt").exists()
    ours = BertTokenizer.from_folder(tmp_path, lower_case=not lower_case)
    assert ours.vocabulary == VOCABULARY
    assert ours.lower_case is lower_case
    assert ours.strip_accents is not lower_case
    assert not ours.tokenize_chinese_chars
    for text in TEXTS:
        assert ours.encode(text).input_ids.tolist() == theirs(text)["input_ids"]


ADDED = ["covid", AddedToken("[E1]", special=True), AddedToken("é", normalized=False)]
ADDED_TEXTS = (
    "a covid ab",
    "acovidab COVID",
    "[E1]a[E1] [e1] é É",
    "[MASK] covid中covid",
    "b dose doses",
)


def with_added_tokens(lower_case):
    theirs = transformers.BertTokenizer(
        vocab={token: index for index, token in enumerate(VOCABULARY)},
        do_lower_case=lower_case,
    )
    # The last is of the vocabulary already.
    assert theirs.add_tokens([*ADDED[:2], AddedToken("dose", single_word=True)]) == 3
    theirs.add_tokens(ADDED[2:])
    return theirs


def assert_split_alike(ours, theirs):
    for text in (*TEXTS, *ADDED_TEXTS):
        expected = theirs(text, return_offsets_mapping=True)
        actual = ours.encode(text)
        assert actual.input_ids.tolist() == expected["input_ids"], text
        assert list(map(tuple, actual.offsets)) == expected["offset_mapping"], text


@pytest.mark.parametrize("lower_case", [True, False])
def test_tokens_that_were_added_split_text_as_at_hugging_face(tmp_path, lower_case):
    theirs = with_added_tokens(lower_case)
    theirs.save_pretrained(tmp_path)
    ours = BertTokenizer.from_folder(tmp_path)
    assert ours.vocabulary == (*VOCABULARY, "covid", "[E1]", "dose")
    assert "covid" in ours.encode("a covid").tokens
    assert_split_alike(ours, theirs)


def test_tokens_that_were_added_survive_saving(tmp_path):
    theirs = with_added_tokens(True)
    theirs.save_pretrained(tmp_path / "theirs")
    (tmp_path / "ours").mkdir()
    BertTokenizer.from_folder(tmp_path / "theirs").save(tmp_path / "ours")
    saved = (tmp_path / "ours" / "vocab.txt").read_text("utf-8").split()
    assert saved == list(VOCABULARY)
    assert_split_alike(BertTokenizer.from_folder(tmp_path / "ours"), theirs)
    again = transformers.BertTokenizer.from_pretrained(tmp_path / "ours")
    assert_split_alike(BertTokenizer.from_folder(tmp_path / "ours"), again)


def test_tokens_that_an_old_version_added_are_read(tmp_path):
    write_vocabulary(tmp_path, lines(*VOCABULARY))
    write_json(tmp_path, "added_tokens.json", {"covid": 10, "sars": 11})
    ours = BertTokenizer.from_folder(tmp_path)
    assert ours.encode("a sarscovid").tokens == ("[CLS]", "a", "sars", "covid", "[SEP]")
    assert ours.encode("a sarscovid").input_ids.tolist() == [8, 1, 11, 10, 7]


@pytest.mark.parametrize(
    "added",
    [{"covid": 11}, {"covid": 1}, {"covid": -1}, {"a": 10}, {"covid": 10, "sars": 10}],
    ids=str,
)
def test_added_tokens_that_leave_a_gap_or_take_a_place_are_refused(tmp_path, added):
    write_vocabulary(tmp_path, lines(*VOCABULARY))
    write_json(tmp_path, "added_tokens.json", added)
    with pytest.raises(TokenizerError, match="where the vocabulary ends"):
        BertTokenizer.from_folder(tmp_path)


@pytest.mark.parametrize(
    "added",
    [
        7,
        [7],
        [{"content": "covid"}],
        [{"content": "covid", "id": True}],
        [{"content": "covid", "id": "10"}],
        [{"content": "", "id": 10}],
        [{"content": "co\nvid", "id": 10}],
        [{"content": 7, "id": 10}],
        [{"content": "covid", "id": 10, "special": "no"}],
        {"10": {"id": 10}},
        {"ten": {"content": "covid"}},
        {"covid": None},
    ],
    ids=str,
)
def test_added_tokens_that_cannot_be_understood_are_refused(tmp_path, added):
    write_json(tmp_path, "tokenizer.json", tokenizer_json() | {"added_tokens": added})
    with pytest.raises(TokenizerError, match="cannot be understood"):
        BertTokenizer.from_folder(tmp_path)


def test_keys_that_an_old_tokenizer_json_lacks_have_berts_values(tmp_path):
    content = tokenizer_json(model={"vocab": tokenizer_json()["model"]["vocab"]})
    for part, key in (("model", "type"), ("normalizer", "clean_text")):
        del content[part][key]
    write_json(tmp_path, "tokenizer.json", content)
    assert BertTokenizer.from_folder(tmp_path).vocabulary == VOCABULARY


@pytest.mark.parametrize(
    "changes",
    [
        {"model": {"type": "BPE"}},
        {"model": {"vocab": [["a", 0.5]]}},
        {"model": {"continuing_subword_prefix": "@@"}},
        {"model": {"unk_token": "<unk>"}},
        {"model": {"max_input_chars_per_word": 200}},
        {"model": {"vocab": {"line\nbreak": 0}}},
        {"model": {"vocab": {"half a pair \ud800": 0}}},
        {"model": None},
        {"normalizer": {"type": "NFC"}},
        {"normalizer": {"clean_text": False}},
        {"normalizer": None},
        {"pre_tokenizer": {"type": "ByteLevel"}},
        {"pre_tokenizer": []},
    ],
    ids=str,
)
def test_another_kind_of_tokenizer_is_refused(tmp_path, changes):
    write_json(tmp_path, "tokenizer.json", tokenizer_json(**changes))
    with pytest.raises(TokenizerError, match="does not describe BERT's WordPiece"):
        BertTokenizer.from_folder(tmp_path)


@pytest.mark.parametrize(
    "ids",
    [[0, 2], [1, 2], [0, 0], [0, -1], ["0", "1"], [0, None], [0, 1.5], [0, [1]]],
    ids=str,
)
def test_ids_with_gaps_are_refused(tmp_path, ids):
    vocab = dict(zip(("a", "b"), ids, strict=True))
    write_json(tmp_path, "tokenizer.json", tokenizer_json(model={"vocab": vocab}))
    with pytest.raises(TokenizerError, match="do not run from 0 upwards"):
        BertTokenizer.from_folder(tmp_path)


def test_a_tokenizer_json_without_special_tokens_is_refused(tmp_path):
    write_json(tmp_path, "tokenizer.json", tokenizer_json(model={"vocab": {"a": 0}}))
    with pytest.raises(TokenizerError, match="lacks special tokens"):
        BertTokenizer.from_folder(tmp_path)


@pytest.mark.parametrize("content", ["", "[]", "{", "null", "{}", "\x00"])
def test_any_broken_tokenizer_json_gives_a_sentence(tmp_path, content):
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(BertVizError, match=r"tokenizer\.json"):
        BertTokenizer.from_folder(tmp_path)
