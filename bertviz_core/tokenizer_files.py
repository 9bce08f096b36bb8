"""The files of a checkpoint that say how it splits text."""

import contextlib
import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertviz_core.config import read_json_object, require_text_size
from bertviz_core.errors import TokenizerError

# Half of a pair, which JSON may hold and neither a file of UTF-8 nor a page can.
LONE_SURROGATE = re.compile("[\ud800-\udfff]")
# No word piece holds these, and `vocab.txt` could not.
_NOT_A_LINE = re.compile("[\n\r\ud800-\udfff]")
# What makes a tokenizer.json BERT's.
_BERT_PARTS: dict[str, dict[str, Any]] = {
    "normalizer": {"type": "BertNormalizer", "clean_text": True},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "model": {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
    },
}
# Where Hugging Face keeps the tokens that were added, the newest way first.
_ADDED_TOKENS_FILES = {
    "tokenizer.json": "added_tokens",
    "tokenizer_config.json": "added_tokens_decoder",
    "added_tokens.json": "",
}
# Arguments of `BertTokenizer` by their names in a file.
_SWITCHES = (
    ("lower_case", "do_lower_case"),
    ("strip_accents", "strip_accents"),
    ("tokenize_chinese_chars", "tokenize_chinese_chars"),
)
_SWITCHES_OF_NORMALIZER = (
    ("lower_case", "lowercase"),
    ("strip_accents", "strip_accents"),
    ("tokenize_chinese_chars", "handle_chinese_chars"),
)
_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")


@dataclass(frozen=True)
class AddedPiece:
    """A token that is looked for in the text before it is split into words.

    Source: `AddedToken` of Hugging Face's `tokenizers`.
    """

    content: str  # what it is in the text, and in the vocabulary
    piece_id: int  # its row of the word embeddings
    single_word: bool = False  # not found within a longer word
    lstrip: bool = False  # takes the white space before it
    rstrip: bool = False  # takes the white space behind it
    normalized: bool = True  # found in the text as it is folded, not as it was typed
    special: bool = False  # one like [MASK]

    @property
    def description(self) -> dict[str, Any]:
        """All but the id, by Hugging Face's names."""
        facts = dataclasses.asdict(self)
        del facts["piece_id"]
        return facts


def read_added_pieces(folder: Path) -> tuple[AddedPiece, ...]:
    """Reads which tokens Hugging Face has added to a vocabulary, by their ids.

    Raises:
        ConfigError: a file that is no JSON object.
        TokenizerError: one that does not say what was added.
    """
    for name, key in _ADDED_TOKENS_FILES.items():
        raw = read_json_object(folder / name) if (folder / name).is_file() else {}
        found = raw.get(key) if key else raw
        if found:
            pieces = [_added_piece(entry, name) for entry in _entries(found)]
            return tuple(sorted(pieces, key=lambda piece: piece.piece_id))
    return ()


def _entries(found: Any) -> Iterator[Any]:
    """A list of descriptions, `{id: description}`, or `{token: id}`."""
    if not isinstance(found, dict):
        yield from found if isinstance(found, list) else [found]
        return
    for key, value in found.items():
        if isinstance(value, dict):
            is_id = key.isdecimal() and key.isascii() and len(key) < 10
            yield {**value, "id": int(key) if is_id else key}
        else:
            yield {"content": key, "id": value}


def _added_piece(entry: Any, name: str) -> AddedPiece:
    facts = entry if isinstance(entry, dict) else {}
    content, piece_id = facts.get("content"), facts.get("id")
    flags = {flag: facts[flag] for flag in _FLAGS if flag in facts}
    if (
        not isinstance(content, str)
        or not content
        or _NOT_A_LINE.search(content)
        or not isinstance(piece_id, int)
        or not all(isinstance(value, bool) for value in flags.values())
        or isinstance(piece_id, bool)
    ):
        raise TokenizerError(
            "The file {name} describes an added token that cannot be read. Received: "
            "{received}. Save the tokenizer again with Hugging Face's save_pretrained.",
            name=name,
            received=str(entry)[:120],
        )
    return AddedPiece(content, piece_id, **flags)


def extended(vocabulary: Sequence[str], added: Sequence[AddedPiece]) -> tuple[str, ...]:
    """The vocabulary with the tokens behind it that were added, if it lacks them.

    Raises:
        TokenizerError: ids with a gap, or that are other tokens' already.
    """
    pieces = list(vocabulary)
    known = set(pieces)
    for piece in added:
        # A vocabulary with a piece twice has no such ids in Hugging Face's either.
        is_next = piece.piece_id == len(pieces) == len(known)
        if is_next and piece.content not in known:
            pieces.append(piece.content)
            known.add(piece.content)
        elif not 0 <= piece.piece_id < len(pieces) or (
            pieces[piece.piece_id] != piece.content
        ):
            raise TokenizerError(
                "The ids of the added tokens do not continue where the vocabulary "
                "ends. Received: {token} with the id {piece_id}; the vocabulary has "
                "{vocab_size} word pieces. Save the tokenizer again, together with its "
                "vocabulary.",
                token=piece.content[:60],
                piece_id=piece.piece_id,
                vocab_size=len(vocabulary),
            )
    return tuple(pieces)


def read_vocabulary(path: Path) -> list[str]:
    """Reads `vocab.txt`: one word piece a line, its id the number of the line.

    Blank lines at the end are left out.

    Raises:
        TokenizerError: the file cannot be read as UTF-8.
    """
    with _lines(path) as lines:
        tokens = list(lines)
    while tokens and not tokens[-1]:
        tokens.pop()
    return tokens


def count_lines(path: Path) -> int:
    """How many word pieces `read_vocabulary` finds, without keeping any.

    Raises:
        TokenizerError: the file cannot be read as UTF-8.
    """
    with _lines(path) as lines:
        filled = (number for number, line in enumerate(lines, start=1) if line)
        return max(filled, default=0)


@contextlib.contextmanager
def _lines(path: Path) -> Iterator[Iterator[str]]:
    require_text_size(path)
    try:
        # Not `splitlines`: some vocabularies hold U+2028 and its like as tokens.
        with path.open(encoding="utf-8") as file:
            yield (line.rstrip("\n") for line in file)
    except (OSError, UnicodeDecodeError) as error:
        raise TokenizerError(
            "The vocabulary file {name} cannot be read as UTF-8 text. Get a fresh copy "
            "from the model's source.",
            name=path.name,
        ) from error


def read_switches(folder: Path) -> dict[str, bool]:
    """Reads arguments of `BertTokenizer` that `tokenizer_config.json` states, if any.

    Raises:
        ConfigError: no JSON object.
        TokenizerError: a switch that is neither true nor false.
    """
    path = folder / "tokenizer_config.json"
    raw = read_json_object(path) if path.is_file() else {}
    return _stated(raw, _SWITCHES, path.name)


def _stated(
    raw: dict[str, Any], keys: Iterable[tuple[str, str]], file_name: str
) -> dict[str, bool]:
    """Those switches, by our names, that are there and not null."""
    found = {name: raw[key] for name, key in keys if raw.get(key) is not None}
    for name, key in keys:
        if not isinstance(found.get(name, True), bool):
            raise TokenizerError(
                "{key} in {name} must be true or false. Received: {received}. Correct "
                "the line, or remove it.",
                key=key,
                name=file_name,
                received=str(found[name])[:60],
            )
    return found


def read_tokenizer_json(path: Path) -> dict[str, Any]:
    """Reads arguments of `BertTokenizer`, its vocabulary too, in `tokenizer.json`.

    Raises:
        ConfigError: no JSON object.
        TokenizerError: another kind of tokenizer than BERT's, or ids with gaps.

    Source: The file format of Hugging Face's `tokenizers`.
    """
    raw = read_json_object(path)
    parts: dict[str, Any] = {}
    for name, expected in _BERT_PARTS.items():
        part = parts[name] = raw.get(name)
        # A file may lack keys; those that are there have BERT's values.
        if not isinstance(part, dict) or any(
            part.get(key, value) != value for key, value in expected.items()
        ):
            raise _not_bert(path)
    model, normalizer = parts["model"], parts["normalizer"]
    vocab = model.get("vocab")
    if not isinstance(vocab, dict) or any(map(_NOT_A_LINE.search, vocab)):
        raise _not_bert(path)
    return {
        "vocabulary": _by_id(vocab, path.name),
        **_stated(normalizer, _SWITCHES_OF_NORMALIZER, path.name),
    }


def _not_bert(path: Path) -> TokenizerError:
    return TokenizerError(
        "The file {name} does not describe BERT's WordPiece tokenizer. Add the "
        "checkpoint's own vocab.txt.",
        name=path.name,
    )


def _by_id(vocab: dict[str, Any], name: str) -> list[str]:
    tokens = sorted(vocab, key=lambda token: str(vocab[token]).zfill(12))
    if [vocab[token] for token in tokens] != list(range(len(tokens))):
        raise TokenizerError(
            "The ids in {name} are not consecutive numbers from 0. Add the "
            "checkpoint's own vocab.txt.",
            name=name,
        )
    return tokens
