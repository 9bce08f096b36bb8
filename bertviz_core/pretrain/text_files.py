"""Plain text files as documents of paragraphs."""

from __future__ import annotations

import itertools
import lzma
import operator
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from bertviz_core.errors import TrainingError
from bertviz_core.sentence_splitting import sentences_of


def read_paragraphs(path: Path) -> Iterator[tuple[int, str]]:
    """Reads a text file, plain or `.xz`, a paragraph at a time.

    Args:
        path: UTF-8; a blank line between documents, one paragraph a line.

    Yields:
        The number of the document, from 0, and a paragraph of it, without white space
        around.

    Raises:
        TrainingError: the file is absent, damaged, or not text.
    """
    number, is_begun = 0, False
    for line in _lines(path):
        if paragraph := line.strip():
            yield number, paragraph
            is_begun = True
        elif is_begun:
            number, is_begun = number + 1, False


def sentences_by_document(
    paragraphs: Iterable[tuple[int, str]],
) -> Iterator[Iterator[str]]:
    """The sentences of each document; to be read before the next one is asked for.

    Args:
        paragraphs: as `read_paragraphs` gives them.
    """
    for _, group in itertools.groupby(paragraphs, key=operator.itemgetter(0)):
        yield (sentence for _, p in group for sentence in sentences_of(p))


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
