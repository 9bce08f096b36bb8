"""Evaluates the formulas of the activations page from their LaTeX.

Those of the layers page need matrices and indices as well: `tests.core.matrix_latex`.

A formula is taken as a reader takes it: rows and spaces are no part of it, `2x` is a
product, `\\tanh^2 x` the square of `\\tanh x`. It knows what these formulas hold and
refuses anything else.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Names = Mapping[str, Any]  # numbers, and functions of numbers
Part = Callable[[Names], Any]  # of a formula; gives its value

_TOKEN = re.compile(
    r"\\\\(?:\[\d+ex\])?|\\(?:begin|end)\{[a-z]+\}|\\operatorname\{[A-Za-z]+\}"
    r"|\\[a-zA-Z]+|\\.|\d+(?:\.\d+)?|\S"
)
_UNSEEN = {
    *(r"\,", r"\;", r"\left", r"\right", r"\bigl", r"\bigr", r"\Bigl", r"\Bigr"),
    *(r"\begin{aligned}", r"\end{aligned}", r"\begin{gathered}", r"\end{gathered}"),
}
_CASES, _END = r"\begin{cases}", r"\end{cases}"
_EQUAL = {"=", r"\approx", r"\sim"}
_CLOSING = {"(": ")", "[": "]"}
_COMPARED = {">": np.greater, r"\le": np.less_equal}
_LEGENDRE = np.polynomial.legendre.leggauss(80)
FAR = 12.0  # where the normal distribution is over


def integral(function: Callable[[Any], Any], low: float, high: float) -> float:
    """Gauss-Legendre, in pieces of length 1 at most; infinity is `FAR`."""
    low, high = np.clip([low, high], -FAR, FAR)
    edges = np.linspace(low, high, max(int(abs(high - low)) + 1, 2))
    nodes, weights = _LEGENDRE
    total = 0.0
    for a, b in itertools.pairwise(edges):
        places = a + (b - a) / 2 * (nodes + 1)
        total += (b - a) / 2 * float(weights @ np.broadcast_to(function(places), 80))
    return total


def equations(formula: str) -> list[list[list[str]]]:
    """The equations of a formula, each as its sides, those as tokens."""
    rows: list[list[str]] = [[]]
    depth = 0
    for token in _TOKEN.findall(formula):
        depth += (token == _CASES) - (token == _END)
        if token.startswith("\\\\") and not depth:
            rows.append([])
        elif token not in _UNSEEN and (depth or token != "&"):
            rows[-1].append(token)
    whole: list[list[str]] = []
    for row in rows:
        goes_on = row[0] in {*_EQUAL, "+", "-"} or (whole and whole[-1][-1] in _EQUAL)
        if goes_on and whole:
            whole[-1] += row
        else:
            whole.append(row)
    return [_sides(row) for row in whole]


def _sides(tokens: list[str]) -> list[list[str]]:
    sides: list[list[str]] = [[]]
    for token in tokens:
        if token in _EQUAL:
            sides.append([])
        else:
            sides[-1].append(token)
    return sides


def value(side: list[str], names: Names) -> Any:
    """The value of one side of an equation.

    Args:
        side: its tokens.
        names: values of letters, commands and operator names. `E` gets the inside of
            its bracket, `P` its condition, as a function of further names.
    """
    reader = Reader(side, {name for name, one in names.items() if callable(one)})
    part = reader.sum()
    if reader.tokens:
        raise ValueError(f"Not understood: {''.join(reader.tokens)}.")
    return part(names)


class Reader:
    """Reads tokens from the left; every method takes its own ones away."""

    def __init__(self, tokens: list[str], functions: set[str]) -> None:
        self.tokens, self._functions = [*tokens], functions

    def sum(self) -> Part:
        signs, terms = [-1 if self._takes("-") else 1], [self._product()]
        while self._next() in ("+", "-"):
            signs.append(-1 if self.tokens.pop(0) == "-" else 1)
            terms.append(self._product())
        return lambda names: sum(
            sign * term(names) for sign, term in zip(signs, terms, strict=True)
        )

    def _product(self) -> Part:
        part = self._power()
        while True:
            if self._takes("/"):
                part = _divided(part, self._power())
            elif self._takes(r"\cdot"):
                part = multiplied(part, self._power())
            elif self._begins_factor():
                part = self._beside(part, self._power())
            else:
                return part

    def _beside(self, left: Part, right: Part) -> Part:
        """Two factors without a sign between them."""
        return multiplied(left, right)

    def _begins_factor(self) -> bool:
        token = self._next()
        ends = {"", "+", "-", "/", ")", "]", "}", ",", "&", "d", _END, *_COMPARED}
        return token not in ends and not token.startswith("\\\\")

    def _power(self) -> Part:
        base = self._factor()
        return raised(base, self._argument()) if self._takes("^") else base

    def _factor(self) -> Part:
        token = self.tokens.pop(0)
        if token[0].isdigit():
            return lambda names: float(token)
        if token in _CLOSING:
            (part,) = self._inside(_CLOSING[token])
            return part
        if token in (r"\frac", r"\tfrac"):
            return _divided(self._argument(), self._argument())
        if token == r"\sqrt":
            root = self._argument()
            return lambda names: np.sqrt(root(names))
        if token == r"\dots":  # what a series leaves out
            return lambda names: 0.0
        if token == r"\int":
            return self._integral()
        if token == _CASES:
            return self._cases()
        return self._named(token)

    def _argument(self) -> Part:
        """What stands in braces, or the next sign alone: `\\frac12` is a half."""
        if self._takes("{"):
            part = self.sum()
            self._needs("}")
            return part
        if len(self._next()) > 1 and self._next().isdigit():
            digits = self.tokens.pop(0)
            self.tokens[:0] = [digits[0], digits[1:]]
        return self._factor()

    def _inside(self, end: str) -> list[Part]:
        parts = [self.sum()]
        while self._takes(","):
            parts.append(self.sum())
        self._needs(end)
        return parts

    def _integral(self) -> Part:
        self._needs("_")
        low = self._argument()
        self._needs("^")
        high, body = self._argument(), self._product()
        self._needs("d")
        letter = self.tokens.pop(0)

        def value_of(names: Names) -> float:
            return integral(
                lambda place: body({**names, letter: place}), low(names), high(names)
            )

        return value_of

    def _cases(self) -> Part:
        rows = []
        while not self._takes(_END):
            part = self.sum()
            self._needs("&")
            rows.append((part, self._condition()))
            self._takes(r"\\")

        def value_of(names: Names) -> Any:
            conditions = [condition(names) for _, condition in rows]
            if not (sum(np.asarray(one, int) for one in conditions) == 1).all():
                raise ValueError("Of the cases, one and only one must be given.")
            return np.select(conditions, [part(names) for part, _ in rows])

        return value_of

    def _condition(self) -> Part:
        left, sign = self.sum(), self.tokens.pop(0)
        right = self.sum()
        return lambda names: _COMPARED[sign](left(names), right(names))

    def _name(self, token: str) -> str:
        """A letter, a command or an operator, with its primes."""
        found = re.fullmatch(r"\\operatorname\{(\w+)\}", token)
        name = found[1] if found else token
        while self._takes("'"):
            name += "'"
        return name

    def _named(self, token: str) -> Part:
        name = self._name(token)
        if name not in self._functions:
            return lambda names: names[name]
        if name in ("E", "P"):
            self.tokens.pop(0)
            inner = self.sum() if name == "E" else self._condition()
            self.tokens.pop(0)
            return lambda names: names[name](lambda **more: inner({**names, **more}))
        power = self._argument() if self._takes("^") else None
        opened = self._next()
        if opened in _CLOSING:
            self.tokens.pop(0)
            arguments = self._inside(_CLOSING[opened])
        else:
            arguments = [self._power()]

        def value_of(names: Names) -> Any:
            return names[name](*(argument(names) for argument in arguments))

        return value_of if power is None else raised(value_of, power)

    def _next(self) -> str:
        return self.tokens[0] if self.tokens else ""

    def _takes(self, token: str) -> bool:
        is_next = self._next() == token
        if is_next:
            self.tokens.pop(0)
        return is_next

    def _needs(self, token: str) -> None:
        if not self._takes(token):
            raise ValueError(f"{token} is missing before {''.join(self.tokens)}.")


def _divided(above: Part, below: Part) -> Part:
    return lambda names: above(names) / below(names)


def multiplied(left: Part, right: Part) -> Part:
    return lambda names: left(names) * right(names)


def raised(base: Part, power: Part) -> Part:
    return lambda names: base(names) ** power(names)
