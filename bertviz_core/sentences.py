"""Sentences that come with the project, written for it: singly, in passages, parsed."""

import functools
import json
from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).resolve().parents[1] / "assets" / "sentences"
LANGUAGES = ("en", "zh")
# What there is in each language, by the ending of its file.
ENDINGS = {
    "sentences": "json",
    # One a line with its group, see `labelled_lines`: on some topics, and one word in
    # two senses.
    "topics": "txt",
    "senses": "txt",
    # A line each, for questions about sentences that follow.
    "passages": "txt",
    # For a tiny BERT to learn from: few words, said again and again; paragraphs of a
    # line each, a blank line between them.
    "first_page": "txt",
    "grammar": "conllu",
}

# What a network that has learnt the first page can say, although it is not there.
FIRST_QUESTIONS = {
    "en": "In the morning the fish looks out of the [MASK].",
    "zh": "早上，鱼看着窗[MASK]。",
}


@dataclass(frozen=True)
class Sentence:
    """One text, or two that a model reads as a pair."""

    text: str  # the first
    pair: str | None = None  # the second, or `None`


@functools.cache
def bundled_text(name: str, language: str) -> str:
    """Reads one of `ENDINGS` in one of `LANGUAGES`, as a user would type it."""
    if name not in ENDINGS or language not in LANGUAGES:
        raise ValueError(
            f"`name` must be among {tuple(ENDINGS)}, `language` among {LANGUAGES}. "
            f"Received: {name}, {language}."
        )
    path = _FOLDER / f"{name}_{language}.{ENDINGS[name]}"
    return path.read_text(encoding="utf-8").strip()


@functools.cache
def bundled_sentences(language: str) -> tuple[Sentence, ...]:
    """Everyday sentences for measuring heads on many texts, always in the same order.

    Lengths from a few words to a few dozen; some of them are pairs.
    """
    entries = json.loads(bundled_text("sentences", language))
    return tuple(
        Sentence(entry) if isinstance(entry, str) else Sentence(*entry)
        for entry in entries
    )
