"""Plain text files as documents of paragraphs."""

from __future__ import annotations

import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from bertviz_core.errors import TrainingError


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
