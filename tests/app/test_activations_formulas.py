"""Every formula on the activations page, evaluated from what the page shows."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest

from bertviz_core.analysis.activations import (
    ACTIVATIONS,
    PAPER_CONSTANT,
    activate,
    differentiate,
    erf,
    normal_cumulative,
    normal_density,
    tanh_argument,
)
from bertviz_core.analysis.gelu_approximation import TAYLOR_CONSTANT
from pages.activations.curves import FORMULAS
from pages.activations.gelu import GELU_STEPS, TANH_STEPS
from pages.shared.language import text
from tests.latex import equations, integral, value

X = (-1.7, -0.2, 0.0, 0.6, 2.3)
C = 0.0312  # any constant
STEPS = GELU_STEPS | TANH_STEPS
# The power of x that the written terms of a series leave out.
LEFT_OUT = {"tanh_step_erf": 7, "tanh_step_tanh": 7, "tanh_step_insert": 5}
# Of these, no factor of the power that is left out is larger.
_FACTOR = 0.1


def slope(function, step=1e-5):
    """The derivative of any function, by numbers alone."""
    return lambda x: (function(x + step) - function(x - step)) / (2 * step)


def common(x):
    """What the letters of all formulas mean."""
    return {
        "x": x,
        "e": math.e,
        r"\pi": math.pi,
        r"\infty": math.inf,
        r"\max": np.maximum,
        r"\tanh": np.tanh,
        r"\tanh'": lambda z: differentiate("tanh", z),
        r"\sigma": lambda z: activate("sigmoid", z),
        r"\sigma'": lambda z: differentiate("sigmoid", z),
        r"\varphi": normal_density,
        r"\Phi": normal_cumulative,
        r"\Phi'": slope(normal_cumulative),
        "erf": erf,
        "GELU": lambda z: activate("gelu", z),
        "GELU'": slope(lambda z: activate("gelu", z)),
    }


def same(sides, names, error=1e-9):
    first, *others = (np.asarray(value(side, names)) for side in sides)
    assert others
    for other in others:
        np.testing.assert_allclose(other, first, rtol=1e-9, atol=error)


def check_function(name, formulas, x, parameter):
    """Both formulas of a function against the numbers that the page draws."""
    names = common(x) | {
        "f": lambda z: activate(name, z, parameter),
        "f'": lambda z: differentiate(name, z, parameter),
        "c": PAPER_CONSTANT,
        "u": tanh_argument(x, PAPER_CONSTANT),
        "u'": slope(lambda z: tanh_argument(z, PAPER_CONSTANT))(x),
    }
    if shape := ACTIVATIONS[name].parameter:
        names[shape.symbol] = parameter
        names["g"] = slope(lambda p: activate(name, x, p))(parameter)
    for formula in formulas:
        plain = formula.replace(r"\tfrac{\partial f}{\partial x}", "f'(x)")
        plain = plain.replace(r"\tfrac{\partial f}{\partial a}", "g")
        for sides in equations(plain):
            same(sides, names)


def parameters(name):
    shape = ACTIVATIONS[name].parameter
    return (shape.default, shape.highest * 0.7) if shape else (None,)


@pytest.mark.parametrize("name", FORMULAS)
def test_the_formulas_of_a_function_give_what_is_drawn(name):
    for x, parameter in itertools.product(X, parameters(name)):
        check_function(name, FORMULAS[name], x, parameter)


def gate(z, x):
    """The gate as its step defines it."""
    _, (_, cases) = equations(GELU_STEPS["gelu_step_gate"])
    return value(cases, {"Z": z, "x": x})


def averages(x):
    """E and P over a standard normal Z, of which the gate m is made."""

    def mean(inner):
        def weighted(z):
            return normal_density(z) * inner(Z=z, m=gate(z, x))

        return integral(weighted, -math.inf, x) + integral(weighted, x, math.inf)

    return {"E": mean, "P": mean}  # of a yes, which is 1, and of a no


def inner_tanh(constant):
    return lambda x: math.sqrt(2 / math.pi) * (x + constant * x**3)


def check_step(step, formula, x):
    names = common(x) | averages(x)
    if step == "gelu_step_gate":
        drawn, gates = equations(formula)
        assert drawn == [["Z"], [r"\mathcal", "N", "(", "0", ",", "1", ")"]]
        z = np.array([x - 2, x - 1e-6, x, x + 1e-6, x + 3])
        same(gates, names | {"Z": z, "m": z <= x})
    elif step in LEFT_OUT:
        check_series(formula, x / 20, LEFT_OUT[step])
    elif step == "tanh_step_idea":
        alike, inner = equations(formula)
        near = names | {"u": inner_tanh(C), "c": C}
        same(inner, near)
        # The same slope at 0, whatever c is.
        left, right = (value(side, near | {"x": 1e-6}) for side in alike)
        assert left == pytest.approx(right, rel=1e-11)
    elif step == "tanh_step_equal":
        first, second = equations(formula)
        *exact, (digits, dots) = second
        assert dots == r"\ldots"
        assert len(digits) == len("0.12345678")
        assert float(digits) <= TAYLOR_CONSTANT < float(digits) + 1e-8
        for sides in (first, exact):
            same(sides, names | {"c": TAYLOR_CONSTANT}, 1e-14)
    else:
        # Of t, where the density is written; of u, where erf is.
        for sides in equations(formula):
            same(sides, names | {"t": x, "u": x})


def check_series(formula, x, power):
    """Both sides differ by no more than the terms that are left out."""
    names = common(x) | {"c": C, "u": x}
    if "u(x)" in formula:
        names["u"] = inner_tanh(C)
    ((left, right),) = equations(formula)
    difference = value(left, names) - value(right, names)
    assert abs(difference) <= _FACTOR * abs(x) ** power + 1e-17


@pytest.mark.parametrize("step", STEPS)
def test_each_step_of_the_derivations_holds(step):
    for x in X:
        check_step(step, STEPS[step], x)


def in_sentence(key):
    """The formulas of a sentence; a test of the locales finds the same in Chinese."""
    return re.findall(r"\$([^$]+)\$", text(f"activations.{key}", "en"))


def check_substitution(written, s):
    of_t, of_dt, of_power = written
    ((_, t),) = equations(of_t)
    names = {"s": s, "t": value(t, {"s": s})}
    # The steps of t and s stand for one letter each.
    plain = of_dt.replace("dt", "p").replace("ds", "q")
    steps = {"p": slope(lambda z: value(t, {"s": z}))(s), "q": 1.0}
    for formula, known in ((of_t, names), (plain, steps), (of_power, names)):
        for sides in equations(formula):
            same(sides, known)


def check_insert(written, x):
    _, cube, raised, share = written
    scale = math.sqrt(2 / math.pi)
    names = {"x": x, "u": inner_tanh(C)(x), r"\pi": math.pi}
    parts = []
    for formula in (cube, raised, share):
        (((side),),) = equations(formula)
        parts.append(value(side, names))
    # What stands before the cube, of all that the bracket is multiplied with.
    assert parts[1] / (scale * parts[0]) == pytest.approx(parts[2], rel=1e-6)


def check_collapse(written, x):
    plain = written[1]
    names = {"x": x}
    letters = {"W_1": ("A", 0.7), "W_2": ("B", -1.3), "b_1": ("p", 0.4)}
    for old, (new, number) in (letters | {"b_2": ("q", 2.1)}).items():
        plain = plain.replace(old, new)
        names[new] = number
    for sides in equations(plain):
        same(sides, names)


SENTENCES = {
    "gelu_step_substitution": (check_substitution, 0.6),
    "tanh_step_insert": (check_insert, 1e-4),
    "intro_collapse": (check_collapse, 2.3),
}


@pytest.mark.parametrize("key", SENTENCES)
def test_the_equations_within_a_sentence_hold(key):
    check, place = SENTENCES[key]
    check(in_sentence(key), place)


def test_the_taylor_value_alone_leaves_less_than_the_fifth_power():
    x = 0.1
    exact, most = math.erf(x / math.sqrt(2)), x**5 / 100
    assert abs(math.tanh(inner_tanh(TAYLOR_CONSTANT)(x)) - exact) < most
    assert abs(math.tanh(inner_tanh(C)(x)) - exact) > most
