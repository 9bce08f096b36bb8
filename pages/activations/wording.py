"""Words and numbers of this page that do not stand in a widget."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import TypeVar

from bertviz_core.figures.activations import FigureWords
from bertviz_core.figures.gelu import GeluWords
from bertviz_core.figures.small_networks import NetworkWords
from pages.shared.language import plain, t
from pages.shared.markdown import Markdown

Words = TypeVar("Words", FigureWords, GeluWords, NetworkWords)
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


def figure_words(kind: type[Words]) -> Words:
    """What the figures of a kind say, in the visitor's language."""
    return kind(
        **{
            field.name: plain(f"activations.figure_{field.name}")
            for field in dataclasses.fields(kind)
        }
    )


def derivation(steps: Mapping[str, str]) -> str:
    """Sentences and formulas in turn, as Markdown: one element for all of them."""
    return "\n\n".join(
        f"{number}. {t(f'activations.{key}')}\n\n$$\n{formula}\n$$"
        for number, (key, formula) in enumerate(steps.items(), start=1)
    )


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
