"""Questions to the word embeddings of a model, all of them asked in the full space."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bertviz_core.analysis.geometry import project_on_axis
from bertviz_core.analysis.nearest_words import Neighbours, WordTable
from bertviz_core.analysis.wordlists import KINDS, entries_of_kind
from bertviz_core.errors import TextError
from bertviz_core.experiments.masked_rows import piece_names
from bertviz_core.experiments.word_vector_results import (
    NamedNeighbours,
    NearestWords,
    WordAnalogy,
    WordAxis,
)
from bertviz_core.explorer import Explorer
from bertviz_core.model.weights import as_numpy

MAX_WORDS = 200
# A row without a word can be no answer: it has no name.
_NEVER = "empty"


@dataclass(frozen=True)
class WordVectors:
    """A vocabulary with its vectors, ready to be asked again and again.

    Args:
        tokens: V entries; "" for a row without a word.
        table: their vectors.
        kinds: bool `[V]` by kind, of `KINDS`.
    """

    tokens: tuple[str, ...]
    table: WordTable
    kinds: Mapping[str, np.ndarray]

    def allowed(self, without: Collection[str]) -> np.ndarray:
        """Entries of none of these kinds, bool `[V]`; never rows without a word.

        Raises:
            ValueError: an unknown kind.
        """
        if unknown := sorted(set(without) - set(KINDS)):
            raise ValueError(
                f"`without` must be among {tuple(KINDS)}. Received: {unknown}."
            )
        kept = ~self.kinds[_NEVER]
        for kind in without:
            kept = kept & ~self.kinds[kind]
        return kept

    def named(self, found: Neighbours) -> NamedNeighbours:
        """Neighbours with their words."""
        return NamedNeighbours(found, tuple(self.tokens[i] for i in found.ids))


def word_vectors(explorer: Explorer) -> WordVectors:
    """Copies a model's word embeddings and sorts its vocabulary by kind."""
    tokens = piece_names(explorer, range(explorer.config.vocab_size))
    table = as_numpy(explorer.loaded.model.embeddings.word_embeddings)
    # A copy: the model may be trained on while it is asked about.
    vectors = np.array(table, np.float32)
    kinds = {kind: entries_of_kind(tokens, kind) for kind in KINDS}
    return WordVectors(tokens, WordTable(vectors), kinds)


def find_entry(explorer: Explorer, word: str) -> int:
    """The row of a word that the vocabulary has as one entry.

    `##ing` and `[MASK]` are found as they stand; else the tokenizer decides, as it
    folds capitals and accents in some models.

    Raises:
        TextError: no word, or one that the model reads as several pieces.
    """
    typed = word.strip()
    if not typed:
        raise TextError("There is no word to look up. Type a word.")
    vocabulary = explorer.tokenizer.vocabulary
    if typed in vocabulary:
        return vocabulary.index(typed)
    read = explorer.tokenize(typed, cut=True)
    own = np.flatnonzero(~read.is_special)
    if len(own) != 1 or read.input_ids[own[0]] == read.unk_token_id:
        raise TextError(
            "The vocabulary of the model has no entry for this word: the model reads "
            "it in pieces. Received: {word}, read as {pieces}. Type one of the pieces, "
            "or another word.",
            word=typed[:60],
            pieces=" ".join(read.tokens[i] for i in own[:12]),
        )
    return int(read.input_ids[own[0]])


def nearest_words(
    explorer: Explorer,
    vectors: WordVectors,
    word: str,
    num_neighbours: int = 10,
    metric: str = "cosine",
    without: Collection[str] = (),
) -> NearestWords:
    """Finds the entries nearest to one of them.

    Args:
        explorer: of the model.
        vectors: of the same model.
        word: one entry of the vocabulary, see `find_entry`.
        num_neighbours: how many to name.
        metric: of `nearest_words.METRICS`.
        without: kinds of entries that are no answer.

    Raises:
        TextError: see `find_entry`.
        ValueError: an unknown metric or kind.
    """
    row = find_entry(explorer, word)
    allowed = vectors.allowed(without)
    allowed[row] = False
    table = vectors.table
    found = table.nearest(table.vectors[row], num_neighbours, metric, allowed)
    return NearestWords(
        model_id=explorer.model_id,
        word=vectors.tokens[row],
        token_id=row,
        norm=float(table.norms[row]),
        norm_rank=1 + int((table.norms > table.norms[row]).sum()),
        neighbours=vectors.named(found),
        num_compared=int(allowed.sum()),
        num_entries=len(vectors.tokens),
    )


def solve_analogy(
    explorer: Explorer,
    vectors: WordVectors,
    inputs: tuple[str, str, str],
    expected: str = "",
    num_neighbours: int = 10,
    metric: str = "cosine",
    without: Collection[str] = (),
) -> WordAnalogy:
    """Looks at a - b + c, and how far down the expected word is.

    Args:
        explorer: of the model.
        vectors: of the same model.
        inputs: the words a, b, c, as king, man, woman.
        expected: the word that is hoped for; "" for none.
        num_neighbours: how many to name.
        metric: of `nearest_words.METRICS`.
        without: kinds of entries that are no answer. The three words and the
            expected one always take part.

    Raises:
        TextError: see `find_entry`.
        ValueError: an unknown metric or kind.
    """
    a, b, c = (find_entry(explorer, word) for word in inputs)
    hoped = find_entry(explorer, expected) if expected.strip() else None
    allowed = vectors.allowed(without)
    allowed[[a, b, c] + ([] if hoped is None else [hoped])] = True
    answer = vectors.table.analogy(
        (a, b, c), hoped, num_neighbours, metric, allowed=allowed
    )
    return WordAnalogy(
        model_id=explorer.model_id,
        inputs=(vectors.tokens[a], vectors.tokens[b], vectors.tokens[c]),
        expected="" if hoped is None else vectors.tokens[hoped],
        answer=answer,
        nearest=vectors.named(answer.neighbours),
        nearest_without_inputs=vectors.named(answer.neighbours_without_inputs),
        num_compared=int(allowed.sum()),
    )


def project_words(
    explorer: Explorer,
    vectors: WordVectors,
    first: str,
    second: str,
    words: Sequence[str],
    num_ends: int = 8,
    without: Collection[str] = (),
) -> WordAxis:
    """Lays words on the line between two words.

    Args:
        explorer: of the model.
        vectors: of the same model.
        first: the word at 0.
        second: the word at 1.
        words: up to `MAX_WORDS` to lay out; repeats count once.
        num_ends: entries to name at each end.
        without: kinds of entries that are left out of ends and percentiles.

    Raises:
        TextError: the two ends are one entry, too many words, or see `find_entry`.
        ValueError: an unknown kind.

    Source:
        Bolukbasi et al. 2016 (arXiv:1607.06520), section 5.
    """
    ends = [find_entry(explorer, word) for word in (first, second)]
    if ends[0] == ends[1]:
        raise TextError(
            "Two different words are needed for an axis. Received: {word} twice. "
            "Change one of them.",
            word=vectors.tokens[ends[0]],
        )
    if len(words) > MAX_WORDS:
        raise TextError(
            "There are too many words for one axis. Received: {count}; {limit} are "
            "allowed. Take some away.",
            count=len(words),
            limit=MAX_WORDS,
        )
    rows = list(dict.fromkeys(find_entry(explorer, word) for word in words))
    table = vectors.table
    start, stop = (table.vectors[row].astype(np.float64) for row in ends)
    laid = project_on_axis(table.vectors[[*rows, *ends]], start, stop)
    allowed = vectors.allowed(without)
    allowed[ends] = False
    direction = (stop - start).astype(np.float64)
    leanings = _leanings(table, direction)
    everywhere = np.sort(leanings[allowed])
    return WordAxis(
        model_id=explorer.model_id,
        first=vectors.tokens[ends[0]],
        second=vectors.tokens[ends[1]],
        words=tuple(vectors.tokens[row] for row in rows),
        positions=laid.positions[: len(rows)],
        cosines=laid.cosines[: len(rows)],
        distances=laid.distances[: len(rows)],
        length=float(np.linalg.norm(direction)),
        percentiles=np.searchsorted(everywhere, leanings[rows])
        / max(len(everywhere), 1),
        num_compared=int(allowed.sum()),
        first_end=vectors.named(table.nearest(-direction, num_ends, allowed=allowed)),
        second_end=vectors.named(table.nearest(direction, num_ends, allowed=allowed)),
    )


def _leanings(table: WordTable, direction: np.ndarray) -> np.ndarray:
    """Cosines float64 `[V]`, multiplied in float32: for an order, not for a number."""
    products = (table.vectors @ direction.astype(np.float32)).astype(np.float64)
    lengths = table.norms * np.linalg.norm(direction)
    return np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
