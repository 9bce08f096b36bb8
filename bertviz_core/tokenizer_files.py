"""The files of a checkpoint that say how it splits text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from bertviz_core.config import read_json_object
from bertviz_core.errors import TokenizerError

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


def read_vocabulary(path: Path) -> list[str]:
    """Reads `vocab.txt`: one word piece a line, its id the number of the line.

    Blank lines at the end are left out.

    Raises:
        TokenizerError: the file cannot be read as UTF-8.
    """
    try:
        # Not `splitlines`: some vocabularies hold U+2028 and its like as tokens.
        with path.open(encoding="utf-8") as file:
            tokens = [line.rstrip("\n") for line in file]
    except (OSError, UnicodeDecodeError) as error:
        raise TokenizerError(
            "The vocabulary file {name} cannot be read as UTF-8 text. Take a fresh "
            "copy of it from where the model came from.",
            name=path.name,
        ) from error
    while tokens and not tokens[-1]:
        tokens.pop()
    return tokens


def read_switches(path: Path, lower_case: bool) -> dict[str, Any]:
    """Reads `tokenizer_config.json`, which may be absent.

    Args:
        path: of the file.
        lower_case: what counts where the file does not say.

    Returns:
        Arguments of `BertTokenizer`.

    Raises:
        ConfigError: no JSON object.
        TokenizerError: a switch that is neither true nor false.
    """
    raw = read_json_object(path) if path.is_file() else {}
    return {
        "lower_case": _switch(raw, "do_lower_case", lower_case, path.name),
        "strip_accents": _switch(raw, "strip_accents", None, path.name),
        "tokenize_chinese_chars": _switch(
            raw, "tokenize_chinese_chars", True, path.name
        ),
    }


def _switch(
    raw: dict[str, Any], key: str, default: bool | None, file_name: str
) -> bool | None:
    value = raw.get(key)
    if value is not None and not isinstance(value, bool):
        raise TokenizerError(
            "{key} in {name} must be true or false. Received: {received}. "
            "Mend it, or remove the line.",
            key=key,
            name=file_name,
            received=str(value)[:60],
        )
    return default if value is None else value


def read_tokenizer_json(path: Path) -> dict[str, Any]:
    """Reads the vocabulary and the switches in `tokenizer.json`.

    Returns:
        Arguments of `BertTokenizer`.

    Raises:
        ConfigError: no JSON object.
        TokenizerError: another kind of tokenizer than BERT's, or ids with gaps.

    Source:
        The file format of Hugging Face's `tokenizers`.
    """
    raw = read_json_object(path)
    parts: dict[str, Any] = {}
    for name, expected in _BERT_PARTS.items():
        part = parts[name] = raw.get(name)
        if not isinstance(part, dict) or not _agrees(part, expected):
            raise _not_bert(path)
    model, normalizer = parts["model"], parts["normalizer"]
    vocab = model.get("vocab")
    if not isinstance(vocab, dict) or any(map(_NOT_A_LINE.search, vocab)):
        raise _not_bert(path)
    return {
        "vocabulary": _by_id(vocab, path.name),
        "lower_case": _switch(normalizer, "lowercase", True, path.name),
        "strip_accents": _switch(normalizer, "strip_accents", None, path.name),
        "tokenize_chinese_chars": _switch(
            normalizer, "handle_chinese_chars", True, path.name
        ),
    }


def _agrees(part: dict[str, Any], expected: dict[str, Any]) -> bool:
    """Whether the keys that are there have BERT's values; a file may lack some."""
    return all(part.get(key, value) == value for key, value in expected.items())


def _not_bert(path: Path) -> TokenizerError:
    return TokenizerError(
        "The file {name} does not describe BERT's WordPiece tokenizer. "
        "Add the vocab.txt that belongs to the checkpoint.",
        name=path.name,
    )


def _by_id(vocab: dict[str, Any], name: str) -> list[str]:
    tokens = sorted(vocab, key=lambda token: str(vocab[token]).zfill(12))
    if [vocab[token] for token in tokens] != list(range(len(tokens))):
        raise TokenizerError(
            "The ids in {name} do not run from 0 upwards without a gap. "
            "Add the vocab.txt that belongs to the checkpoint.",
            name=name,
        )
    return tokens
