r"""Evaluates the formulas of pages from their LaTeX, as a reader takes them.

A formula becomes an expression of Python. Rows and spaces are no part of it; what
stands side by side is a product, of matrices where both are some, and `\odot` and
`\cdot` one number by number; `\tanh^2 x` is the square of `\tanh x`; `Q_n` is the n-th
of several matrices, `x^{(L)}` a letter with a name and no power. Letters on the left,
`A_{n,qk}`, are what the right side is computed for, one after another. What stands in
no dictionary is refused.
"""

import itertools
import re

import numpy as np
from scipy.integrate import quad

_TOKEN = re.compile(
    r"\\\\(?:\[\d+ex\])?|\\(?:begin|end)\{[a-z]+\}|\\(?:hat|mathrm|mathtt)\{[^}]*\}"
    r"|[A-Za-z]\^\{(?:[A-Z]|\(\w\)|\\mathrm\{\w+\})\}"
    r"|(?:\\operatorname\{[A-Za-z]+\}|\\[a-zA-Z]+|[A-Za-z])'*|\\.|\d+(?:\.\d+)?|\S"
)
_UNSEEN = {
    *(r"\,", r"\;", r"\left", r"\right", r"\bigl", r"\bigr", r"\Bigl", r"\Bigr"),
    *(r"\begin{aligned}", r"\end{aligned}", r"\begin{gathered}", r"\end{gathered}"),
}
_CASES, _END, _CONCAT = r"\begin{cases}", r"\end{cases}", "concat"
_EQUAL = {"=", r"\approx", r"\sim"}
_SIGNS = {sign: sign for sign in "+-/,>"} | {r"\le": "<=", r"\cdot": "*", r"\odot": "*"}
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_ENDS = {*_CLOSING.values(), "&", r"\\", _END}


def equations(formula):
    """The equations of a formula, each as its sides, those as tokens."""
    rows = [[]]
    depth = 0
    for token in _TOKEN.findall(formula):
        depth += (token == _CASES) - (token == _END)
        if token.startswith("\\\\") and not depth:
            rows.append([])
        elif token not in _UNSEEN and (depth or token != "&"):
            rows[-1].append(re.sub(r"\\operatorname\{(\w+)\}", r"\1", token))
    whole = []
    for row in rows:
        goes_on = row[0] in {*_EQUAL, "+", "-"} or (whole and whole[-1][-1] in _EQUAL)
        if goes_on and whole:
            whole[-1] += row
        else:
            whole.append(row)
    return [_split(row, _EQUAL) for row in whole]


def _split(tokens, signs):
    """What stands between signs."""
    parts = itertools.groupby(tokens, signs.__contains__)
    return [[*part] for is_sign, part in parts if not is_sign]


def left_side(formula):
    """What a formula explains: its name, and the letters that count, if any."""
    tokens = equations(formula)[0][0]
    if "_" not in tokens:
        return "".join(tokens), ""
    return tokens[0], "".join(token for token in tokens[1:] if token.isalpha())


def right_side(formula, names, sizes):
    r"""The numbers that a formula gives.

    Args:
        formula: an equation, perhaps with a letter of two values after it,
            `M_{qk} \in \{a, b\}`; `names` then holds, under that letter, a bool
            array that is true where the first of them stands.
        names: see `value`.
        sizes: how far a letter of the left side or of a sum counts.
    """
    ((_, right),) = equations(formula)
    if r"\quad" in right:
        place = right.index(r"\quad")
        letter, start = right[place + 1], right.index(r"\in", place)
        first, comma, *second = right[start + 2 : -1]
        assert (right[start + 1], comma, right[-1]) == (r"\{", ",", r"\}")
        both = value([first], names), value(second, names)
        names = {**names, letter: np.where(names[letter], *both)}
        right = right[: place - 1]  # without the comma
    letters = left_side(formula)[1]
    counts = [sizes[letter] for letter in letters]
    places = itertools.product(*map(range, counts))
    each = (dict(zip(letters, place, strict=True)) for place in places)
    found = _values(right, names, sizes, each)
    return np.reshape(found, (*counts, *np.shape(found)[1:]))


def value(side, names):
    """The value of one side of an equation.

    Args:
        side: its tokens.
        names: values of letters, commands and operator names. `E` gets the inside of
            its bracket, `P` its condition, as a function of further names.
    """
    (found,) = _values(side, names, {}, [{}])
    return found


def _values(side, names, sizes, each):
    """Those for each of further names."""
    writer = _Writer(side, names)
    code = compile(writer.whole(), "formula", "eval")
    if writer.tokens:
        raise ValueError(f"Not understood: {''.join(writer.tokens)}.")
    given = globals() | {"sizes": sizes}
    known = {name: _factor(one) for name, one in names.items()}
    return [
        np.asarray(
            eval(code, given | {"v": known | {k: _factor(n) for k, n in more.items()}})
        )
        for more in each
    ]


class _Factor(np.ndarray):
    """Numbers that another factor may stand beside: `@`, as tightly as `*`."""

    def __matmul__(self, other):
        return _beside(self, other)

    def __rmatmul__(self, other):
        return _beside(other, self)


def _factor(one):
    return one if callable(one) else np.asarray(one).view(_Factor)


def _beside(one, other):
    if not (np.ndim(one) and np.ndim(other)):
        return one * other
    if np.ndim(other) == 1:
        raise ValueError("A vector stands where a matrix is multiplied.")
    return _factor(np.asarray(one) @ np.asarray(other))


def _turned(matrix):
    if matrix.ndim != 2:
        raise ValueError("Only a matrix has rows and columns to change.")
    return matrix.T


def _chosen(*rows):
    """Of cases `(value, condition)`."""
    values, conditions = zip(*rows, strict=True)
    if not (sum(np.asarray(one, int) for one in conditions) == 1).all():
        raise ValueError("Of the cases, one and only one must be given.")
    return _factor(np.select([np.asarray(one) for one in conditions], values))


def integral(function, low, high):
    """Of smooth functions, infinite ends included."""
    return quad(lambda place: float(function(place)), low, high, epsabs=1e-12)[0]


class _Writer:
    """Takes tokens from the left and writes what they mean in Python."""

    def __init__(self, tokens, names):
        self.tokens = [*tokens]
        self._functions = {name for name, one in names.items() if callable(one)}

    def whole(self, *ends):
        """All up to an end: factors, and signs between them."""
        written = []
        while self.tokens and self.tokens[0] not in {*_ENDS, *ends}:
            if sign := _SIGNS.get(self.tokens[0]):
                self.tokens.pop(0)
                written.append(sign)
            else:
                if written and written[-1] not in _SIGNS.values():
                    written.append("@")
                written.append(self._power())
        return "".join(written)

    def _power(self):
        base = self._one()
        if not self._takes("^"):
            return base
        return f"_turned({base})" if self._takes(r"\top") else f"{base}**{self._next()}"

    def _next(self):
        r"""What stands in braces, or the next sign alone: `\frac12` is a half."""
        if len(self.tokens[0]) > 1 and self.tokens[0].isdigit():
            digits = self.tokens.pop(0)
            self.tokens[:0] = [digits[0], digits[1:]]
        return self._one()

    def _one(self):
        token = self.tokens.pop(0)
        if token[0].isdigit():
            return f"_factor({token})"
        if token in _CLOSING:
            inside = self.whole()
            self._needs(_CLOSING[token])
            return f"({inside})"
        if token in (r"\frac", r"\tfrac"):
            return f"({self._next()}/{self._next()})"
        if token == r"\sqrt":
            return f"np.sqrt({self._next()})"
        if token == r"\dots":  # what a series leaves out
            return "_factor(0)"
        special = {r"\int": self._integral, r"\sum": self._sum, _CASES: self._cases}
        return special[token]() if token in special else self._named(token)

    def _named(self, token):
        if token == _CONCAT:
            return self._side_by_side()
        if token not in self._functions:
            return f"_factor(v[{token!r}]{self._indices()})"
        if token in ("E", "P"):
            inner = f"(lambda v: {self._one()})(v | more)"
            return f"_factor(v[{token!r}](lambda **more: {inner}))"
        power = f"**{self._next()}" if self._takes("^") else ""
        given = self._one() if self.tokens[0] in "([" else f"({self._power()})"
        return f"_factor(v[{token!r}]{given}){power}"

    def _integral(self):
        self._needs("_")
        low = self._next()
        self._needs("^")
        high, body = self._next(), self.whole("d")
        self._needs("d")
        inside = _with(self.tokens.pop(0), body)
        return f"integral(lambda place: {inside}, {low}, {high})"

    def _sum(self):
        self._needs("_", "{")
        letter = self.tokens.pop(0)
        self._needs("}")
        return f"sum({_with(letter, self.whole('+', '-'))} {_counted(letter)})"

    def _cases(self):
        rows = []
        while not self._takes(_END):
            given = self.whole()
            self._needs("&")
            rows.append(f"({given}, {self.whole()})")
            self._takes(r"\\")
        return f"_chosen({', '.join(rows)})"

    def _side_by_side(self):
        r"""`(A_1 V_1, \ldots, A_N V_N)`: the last says what the first begins."""
        self._needs("(")
        inside = self.tokens[: self.tokens.index(")")]
        first, *between, last = _split(inside, {","})
        assert (first, between) == (
            ["1" if token == "N" else token for token in last],
            [[r"\ldots"]],
        )
        self.tokens[: len(inside)] = last
        each = f"[{_with('N', self.whole())} {_counted('n')}]"
        self._needs(")")
        return f"_factor(np.concatenate({each}, -1))"

    def _indices(self):
        """Letters, functions of them, and places, which count from 1."""
        if not self._takes("_"):
            return ""
        found, is_group = [], self._takes("{")
        while not found or (is_group and not self._takes("}")):
            token = self.tokens.pop(0)
            if token.isdigit():
                found.append(str(int(token) - 1))
            elif token != ",":
                found.append(self._named(token))
        return f"[{', '.join(found)}]"

    def _takes(self, token):
        is_next = self.tokens[:1] == [token]
        if is_next:
            self.tokens.pop(0)
        return is_next

    def _needs(self, *tokens):
        for token in tokens:
            assert self._takes(token), f"{token} is missing before {self.tokens}"


def _with(letter, body):
    """A body in which a letter stands for a place."""
    return f"(lambda v: {body})(v | {{{letter!r}: _factor(place)}})"


def _counted(letter):
    return f"for place in range(sizes[{letter!r}])"
