"""The way of a number through a layer norm, as formulas with the real numbers."""

from __future__ import annotations

from bertviz_core.analysis.layer_norm import LayerNormSteps


def norm_formulas(
    found: LayerNormSteps, gamma: float, beta: float, index: int = 0
) -> tuple[str, ...]:
    """Mean, variance and the way of one number, as LaTeX with the real numbers.

    Args:
        found: every number on the way.
        gamma: scale of that number.
        beta: its shift.
        index: which number of the vector.

    Source:
        Ba et al. 2016 (arXiv:1607.06450), equation 3.
    """
    size, number = len(found.vector), index + 1
    return (
        rf"\mu = \frac{{1}}{{{size}}} \sum_{{i=1}}^{{{size}}} x_i = {found.mean:.4f}",
        rf"\sigma^2 = \frac{{1}}{{{size}}} \sum_{{i=1}}^{{{size}}} (x_i - \mu)^2"
        rf" = {found.variance:.4f}",
        rf"\hat{{x}}_{{{number}}} = \frac{{x_{{{number}}} - \mu}}"
        rf"{{\sqrt{{\sigma^2 + \varepsilon}}}} = "
        rf"\frac{{{found.vector[index]:.4f} - {_signed(found.mean)}}}"
        rf"{{{found.deviation:.4f}}} = {found.normed[index]:.4f}",
        rf"y_{{{number}}} = \gamma_{{{number}}} \hat{{x}}_{{{number}}}"
        rf" + \beta_{{{number}}} = {gamma:.4f} \cdot {_signed(found.normed[index])}"
        rf" + {_signed(beta)} = {found.output[index]:.4f}",
    )


def _signed(value: float) -> str:
    """A number behind an operator: brackets around a minus."""
    written = f"{value:.4f}"
    return f"({written})" if written.startswith("-") else written
