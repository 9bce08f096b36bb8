"""The formulas of the layers page, evaluated from their LaTeX on real inputs.

What a step reads bears the letter that the formula of the step before it explains, so
a letter that changes on the way is found as well. Weights are the oracle's.
"""

import numpy as np
import pytest

from bertviz_core.analysis.activations import normal_cumulative
from bertviz_core.experiments.layer_steps import StepReader
from bertviz_core.experiments.step_table import OPERATIONS
from tests.core.random_models import CONFIG
from tests.core.traced_models import CASES, traced
from tests.latex import left_side, right_side

TEXT, PAIR = "the [MASK] sat on [MASK]", "a mat"
# By what stands above W and b: whose they are, in the words of the oracle.
OF_HEADS = {"Q": "query", "K": "key", "V": "value"}
OF_LAYERS = {"O": "attention_output", r"\mathrm{in}": "inner", r"\mathrm{out}": "outer"}
OF_ANSWERS = {
    r"\mathrm{MLM}": "transform",
    r"\mathrm{pool}": "pooler",
    r"\mathrm{next}": "nsp",
    r"\mathrm{class}": "classifier",
}
KNOWN = {
    "e": np.e,
    r"\pi": np.pi,
    r"\Phi": normal_cumulative,
    r"\max": np.maximum,
    r"\tanh": np.tanh,
    r"\mu": lambda x: x.mean(axis=-1, keepdims=True),
    r"\sigma": lambda x: x.std(axis=-1, keepdims=True),
    r"\mathtt{[CLS]}": 0,
}


class Walk:
    """One text in one model: what a formula says, and what the page shows."""

    def __init__(self, name):
        self.case = case = traced(name, TEXT, PAIR)
        self.reader = StepReader(case.explorer, case.trace)
        self.steps = {step.name: step for step in self.reader.steps}
        read, weights = case.trace.tokenized, case.weights
        self.known = KNOWN | {
            "D": CONFIG.head_size,
            r"\varepsilon": CONFIG.layer_norm_eps,
            "M": case.edges,
            r"\mathrm{id}": lambda token: read.input_ids[token],
            r"\mathrm{type}": lambda token: read.token_type_ids[token],
            r"E^{\mathrm{word}}": weights["words"],
            r"E^{\mathrm{position}}": weights["positions"],
            r"E^{\mathrm{segment}}": weights["segments"],
            r"b^{\mathrm{word}}": weights["decoder_bias"],
        }

    def check(self, step):
        letters = (axis.lower() for axis in step.axes)
        sizes = {"n": CONFIG.num_attention_heads, "i": step.shape[-1]}
        sizes |= {"j": step.shape[-1]} | dict(zip(letters, step.shape, strict=True))
        given, inputs = self.known | self._weights(step), self._inputs(step)
        if "P" in step.axes:
            is_first = step.operation == "mlm_transform"
            rows = self.case.trace.mlm_positions if is_first else range(step.shape[0])
            each = [{name: x[row] for name, x in inputs.items()} for row in rows]
            found = np.stack([right_side(step.formula, given | x, sizes) for x in each])
        else:
            found = right_side(step.formula, given | inputs, sizes)
        expected = self.reader.values(step.name).astype("float64")
        # With equal shapes: one number would be close to an array of the same. What is
        # shown is of a pass in float32, and sums of numbers near 1.
        np.testing.assert_allclose(
            found, expected, rtol=1e-6, atol=1e-6, strict=True, err_msg=step.name
        )

    def _inputs(self, step):
        """By the letter that the formula of the step before explains."""
        found = {}
        for name in step.inputs:
            source = self.steps[name]
            if source.part == step.part:
                letter = left_side(source.formula)[0]
                found[letter] = self.reader.values(name).astype("float64")
            else:  # what a layer or the way out starts from: the trace's, in float32
                letter = "h" if step.layer is None else "x"
                letter = "x^{(L)}" if step.operation == "final_norm" else letter
                states = self.case.trace.hidden_states
                layer = -1 if step.layer is None else step.layer
                found[letter] = states[layer].astype("float64")
        return found

    def _weights(self, step):
        """All of the layer, so that a wrong one is wrong and not unknown."""
        own, found, dense = self.case.weights, {}, OF_ANSWERS
        if step.layer is not None:
            own, dense = own["layers"][step.layer], OF_LAYERS
            for letter, name in OF_HEADS.items():
                heads = (np.split(w, CONFIG.num_attention_heads, -1) for w in own[name])
                kernel, bias = map(np.stack, heads)
                found |= {f"W^{{{letter}}}": kernel, f"b^{{{letter}}}": bias}
        for letter, name in dense.items():
            kernel, bias = own[name]
            found |= {f"W^{{{letter}}}": kernel, f"b^{{{letter}}}": bias}
        if step.operation.endswith("_norm"):
            norm = own[step.operation.replace("mlm", "transform")]
            found |= {r"\gamma": norm[0], r"\beta": norm[1]}
        return found


@pytest.mark.parametrize("case", CASES)
def test_what_a_formula_says_is_what_the_step_computed(case):
    walk = Walk(case)
    for step in walk.steps.values():
        walk.check(step)
    missing = set() if walk.case.config.pre_norm else {"final_norm"}
    assert {step.operation for step in walk.steps.values()} == set(OPERATIONS) - missing
