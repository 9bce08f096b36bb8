"""What is asked of the vocabulary's vectors: frozen NumPy dataclasses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bertviz_core.analysis.nearest_words import Neighbours
from bertviz_core.trace import FrozenArrays

# A word as typed, and the entries that the model reads it as: their mean is meant.
InPieces = tuple[str, tuple[str, ...]]


@dataclass(frozen=True)
class NamedNeighbours:
    """Rows of the table with the words that they belong to.

    Args:
        found: rows and scores, nearest first.
        words: the entry of each row.
    """

    found: Neighbours
    words: tuple[str, ...]


@dataclass(frozen=True)
class NearestWords:
    """The entries of a vocabulary nearest to one of them, in the full space.

    Args:
        word: the entry that was asked about, or a word of several.
        token_id: its row; `None` for the mean of several.
        in_pieces: the word, if it is read as several entries.
        norm: its length.
        norm_rank: how many entries are longer, plus 1.
        neighbours: of the others.
        num_compared: entries that could have been named.
        num_entries: V, all of them.
    """

    word: str
    token_id: int | None
    in_pieces: tuple[InPieces, ...]
    norm: float
    norm_rank: int
    neighbours: NamedNeighbours
    num_compared: int
    num_entries: int


@dataclass(frozen=True)
class WordAnalogy:
    """What lies at a - b + c, with the rank of the word that was hoped for.

    Args:
        inputs: the entries a, b, c.
        expected: the entry that was hoped for; "" for none.
        in_pieces: those of the four words that are read as several entries.
        rank: of the one that was hoped for, 1 = nearest; `None` for none.
        rank_without_inputs: the same with a, b and c left out; `None` also where it is
            one of them.
        nearest: with a, b and c among the candidates.
        nearest_without_inputs: without them, as most tutorials show it.
        num_compared: entries that could be an answer, a, b and c included.
        num_without_inputs: the same with a, b and c left out.
    """

    inputs: tuple[str, str, str]
    expected: str
    in_pieces: tuple[InPieces, ...]
    rank: int | None
    rank_without_inputs: int | None
    nearest: NamedNeighbours
    nearest_without_inputs: NamedNeighbours
    num_compared: int
    num_without_inputs: int


@dataclass(frozen=True)
class WordAxis(FrozenArrays):
    """Words between two words.

    Args:
        first, second: the words at the ends, one or more at each.
        words: M words that were asked about.
        in_pieces: those of all words that are read as several entries.
        positions: float64 `[M]`, on the line; 0 at the first, 1 at the second.
        cosines: float64 `[M]`, with the direction from the first to the second.
        distances: float64 `[M]`, from the line.
        percentiles: float64 `[M]`, share of the vocabulary with a smaller cosine:
            0.5 = no more to one side than the middle word.
        num_compared: entries that the percentiles are of.
        first_end: entries furthest to the first's side, by cosine.
        second_end: entries furthest to the second's side.
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    words: tuple[str, ...]
    in_pieces: tuple[InPieces, ...]
    positions: np.ndarray
    cosines: np.ndarray
    distances: np.ndarray
    percentiles: np.ndarray
    num_compared: int
    first_end: NamedNeighbours
    second_end: NamedNeighbours


@dataclass(frozen=True)
class AxisRemoved:
    """The neighbours of a word with an axis, and with its direction taken out.

    Args:
        word: the entry that was asked about, or a word of several.
        share: of the word's squared length that lay along the axis, in [0, 1].
        before: nearest by cosine as the vectors are.
        after: nearest by cosine once the direction is gone from all vectors.
    """

    word: str
    share: float
    before: NamedNeighbours
    after: NamedNeighbours
