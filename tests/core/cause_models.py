"""Explorers that the tests of causes share, and the slow way to an answer."""

import dataclasses
import functools

import numpy as np

from bertviz_core.experiments.cause_results import Target
from bertviz_core.trace import LOGITS
from tests.core import oracle
from tests.core.random_models import CONFIG, PRE_NORM, explorer_of, random_model

TEXT = "The cats [MASK] on a mat"  # 9 tokens with those that are added
WORD = Target("mlm", 12, 4)
TARGETS = (WORD, Target("nsp", 1), Target("classifier", 7))
LAYERS, HEADS = CONFIG.num_hidden_layers, CONFIG.num_attention_heads
NEURONS = CONFIG.intermediate_size

CONFIGS = {
    "post-norm": CONFIG,
    "pre-norm": PRE_NORM,
    "one head": dataclasses.replace(CONFIG, num_attention_heads=1),
    "sparse": dataclasses.replace(PRE_NORM, sparse_window=1, sparse_stride=4),
}


# Only with a pattern is anything masked: a text alone has no padding.
NEAR = {"sparse_window": 1, "sparse_global": 1}
CASES = {
    "post-norm, swish": dataclasses.replace(CONFIG, hidden_act="swish"),
    "pre-norm, tanh": dataclasses.replace(PRE_NORM, hidden_act="gelu_new"),
    "post-norm, sparse": dataclasses.replace(CONFIG, **NEAR),
    "pre-norm, relu, sparse": dataclasses.replace(PRE_NORM, **NEAR, hidden_act="relu"),
}


@functools.cache
def _made(name):
    if name == "headless":
        return explorer_of(random_model(heads=())[0]), None
    model, weights = random_model((CONFIGS | CASES)[name])
    return explorer_of(model), weights


def explorer_named(name):
    """One of `CONFIGS` or `CASES`, or "headless"."""
    return _made(name)[0]


def model_named(name):
    """The same model, and its weights as the oracle has them."""
    explorer, weights = _made(name)
    return explorer.loaded.model, weights


def answer(explorer, target, interventions=None, text=TEXT, pair=None):
    """Logit and probability of a target, from a whole pass and by hand."""
    positions = [target.position] if target.head == "mlm" else []
    trace = explorer.trace(
        text, pair, mlm_positions=positions, interventions=interventions
    )
    # One word is asked for, so its row is all that the masked-word head says.
    logits = getattr(trace, LOGITS[target.head]).ravel().astype("float64")
    powers = np.exp(logits)
    return logits[target.index], powers[target.index] / powers.sum()


def by_oracle(name, text, target, pair=None, **masks):
    """Probability and logit of a target by the oracle, with masks `[1, ...]`."""
    explorer = explorer_named(name)
    inputs = explorer.tokenize(text, pair, cut=True).inputs
    inputs["mlm_positions"] = [target.position]
    found = oracle.forward(_made(name)[1], explorer.config, inputs | masks)
    logits = found[LOGITS[target.head]][0]
    powers = np.exp(logits)
    return powers[target.index] / powers.sum(), logits[target.index]
