"""Every operation between a word and a prediction: formula, shape, activation.

No arrays and no framework: a page may draw the order of both kinds of layers from
this without a model. Letters of the axes are those of `step_results`.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

BEFORE = "before"  # stands for the step that a layer or a head starts from


@dataclass(frozen=True)
class Operation:
    """What a step does, whatever the text."""

    axes: str  # letters of the axes of the result
    formula: str  # LaTeX
    # Operations that it is computed from, of the same layer; `BEFORE` is the last one
    # before the layer or the head.
    inputs: tuple[str, ...]
    # Its name in `model.taps`, in a layer without "layer.3.". Empty for the softmax of
    # an answer, which the network leaves to its caller.
    activation: str = ""


def _norm(x: str) -> str:
    return (
        rf"\gamma \odot \frac{{{x} - \mu({x})}}"
        rf"{{\sqrt{{\sigma^2({x}) + \varepsilon}}}} + \beta"
    )


def _normed(
    result: str, x: str, source: str, activation: str, axes: str = "TH"
) -> Operation:
    return Operation(axes, f"{result} = {_norm(x)}", (source,), activation)


# How g comes of u, by `hidden_act`.
_ACTIVATIONS = {
    "gelu": r"g = u \odot \Phi(u)",
    "gelu_new": r"g = \frac{u}{2} \odot \left(1 + \tanh\left(\sqrt{2 / \pi} "
    r"\left(u + 0.044715\, u^3\right)\right)\right)",
    "relu": r"g = \max(0, u)",
    "swish": r"g = \frac{u}{1 + e^{-u}}",
}


def _as_probs(axes: str, logits: str, index: str) -> Operation:
    power = rf"e^{{\ell_{{{index}}}}}"
    formula = rf"p_{{{index}}} = \frac{{{power}}}{{\sum_{{j}} e^{{\ell_{{j}}}}}}"
    return Operation(axes, formula, (logits,))


def _looked_up(formula: str, activation: str) -> Operation:
    return Operation("TH", formula, (), f"embeddings.{activation}")


def _projected(axes: str, letter: str, name: str) -> Operation:
    return Operation(axes, _projection(letter), (BEFORE,), f"attention.{name}")


def _projection(letter: str, x: str = "x") -> str:
    return rf"{letter}_n = {x} W^{{{letter}}}_n + b^{{{letter}}}_n"


def _answered(axes: str, name: str, head: str) -> Operation:
    weights, bias = (rf"{letter}^{{\mathrm{{{name}}}}}" for letter in "Wb")
    formula = rf"\ell = c\, {weights} + {bias}"
    return Operation(axes, formula, ("pooled_output",), f"{head}.logits")


OPERATIONS: Mapping[str, Operation] = MappingProxyType(
    {
        "word_embeddings": _looked_up(
            r"w_t = E^{\mathrm{word}}_{\mathrm{id}(t)}", "word"
        ),
        "position_embeddings": _looked_up(
            r"p_t = E^{\mathrm{position}}_{t}", "position"
        ),
        "token_type_embeddings": _looked_up(
            r"s_t = E^{\mathrm{segment}}_{\mathrm{type}(t)}", "token_type"
        ),
        "embedding_sum": Operation(
            "TH",
            "e_t = w_t + p_t + s_t",
            ("word_embeddings", "position_embeddings", "token_type_embeddings"),
            "embeddings.sum",
        ),
        "embedding_norm": _normed("x^{(0)}", "e", "embedding_sum", "embeddings.norm"),
        "query": _projected("NQD", "Q", "query"),
        "key": _projected("NKD", "K", "key"),
        "value": _projected("NKD", "V", "value"),
        "attention_scores": Operation(
            "NQK",
            r"S_n = \frac{Q_n K_n^\top}{\sqrt{D}}",
            ("query", "key"),
            "attention.scores",
        ),
        "masked_scores": Operation(
            "NQK",
            r"S'_n = S_n + M, \quad M_{qk} \in \{0, -10000\}",
            ("attention_scores",),
            "attention.masked_scores",
        ),
        "attention_probs": Operation(
            "NQK",
            r"A_{n,qk} = \frac{e^{S'_{n,qk}}}{\sum_{j} e^{S'_{n,qj}}}",
            ("masked_scores",),
            "attention.probs",
        ),
        "context": Operation(
            "TH",
            r"C = \operatorname{concat}(A_1 V_1, \ldots, A_N V_N)",
            ("attention_probs", "value"),
            "attention.context",
        ),
        "attention_output": Operation(
            "TH", r"a = C W^{O} + b^{O}", ("context",), "attention.output"
        ),
        "attention_residual": Operation(
            "TH", "r = x + a", (BEFORE, "attention_output"), "attention.residual"
        ),
        "attention_norm": _normed("y", "r", "attention_residual", "attention.norm"),
        "intermediate": Operation(
            "TI",
            r"u = y W^{\mathrm{in}} + b^{\mathrm{in}}",
            ("attention_norm",),
            "mlp.pre",
        ),
        "neurons": Operation("TI", _ACTIVATIONS["gelu"], ("intermediate",), "mlp.post"),
        "feed_forward_output": Operation(
            "TH",
            r"f = g W^{\mathrm{out}} + b^{\mathrm{out}}",
            ("neurons",),
            "mlp.output",
        ),
        "output_residual": Operation(
            "TH", "s = y + f", ("attention_norm", "feed_forward_output"), "mlp.residual"
        ),
        "output_norm": _normed("x'", "s", "output_residual", "mlp.norm"),
        "final_norm": _normed("h", "x^{(L)}", BEFORE, "final_norm"),
        "pooler_dense": Operation(
            "H",
            r"z = h_{\mathtt{[CLS]}} W^{\mathrm{pool}} + b^{\mathrm{pool}}",
            (BEFORE,),
            "pooler.pre",
        ),
        "pooled_output": Operation(
            "H", r"c = \tanh(z)", ("pooler_dense",), "pooler.output"
        ),
        "nsp_logits": _answered("2", "next", "nsp"),
        "nsp_probs": _as_probs("2", "nsp_logits", "i"),
        "class_logits": _answered("C", "class", "classifier"),
        "class_probs": _as_probs("C", "class_logits", "i"),
        "mlm_transform": Operation(
            "PH", r"u = h W^{\mathrm{MLM}} + b^{\mathrm{MLM}}", (BEFORE,), "mlm.pre"
        ),
        "mlm_activation": Operation(
            "PH", _ACTIVATIONS["gelu"], ("mlm_transform",), "mlm.post"
        ),
        "mlm_norm": _normed("m", "g", "mlm_activation", "mlm.norm", "PH"),
        "mlm_logits": Operation(
            "PV",
            r"\ell = m\, (E^{\mathrm{word}})^\top + b^{\mathrm{word}}",
            ("mlm_norm",),
            "mlm.logits",
        ),
        "mlm_probs": _as_probs("PV", "mlm_logits", "v"),
    }
)

# In BERT's own order, and with the norms in front.
_POST_NORM = (
    *("query", "key", "value", "attention_scores", "masked_scores"),
    *("attention_probs", "context", "attention_output", "attention_residual"),
    *("attention_norm", "intermediate", "neurons", "feed_forward_output"),
    *("output_residual", "output_norm"),
)
_PRE_NORM = (
    *("attention_norm", "query", "key", "value", "attention_scores"),
    *("masked_scores", "attention_probs", "context", "attention_output"),
    *("attention_residual", "output_norm", "intermediate", "neurons"),
    *("feed_forward_output", "output_residual"),
)
EMBEDDING_OPERATIONS = (
    *("word_embeddings", "position_embeddings", "token_type_embeddings"),
    *("embedding_sum", "embedding_norm"),
)
# What a pre-norm layer does from something else: formula and inputs.
_OTHERWISE: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "attention_norm": (rf"\hat{{x}} = {_norm('x')}", (BEFORE,)),
    "query": (_projection("Q", r"\hat{x}"), ("attention_norm",)),
    "key": (_projection("K", r"\hat{x}"), ("attention_norm",)),
    "value": (_projection("V", r"\hat{x}"), ("attention_norm",)),
    "output_norm": (f"y = {_norm('r')}", ("attention_residual",)),
    "intermediate": (OPERATIONS["intermediate"].formula, ("output_norm",)),
    "output_residual": ("x' = r + f", ("attention_residual", "feed_forward_output")),
}


def layer_operations(pre_norm: bool) -> tuple[str, ...]:
    """The operations of one layer in the order in which they happen.

    Norms are in front of attention and feed-forward network, as in GPT-2, or after
    them, as in BERT.

    Source: Devlin et al. 2019 (arXiv:1810.04805); Xiong et al. 2020 (arXiv:2002.04745),
    figure 1.
    """
    return _PRE_NORM if pre_norm else _POST_NORM


def describe(operation: str, pre_norm: bool, hidden_act: str) -> Operation:
    """An operation, a key of `OPERATIONS`, as a model of this kind does it."""
    found = OPERATIONS[operation]
    if operation in ("neurons", "mlm_activation"):
        return dataclasses.replace(found, formula=_ACTIVATIONS[hidden_act])
    if pre_norm and operation in _OTHERWISE:
        formula, inputs = _OTHERWISE[operation]
        return dataclasses.replace(found, formula=formula, inputs=inputs)
    return found
