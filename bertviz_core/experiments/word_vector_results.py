"""What is asked of the vocabulary's vectors: frozen NumPy dataclasses."""

from dataclasses import dataclass

import numpy as np

from bertviz_core.analysis.nearest_words import Neighbours
from bertviz_core.trace import FrozenArrays

# A word as typed, and the entries that the model reads it as: their mean is meant.
InPieces = tuple[str, tuple[str, ...]]


@dataclass(frozen=True)
class NearestWords:
    """The entries of a vocabulary nearest to one of them, in the full space."""

    word: str  # the entry that was asked about, or a word of several
    token_id: int | None  # its row; `None` for the mean of several
    in_pieces: tuple[InPieces, ...]  # the word, if it is read as several entries
    norm: float  # its length
    norm_rank: int  # how many entries are longer, plus 1
    neighbours: Neighbours  # of the others
    num_compared: int  # entries that could have been named
    num_entries: int  # V, all of them


@dataclass(frozen=True)
class WordAnalogy:
    """What lies at a - b + c, with the rank of the word that was hoped for."""

    inputs: tuple[str, str, str]  # the entries a, b, c
    expected: str  # the entry that was hoped for; "" for none
    # Those of the four words that are read as several entries.
    in_pieces: tuple[InPieces, ...]
    rank: int | None  # of the one that was hoped for, 1 = nearest; `None` for none
    # The same with a, b and c left out; `None` also where it is one of them.
    rank_without_inputs: int | None
    nearest: Neighbours  # with a, b and c among the candidates
    nearest_without_inputs: Neighbours  # without them, as most tutorials show it
    num_compared: int  # entries that could be an answer, a, b and c included
    num_without_inputs: int  # the same with a, b and c left out


@dataclass(frozen=True)
class WordAxis(FrozenArrays):
    """Words between two words."""

    # Both: the words at the ends, one or more at each.
    first: tuple[str, ...]
    second: tuple[str, ...]
    words: tuple[str, ...]  # M words that were asked about
    # Those of all words that are read as several entries.
    in_pieces: tuple[InPieces, ...]
    positions: np.ndarray  # float64 [M], on the line; 0 at the first, 1 at the second
    cosines: np.ndarray  # float64 [M], with the direction from the first to the second
    distances: np.ndarray  # float64 [M], from the line
    # float64 [M], share of the vocabulary with a smaller cosine: 0.5 = no more to one
    # side than the middle word.
    percentiles: np.ndarray
    num_compared: int  # entries that the percentiles are of
    first_end: Neighbours  # entries furthest to the first's side, by cosine
    second_end: Neighbours  # entries furthest to the second's side


@dataclass(frozen=True)
class AxisRemoved:
    """The neighbours of a word with an axis, and with its direction taken out."""

    word: str  # the entry that was asked about, or a word of several
    share: float  # of the word's squared length that lay along the axis, in [0, 1]
    before: Neighbours  # nearest by cosine as the vectors are
    # Nearest by cosine once the direction is gone from all vectors.
    after: Neighbours
