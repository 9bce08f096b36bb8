"""The whole model in one picture, and what is inside of each of its parts.

One question brings what the picture shows at first; each part that is opened is a
question of its own. Shares are lengths of vectors with the residual counted in, see
`norm_weighted_attention`.

L layers, N heads, T tokens, W of them shown, D head size, H hidden size, V vocabulary,
G guesses, F neurons.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bertviz_core.analysis.aggregation import follow_down
from bertviz_core.analysis.attention import share_of_row
from bertviz_core.analysis.correlation import spearman
from bertviz_core.analysis.logit_rows import softmax_rows
from bertviz_core.errors import require_index
from bertviz_core.experiments.attention_parts import norm_weighted_attention
from bertviz_core.experiments.layer_steps import block_values
from bertviz_core.experiments.lens import read_layers
from bertviz_core.experiments.masked_rows import logits_at
from bertviz_core.experiments.neurons import strongest_neurons, words_of_neuron_here
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import Progress, task, untold
from bertviz_core.trace import FrozenArrays, TokenizedText, Trace

MOST_SHOWN = 64  # tokens; of a longer text, those around the one in focus
NUM_GUESSES, NUM_NEURONS, NUM_WORDS = 5, 5, 3
_TOKENS_A_PASS = 4096
_HALVES = {"attention": "attention.output", "feed_forward": "mlp.output"}


@dataclass(frozen=True)
class WholeModel(FrozenArrays):
    """What the picture shows before anything is opened."""

    tokenized: TokenizedText  # the text
    focus: int  # the token that is followed
    first: int  # the first of the W tokens that are shown
    # float64 [L, W, W], what a state after a layer (row) has of each state before it;
    # rows add up to 1, less what comes from tokens that are not shown.
    shares: np.ndarray
    attention: np.ndarray  # float64 [L, W, W], the mean over heads of the weights
    # Both: float64 [L + 1, W], the token in focus followed down by `shares` and by
    # `attention` of all T tokens, see `follow_down`.
    reached: np.ndarray
    looked: np.ndarray
    # float64 [L + 1, W, G], the likeliest words of the masked-word head at each height,
    # see `read_layers`; G is 0 without such a head.
    guess_probs: np.ndarray
    guesses: tuple[tuple[tuple[str, ...], ...], ...]  # their words, in the same order


@task()
def whole_model(
    explorer: Explorer, trace: Trace, focus: int | None = None
) -> WholeModel:
    """Takes the picture of one text in one model, by `usual_focus` or another."""
    tokenized, attention = trace.tokenized, trace.attention.mean(axis=1, dtype=float)
    focus = usual_focus(tokenized) if focus is None else focus
    require_index("focus", focus, tokenized.num_tokens)
    first = _first_shown(tokenized.num_tokens, focus)
    seen = slice(first, first + MOST_SHOWN)
    shares = _shares(explorer, trace)
    attention = share_of_row(attention)  # float32 rows miss 1 by a little
    guess_probs, guesses = _guesses(explorer, tokenized, seen)
    return WholeModel(
        tokenized=tokenized,
        focus=focus,
        first=first,
        shares=shares[:, seen, seen],
        attention=attention[:, seen, seen],
        reached=follow_down(shares, focus)[:, seen],
        looked=follow_down(attention, focus)[:, seen],
        guess_probs=guess_probs,
        guesses=guesses,
    )


def usual_focus(tokenized: TokenizedText) -> int:
    """The first mask, else the first token of the text."""
    masks = tokenized.mask_positions
    return int(masks[0] if len(masks) else np.flatnonzero(~tokenized.is_added)[0])


def _first_shown(num_tokens: int, focus: int) -> int:
    return max(0, min(focus - MOST_SHOWN // 2, num_tokens - MOST_SHOWN))


def _shares(explorer: Explorer, trace: Trace) -> np.ndarray:
    """What each state has of each before it, of all tokens, float64 `[L, T, T]`."""
    layers = range(explorer.config.num_hidden_layers)
    parts = (norm_weighted_attention(explorer, trace, layer) for layer in layers)
    return np.stack([share_of_row(one.with_residual) for one in parts])


def _guesses(
    explorer: Explorer, tokenized: TokenizedText, seen: slice
) -> tuple[np.ndarray, tuple[tuple[tuple[str, ...], ...], ...]]:
    places = range(tokenized.num_tokens)[seen]
    if "mlm" not in explorer.loaded.model.heads:
        levels = explorer.config.num_hidden_layers + 1
        return np.empty((levels, len(places), 0)), ((((),) * len(places)),) * levels
    texts = tokenized.text, tokenized.pair
    lens = read_layers(explorer, *texts, positions=places, top_k=NUM_GUESSES)
    return np.exp(lens.top_log_probs.astype(float)), lens.top_tokens


@dataclass(frozen=True)
class RemovedTokens(FrozenArrays):
    """What becomes of a guess when nobody may look at a token, exactly."""

    tokens: np.ndarray  # int [R], those that were hidden, one at a time
    # float64 [R], how much probability goes to other words, in [0, 1].
    moved: np.ndarray
    # Rank correlation of `moved` with the shares that reach the focus; `None` where one
    # of the two has no order.
    agreement: float | None


@task()
def remove_tokens(
    explorer: Explorer, trace: Trace, focus: int, progress: Progress = untold
) -> RemovedTokens:
    """Hides each shown token from all others, in every layer and head.

    A token goes on seeing itself: only its arrows to others are cut, before the
    softmax. The answer's change is the total variation distance of all words at the
    focus.

    Source: Geva et al. 2023 (arXiv:2304.14767), "attention knockout".
    """
    explorer.require_head("mlm")
    num_tokens = trace.tokenized.num_tokens
    require_index("focus", focus, num_tokens)
    first = _first_shown(num_tokens, focus)
    shown = np.arange(num_tokens)[first : first + MOST_SHOWN]
    tokens = shown[shown != focus]
    before = softmax_rows(logits_at(explorer, trace.tokenized, np.array([focus])))[0]
    moved = []
    size = max(1, _TOKENS_A_PASS // num_tokens)
    for start in range(0, len(tokens), size):
        after = _without(explorer, trace.tokenized, focus, tokens[start : start + size])
        moved.append(np.abs(after - before).sum(axis=-1) / 2)
        progress(min(1.0, (start + size) / len(tokens)), "ablation")
    changes = np.concatenate(moved)
    reached = follow_down(_shares(explorer, trace), focus)[0]
    return RemovedTokens(tokens, changes, spearman(reached[tokens], changes))


def _without(
    explorer: Explorer, tokenized: TokenizedText, focus: int, hidden: np.ndarray
) -> np.ndarray:
    """The words' probabilities at the focus, a row for each hidden token, `[R, V]`."""
    num_rows, num_tokens = len(hidden), tokenized.num_tokens
    edges = np.ones((num_rows, 1, 1, num_tokens, num_tokens), "int32")
    for row, token in enumerate(hidden):
        edges[row, 0, 0, :, token] = 0
        edges[row, 0, 0, token, token] = 1
    inputs = {
        name: np.repeat(array, num_rows, axis=0)
        for name, array in tokenized.inputs.items()
    }
    inputs |= {
        "edge_mask": edges,
        "mlm_positions": focus + num_tokens * np.arange(num_rows),
    }
    return softmax_rows(explorer.forward(inputs, ("mlm_logits",))["mlm_logits"])


# A part at one token: numbers and arrays by the names that the functions below say.
Opened = Mapping[str, Any]


def open_layer(explorer: Explorer, trace: Trace, layer: int, token: int) -> Opened:
    """Opens a layer at a token, both from 0; `ValueError` where there is none.

    Returns:
        "weights", float64 `[N, T]`, what each head looks at, and "norms", the lengths
        of what it brings from there; "kept", "attention" and "feed_forward", lengths
        of the state that enters, and of what each half adds to it.
    """
    require_index("token", token, trace.tokenized.num_tokens)
    values = block_values(explorer, trace, layer)
    return {
        "weights": values["attention.probs"][:, token].astype(float),
        "norms": norm_weighted_attention(explorer, trace, layer).norms[:, token],
        **{
            name: float(np.linalg.norm(values[source][token], axis=-1))
            for name, source in {"kept": "input", **_HALVES}.items()
        },
    }


def open_head(
    explorer: Explorer, trace: Trace, layer: int, head: int, token: int
) -> Opened:
    """Opens a head at a token, all from 0; `ValueError` where there is none.

    Returns:
        Float32 as the pass has them: "query" `[D]`, of the token; "keys" and "values"
        `[T, D]`; "products" `[T]`, query times each key; "scores" `[T]`, the same,
        scaled, and lowered where the token may not look; "weights" `[T]`, their
        softmax; "output" `[D]`, the values by their weights.
    """
    require_index("head", head, explorer.config.num_attention_heads)
    require_index("token", token, trace.tokenized.num_tokens)
    found = block_values(explorer, trace, layer)
    query, keys, values, scores, probs = (
        found[f"attention.{name}"][head]
        for name in ("query", "key", "value", "masked_scores", "probs")
    )
    return {
        "query": query[token],
        "keys": keys,
        "values": values,
        "products": keys @ query[token],
        "scores": scores[token],
        "weights": probs[token],
        "output": probs[token] @ values,
    }


def open_feed_forward(
    explorer: Explorer, trace: Trace, layer: int, token: int
) -> Opened:
    """Opens it at a token, both from 0; `ValueError` where there is none.

    Returns:
        "attention" and "feed_forward" of `open_layer`; "neurons", int `[F]`, those
        that add most, from 0; "activations" and "contributions", float `[F]`, what
        each is, and the length of what it adds; "words", what each speaks for here,
        nothing without a masked-word head.
    """
    halves = open_layer(explorer, trace, layer, token)
    found = strongest_neurons(
        explorer, trace, layer, token, NUM_NEURONS, "contribution"
    )
    has_words = "mlm" in explorer.loaded.model.heads
    words = (
        words_of_neuron_here(explorer, trace, layer, int(neuron), token, NUM_WORDS)
        for neuron in (found.neurons if has_words else ())
    )
    return {
        **{name: halves[name] for name in _HALVES},
        "neurons": found.neurons,
        "activations": found.activations,
        "contributions": found.contributions,
        "words": tuple(one.promoted_tokens for one in words),
    }


def open_embeddings(explorer: Explorer, trace: Trace, token: int) -> Opened:
    """What enters the first layer, "norm", and its parts by their names in `taps`."""
    read, keep = trace.tokenized, ("word", "position", "token_type", "sum", "norm")
    require_index("token", token, read.num_tokens)
    found = explorer.forward.embed(**read.inputs, keep=keep)
    return {name: found[name].reshape(read.num_tokens, -1)[token] for name in keep}


@task()
def open_answer(explorer: Explorer, trace: Trace, token: int) -> np.ndarray:
    """What every word scores at a token, float32 `[V]`, before softmax."""
    require_index("token", token, trace.tokenized.num_tokens)
    return logits_at(explorer, trace.tokenized, np.array([token], "int32"))[0]


@task()
def open_part(explorer: Explorer, trace: Trace, name: str, token: int) -> Opened:
    """Opens a part at a token by its name of `model.taps`.

    These are "embeddings", "layer.3", "layer.3.head.0", "layer.3.mlp", and "mlm.logits"
    where the model has that head, whose scores are "logits".
    """
    match name.split("."):
        case ["embeddings"]:
            return open_embeddings(explorer, trace, token)
        case ["mlm", "logits"]:
            return {"logits": open_answer(explorer, trace, token)}
        case ["layer", layer]:
            return open_layer(explorer, trace, int(layer), token)
        case ["layer", layer, "mlp"]:
            return open_feed_forward(explorer, trace, int(layer), token)
        case ["layer", layer, "head", head]:
            return open_head(explorer, trace, int(layer), int(head), token)
    raise ValueError(f"`name` must be of a part that opens. Received: {name}.")


@task()
def open_all(explorer: Explorer, trace: Trace, token: int) -> dict[str, Opened]:
    """Opens every part, for a file that stays alive by itself; see `open_part`."""
    config, names = explorer.config, ["embeddings"]
    for layer in range(config.num_hidden_layers):
        heads = (f"layer.{layer}.head.{n}" for n in range(config.num_attention_heads))
        names += [f"layer.{layer}", f"layer.{layer}.mlp", *heads]
    if "mlm" in explorer.loaded.model.heads:
        names.append("mlm.logits")
    return {name: open_part(explorer, trace, name, token) for name in names}
