"""The formulas of the layers page, evaluated from their LaTeX on real inputs."""

import functools

import pytest

from bertviz_core.experiments.step_table import OPERATIONS
from tests.core.formula_walk import CASES, Walk
from tests.core.matrix_latex import right_side

# For operations in both orders of the norms: what is written, and a slip of the pen.
SLIPS = [
    ("word_embeddings", r"\mathrm{id}(t)", "t"),
    ("position_embeddings", "_{t}", r"_{\mathrm{type}(t)}"),
    ("token_type_embeddings", r"\mathrm{type}(t)", "t"),
    ("token_type_embeddings", "segment", "position"),
    ("embedding_sum", "+ p_t", "- p_t"),
    ("embedding_norm", r" + \beta", ""),
    ("embedding_norm", r"\sigma^2", r"\sigma"),
    ("query", " + b^{Q}_n", ""),
    ("query", "+ b^{Q}_n", "- b^{Q}_n"),
    ("query", "W^{Q}_n", "W^{K}_n"),
    ("key", " + b^{K}_n", ""),
    ("key", "W^{K}_n", "W^{K}_1"),
    ("value", " + b^{V}_n", ""),
    ("value", "b^{V}_n", "b^{K}_n"),
    ("attention_scores", r"^\top", ""),
    ("attention_scores", r"\frac{Q_n K_n^\top}{\sqrt{D}}", r"Q_n K_n^\top"),
    ("attention_scores", r"\sqrt{D}", "D"),
    ("attention_scores", r"Q_n K_n^\top", r"K_n Q_n^\top"),
    ("attention_scores", "Q_n K", "-Q_n K"),
    ("masked_scores", "+ M", "- M"),
    ("masked_scores", "-10000", "-1000"),
    ("masked_scores", "0, -10000", "-10000, 0"),
    ("attention_probs", "qj", "jq"),
    ("attention_probs", "e^{S'_{n,qk}}", "e^{2 S'_{n,qk}}"),
    ("attention_probs", "A_{n,qk}", "A_{n,kq}"),
    ("context", "A_1 V_1, \\ldots, A_N V_N", "V_1 A_1, \\ldots, V_N A_N"),
    ("context", "A_1 V_1, \\ldots, A_N V_N", "A_1^\\top V_1, \\ldots, A_N^\\top V_N"),
    ("context", "A_1 V_1, \\ldots, A_N V_N", "A_1 V_N, \\ldots, A_N V_N"),
    ("attention_output", " + b^{O}", ""),
    ("attention_output", "W^{O}", r"(W^{O})^\top"),
    ("attention_residual", "x + a", "x - a"),
    ("intermediate", r" + b^{\mathrm{in}}", ""),
    ("intermediate", r"W^{\mathrm{in}}", r"(W^{\mathrm{in}})^\top"),
    ("neurons", "u", "-u"),
    ("feed_forward_output", r" + b^{\mathrm{out}}", ""),
    ("feed_forward_output", r"+ b", r"- b"),
    ("output_residual", "+ f", "- f"),
    ("pooler_dense", r" + b^{\mathrm{pool}}", ""),
    ("pooler_dense", r"W^{\mathrm{pool}}", r"(W^{\mathrm{pool}})^\top"),
    ("pooler_dense", r"_{\mathtt{[CLS]}}", "_2"),
    ("pooled_output", "z", "-z"),
    ("nsp_logits", r" + b^{\mathrm{next}}", ""),
    ("nsp_logits", "+ b", "- b"),
    ("nsp_probs", r"e^{\ell_{i}}", r"e^{-\ell_{i}}"),
    ("class_logits", r" + b^{\mathrm{class}}", ""),
    ("class_logits", r"c\, W", r"-c\, W"),
    ("class_probs", r"e^{\ell_{j}}", r"e^{\ell_{i}}"),
    ("mlm_transform", r" + b^{\mathrm{MLM}}", ""),
    ("mlm_transform", r"W^{\mathrm{MLM}}", r"(W^{\mathrm{MLM}})^\top"),
    ("mlm_norm", r" + \varepsilon", ""),
    ("mlm_logits", r"^\top", ""),
    ("mlm_logits", r" + b^{\mathrm{word}}", ""),
    ("mlm_logits", "+ b", "- b"),
    ("mlm_probs", r"\frac{e^{\ell_{v}}}{\sum_{j} e^{\ell_{j}}}", r"e^{\ell_{v}}"),
]
ACTIVATION_SLIPS = [
    ("tanh", "0.044715", "0.44715"),
    ("tanh", r"\odot", ""),
    ("tanh", "u^3", "u^2"),
    ("relu", "0, u", "0, -u"),
    ("swish", "-u", "u"),
]
# Other numbers, shapes that do not fit, or a series whose ends are not of one kind.
FOUND = "Not equal to tolerance|matmul|No series|A vector stands"


@pytest.fixture(scope="module")
def walk_of():
    """Made once for all tests of a model."""
    return functools.cache(lambda case: Walk(CASES[case]))


@pytest.mark.parametrize("case", CASES)
def test_what_a_formula_says_is_what_the_step_computed(walk_of, case):
    walk = walk_of(case)
    for step in walk.steps.values():
        walk.check(step, step.formula)
    missing = set() if walk.config.pre_norm else {"final_norm"}
    assert {step.operation for step in walk.steps.values()} == set(OPERATIONS) - missing


@pytest.mark.parametrize("case", ["post-norm, sparse", "pre-norm, sparse"])
@pytest.mark.parametrize(("operation", "written", "slip"), SLIPS)
def test_a_slip_in_a_formula_is_found(walk_of, case, operation, written, slip):
    walk = walk_of(case)
    step = walk.step(operation)
    wrong = step.formula.replace(written, slip)
    assert wrong != step.formula
    with pytest.raises((AssertionError, ValueError), match=FOUND):
        walk.check(step, wrong)


def test_every_operation_has_a_slip_that_is_found():
    # Norms are one formula with other letters, and so are the two activations.
    alike = {"attention_norm", "output_norm", "final_norm", "mlm_activation"}
    assert {slip[0] for slip in SLIPS} == set(OPERATIONS) - alike


@pytest.mark.parametrize(("case", "written", "slip"), ACTIVATION_SLIPS)
def test_a_slip_in_another_activation_function_is_found(walk_of, case, written, slip):
    walk = walk_of(case)
    for operation in ("neurons", "mlm_activation"):
        step = walk.step(operation)
        assert written in step.formula
        with pytest.raises((AssertionError, ValueError), match=FOUND):
            walk.check(step, step.formula.replace(written, slip))


@pytest.mark.parametrize(
    "formula", ["a = b + c", r"a = \vec{b}", "a = b^{T}", "a = b)"]
)
def test_what_stands_in_no_dictionary_is_refused(formula):
    with pytest.raises((KeyError, ValueError)):
        right_side(formula, {"b": 2.0}, {})
