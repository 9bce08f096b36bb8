"""The formulas of the layers page, evaluated from their LaTeX on a step's own inputs.

Those that are arithmetic on one vector: sums, norms, activation functions. Products of
matrices are tested by their numbers alone, in `test_layer_steps`.
"""

import dataclasses

import numpy as np
import pytest

from bertviz_core.analysis.activations import normal_cumulative
from bertviz_core.experiments.layer_steps import StepReader, norm_input
from tests.app.latex import equations, value
from tests.core.random_models import CONFIG, PRE_NORM, explorer_of, random_model
from tests.core.step_reading import close

TEXT, TOKEN = "the [MASK] sat on [MASK]", 2
CASES = {
    "post-norm": CONFIG,
    "pre-norm": PRE_NORM,
    "tanh": dataclasses.replace(CONFIG, hidden_act="gelu_new"),
    "relu": dataclasses.replace(CONFIG, hidden_act="relu"),
    "swish": dataclasses.replace(CONFIG, hidden_act="swish"),
}
# The letters of what a step reads, in the order of its inputs.
READS = {
    "embedding_sum": "wps",
    "embedding_norm": "e",
    "attention_residual": "xa",
    "neurons": "u",
    "pooled_output": "z",
    "mlm_activation": "u",
    "mlm_norm": "g",
}
BY_ORDER = {
    False: {"attention_norm": "r", "output_residual": "yf", "output_norm": "s"},
    True: {
        "attention_norm": "x",
        "output_residual": "rf",
        "output_norm": "r",
        "final_norm": "x",
    },
}
REPLACED = (
    *((r"\odot", r"\cdot"), (r"\left", ""), (r"\right", "")),
    *(("_t", ""), ("x^{(L)}", "x"), ("e^{-u}", "k^{-u}")),
)


def right_side(formula):
    for old, new in REPLACED:
        formula = formula.replace(old, new)
    return equations(formula.split("=", 1)[1])[0][0]


@pytest.fixture(scope="module", params=CASES)
def read(request):
    explorer = explorer_of(random_model(CASES[request.param])[0])
    trace = explorer.trace(TEXT)
    return explorer, trace, StepReader(explorer, trace)


def test_what_a_formula_says_is_what_the_step_computed(read):
    explorer, trace, reader = read
    letters = READS | BY_ORDER[explorer.config.pre_norm]
    checked = set()
    for step in reader.steps:
        if step.operation not in letters:
            continue
        names = {
            "k": np.e,
            r"\pi": np.pi,
            r"\Phi": normal_cumulative,
            r"\max": np.maximum,
            r"\tanh": np.tanh,
            r"\mu": np.mean,
            r"\sigma": np.std,
        }
        inputs = [reader.values(name) for name in step.inputs]
        for letter, numbers in zip(letters[step.operation], inputs, strict=True):
            names[letter] = numbers if numbers.ndim == 1 else numbers[row_of(step)]
        if step.operation.endswith("_norm"):
            weights = norm_input(explorer, trace, step.name, row_of(step))
            names |= {r"\gamma": weights.gamma, r"\beta": weights.beta}
            names[r"\varepsilon"] = weights.epsilon
        whole = reader.values(step.name)
        expected = whole if whole.ndim == 1 else whole[row_of(step)]
        found = value(right_side(step.formula), names)
        # A layer begins with what the model gave it, in float32.
        close(found, expected)
        checked.add(step.operation)
    assert checked == set(letters)


def row_of(step):
    """Of a step at the masks alone, the first of them."""
    return 0 if "P" in step.axes else TOKEN
