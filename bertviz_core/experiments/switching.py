"""Switch parts of the network off and look at the prediction again."""

from collections.abc import Iterable

import numpy as np

from bertviz_core.config import BertConfig
from bertviz_core.errors import TextError, require_index
from bertviz_core.experiments.cause_results import (
    Edge,
    SwitchedPrediction,
    Switches,
    Target,
)
from bertviz_core.experiments.targets import ask, compare_answers, require_token
from bertviz_core.explorer import Explorer
from bertviz_core.interventions import Interventions
from bertviz_core.tasks import task
from bertviz_core.trace import TokenizedText


@task()
def switch_off(
    explorer: Explorer,
    text: str,
    target: Target,
    switches: Switches,
    pair: str | None = None,
) -> SwitchedPrediction:
    """The prediction with and without some parts of the network.

    What is off adds nothing of its own, but a bias stays, because it is no part
    of what was computed from the text: with all heads of a layer off, its
    attention still adds the bias of its output projection; with all neurons off,
    its feed-forward block still adds the bias of its second projection. The
    residual and the norms stay as well.

    Raises:
        TextError: a token is left with nothing to look at, or an edge names a
            token that the text does not have, or see `targets.ask`.

    Source: Michel et al. 2019 (arXiv:1905.10650) for heads; an edge is cut before the
    softmax, as in Geva et al. 2023 (arXiv:2304.14767), "attention knockout".
    """
    question = ask(explorer, text, target, pair)
    interventions = interventions_of(switches, explorer.config, question.tokenized)
    before, found = question.run()
    after, changed = question.run(interventions)
    answers = compare_answers(found, changed, target)
    return SwitchedPrediction(before, after, answers)


def interventions_of(
    switches: Switches, config: BertConfig, tokenized: TokenizedText
) -> Interventions:
    """The switches as masks of the forward pass; for the errors see `switch_off`."""
    layers, heads = config.num_hidden_layers, config.num_attention_heads
    neurons = (layers, config.intermediate_size)
    return Interventions(
        head_mask=_mask("head", switches.heads, switches.attention, (layers, heads)),
        edge_mask=_edge_mask(switches.edges, config, tokenized),
        neuron_mask=_mask("neuron", switches.neurons, switches.feed_forward, neurons),
    )


def _mask(
    name: str,
    places: Iterable[tuple[int, int]],
    rows: Iterable[int],
    shape: tuple[int, int],
) -> np.ndarray | None:
    """Float32 of a shape, 0 at some places and in whole rows, which are layers."""
    mask = np.ones(shape, "float32")
    for layer, index in places:
        require_index("layer", layer, shape[0])
        require_index(name, index, shape[1])
        mask[layer, index] = 0
    for layer in rows:
        require_index("layer", layer, shape[0])
        mask[layer] = 0
    return None if mask.all() else mask


def _edge_mask(
    edges: Iterable[Edge], config: BertConfig, tokenized: TokenizedText
) -> np.ndarray | None:
    """`[L or 1, N or 1, T, T]`, an axis only where edges differ along it."""
    from bertviz_core.model.sparse import visible_edges

    edges = tuple(edges)
    if not edges:
        return None
    layers, heads = config.num_hidden_layers, config.num_attention_heads
    num_tokens = tokenized.num_tokens
    num_layers = 1 if all(edge.layer is None for edge in edges) else layers
    num_heads = 1 if all(edge.head is None for edge in edges) else heads
    mask = np.ones((num_layers, num_heads, num_tokens, num_tokens), "int32")
    for edge in edges:
        for token in (edge.from_token, edge.to_token):
            require_token(token, num_tokens)
        layer = _all_or_one("layer", edge.layer, layers)
        head = _all_or_one("head", edge.head, heads)
        mask[layer, head, edge.from_token, edge.to_token] = 0
    left = (mask * visible_edges(config, num_tokens)).any(axis=-1)
    if not left.all():
        token = int(np.argwhere(~left)[0, -1])
        raise TextError(
            "The token {token} has nothing left to attend to: one head has all its "
            "edges cut. Received: {num_edges} cut edges. Keep at least one.",
            token=tokenized.tokens[token],
            num_edges=len(edges),
        )
    return mask


def _all_or_one(name: str, index: int | None, size: int) -> slice | int:
    if index is None:
        return slice(None)
    require_index(name, index, size)
    return index
