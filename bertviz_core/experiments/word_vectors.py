"""Questions to the word embeddings of a model, all of them asked in the full space."""

import functools
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from bertviz_core.analysis.geometry import Pca, fit_pca
from bertviz_core.analysis.nearest_words import (
    Neighbours,
    Rows,
    WordTable,
    best_of,
    rank_among,
)
from bertviz_core.analysis.wordlists import KINDS, entries_of_kind
from bertviz_core.errors import TextError
from bertviz_core.experiments import stored_maps
from bertviz_core.experiments.masked_rows import piece_names
from bertviz_core.experiments.word_vector_results import (
    InPieces,
    NearestWords,
    WordAnalogy,
)
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import task
from bertviz_core.weights import as_numpy

# A row without a word can be no answer.
_NEVER = "empty"
_MOST_AXES = 3  # of a map


@dataclass(frozen=True)
class WordVectors:
    """A vocabulary with its vectors, ready to be asked again and again."""

    tokens: tuple[str, ...]  # V entries; [row 57] for a row without a word
    table: WordTable  # their vectors
    kinds: Mapping[str, np.ndarray]  # bool [V] by kind, of `KINDS`

    @functools.cached_property
    def pca(self) -> Pca:
        """The widest axes, which take most of the time of a map and serve all maps."""
        vectors = self.table.vectors
        return fit_pca(vectors, min(_MOST_AXES, *vectors.shape))

    @functools.cached_property
    def digest(self) -> str:
        """Of the vectors, see `stored_maps`; it takes 0.2 s for those of BERT-base."""
        return stored_maps.digest_of(self.table.vectors)

    def allowed(self, without: Collection[str]) -> np.ndarray:
        """Entries of none of these kinds, bool `[V]`; never rows without a word."""
        if unknown := sorted(set(without) - set(KINDS)):
            raise ValueError(
                f"`without` must be among {tuple(KINDS)}. Received: {unknown}."
            )
        kept = ~self.kinds[_NEVER]
        for kind in without:
            kept = kept & ~self.kinds[kind]
        return kept

    def name_of(self, rows: Rows, typed: str) -> str:
        """The entry, or what was typed where it is read as several."""
        return self.tokens[rows] if isinstance(rows, int) else typed.strip()

    def pieces_of(self, words: Mapping[str, Rows]) -> tuple[InPieces, ...]:
        """Those of some typed words that are read as several entries."""
        return tuple(
            (typed.strip(), tuple(self.tokens[row] for row in rows))
            for typed, rows in words.items()
            if isinstance(rows, tuple)
        )

    def named(self, found: Neighbours) -> Neighbours:
        return replace(found, words=tuple(self.tokens[i] for i in found.ids))


def word_vectors(explorer: Explorer) -> WordVectors:
    """Copies a model's word embeddings and sorts its vocabulary by kind."""
    tokens = piece_names(explorer, range(explorer.config.vocab_size))
    table = as_numpy(explorer.loaded.model.embeddings.word_embeddings)
    # A copy: the model may be trained on while it is asked about.
    vectors = np.array(table, np.float32)
    kinds = {kind: entries_of_kind(tokens, kind) for kind in KINDS}
    return WordVectors(tokens, WordTable(vectors), kinds)


@task()
def word_norms(vectors: WordVectors) -> np.ndarray:
    """The length of every word vector, float32 `[V]`."""
    return vectors.table.norms.astype(np.float32)


def find_rows(explorer: Explorer, word: str) -> Rows:
    """The row of a word; the rows of its pieces where it is no single entry.

    `##ing` and `[MASK]` are found as they stand; else the tokenizer decides, as it
    folds capitals and accents in some models.

    Raises:
        TextError: no word, or one that the model cannot read.
    """
    typed = word.strip()
    if not typed:
        raise TextError("There is no word to look up. Type a word.")
    vocabulary = explorer.tokenizer.vocabulary
    if typed in vocabulary:
        return vocabulary.index(typed)
    read = explorer.tokenize(typed, cut=True)
    own = np.flatnonzero(~read.is_added)
    rows = tuple(int(row) for row in read.input_ids[own])
    if read.unk_token_id in rows:
        raise TextError(
            "The model's vocabulary has no entry for this word and no word pieces to "
            "build it from. Received: “{word}”, read as {pieces}. Type another word.",
            word=typed[:60],
            pieces=" ".join(read.tokens[i] for i in own[:12]),
        )
    return rows[0] if len(rows) == 1 else rows


@task()
def nearest_words(
    explorer: Explorer,
    vectors: WordVectors,
    word: str,
    num_neighbours: int = 10,
    metric: str = "cosine",
    without: Collection[str] = (),
) -> NearestWords:
    """Finds the entries nearest to one of them, or to the mean of a word's pieces.

    Args:
        metric: of `nearest_words.METRICS`.
        without: kinds of entries that are no answer.

    Raises:
        TextError: see `find_rows`.
    """
    rows = find_rows(explorer, word)
    allowed = vectors.allowed(without)
    allowed[list(rows) if isinstance(rows, tuple) else rows] = False
    table = vectors.table
    query = table.mean(rows)
    found = table.nearest(query, num_neighbours, metric, allowed)
    is_entry = isinstance(rows, int)
    norm = float(table.norms[rows] if is_entry else np.linalg.norm(query))
    return NearestWords(
        word=vectors.name_of(rows, word),
        token_id=rows if isinstance(rows, int) else None,
        in_pieces=vectors.pieces_of({word: rows}),
        norm=norm,
        norm_rank=1 + int((table.norms > norm).sum()),
        neighbours=vectors.named(found),
        num_compared=int(allowed.sum()),
        num_entries=len(vectors.tokens),
    )


@task()
def solve_analogy(
    explorer: Explorer,
    vectors: WordVectors,
    inputs: tuple[str, str, str],
    expected: str = "",
    num_neighbours: int = 10,
    metric: str = "cosine",
    without: Collection[str] = (),
) -> WordAnalogy:
    """Ranks the words nearest to a - b + c, and finds the expected one's rank.

    Args:
        inputs: the words a, b, c, as king, man, woman.
        expected: the word that is hoped for; "" for none.
        metric: of `nearest_words.METRICS`.
        without: kinds of entries that are no answer. The three words and the
            expected one always take part, if they are entries; a word of several
            pieces is the mean of them.

    Raises:
        TextError: see `find_rows`.

    Source: Mikolov et al. 2013 (N13-1090), section 4; Linzen 2016 (W16-2503) for what
    leaving the inputs out hides.
    """
    a, b, c = (find_rows(explorer, word) for word in inputs)
    hoped = find_rows(explorer, expected) if expected.strip() else None
    allowed = vectors.allowed(without)
    entries = [row for row in (a, b, c) if isinstance(row, int)]
    allowed[entries + ([hoped] if isinstance(hoped, int) else [])] = True
    read = dict(zip(inputs, (a, b, c), strict=True))
    if hoped is not None:
        read[expected] = hoped
    others = allowed.copy()
    others[entries] = False
    table = vectors.table
    query = table.mean(a) - table.mean(b) + table.mean(c)
    scores = table.scores(query, metric)
    rank = rank_without = None
    if hoped is not None:
        (score,) = WordTable(table.mean(hoped)[None]).scores(query, metric)
        rank = rank_among(scores[allowed], score, metric)
        if hoped not in entries:
            rank_without = rank_among(scores[others], score, metric)
    return WordAnalogy(
        inputs=(
            vectors.name_of(a, inputs[0]),
            vectors.name_of(b, inputs[1]),
            vectors.name_of(c, inputs[2]),
        ),
        expected="" if hoped is None else vectors.name_of(hoped, expected),
        in_pieces=vectors.pieces_of(read),
        rank=rank,
        rank_without_inputs=rank_without,
        nearest=vectors.named(best_of(scores, num_neighbours, metric, allowed)),
        nearest_without_inputs=vectors.named(
            best_of(scores, num_neighbours, metric, others)
        ),
        num_compared=int(allowed.sum()),
        num_without_inputs=int(others.sum()),
    )
