"""Sentences with their grammar, from CoNLL-U files, and the tokens of their words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bertviz_core.errors import TextError
from bertviz_core.trace import TokenizedText

# One attention matrix each; a class reads so many in seconds.
MAX_SENTENCES = 300
_NUM_COLUMNS = 10


@dataclass(frozen=True)
class ParsedSentence:
    """One sentence with its parts of speech and its dependencies."""

    text: str  # as it is read; words stand where `spans` says
    # First and past-the-last character of each of W words.
    spans: tuple[tuple[int, int], ...]
    parts_of_speech: tuple[str, ...]  # W universal tags, such as "NOUN"
    # W indices of the word that each depends on; -1 for the root.
    heads: tuple[int, ...]
    # W universal relations without their subtypes, such as "nsubj".
    relations: tuple[str, ...]


def read_treebank(conllu: str) -> tuple[ParsedSentence, ...]:
    """Reads the text of a file in CoNLL-U.

    Multiword tokens and empty nodes are passed over: dependencies are between words.

    Raises:
        TextError: no CoNLL-U, no sentence, or more than `MAX_SENTENCES`.

    Source: https://universaldependencies.org/format.html
    """
    from conllu import parse
    from conllu.exceptions import ParseException

    try:
        found = [
            [word for word in one if isinstance(word["id"], int)]
            for one in parse(conllu)
        ]
        sentences = tuple(_sentence(words) for words in found if words)
    except (ParseException, KeyError, TypeError, ValueError, IndexError) as error:
        raise TextError(
            "The file is not CoNLL-U, which has one line per word and ten "
            "tab-separated columns. Received: {reason}. Export it again from your "
            "treebank.",
            reason=str(error)[:100].rstrip("."),
        ) from error
    if not 1 <= len(sentences) <= MAX_SENTENCES:
        raise TextError(
            "The file must have between 1 and {limit} sentences. Received: {count}. "
            "Choose another file, or a part of it.",
            limit=MAX_SENTENCES,
            count=len(sentences),
        )
    return sentences


def word_tokens(sentence: ParsedSentence, text: TokenizedText) -> np.ndarray:
    """Which tokens a word is made of, bool `[W, T]`; none where it was cut off."""
    starts, ends = np.array(sentence.spans).T[:, :, None]
    first = text.offsets[:, 0]
    return np.asarray((first >= starts) & (first < ends) & ~text.is_added)


def _sentence(words: Sequence[dict[str, Any]]) -> ParsedSentence:
    numbers = {word["id"]: index for index, word in enumerate(words)}
    text, spans = "", []
    for word in words:
        if len(word) < _NUM_COLUMNS:
            raise ValueError(f"{len(word)} columns for word {word['id']}")
        if word["head"] and word["head"] not in numbers:
            raise ValueError(f"word {word['id']} without its head {word['head']}")
        spans.append((len(text), len(text) + len(word["form"])))
        is_glued = (word["misc"] or {}).get("SpaceAfter") == "No"
        text += word["form"] + ("" if is_glued else " ")
    return ParsedSentence(
        text=text,
        spans=tuple(spans),
        parts_of_speech=tuple(word["upos"] or "X" for word in words),
        heads=tuple(numbers[w["head"]] if w["head"] else -1 for w in words),
        relations=tuple((w["deprel"] or "dep").partition(":")[0] for w in words),
    )
