"""What a head looks at in terms of grammar: parts of speech, and dependencies.

L layers, N heads, W words, P parts of speech, R relations.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from bertviz_core.analysis.attention import share_of_row
from bertviz_core.analysis.treebank import ParsedSentence
from bertviz_core.trace import FrozenArrays

# Fewer words or arcs than these are told of no head.
LEAST_ROWS = 10
# Places to the left and right that the simplest rule may always point at.
OFFSETS = (*range(-5, 0), *range(1, 6))
# Punctuation hangs on some word, and the root on none.
_LEFT_OUT = ("punct", "root")


@dataclass(frozen=True)
class HeadGrammar(FrozenArrays):
    """What every head looks at, over the sentences of a treebank."""

    num_sentences: int  # that were read
    num_words: int  # that look at others
    parts_of_speech: tuple[str, ...]  # P tags, the most frequent first
    # float64 [P, L, N], of a word's attention to the other words, what goes to words of
    # this kind; mean over words.
    part_shares: np.ndarray
    # float64 [P], what even attention gives them: their share of the words.
    part_baselines: np.ndarray
    part_counts: np.ndarray  # int [P], words of this kind
    # R names: "nsubj" from the dependent to what it depends on, and "nsubj of" back,
    # the most frequent first.
    relations: tuple[str, ...]
    # float64 [R, L, N], how often the word that a head looks at most is the right one.
    accuracies: np.ndarray
    # float64 [R], how often always pointing equally far is right, at the distance that
    # is best for the relation.
    baselines: np.ndarray
    offsets: np.ndarray  # int [R], that distance, in words; negative to the left
    counts: np.ndarray  # int [R], dependencies that were tried

    def best_part(self, layer: int, head: int) -> int | None:
        """The kind of word with the most attention beyond an even share."""
        gains = self.part_shares[:, layer, head] - self.part_baselines
        return _best(gains, self.part_counts)

    def best_relation(self, layer: int, head: int) -> int | None:
        """The relation that the head finds most often beyond the best distance."""
        gains = self.accuracies[:, layer, head] - self.baselines
        return _best(gains, self.counts)


def word_attention(attention: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """Attention between the words of a text, `[L, N, W, W]`.

    To a word goes the sum over its tokens, from a word the mean over them; what goes
    to the word itself and to [CLS] and [SEP] is left out, and the rest scaled to
    shares. A row without any stays 0.

    Args:
        attention: float `[L, N, T, T]`.
        tokens: bool `[W, T]`, the tokens of each word.

    Source: Clark et al. 2019 (arXiv:1906.04341), section 4.1.
    """
    to_words = attention.astype(np.float64) @ tokens.T
    means = tokens / np.maximum(tokens.sum(axis=1, keepdims=True), 1)
    between = means @ to_words
    between[..., np.arange(len(tokens)), np.arange(len(tokens))] = 0.0
    return share_of_row(between)


def head_grammar(
    sentences: Sequence[ParsedSentence],
    attention: Iterable[tuple[int, np.ndarray, np.ndarray]],
) -> HeadGrammar:
    """Adds up what heads look at.

    A relation is found where the word looked at most is the right one. Punctuation,
    and words that were cut off, neither look nor are looked at. `attention` has of each
    sentence its index, and the arguments of `word_attention`.

    Source: Clark et al. 2019 (arXiv:1906.04341), section 4.2: the task and its
    baseline.
    """
    kinds = _by_frequency(
        tag for one in sentences for tag in one.parts_of_speech if tag != "PUNCT"
    )
    names = _by_frequency(
        name for one in sentences for name in one.relations if name not in _LEFT_OUT
    )
    relations = [f"{name}{way}" for name in names for way in ("", " of")]
    size = len(relations)
    shares = hits = np.zeros((1, 1, 1))
    part_counts, counts = np.zeros(len(kinds), int), np.zeros(size, int)
    far = np.zeros((size, len(OFFSETS)))
    for index, probabilities, tokens in attention:
        one = sentences[index]
        is_kind = np.array([[tag == k for k in kinds] for tag in one.parts_of_speech])
        is_read = np.logical_and(tokens.any(axis=1), is_kind.any(axis=1))
        if is_read.sum() < 2:
            continue  # no word has another to look at
        between = word_attention(probabilities, tokens & is_read[:, None])
        is_kind &= is_read[:, None]
        shares = shares + np.einsum("lnqk,kp->pln", between, is_kind)
        part_counts += is_kind.sum(axis=0)
        relation, word, wanted = _arcs(one, relations, is_read)
        counts += np.bincount(relation, minlength=size)
        rows = between[:, :, word]  # [L, N, A, W]
        is_right = (rows.argmax(axis=-1) == wanted) & (rows.max(axis=-1) > 0)
        hits = hits + np.stack(
            [is_right[..., relation == r].sum(axis=-1) for r in range(size)]
        )
        for column, offset in enumerate(OFFSETS):
            right = relation[wanted - word == offset]
            far[:, column] += np.bincount(right, minlength=size)
    num_words, tried = int(part_counts.sum()), np.maximum(counts, 1)
    return HeadGrammar(
        num_sentences=len(sentences),
        num_words=num_words,
        parts_of_speech=tuple(kinds),
        part_shares=shares / max(num_words, 1),
        part_baselines=part_counts / max(num_words, 1),
        part_counts=part_counts,
        relations=tuple(relations),
        accuracies=hits / tried[:, None, None],
        baselines=far.max(axis=1) / tried,
        offsets=np.array(OFFSETS)[far.argmax(axis=1)],
        counts=counts,
    )


def _arcs(
    one: ParsedSentence, relations: list[str], is_read: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each arc: the relation, the word that looks, the word to find; int `[A]`."""
    arcs = [
        arc
        for word, (head, name) in enumerate(zip(one.heads, one.relations, strict=True))
        if name not in _LEFT_OUT and is_read[word] and is_read[head]
        for arc in (
            (relations.index(name), word, head),
            (relations.index(f"{name} of"), head, word),
        )
    ]
    relation, word, wanted = np.array(arcs, int).reshape(-1, 3).T
    return relation, word, wanted


def _best(gains: np.ndarray, counts: np.ndarray) -> int | None:
    gains = np.where(counts >= LEAST_ROWS, gains, -np.inf)
    best = int(gains.argmax()) if len(gains) else -1
    return best if best >= 0 and gains[best] > 0 else None


def _by_frequency(names: Iterable[str]) -> list[str]:
    listed = list(names)
    return sorted(set(listed), key=lambda name: (-listed.count(name), name))
