"""What kind of thing each entry of a vocabulary is, to leave some out."""

import re
from collections.abc import Callable, Sequence

import numpy as np

from bertviz_core.trace import SPECIAL_TOKENS

_UNUSED = re.compile(r"\[unused\d+\]")
_EMPTY = re.compile(r"\[row \d+\]")
# The blocks that BERT's tokenizer takes for Chinese characters
# (google-research/bert, `tokenization.py`, `_is_chinese_char`).
_CJK_BLOCKS = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)


def is_piece(token: str) -> bool:
    """Whether it goes on with a word: `##s`."""
    return token.startswith("##") and len(token) > 2


def is_unused(token: str) -> bool:
    """Whether it is a place that Google's vocabularies keep free: `[unused7]`."""
    return _UNUSED.fullmatch(token) is not None


def is_special(token: str) -> bool:
    """Whether it is one of the five that a model adds or hides words with."""
    return token in SPECIAL_TOKENS


def is_single_character(token: str) -> bool:
    """Whether it is one character, `##` not counted."""
    return len(token.removeprefix("##") or token) == 1


def is_cjk(token: str) -> bool:
    """Whether a Chinese character is in it, by BERT's own definition.

    Kana and Hangul are not: BERT splits them like letters.
    """
    if token.isascii():  # most are, and pages ask at every run
        return False
    return any(low <= ord(c) <= high for c in token for low, high in _CJK_BLOCKS)


def name_of_empty(row: int) -> str:
    """What a row of the embeddings is called that no word belongs to.

    No text has such a piece: BERT cuts brackets off words.
    """
    return f"[row {row}]"


def is_empty(token: str) -> bool:
    """Whether it is the name of a row that no word belongs to: `[row 57]`."""
    return _EMPTY.fullmatch(token) is not None


def is_sign(token: str) -> bool:
    """Whether it is a name in brackets, which no text holds as a word: `[SEP]`."""
    return len(token) > 1 and token.startswith("[") and token.endswith("]")


KINDS: dict[str, Callable[[str], bool]] = {
    "piece": is_piece,
    "unused": is_unused,
    "special": is_special,
    "single_character": is_single_character,
    "cjk": is_cjk,
    "empty": is_empty,
}


def entries_of_kind(tokens: Sequence[str], kind: str) -> np.ndarray:
    """Which of V entries are of a kind, bool; one may be of several, as `##红`."""
    if kind not in KINDS:
        raise ValueError(f"`kind` must be among {tuple(KINDS)}. Received: {kind}.")
    return np.fromiter(map(KINDS[kind], tokens), bool, len(tokens))


# Every entry has one of these: the first kind that it is of, else a word.
MAIN_KINDS = ("empty", "unused", "special", "piece", "cjk", "single_character", "word")


def main_kinds(tokens: Sequence[str]) -> np.ndarray:
    """The one kind that says most about each entry, an index into `MAIN_KINDS`."""
    tests = [KINDS[kind] for kind in MAIN_KINDS[:-1]]
    others = len(tests)
    return np.fromiter(
        (
            next((index for index, test in enumerate(tests) if test(token)), others)
            for token in tokens
        ),
        np.int64,
        len(tokens),
    )
