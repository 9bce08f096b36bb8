"""Every operation between a word and a prediction: formula, shape, line of code.

No arrays and no framework: a page may draw the order of both kinds of layers from
this without a model. Letters of the axes are those of `step_results`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

BEFORE = "before"  # stands for the step that a layer or a head starts from


@dataclass(frozen=True)
class Operation:
    """What a step does, whatever the text.

    Args:
        axes: letters of the axes of the result.
        formula: LaTeX.
        inputs: operations that it is computed from, of the same layer; `BEFORE` is
            the last one before the layer or the head.
        module: of the core, less `bertviz_core.`.
        function: qualified name in it.
        code: part of the line that does it, or of the first of several.
        occurrence: which of several such lines, from 1.
        last: part of the last line, where several belong together.
    """

    axes: str
    formula: str
    inputs: tuple[str, ...]
    module: str
    function: str
    code: str
    occurrence: int = 1
    last: str = ""


_ATTENTION = ("model.attention", "SelfAttention.call")
_BLOCK = ("model.encoder", "EncoderBlock.call")
_FEED_FORWARD = ("model.encoder", "FeedForward.call")
_EMBEDDINGS = ("model.embeddings", "Embeddings.call")
_MLM = ("model.heads", "MaskedLanguageModelHead.call")
_POOLER = ("model.heads", "Pooler.call")
_CLASSIFIER = ("model.heads", "ClassifierHead.call")
_SOFTMAX = ("analysis.logit_rows", "softmax_rows", "powers = np.exp(shifted)")
_NORM = ("model.layers", "LayerNorm.call", "mean = ops.mean(x")
_RESIDUAL = "x = x + self.dropout(update, training=training)"
_LOGITS = "self.dense(self.dropout(pooled_output, training=training))"


def _norm(x: str) -> str:
    """Layer norm of a vector."""
    return (
        rf"\gamma \odot \frac{{{x} - \mu({x})}}"
        rf"{{\sqrt{{\sigma^2({x}) + \varepsilon}}}} + \beta"
    )


def _normed(result: str, x: str, source: str, axes: str = "TH") -> Operation:
    formula, last = f"{result} = {_norm(x)}", "y = normed * gamma + beta"
    return Operation(axes, formula, (source,), *_NORM, last=last)


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
    return Operation(axes, formula, (logits,), *_SOFTMAX, last="powers / powers.sum(")


def _looked_up(formula: str, code: str) -> Operation:
    return Operation("TH", formula, (), *_EMBEDDINGS, code)


def _projected(axes: str, letter: str) -> Operation:
    name = {"Q": "query", "K": "key", "V": "value"}[letter]
    tokens = "looking" if letter == "Q" else "hidden_states"
    code = f"{name} = self._split_heads(self.{name}({tokens}))"
    return Operation(axes, _projection(letter), (BEFORE,), *_ATTENTION, code)


def _projection(letter: str, x: str = "x") -> str:
    return rf"{letter}_n = {x} W^{{{letter}}}_n + b^{{{letter}}}_n"


def _answered(axes: str, name: str) -> Operation:
    weights, bias = (rf"{letter}^{{\mathrm{{{name}}}}}" for letter in "Wb")
    formula = rf"\ell = c\, {weights} + {bias}"
    return Operation(axes, formula, ("pooled_output",), *_CLASSIFIER, _LOGITS)


OPERATIONS: Mapping[str, Operation] = MappingProxyType(
    {
        "word_embeddings": _looked_up(
            r"w_t = E^{\mathrm{word}}_{\mathrm{id}(t)}",
            "words = ops.take(self.word_embeddings",
        ),
        "position_embeddings": _looked_up(
            r"p_t = E^{\mathrm{position}}_{t}",
            "positions = self.position_embeddings[:num_tokens]",
        ),
        "token_type_embeddings": _looked_up(
            r"s_t = E^{\mathrm{segment}}_{\mathrm{type}(t)}",
            "segments = ops.take(self.token_type_embeddings",
        ),
        "embedding_sum": Operation(
            "TH",
            "e_t = w_t + p_t + s_t",
            ("word_embeddings", "position_embeddings", "token_type_embeddings"),
            *_EMBEDDINGS,
            "words + positions + segments",
        ),
        "embedding_norm": _normed("x^{(0)}", "e", "embedding_sum"),
        "query": _projected("NQD", "Q"),
        "key": _projected("NKD", "K"),
        "value": _projected("NKD", "V"),
        "attention_scores": Operation(
            "NQK",
            r"S_n = \frac{Q_n K_n^\top}{\sqrt{D}}",
            ("query", "key"),
            *_ATTENTION,
            "query = query / math.sqrt(self.config.head_size)",
            last="scores = ops.matmul(query, ops.swapaxes(key, -1, -2))",
        ),
        "masked_scores": Operation(
            "NQK",
            r"S'_n = S_n + M, \quad M_{qk} \in \{0, -10000\}",
            ("attention_scores",),
            *_ATTENTION,
            "keep = first(_per_head(attention_mask)",
            last="scores = scores + _penalty(keep",
        ),
        "attention_probs": Operation(
            "NQK",
            r"A_{n,qk} = \frac{e^{S'_{n,qk}}}{\sum_{j} e^{S'_{n,qj}}}",
            ("masked_scores",),
            *_ATTENTION,
            "probs = ops.softmax(scores, axis=-1)",
        ),
        "context": Operation(
            "TH",
            r"C = \operatorname{concat}(A_1 V_1, \ldots, A_N V_N)",
            ("attention_probs", "value"),
            *_ATTENTION,
            "context = ops.matmul(probs, value)",
            last="self._merge_heads(context)",
        ),
        "attention_output": Operation(
            "TH",
            r"a = C W^{O} + b^{O}",
            ("context",),
            *_BLOCK,
            "self.attention_output(attention.context)",
        ),
        "attention_residual": Operation(
            "TH", "r = x + a", (BEFORE, "attention_output"), *_BLOCK, _RESIDUAL
        ),
        "attention_norm": _normed("y", "r", "attention_residual"),
        "intermediate": Operation(
            "TI",
            r"u = y W^{\mathrm{in}} + b^{\mathrm{in}}",
            ("attention_norm",),
            *_FEED_FORWARD,
            "self.intermediate(hidden_states)",
        ),
        "neurons": Operation(
            "TI",
            _ACTIVATIONS["gelu"],
            ("intermediate",),
            *_FEED_FORWARD,
            "neurons = self.activation(",
        ),
        "feed_forward_output": Operation(
            "TH",
            r"f = g W^{\mathrm{out}} + b^{\mathrm{out}}",
            ("neurons",),
            *_FEED_FORWARD,
            "self.output_projection(neurons)",
        ),
        "output_residual": Operation(
            "TH",
            "s = y + f",
            ("attention_norm", "feed_forward_output"),
            *_BLOCK,
            _RESIDUAL,
            2,
        ),
        "output_norm": _normed("x'", "s", "output_residual"),
        "final_norm": _normed("h", "x^{(L)}", BEFORE),
        "pooler_dense": Operation(
            "H",
            r"z = h_{\mathtt{[CLS]}} W^{\mathrm{pool}} + b^{\mathrm{pool}}",
            (BEFORE,),
            *_POOLER,
            "self.dense(sequence_output[:, 0])",
        ),
        "pooled_output": Operation(
            "H", r"c = \tanh(z)", ("pooler_dense",), *_POOLER, "ops.tanh("
        ),
        "nsp_logits": _answered("2", "next"),
        "nsp_probs": _as_probs("2", "nsp_logits", "i"),
        "class_logits": _answered("C", "class"),
        "class_probs": _as_probs("C", "class_logits", "i"),
        "mlm_transform": Operation(
            "PH",
            r"u = h W^{\mathrm{MLM}} + b^{\mathrm{MLM}}",
            (BEFORE,),
            *_MLM,
            "self.transform(vectors)",
        ),
        "mlm_activation": Operation(
            "PH", _ACTIVATIONS["gelu"], ("mlm_transform",), *_MLM, "self.activation("
        ),
        "mlm_norm": _normed("m", "g", "mlm_activation", "PH"),
        "mlm_logits": Operation(
            "PV",
            r"\ell = m\, (E^{\mathrm{word}})^\top + b^{\mathrm{word}}",
            ("mlm_norm",),
            *_MLM,
            "ops.matmul(transformed, ops.transpose(word_embeddings)) + self.bias",
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

    Args:
        pre_norm: norms in front of attention and feed-forward network, as in
            GPT-2, or after them, as in BERT.

    Source:
        Devlin et al. 2019 (arXiv:1810.04805); Xiong et al. 2020
        (arXiv:2002.04745), figure 1.
    """
    return _PRE_NORM if pre_norm else _POST_NORM


def describe(operation: str, pre_norm: bool, hidden_act: str) -> Operation:
    """An operation as a model of this kind does it.

    Args:
        operation: a key of `OPERATIONS`.
        pre_norm: see `layer_operations`.
        hidden_act: "gelu", "gelu_new", "relu" or "swish".
    """
    found = OPERATIONS[operation]
    if operation in ("neurons", "mlm_activation"):
        return dataclasses.replace(found, formula=_ACTIVATIONS[hidden_act])
    if pre_norm and operation in _OTHERWISE:
        formula, inputs = _OTHERWISE[operation]
        return dataclasses.replace(found, formula=formula, inputs=inputs)
    return found
