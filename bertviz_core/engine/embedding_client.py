"""The part of `Client` that asks about embeddings and hidden states."""

from __future__ import annotations

from typing import cast

import numpy as np

from bertviz_core.analysis.position_geometry import PositionGeometry
from bertviz_core.engine.engine import Engine
from bertviz_core.experiments.embedding_results import InputSum
from bertviz_core.experiments.map_results import VocabularyMap
from bertviz_core.experiments.word_vector_results import (
    NearestWords,
    WordAnalogy,
    WordAxis,
)


class EmbeddingClient:
    """Methods of `Client`; see there for what all of them raise."""

    _engine: Engine

    def take_input_apart(
        self, model: str, text: str, pair: str | None = None, cut: bool = False
    ) -> InputSum:
        """Splits what enters the first block into word, position and segment.

        Args:
            model: its id.
            text: the first text.
            pair: the second text.
            cut: leaves out what is beyond the last position.

        Raises:
            TextError: empty, or too long while `cut` is false.
        """
        answer = self._engine.call(
            "take_input_apart", model=model, text=text, pair=pair, cut=cut
        )
        return cast(InputSum, answer)

    def position_geometry(self, model: str) -> PositionGeometry:
        """Measures the position embeddings of a model."""
        answer = self._engine.call("position_geometry", model=model)
        return cast(PositionGeometry, answer)

    def nearest_words(
        self,
        model: str,
        word: str,
        num_neighbours: int = 10,
        metric: str = "cosine",
        without: tuple[str, ...] = (),
    ) -> NearestWords:
        """Finds the entries of the vocabulary nearest to one of them.

        Args:
            model: its id.
            word: one entry; capitals as the model reads them.
            num_neighbours: how many to name.
            metric: "cosine" or "euclidean".
            without: kinds of `wordlists.KINDS` that are no answer.

        Raises:
            TextError: the word is no entry of the vocabulary.
        """
        answer = self._engine.call(
            "nearest_words",
            model=model,
            word=word,
            num_neighbours=num_neighbours,
            metric=metric,
            without=without,
        )
        return cast(NearestWords, answer)

    def solve_analogy(
        self,
        model: str,
        inputs: tuple[str, str, str],
        expected: str = "",
        num_neighbours: int = 10,
        metric: str = "cosine",
        without: tuple[str, ...] = (),
    ) -> WordAnalogy:
        """Looks at a - b + c, and how far down the expected word is.

        Args:
            model: its id.
            inputs: the words a, b, c, as king, man, woman.
            expected: the word that is hoped for; "" for none.
            num_neighbours: how many to name.
            metric: "cosine" or "euclidean".
            without: kinds of `wordlists.KINDS` that are no answer.

        Raises:
            TextError: a word is no entry of the vocabulary.
        """
        answer = self._engine.call(
            "solve_analogy",
            model=model,
            inputs=inputs,
            expected=expected,
            num_neighbours=num_neighbours,
            metric=metric,
            without=without,
        )
        return cast(WordAnalogy, answer)

    def project_words(
        self,
        model: str,
        first: str,
        second: str,
        words: tuple[str, ...],
        num_ends: int = 8,
        without: tuple[str, ...] = (),
    ) -> WordAxis:
        """Lays words on the line between two words.

        Args:
            model: its id.
            first: the word at 0.
            second: the word at 1.
            words: to lay out.
            num_ends: entries of the vocabulary to name at each end.
            without: kinds of `wordlists.KINDS` that are not named.

        Raises:
            TextError: a word is no entry of the vocabulary, or both ends are one.
        """
        answer = self._engine.call(
            "project_words",
            model=model,
            first=first,
            second=second,
            words=words,
            num_ends=num_ends,
            without=without,
        )
        return cast(WordAxis, answer)

    def word_norms(self, model: str) -> np.ndarray:
        """The length of every word vector, float32 `[V]`."""
        return cast(np.ndarray, self._engine.call("word_norms", model=model))

    def exported_vectors(self, model: str, rows: tuple[int, ...]) -> np.ndarray:
        """The vectors of some entries, float32 `[M, H]`, to write into a file.

        Args:
            model: its id.
            rows: entries of the vocabulary.

        Raises:
            TextError: too many for a file.
        """
        answer = self._engine.call("exported_vectors", model=model, rows=rows)
        return cast(np.ndarray, answer)

    def vocabulary_map(
        self, model: str, num_axes: int = 2, method: str = "pca"
    ) -> VocabularyMap | None:
        """Every entry of the vocabulary on a map.

        Args:
            model: its id.
            num_axes: 2 or 3.
            method: "pca", drawn at once; "tsne", a map that was computed before, or
                `None` where there is none.
        """
        answer = self._engine.call(
            "vocabulary_map", model=model, num_axes=num_axes, method=method
        )
        return cast("VocabularyMap | None", answer)

    def sentence_vectors(
        self, model: str, sentences: tuple[str, ...], reading: str, layer: int
    ) -> np.ndarray:
        """The vectors of sentences at one layer, float32 `[M, H]`.

        Args:
            model: its id.
            sentences: see `sentence_states`.
            reading: "token", "cls" or "mean".
            layer: 0 is the embedding output.

        Raises:
            TextError: see `sentence_states`.
        """
        answer = self._engine.call(
            "sentence_vectors",
            model=model,
            sentences=sentences,
            reading=reading,
            layer=layer,
        )
        return cast(np.ndarray, answer)
