"""Plain text files as documents, paragraphs and sentences."""

from __future__ import annotations

import lzma
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from bertviz_core.errors import TrainingError

# A full stop with closing quotes or brackets, then space and the beginning of a
# sentence; or a Chinese full stop, after which no space comes.
_SENTENCE_END = re.compile(
    r"""[.!?…]+["'”’»)\]]*(?=\s+["'“‘«(\[]*[A-Z\u00c0-\u024f\u0370-\uffef])"""
    r"""|[。！？；…]+[”’」』）》]*"""
)
_LAST_WORD = re.compile(r"([A-Za-z]+)\.$")
# After these a full stop ends no sentence; single letters are initials.
_ABBREVIATIONS = {
    "Mr", "Mrs", "Ms", "Dr", "Prof", "St", "Jr", "Sr", "Gen", "Col", "Capt", "Lt",
    "Rev", "Hon", "Mt", "No", "vs", "etc", "ca", "cf",
}  # fmt: skip


def read_documents(path: Path) -> Iterator[list[str]]:
    """Reads a text file, plain or `.xz`, document by document.

    Args:
        path: UTF-8; a blank line between documents, one paragraph a line.

    Yields:
        The paragraphs of a document, without white space around them.

    Raises:
        TrainingError: the file is absent, damaged, or not text.
    """
    paragraphs: list[str] = []
    for line in _lines(path):
        if paragraph := line.strip():
            paragraphs.append(paragraph)
        elif paragraphs:
            yield paragraphs
            paragraphs = []
    if paragraphs:
        yield paragraphs


def split_sentences(paragraph: str) -> list[str]:
    """Splits a paragraph into sentences, English or Chinese.

    A rule of thumb: next-sentence prediction needs borders that are mostly
    right, and no text is lost where one is wrong.

    Args:
        paragraph: text without a line break.

    Returns:
        The sentences in order, none of them empty.
    """
    sentences, begin = [], 0
    for match in _SENTENCE_END.finditer(paragraph):
        if not _is_abbreviation(paragraph[begin : match.end()]):
            sentences.append(paragraph[begin : match.end()].strip())
            begin = match.end()
    sentences.append(paragraph[begin:].strip())
    return [sentence for sentence in sentences if sentence]


def _is_abbreviation(sentence: str) -> bool:
    match = _LAST_WORD.search(sentence[-12:])
    if match is None:
        return False
    word = match[1]
    return word in _ABBREVIATIONS or (len(word) == 1 and word.isupper())


def _lines(path: Path) -> Iterator[str]:
    try:
        with _open(path) as file:
            for line in file:
                if "\0" in line:
                    raise _not_text(path)
                yield line
    except UnicodeDecodeError as error:
        raise _not_text(path) from error
    except (lzma.LZMAError, EOFError) as error:
        raise TrainingError(
            "The file {name} is not a whole .xz file. Copy it again, or unpack it and "
            "give the plain text.",
            name=path.name,
        ) from error
    except OSError as error:
        raise TrainingError(
            "The text file {name} cannot be read. Received: {reason}. Check the path "
            "and the rights.",
            name=path.name,
            reason=error.strerror or type(error).__name__,
        ) from error


def _open(path: Path) -> TextIO:
    if path.suffix == ".xz":
        return lzma.open(path, "rt", encoding="utf-8-sig")
    return path.open(encoding="utf-8-sig")


def _not_text(path: Path) -> TrainingError:
    return TrainingError(
        "The file {name} is not plain text in UTF-8. Save it as UTF-8 text: a blank "
        "line between documents, one paragraph a line.",
        name=path.name,
    )
