"""One matrix, or one number a head, of all the attention of a text.

Attention itself never travels between processes: 151 MB for BERT-base and 512 tokens.
"""

import numpy as np

from bertviz_core.analysis.aggregation import (
    attention_flow,
    max_of_heads,
    mean_of_heads,
    rollout,
)
from bertviz_core.analysis.attention import attention_mass as mass_of_heads
from bertviz_core.analysis.attention import group_words, merge_words
from bertviz_core.analysis.comparison import align_tokens, attention_difference
from bertviz_core.analysis.head_distances import divergence_sums
from bertviz_core.analysis.head_profiles import (
    HeadProfile,
    NamedHead,
    head_profile,
    name_heads,
)
from bertviz_core.errors import TextError
from bertviz_core.experiments.attention_parts import (
    norm_weighted_attention,
    value_zeroing,
)
from bertviz_core.experiments.attention_results import CorpusProfile
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import Progress, task, untold
from bertviz_core.trace import TokenizedText, Trace

# Pieces: the work of attention flow grows with their fourth power.
MOST_FLOWING = 128


@task()
def attention_matrix(
    explorer: Explorer,
    trace: Trace,
    method: str,
    layer: int,
    head: int,
    heads: tuple[tuple[int, int], ...] = (),
    word_ids: tuple[int, ...] | None = None,
    progress: Progress = untold,
) -> np.ndarray:
    """One matrix of a text's attention, float32 `[T, T]`; rows look.

    Args:
        method: "head", one head; "layer", the mean of a layer's heads; "chosen", the
            mean of `heads`; "mean" or "max" of all heads; "rollout" or "flow" up to a
            layer; "norms", the length of what a layer brings from each token;
            "value_zeroing" in a layer.
        layer: from 0; not read by "mean" and "max".
        head: from 0; read by "head" alone.
        heads: (layer, head) pairs from 0, for "chosen".
        word_ids: T, for "max" and "flow": makes it one of words, `[W, W]`, their
            pieces put together first; see `group_words`.

    Raises:
        TextError: more than `MOST_FLOWING` tokens for "flow".
    """
    attention, groups = trace.attention, None
    if word_ids is not None:
        groups = group_words(np.array(word_ids), trace.tokenized.token_type_ids)
    match method:
        case "head":
            found = attention[layer, head]
        case "layer":
            found = attention[layer].mean(axis=0)
        case "chosen":
            chosen = np.zeros(attention.shape[:2], bool)
            for place in heads:
                chosen[place] = True
            found = mean_of_heads(attention, chosen)
        case "mean":
            found = mean_of_heads(attention)
        case "max":
            found = _max_of_words(attention, groups)
        case "rollout":
            found = rollout(attention)[layer]
        case "flow":
            _require_room(trace.tokenized.num_tokens)
            found = attention_flow(attention[: layer + 1], groups, progress)
        case "norms":
            found = norm_weighted_attention(explorer, trace, layer).combined
        case "value_zeroing":
            found = value_zeroing(explorer, trace, layer, progress)
        case _:
            raise ValueError(f"No such `method`. Received: {method!r}.")
    return np.asarray(found, "float32")


@task()
def attention_mass(trace: Trace, position: int) -> np.ndarray:
    """What each head gives to real words from one token, float `[L, N]`."""
    special = trace.tokenized.is_special
    return mass_of_heads(trace.attention, special, position)


@task()
def compare_heads(one: Trace, other: Trace) -> np.ndarray:
    """How much of each head's attention goes elsewhere in another text or model.

    Returns:
        float64 `[L, N]`, see `AttentionDifference.distances`, of the heads that both
        models have; NaN where the texts have no token in common.
    """
    alignment = align_tokens(one.tokenized.tokens, other.tokenized.tokens)
    first, second = one.attention, other.attention
    num_heads = min(first.shape[1], second.shape[1])
    found = np.full((min(len(first), len(second)), num_heads), np.nan)
    if len(alignment.first):
        # A layer at a time: in float64 all of them may be large.
        for layer in range(len(found)):
            sides = first[layer, :num_heads], second[layer, :num_heads]
            found[layer] = attention_difference(*sides, alignment).distances
    return found


@task()
def profile_heads(explorer: Explorer, trace: Trace) -> CorpusProfile:
    """Measures all heads on one text."""
    distances = divergence_sums(trace.attention).distances()
    profile = profile_of(explorer, trace.tokenized, trace.attention)
    return CorpusProfile(profile, distances)


@task()
def named_heads(explorer: Explorer, trace: Trace) -> tuple[NamedHead, ...]:
    """Heads with a name on one text: those of `profile_heads`, without distances."""
    return name_heads(profile_of(explorer, trace.tokenized, trace.attention))


def profile_of(
    explorer: Explorer, read: TokenizedText, attention: np.ndarray
) -> HeadProfile:
    """Measures all heads `[L, N, T, T]` on one text, to be added to those of others."""
    return head_profile(
        attention,
        read.input_ids,
        read.token_type_ids,
        read.is_special,
        read.is_word,
        explorer.forward.visible(read.num_tokens),
    )


def _require_room(count: int) -> None:
    if count > MOST_FLOWING:
        raise TextError(
            "This text is too long for attention flow. Received: {count} pieces. "
            "Keep at most {most}, or choose rollout.",
            count=count,
            most=MOST_FLOWING,
        )


def _max_of_words(attention: np.ndarray, groups: np.ndarray | None) -> np.ndarray:
    """A layer at a time: all heads of a long text are large."""
    if groups is None:
        return max_of_heads(attention)
    of_layers = [merge_words(layer, groups).max(axis=0) for layer in attention]
    return np.asarray(np.max(of_layers, axis=0))
