"""Evaluates the formulas of the layers page from their LaTeX, as a reader takes them.

Letters side by side are a product of matrices, `\\odot` one number by number; `Q_n` is
the n-th of several matrices, `x^{(L)}` a letter with a name and no power. Letters on
the left, `A_{n,qk}`, are what the right side is computed for, one after another. What
stands in no dictionary is refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tests.app.latex import Names, Part, Reader, equations, multiplied, raised

_Index = Callable[[Names], int]
_FONTS = (r"\mathrm", r"\mathtt")


def left_side(formula: str) -> tuple[str, str]:
    """What a formula explains: its name, and the letters that count, if any."""
    tokens = equations(formula)[0][0]
    if "_" not in tokens:
        return "".join(tokens), ""
    place = tokens.index("_")
    letters = [token for token in tokens[place:] if token.isalpha()]
    return "".join(tokens[:place]), "".join(letters)


def right_side(formula: str, names: Names, sizes: Mapping[str, int]) -> np.ndarray:
    """The numbers that a formula gives.

    Args:
        formula: an equation, perhaps with a letter of two values after it,
            `M_{qk} \\in \\{a, b\\}`; `names` then holds, under that letter, a bool
            array that is true where the first of them stands.
        names: numbers, arrays and functions by letter, command or operator.
        sizes: how far a letter of the left side or of a sum counts.
    """
    ((_, right),) = equations(formula)
    if r"\quad" in right:
        place = right.index(r"\quad")
        names = {**names, **_chosen(right[place + 1 :], names, sizes)}
        right = right[: place - 1]  # without the comma
    part = _read(right, names, sizes)
    letters = left_side(formula)[1]
    counts = [sizes[letter] for letter in letters]
    found = [
        part({**names, **dict(zip(letters, places, strict=True))})
        for places in itertools.product(*map(range, counts))
    ]
    return np.reshape(found, (*counts, *np.shape(found)[1:]))


def _read(tokens: list[str], names: Names, sizes: Mapping[str, int]) -> Part:
    reader = _MatrixReader(tokens, names, sizes)
    part = reader.sum()
    if reader.tokens:
        raise ValueError(f"Not understood: {''.join(reader.tokens)}.")
    return part


def _chosen(
    tokens: list[str], names: Names, sizes: Mapping[str, int]
) -> dict[str, np.ndarray]:
    """The letter of two values, by number."""
    letter, start = tokens[0], tokens.index(r"\in")
    if (tokens[start + 1], tokens[-1]) != (r"\{", r"\}"):
        raise ValueError(f"Not two values: {''.join(tokens)}.")
    inside = tokens[start + 2 : -1]
    comma = inside.index(",")
    both = [_read(one, names, sizes) for one in (inside[:comma], inside[comma + 1 :])]
    return {letter: np.where(names[letter], *(one(names) for one in both))}


class _MatrixReader(Reader):
    def __init__(
        self, tokens: list[str], names: Names, sizes: Mapping[str, int]
    ) -> None:
        super().__init__(tokens, {name for name in names if callable(names[name])})
        self._known, self._sizes = names, sizes

    def _product(self) -> Part:
        part = super()._product()
        while self._takes(r"\odot"):
            part = multiplied(part, super()._product())
        return part

    def _begins_factor(self) -> bool:
        return self._next() != r"\odot" and super()._begins_factor()

    def _beside(self, left: Part, right: Part) -> Part:
        def value_of(names: Names) -> Any:
            one, other = left(names), right(names)
            if not (np.ndim(one) and np.ndim(other)):
                return one * other
            if np.ndim(other) == 1:
                raise ValueError("A vector stands where a matrix is multiplied.")
            return one @ other

        return value_of

    def _power(self) -> Part:
        base = self._factor()
        if not self._takes("^"):
            return base
        if not self._takes(r"\top"):
            return raised(base, self._argument())

        def transposed(names: Names) -> np.ndarray:
            matrix: np.ndarray = base(names)
            if matrix.ndim != 2:
                raise ValueError("Only a matrix has rows and columns to change.")
            return matrix.T

        return transposed

    def _factor(self) -> Part:
        if self._takes(r"\sum"):
            return self._counted_sum()
        if self._takes(r"\operatorname{concat}"):
            return self._side_by_side()
        return super()._factor()

    def _counted_sum(self) -> Part:
        self._needs("_")
        letter = self._group()[1:-1]
        body, size = self._product(), self._sizes[letter]
        return lambda names: sum(
            body({**names, letter: place}) for place in range(size)
        )

    def _side_by_side(self) -> Part:
        """`(A_1 V_1, \\ldots, A_N V_N)`: the last says what the first begins."""
        self._needs("(")
        inside = self.tokens[: self.tokens.index(")")]
        del self.tokens[: len(inside) + 1]
        start, stop = inside.index(","), len(inside) - inside[::-1].index(",")
        first, last = inside[:start], inside[stop:]
        if inside[start:stop] != [",", r"\ldots", ","] or first != [
            "1" if token == "N" else token for token in last
        ]:
            raise ValueError(f"No series: {''.join(inside)}.")
        of_head = ["n" if token == "N" else token for token in last]
        body = _read(of_head, self._known, self._sizes)
        return lambda names: np.concatenate(
            [body({**names, "n": head}) for head in range(self._sizes["n"])], axis=-1
        )

    def _name(self, token: str) -> str:
        name = super()._name(token + self._group() if token == r"\hat" else token)
        if self._next() == "^":
            longer = name + "^" + self._group(start=1, take=False)
            if longer in self._known:
                self.tokens.pop(0)
                self._group()
                return longer
        return name

    def _named(self, token: str) -> Part:
        part = super()._named(token)
        if not self._takes("_"):
            return part
        indices = self._indices()
        return lambda names: part(names)[tuple(index(names) for index in indices)]

    def _indices(self) -> list[_Index]:
        if not self._takes("{"):
            return [self._index()]
        found = []
        while not self._takes("}"):
            found.append(self._index())
            self._takes(",")
        return found

    def _index(self) -> _Index:
        """A letter, a word, a function of one, `\\mathrm{id}(t)`, or a place from 1."""
        token = self.tokens.pop(0)
        if token.isdigit():
            return lambda names: int(token) - 1
        name = token + self._group() if token in _FONTS else token
        if not self._takes("("):
            return lambda names: names[name]
        inner = self._index()
        self._needs(")")
        return lambda names: names[name](inner(names))

    def _group(self, start: int = 0, take: bool = True) -> str:
        """What stands in braces, with them; nothing where there are none."""
        if self.tokens[start : start + 1] != ["{"]:
            return ""
        depth, end = 0, start
        while depth or end == start:
            depth += {"{": 1, "}": -1}.get(self.tokens[end], 0)
            end += 1
        found = "".join(self.tokens[start:end])
        if take:
            del self.tokens[start:end]
        return found
