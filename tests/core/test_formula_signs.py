"""No formula of the layers page holds a sign that the page does not explain."""

import json
import re
from pathlib import Path

import pytest

from bertviz_core.experiments.layer_steps import list_steps
from tests.core.matrix_latex import left_side

LOCALES = Path(__file__).parents[2] / "assets" / "locales"
# What a sign that is more than a letter looks like in a sentence.
SAID = {
    r"\mathrm{id}": "id(t)",
    r"\mathrm{type}": "type(t)",
    r"\operatorname{concat}": "concat",
    "x^{(0)}": "x⁽⁰⁾",
    "x^{(L)}": "x⁽ᴸ⁾",
    "x'": "x′",
    r"\sigma": "σ²",
    **dict(zip((r"\Phi", r"\mu", r"\varepsilon", r"\sum"), "ΦμεΣ", strict=True)),
    **dict(zip((r"\gamma", r"\beta", r"\odot", r"\top"), "γβ⊙⊤", strict=True)),
}
# Whose a weight is, what a school book explains, and what only puts signs in place.
NOT_ASKED = re.compile(
    r"(?<=[WbE]\^)\{(?:\w|\\mathrm\{\w+\})\}|\\mathtt\{\[CLS\]\}"
    r"|\\(?:frac|sqrt|max|tanh|pi|left|right|ldots|quad|in)\b"
)
SIGN = re.compile(
    r"x\^\{\(\w\)\}|\\hat\{x\}|\\(?:operatorname|mathrm)\{\w+\}|\\[a-zA-Z]+|[a-zA-Z]'?"
)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_sign_is_an_earlier_result_or_explained(any_norm_explorer, language):
    texts = json.loads((LOCALES / language / "glossary.json").read_text("utf-8"))
    explained = texts["signs_meaning"] + texts["weights_meaning"]
    trace = any_norm_explorer.trace("the [MASK] sat", "a mat")
    steps = {step.name: step for step in list_steps(any_norm_explorer, trace)}
    asked = set()
    for step in steps.values():
        names = (step.name, *step.inputs)
        results = {left_side(steps[name].formula)[0] for name in names}
        asked |= set(SIGN.findall(NOT_ASKED.sub("", step.formula))) - results
    assert {r"\Phi", r"\mathrm{id}", "x", "D", "n", "M", "W"} <= asked
    for sign in asked:
        said = re.escape(SAID.get(sign, sign))
        assert re.search(rf"(?<![A-Za-z]){said}(?![A-Za-z])", explained), sign
