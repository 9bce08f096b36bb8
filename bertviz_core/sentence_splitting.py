"""Cutting a text into sentences, and into neighbours for a next-sentence test.

Pure text, no vocabulary.
"""

from __future__ import annotations

import functools
import itertools
import re
from pathlib import Path

LANGUAGES = ("en", "zh")
_FOLDER = Path(__file__).resolve().parents[1] / "assets" / "sentences"

# A line is a paragraph: two sentences that a line break parts are no neighbours.
_PARAGRAPH = re.compile(r"[\r\n\u2028\u2029]+")
# What ends a sentence, with the quotation marks and brackets that close after it.
# Latin full stops end one only before a space: 3.5 and e.g. are no ends.
_CLOSING = "\"'”’»）)\\]】」』"
_END = re.compile(
    rf"[。！？…]+[{_CLOSING}]*"
    rf"|[.!?…]+[{_CLOSING}]*(?=\s|$)"
)  # fmt: skip
# Short words whose full stop ends nothing.
_ABBREVIATION = re.compile(
    r"\b(?:mr|mrs|ms|dr|prof|st|vs|etc|e\.g|i\.e|no|jr|sr|[a-z])\.$", re.IGNORECASE
)


def split_sentences(text: str) -> tuple[tuple[str, ...], ...]:
    """Cuts a text into paragraphs of sentences.

    Args:
        text: English or Chinese; a line is a paragraph.

    Returns:
        The sentences of each line, without those of white space alone.
    """
    paragraphs = (_sentences_of(line) for line in _PARAGRAPH.split(text))
    return tuple(paragraph for paragraph in paragraphs if paragraph)


def neighbouring_sentences(text: str) -> tuple[tuple[str, str], ...]:
    """Every sentence with the one that follows it in the same paragraph.

    Args:
        text: see `split_sentences`.
    """
    return tuple(
        pair
        for sentences in split_sentences(text)
        for pair in itertools.pairwise(sentences)
    )


def _sentences_of(line: str) -> tuple[str, ...]:
    sentences, start = [], 0
    for match in _END.finditer(line):
        if _ABBREVIATION.search(line[start : match.end()]):
            continue
        sentences.append(line[start : match.end()].strip())
        start = match.end()
    sentences.append(line[start:].strip())
    return tuple(sentence for sentence in sentences if sentence)


@functools.cache
def bundled_passages(language: str) -> str:
    """Short passages that come with the project, a line each.

    Args:
        language: "en" or "zh".

    Raises:
        ValueError: another language.
    """
    if language not in LANGUAGES:
        raise ValueError(f"`language` must be among {LANGUAGES}. Received: {language}.")
    path = _FOLDER / f"passages_{language}.txt"
    return path.read_text(encoding="utf-8").strip()
