"""Sentences, one a line, each with a name of its group if it has one.

`weather | It rained all night.` is a sentence of the group `weather`; a tab does what
the stroke does. `It rained. || We stayed in.` is a pair, which the model reads as its
first and second text. Blank lines are passed over.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LONGEST_LABEL = 40  # characters
# A stroke between white space, a wide stroke, or a tab.
_SEPARATOR = re.compile(r"\t|\s\|\s|(?<!｜)｜(?!｜)")
_PAIR = re.compile(r"\s\|\|\s|\s*｜｜\s*")


@dataclass(frozen=True)
class LabelledLines:
    """Sentences and their groups."""

    sentences: tuple[str, ...]  # in their order
    labels: tuple[str, ...]  # as many; "" for a sentence without a group

    @property
    def has_labels(self) -> bool:
        return any(self.labels)


@dataclass(frozen=True)
class TakenLines:
    """Some of many sentences, as a user would type them."""

    text: str  # of the sentences that were taken
    num_taken: int  # how many
    num_all: int  # how many there were
    is_full: bool  # more were wanted, and their characters did not fit


def take_lines(
    lines: LabelledLines, limit: int, most_characters: int, seed: int | None = None
) -> TakenLines:
    """Takes as many sentences as fit, whole ones only, in their order.

    The first ones, or with a seed some at random. Blank ones are passed over.
    """
    rows = [
        joined
        for sentence, label in zip(lines.sentences, lines.labels, strict=True)
        if (joined := join_lines([sentence], [label]))
    ]
    order = np.arange(len(rows))
    if seed is not None:
        order = np.random.default_rng(seed).permutation(len(rows))
    wanted = order[:limit]
    ends = np.cumsum([len(rows[i]) + 1 for i in wanted])
    fitting = wanted[ends - 1 <= most_characters]
    return TakenLines(
        "\n".join(rows[i] for i in sorted(fitting.tolist())),
        len(fitting),
        len(rows),
        len(fitting) < len(wanted),
    )


def read_lines(text: str) -> LabelledLines:
    """Reads what a user typed.

    What stands before the first separator is the group, if it is short and something
    follows it.
    """
    sentences, labels = [], []
    for line in text.splitlines():
        label, rest = "", line.strip()
        parts = _SEPARATOR.split(rest, maxsplit=1)
        if len(parts) == 2 and parts[1].strip() and len(parts[0]) <= LONGEST_LABEL:
            label, rest = parts[0].strip(), parts[1].strip()
        if rest:
            sentences.append(rest)
            labels.append(label)
    return LabelledLines(tuple(sentences), tuple(labels))


def split_pair(sentence: str) -> tuple[str, str | None]:
    """The two texts of a pair; a sentence alone and `None` where it is none.

    Two strokes with white space around, or two wide ones, stand between the texts.
    """
    parts = _PAIR.split(sentence, maxsplit=1)
    if len(parts) == 2 and all(part.strip() for part in parts):
        return parts[0].strip(), parts[1].strip()
    return sentence, None


def without_pair(sentence: str) -> str:
    """A sentence that happens to hold two strokes, written so that it is no pair.

    Only white space beside strokes is lost, which no tokenizer of BERT reads; wide
    strokes become narrow ones.
    """
    sentence = " ".join(sentence.split())
    while split_pair(sentence)[1] is not None:
        sentence = _joined_strokes(sentence)
    return sentence


def _without_group(sentence: str) -> str:
    """The same for a single stroke, which would make a group of what is before it."""
    is_pair = split_pair(sentence)[1] is not None
    while read_lines(sentence).sentences != (sentence,):
        sentence = _joined_strokes(sentence)
    return sentence if is_pair else without_pair(sentence)


def _joined_strokes(sentence: str) -> str:
    joined = re.sub(r"(?<=\s)(\|+)\s+", r"\1", sentence)
    return joined if joined != sentence else sentence.replace("｜", "|")


def join_lines(sentences: Sequence[str], labels: Sequence[str]) -> str:
    """Writes sentences and groups as a user would type them.

    White space within a sentence becomes single spaces, and none is left after a
    stroke that would be read as the end of a group; a group that is too long to be
    read back as one is cut. Sentences of white space alone are passed over.
    """
    lines = []
    for sentence, label in zip(sentences, labels, strict=True):
        text = " ".join(sentence.split())
        group = " ".join(label.replace("|", "/").replace("｜", "/").split())
        group = group[:LONGEST_LABEL].strip()
        if text:
            lines.append(f"{group} | {text}" if group else _without_group(text))
    return "\n".join(lines)
