"""Formulas of attention and of the layer norm with real numbers, as LaTeX."""

import math

from bertviz_core.analysis.layer_norm import LayerNormSteps
from bertviz_core.experiments.attention_results import PairArithmetic


def attention_formulas(found: PairArithmetic) -> tuple[str, ...]:
    """Shapes, score, mask, softmax, and what one pair of tokens passes on, as LaTeX.

    Source: Vaswani et al. 2017 (arXiv:1706.03762), equation 1.
    """
    size, num_keys = len(found.query), len(found.scores)
    dot, score = float(found.running_sums[-1]), found.score
    shapes = (
        rf"Q, K, V \in \mathbb{{R}}^{{{num_keys} \times {size}}}, \quad "
        rf"S = \frac{{Q K^\top}}{{\sqrt{{{size}}}}} \in "
        rf"\mathbb{{R}}^{{{num_keys} \times {num_keys}}}"
    )
    steps = [
        shapes,
        rf"s = \frac{{q \cdot k}}{{\sqrt{{{size}}}}} = "
        rf"\frac{{{dot:.4f}}}{{{math.sqrt(size):.4f}}} = {score:.4f}",
    ]
    # 0 where the token may be looked at: said all the same, or a sparse model would
    # show a score and no reason for a weight of 0.
    steps.append(
        rf"s + m = {score:.4f} {found.mask_term:+.0f} = "
        rf"{score + found.mask_term:.4f}"
    )
    masked = found.scores + found.mask_terms
    # Less the largest score, so that no power is too large to write.
    top = float(masked.max())
    power = math.exp(score + found.mask_term - top)
    total = math.fsum(math.exp(float(value) - top) for value in masked)
    less_top = f"{'-' if top >= 0 else '+'} {abs(top):.4f}"
    steps.append(
        rf"\alpha = \frac{{e^{{s + m {less_top}}}}}"
        rf"{{\sum_{{j=1}}^{{{num_keys}}} e^{{s_j + m_j {less_top}}}}} = "
        rf"\frac{{{power:.8f}}}{{{total:.8f}}} = {found.prob:.6f}"
    )
    own, whole = (math.hypot(*vector) for vector in (found.weighted, found.output))
    steps.append(
        rf"o = \sum_{{j=1}}^{{{num_keys}}} \alpha_j v_j \in \mathbb{{R}}^{{{size}}}, "
        rf"\quad \lVert \alpha v \rVert = {own:.4f}, "
        rf"\quad \lVert o \rVert = {whole:.4f}"
    )
    steps.append(
        rf"\lVert \alpha f(x) \rVert = \lVert \alpha v W_O \rVert = {found.norm:.4f}"
    )
    return tuple(steps)


def norm_formulas(found: LayerNormSteps, gamma: float, beta: float) -> tuple[str, ...]:
    """Mean, variance and the way of the first number, with its gamma and beta.

    Source: Ba et al. 2016 (arXiv:1607.06450), equation 3.
    """
    size = len(found.vector)
    return (
        rf"\mu = \frac{{1}}{{{size}}} \sum_{{i=1}}^{{{size}}} x_i = {found.mean:.4f}",
        rf"\sigma^2 = \frac{{1}}{{{size}}} \sum_{{i=1}}^{{{size}}} (x_i - \mu)^2"
        rf" = {found.variance:.4f}",
        rf"\hat{{x}}_{{1}} = \frac{{x_{{1}} - \mu}}"
        rf"{{\sqrt{{\sigma^2 + \varepsilon}}}} = "
        rf"\frac{{{found.vector[0]:.4f} - {_signed(found.mean)}}}"
        rf"{{{found.deviation:.4f}}} = {found.normed[0]:.4f}",
        rf"y_{{1}} = \gamma_{{1}} \hat{{x}}_{{1}}"
        rf" + \beta_{{1}} = {gamma:.4f} \cdot {_signed(found.normed[0])}"
        rf" + {_signed(beta)} = {found.output[0]:.4f}",
    )


def _signed(value: float) -> str:
    """A number behind an operator: brackets around a minus."""
    written = f"{value:.4f}"
    return f"({written})" if written.startswith("-") else written
