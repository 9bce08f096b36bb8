"""One text in one model, and what the oracle computes on the way through it."""

import dataclasses

import numpy as np

from tests.core import oracle
from tests.core.cause_models import CASES, explorer_named, model_named

__all__ = ["CASES", "Traced", "traced"]


@dataclasses.dataclass(frozen=True)
class Traced:
    config: object
    weights: dict
    explorer: object
    trace: object

    @property
    def edges(self):
        """What a row may look at; `sparse_window` and `sparse_global` are 1 or 0."""
        places = np.arange(self.trace.tokenized.num_tokens)
        near = np.abs(np.subtract.outer(places, places)) <= 1
        sees_all = not self.config.is_sparse
        return near | (np.minimum.outer(places, places) == 0) | sees_all

    def steps(self, layer, changed=()):
        """Each activation of a block by its name, from what entered it in the trace.

        Args:
            layer: counts from 0.
            changed: activations by name, to go on with in the place of its own.
        """
        x = self.trace.hidden_states[layer].astype("float64")
        noted, changed = {"input": x}, dict(changed)

        def tap(name, value):
            return noted.setdefault(name, changed.get(name, value))

        weights = self.weights["layers"][layer]
        result = oracle.block(weights, self.config, x, self.edges[None], tap)
        # What the feed-forward update is added to.
        noted["kept"] = noted["mlp.residual"] - noted["mlp.output"]
        return noted | {"output": result[0]}

    def noted(self):
        """Each activation by its name; every part goes on from what the trace says."""
        read, config, weights = self.trace.tokenized, self.config, self.weights
        noted, places = {}, self.trace.mlm_positions
        tap = oracle.within(noted.setdefault, "embeddings")
        oracle.embeddings(weights, config, read.input_ids, read.token_type_ids, tap)
        for layer in range(config.num_hidden_layers):
            steps = self.steps(layer).items()
            noted |= {f"layer.{layer}.{name}": value for name, value in steps}
        x = self.last_norm(self.trace.hidden_states[-1].astype("float64"))
        pooled = oracle.pooler(weights, x, oracle.within(noted.setdefault, "pooler"))
        for head in ("nsp", "classifier"):
            noted[f"{head}.logits"] = oracle.dense(pooled, *weights[head])
        words = [{} for _ in places]
        for place, seen in zip(places, words, strict=True):
            oracle.mlm(weights, config, x[place], oracle.within(seen.setdefault, "mlm"))
        return noted | oracle.stacked(words) | {"final_norm": x}

    def parts(self, layer):
        """Each head's and key's contribution to each query, `[N, Q, K, H]`."""
        noted, size = self.steps(layer), self.config.head_size
        kernel = self.weights["layers"][layer]["attention_output"][0]
        kernel = kernel.reshape(-1, size, kernel.shape[-1])
        probs, value = noted["attention.probs"], noted["attention.value"]
        return np.einsum("nqk,nkd,ndh->nqkh", probs, value, kernel)

    def last_norm(self, states):
        """What the heads read of hidden states."""
        if not self.config.pre_norm:
            return states
        return self.norm("final_norm", states)

    def norm(self, name, states, layer=None):
        weights = self.weights if layer is None else self.weights["layers"][layer]
        return oracle.layer_norm(states, *weights[name], self.config.layer_norm_eps)


def traced(name, text, pair=None):
    """A text in one of `CASES` or `CONFIGS`."""
    explorer, (model, weights) = explorer_named(name), model_named(name)
    return Traced(model.config, weights, explorer, explorer.trace(text, pair))
