"""An axis between words: where others lie on it, and what is near without it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from bertviz_core.analysis.geometry import divided, project_on_axis
from bertviz_core.analysis.nearest_words import Neighbours, Rows, WordTable, best_of
from bertviz_core.errors import TextError
from bertviz_core.experiments.word_vector_results import AxisRemoved, WordAxis
from bertviz_core.experiments.word_vectors import WordVectors, find_rows
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import task

MAX_WORDS = 200
# Entries of the vocabulary that are named at each end.
_NUM_ENDS = 8
_NUM_NEIGHBOURS = 10  # by cosine, beside an axis


@dataclass(frozen=True)
class _Ends:
    """Both ends of an axis: their words, rows, and where they lie."""

    names: tuple[tuple[str, ...], tuple[str, ...]]
    read: dict[str, Rows]
    start: np.ndarray
    stop: np.ndarray

    @property
    def entries(self) -> list[int]:
        """Rows of the ends' words that are entries."""
        return [row for row in self.read.values() if isinstance(row, int)]


@task()
def project_words(
    explorer: Explorer,
    vectors: WordVectors,
    first: str | Sequence[str],
    second: str | Sequence[str],
    words: Sequence[str],
    without: Collection[str] = (),
) -> WordAxis:
    """Lays words on the line between two words.

    With several words at an end, the line goes through their means: with as many at
    the other, that is the mean of the steps from one to the other in each pair.

    Args:
        words: up to `MAX_WORDS` to lay out; repeats count once.
        without: kinds of entries that are left out of ends and percentiles.

    Raises:
        TextError: the two ends are one vector, too many words, or see `find_rows`.

    Source: Bolukbasi et al. 2016 (arXiv:1607.06520), section 5.
    """
    ends = _find_ends(explorer, vectors, first, second)
    _require_few(words)
    found = {word: find_rows(explorer, word) for word in words}
    rows = dict.fromkeys(found.values())
    named = {row: word for word, row in reversed(found.items())}
    table = vectors.table
    points = np.stack([table.mean(row) for row in rows])
    positions, distances = project_on_axis(points, ends.start, ends.stop)
    allowed = vectors.allowed(without)
    allowed[ends.entries] = False
    direction = ends.stop - ends.start
    leanings = table.scores(direction)
    everywhere = np.sort(leanings[allowed])
    cosines = WordTable(points).scores(direction)
    return WordAxis(
        first=ends.names[0],
        second=ends.names[1],
        words=tuple(vectors.name_of(row, named[row]) for row in rows),
        in_pieces=vectors.pieces_of(ends.read | found),
        positions=positions,
        cosines=cosines,
        distances=distances,
        percentiles=np.searchsorted(everywhere, cosines) / max(len(everywhere), 1),
        num_compared=int(allowed.sum()),
        first_end=vectors.named(best_of(-leanings, _NUM_ENDS, allowed=allowed)),
        second_end=vectors.named(best_of(leanings, _NUM_ENDS, allowed=allowed)),
    )


@task()
def remove_axis(
    explorer: Explorer,
    vectors: WordVectors,
    word: str,
    first: str | Sequence[str],
    second: str | Sequence[str],
    without: Collection[str] = (),
) -> AxisRemoved:
    """Takes the direction of an axis out of every vector and asks for neighbours again.

    These are neither the word nor its pieces, nor of the kinds in `without`. For the
    axis, and the errors, see `project_words`.

    Source: Bolukbasi et al. 2016 (arXiv:1607.06520), section 6, "neutralize".
    """
    ends = _find_ends(explorer, vectors, first, second)
    rows = find_rows(explorer, word)
    table = vectors.table
    allowed = vectors.allowed(without)
    allowed[list(rows) if isinstance(rows, tuple) else rows] = False
    query = table.mean(rows)
    unit = ends.stop - ends.start
    unit /= np.linalg.norm(unit)
    before = table.nearest(query, _NUM_NEIGHBOURS, allowed=allowed)
    after = _nearest_beside(table, query, unit, allowed)
    return AxisRemoved(
        word=vectors.name_of(rows, word),
        share=float(divided((query @ unit) ** 2, query @ query)),
        before=vectors.named(before),
        after=vectors.named(after),
    )


def _nearest_beside(
    table: WordTable, query: np.ndarray, unit: np.ndarray, allowed: np.ndarray
) -> Neighbours:
    """The nearest by cosine, once a direction is gone from all vectors.

    A vector without it is as long as what Pythagoras leaves; products with the query
    do not change, as the query has nothing of it any more.
    """
    lengths = np.sqrt(1 - table.scores(unit) ** 2)
    cosines = table.scores(query - (query @ unit) * unit)
    scores = divided(cosines, lengths).clip(-1, 1)
    return best_of(scores, _NUM_NEIGHBOURS, allowed=allowed)


def _find_ends(
    explorer: Explorer,
    vectors: WordVectors,
    first: str | Sequence[str],
    second: str | Sequence[str],
) -> _Ends:
    sides = [(end,) if isinstance(end, str) else tuple(end) for end in (first, second)]
    _require_few([*sides[0], *sides[1]])
    read = {word: find_rows(explorer, word) for side in sides for word in side}
    names = [
        tuple(vectors.name_of(read[word], word) for word in side) for side in sides
    ]
    start, stop = (
        np.mean([vectors.table.mean(read[word]) for word in side], axis=0)
        for side in sides
    )
    if np.array_equal(start, stop):
        raise TextError(
            "Two different words are needed for an axis. Received: “{word}” twice. "
            "Change one of them.",
            word=" + ".join(names[0]),
        )
    return _Ends((names[0], names[1]), read, start, stop)


def _require_few(words: Sequence[str]) -> None:
    if len(words) > MAX_WORDS:
        raise TextError(
            "There are too many words for one axis. Received: {count}; the limit is "
            "{limit}. Remove some.",
            count=len(words),
            limit=MAX_WORDS,
        )
