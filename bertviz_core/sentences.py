"""Everyday sentences that come with the project, for measuring heads on many texts.

Written for this project; lengths from a few words to a few dozen, some of them pairs.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).resolve().parents[1] / "assets" / "sentences"
LANGUAGES = ("en", "zh")

# What a network that has learnt the page of `first_page` can say. The English
# sentence is not on the page.
FIRST_QUESTIONS = {
    "en": "In the morning the fish looks out of the [MASK].",
    "zh": "猫喝牛[MASK]。",
}


@dataclass(frozen=True)
class Sentence:
    """One text, or two that a model reads as a pair.

    Args:
        text: the first.
        pair: the second, or `None`.
    """

    text: str
    pair: str | None = None


@functools.cache
def bundled_sentences(language: str) -> tuple[Sentence, ...]:
    """Reads the sentences of one language, always in the same order.

    Args:
        language: of `LANGUAGES`.

    Raises:
        ValueError: another language.
    """
    _require_language(language)
    entries = json.loads((_FOLDER / f"{language}.json").read_text(encoding="utf-8"))
    return tuple(
        Sentence(entry) if isinstance(entry, str) else Sentence(*entry)
        for entry in entries
    )


@functools.cache
def first_page(language: str) -> str:
    """A page of text for a tiny BERT to learn from: few words, said again and again.

    Args:
        language: of `LANGUAGES`.

    Returns:
        Paragraphs of a line each, a blank line between them.

    Raises:
        ValueError: another language.
    """
    _require_language(language)
    return (_FOLDER / f"first_page_{language}.txt").read_text(encoding="utf-8")


@functools.cache
def bundled_passages(language: str) -> str:
    """Short passages, a line each, for questions about sentences that follow.

    Args:
        language: of `LANGUAGES`.

    Raises:
        ValueError: another language.
    """
    _require_language(language)
    path = _FOLDER / f"passages_{language}.txt"
    return path.read_text(encoding="utf-8").strip()


def _require_language(language: str) -> None:
    if language not in LANGUAGES:
        raise ValueError(f"`language` must be among {LANGUAGES}. Received: {language}.")
