"""A number for each two tokens as a table, made when somebody asks for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from pages.shared.language import plain


class PairColumns(Mapping[str, list[str] | list[float]]):
    """Who looks, who is looked at, and the number of the two; a row for each pair.

    512 tokens have 262,144 pairs, and few visitors open the table: until then nothing
    but the names of the columns is known.

    Args:
        labels: of the tokens, S in all.
        values: float or bool `[S, S]`, rows look; bool becomes 0 and 1.
        title: of the column of numbers.
    """

    def __init__(self, labels: Sequence[str], values: np.ndarray, title: str) -> None:
        self._labels = list(labels)
        self._values = values
        # In the language of the page: a click that saves has no session to ask for it.
        self._names = (
            plain("attention.from_token"),
            plain("attention.to_token"),
            title,
        )

    def __getitem__(self, name: str) -> list[str] | list[float]:
        if name not in self._names:
            raise KeyError(name)
        place = self._names.index(name)
        if place == 0:
            return [label for label in self._labels for _ in self._labels]
        if place == 1:
            return self._labels * len(self._labels)
        numbers = self._values.ravel()
        cells: list[float] = (
            numbers.astype(int) if numbers.dtype == bool else numbers
        ).tolist()
        return cells

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
