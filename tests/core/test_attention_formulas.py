"""The formulas show the numbers of the arithmetic, and these agree."""

import re

import numpy as np
import pytest

from bertviz_core.experiments.attention_results import PairArithmetic
from bertviz_core.figures.attention_formulas import attention_formulas


def arithmetic(mask_terms):
    rng = np.random.default_rng(2)
    query, key, value = rng.normal(size=(3, 6))
    products = query * key
    scores = rng.normal(size=5) * 400  # powers that no float could hold
    scores[3] = products.sum() / np.sqrt(6)
    masked = scores + mask_terms
    probs = np.exp(masked - masked.max())
    probs /= probs.sum()
    return PairArithmetic(
        *(0, 1, 2, 3),
        query=query,
        key=key,
        products=products,
        running_sums=products.cumsum(),
        scores=scores,
        mask_terms=mask_terms,
        probs=probs,
        unrounded_probs=probs,
        exposed_prob=float(probs[3]),
        value=value,
        output=2 * value,
        norm=1.25,
    )


def test_every_step_ends_in_its_number():
    found = arithmetic(np.zeros(5))
    shapes, score, _, softmax, output, brought = attention_formulas(found)
    assert r"\mathbb{R}^{5 \times 6}" in shapes
    assert score.endswith(f"= {found.score:.4f}")
    assert r"\sqrt{6}" in score
    assert softmax.endswith(f"= {found.prob:.6f}")
    assert r"^{5}" in softmax
    power, total = map(float, re.findall(r"frac\{([\d.]+)\}\{([\d.]+)\} =", softmax)[0])
    assert power / total == pytest.approx(found.prob, abs=1e-6)  # as it is shown
    lengths = [np.linalg.norm(x) for x in (found.prob * found.value, found.output)]
    shown = [float(number) for number in re.findall(r"Vert = ([\d.]+)", output)]
    assert shown == pytest.approx(lengths, abs=1e-4)
    assert brought.endswith("= 1.2500")


@pytest.mark.parametrize("shift", [-900.0, 0.0, 900.0])
def test_the_largest_score_is_taken_off_with_one_sign(shift):
    found = arithmetic(np.full(5, shift))
    largest = float((found.scores + shift).max())
    softmax = attention_formulas(found)[3]
    assert "- -" not in softmax
    taken = re.findall(r"m(?:_j)? ([-+]) ([\d.]+)\}", softmax)
    shown = [float(number) * {"-": 1, "+": -1}[sign] for sign, number in taken]
    assert shown == pytest.approx([largest, largest], abs=1e-4)


@pytest.mark.parametrize("term", [0.0, -10000.0])
def test_a_mask_is_always_a_step_of_its_own(term):
    found = arithmetic(np.full(5, term))
    step = attention_formulas(found)[2]
    assert f"{term:+.0f}" in step
    assert step.endswith(f"= {found.score + term:.4f}")
