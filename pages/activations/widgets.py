"""Choices, words and numbers that several parts of the page share."""

import math
from collections.abc import Sequence
from typing import Any, TypeVar

from bertviz_core.analysis.activations import ACTIVATIONS
from pages.shared.choices import choose_linked, choose_number, choose_several
from pages.shared.language import Markdown, t

# Names, the same in both languages.
LABELS = {
    "sigmoid": "sigmoid",
    "tanh": "tanh",
    "relu": "ReLU",
    "leaky_relu": "leaky ReLU",
    "prelu": "PReLU",
    "elu": "ELU",
    "gelu": "GELU (erf)",
    "gelu_tanh": "GELU (tanh)",
    "swish": "swish",
}
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float, digits: int = 3) -> Markdown:
    """Writes a number for a reader, very small and very large ones as powers of ten."""
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        rounded = 0.0 if value == 0 else float(f"{value:.{digits}g}")
        return Markdown(f"{rounded:,.10g}".replace("-", "−"))
    exponent = math.floor(math.log10(abs(value)))
    mantissa = f"{value / 10**exponent:.{digits - 1}f}"
    if abs(float(mantissa)) >= 10:
        exponent, mantissa = exponent + 1, f"{value / 10 ** (exponent + 1):.1f}"
    power = str(exponent).translate(_SUPERSCRIPTS)
    return Markdown(f"{mantissa.replace('-', '−')} × 10{power}")


N = TypeVar("N", int, float)
_BIGGEST_SEED = 2**31 - 1


def choose_functions(key: str, default: Sequence[str], told: str) -> tuple[str, ...]:
    """Draws which of `ACTIVATIONS` are wanted, in their order, however clicked."""
    return choose_several(
        "activations.functions",
        list(ACTIVATIONS),
        default,
        key=key,
        format_func=LABELS.__getitem__,
        help=told,
    )


def slide(
    box: Any,
    name: str,
    low: N,
    high: N,
    default: N,
    step: N | None = None,
    *,
    key: str = "",
    label: str = "",
    hint: str = "",
    **arguments: Any,
) -> N:
    """Draws a slider that is part of the address.

    Its texts are NAME and NAME_help, unless a label and the name of a hint are given;
    its key is act_NAME, unless that is given.
    """
    if hint:
        arguments["help"] = t(f"activations.{hint}")
    return choose_number(
        *(box.slider, label or f"activations.{name}", low, high, default),
        key=key or f"act_{name}",
        step=step,
        **arguments,
    )


def choose_function(
    box: Any, name: str, options: Sequence[str], first: str | None = None, **how: Any
) -> str:
    """Draws the choice of one of `ACTIVATIONS`; `name` is that of its texts."""
    names = {option: LABELS[option] for option in options}
    return choose_linked(box.selectbox, f"activations.{name}", names, first, **how)


def choose_seed(box: Any, key: str, default: int) -> int:
    """Draws the box for a seed."""
    return choose_number(
        box.number_input, "activations.seed", 0, _BIGGEST_SEED, default, key=key
    )
