"""The formulas of attention with the numbers of one pair of tokens, as LaTeX."""

from __future__ import annotations

import math

from bertviz_core.experiments.attention_results import PairArithmetic


def attention_formulas(found: PairArithmetic) -> tuple[str, ...]:
    """Shapes, score, mask where there is one, and softmax.

    Args:
        found: the numbers.

    Returns:
        A formula for each step, without the signs around it.

    Source:
        Vaswani et al. 2017 (arXiv:1706.03762), equation 1.
    """
    size, num_keys = len(found.query), len(found.scores)
    dot, score = float(found.running_sums[-1]), found.score
    shapes = (
        rf"Q, K \in \mathbb{{R}}^{{{num_keys} \times {size}}}, \quad "
        rf"S = \frac{{Q K^\top}}{{\sqrt{{{size}}}}} \in "
        rf"\mathbb{{R}}^{{{num_keys} \times {num_keys}}}"
    )
    steps = [
        shapes,
        rf"s = \frac{{q \cdot k}}{{\sqrt{{{size}}}}} = "
        rf"\frac{{{dot:.4f}}}{{{math.sqrt(size):.4f}}} = {score:.4f}",
    ]
    if found.mask_term:
        steps.append(rf"s + m = {score:.4f} {found.mask_term:+.0f}")
    masked = found.scores + found.mask_terms
    # Less the largest score, so that no power is too large to write.
    top = float(masked.max())
    power = math.exp(score + found.mask_term - top)
    total = math.fsum(math.exp(float(value) - top) for value in masked)
    steps.append(
        rf"\alpha = \frac{{e^{{s - {top:.4f}}}}}"
        rf"{{\sum_{{j=1}}^{{{num_keys}}} e^{{s_j - {top:.4f}}}}} = "
        rf"\frac{{{power:.4f}}}{{{total:.4f}}} = {found.prob:.6f}"
    )
    return tuple(steps)
