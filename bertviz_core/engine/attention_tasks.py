"""Tasks about where tokens look, see `tasks`. Attention never travels whole."""

from __future__ import annotations

import numpy as np

from bertviz_core.analysis.aggregation import max_of_heads, mean_of_heads, rollout
from bertviz_core.analysis.attention import group_words, merge_words
from bertviz_core.analysis.attention_mass import attention_mass as mass_of_heads
from bertviz_core.analysis.comparison import align_tokens, attention_difference
from bertviz_core.analysis.head_distances import divergence_sums
from bertviz_core.analysis.head_profiles import profile_sums
from bertviz_core.engine.jobs import Progress
from bertviz_core.engine.memory import ANSWERS, explorer, whole_trace
from bertviz_core.experiments.attention_results import CorpusProfile, PairArithmetic
from bertviz_core.trace import Trace

# Ways to make one matrix of a text's attention; see `attention_matrix`.
METHODS = (
    "head",
    "layer",
    "chosen",
    "mean",
    "max",
    "rollout",
    "norms",
    "value_zeroing",
)


def attention_matrix(
    model: str,
    text: str,
    method: str,
    layer: int,
    head: int,
    pair: str | None = None,
    cut: bool = False,
    heads: tuple[tuple[int, int], ...] = (),
    word_ids: tuple[int, ...] | None = None,
) -> np.ndarray:
    """One matrix of a text's attention, float32 `[T, T]`; rows look.

    Args:
        model: its id.
        text: the first text.
        method: one of `METHODS`: "head", one head; "layer", the mean of a layer's
            heads; "chosen", the mean of `heads`; "mean" or "max" of all heads;
            "rollout" up to a layer; "norms", the length of what a layer brings from
            each token; "value_zeroing" in a layer.
        layer: from 0; not read by "mean" and "max".
        head: from 0; read by "head" alone.
        pair: the second text.
        cut: leaves out what is beyond the last position.
        heads: (layer, head) pairs from 0, for "chosen".
        word_ids: T, for "max": makes it one of words, `[W, W]`, each head's pieces
            put together first; see `group_words`.

    Raises:
        TextError: empty, or too long while `cut` is false.
        ValueError: no such method.
    """
    if method not in METHODS:
        raise ValueError(f"`method` must be among {METHODS}. Received: {method!r}.")
    trace = whole_trace(model, text, pair, cut)
    if method == "head":
        return _attention(trace)[layer, head]
    if method == "chosen":
        return _mean_of_chosen(_attention(trace), heads).astype("float32")
    if method == "max" and word_ids is not None:
        groups = group_words(np.array(word_ids), trace.tokenized.token_type_ids)
        return _max_of_words(_attention(trace), groups).astype("float32")
    return _combined(model, trace, method, layer).astype("float32")


def attention_mass(
    model: str, text: str, position: int, pair: str | None = None, cut: bool = False
) -> np.ndarray:
    """What each head gives to real words from one token, float `[L, N]`.

    Args:
        model: its id.
        text: the first text.
        position: index of the token that looks.
        pair: the second text.
        cut: leaves out what is beyond the last position.

    Raises:
        TextError: empty, or too long while `cut` is false.
    """
    trace = whole_trace(model, text, pair, cut)
    special = trace.tokenized.is_special
    return mass_of_heads(_attention(trace), special, position)


def compare_heads(
    model: str,
    text: str,
    other_model: str,
    other_text: str,
    pair: str | None = None,
    other_pair: str | None = None,
    cut: bool = False,
) -> np.ndarray:
    """How much of each head's attention goes elsewhere on the other side.

    Args:
        model: its id.
        text: the first text.
        other_model: id of the model on the other side; it may be the same.
        other_text: what that one reads; it may be the same.
        pair: the second text.
        other_pair: the second text on the other side.
        cut: leaves out what is beyond the last position.

    Returns:
        float64 `[L, N]`, see `AttentionDifference.distances`, of the heads that both
        models have; NaN where the texts have no token in common.

    Raises:
        TextError: empty, or too long while `cut` is false.
    """
    traces = (
        whole_trace(model, text, pair, cut),
        whole_trace(other_model, other_text, other_pair, cut),
    )
    alignment = align_tokens(*(trace.tokenized.tokens for trace in traces))
    first, second = (_attention(trace) for trace in traces)
    num_heads = min(first.shape[1], second.shape[1])
    found = np.full((min(len(first), len(second)), num_heads), np.nan)
    if len(alignment.first):
        # A layer at a time: in float64 all of them may be large.
        for layer in range(len(found)):
            sides = first[layer, :num_heads], second[layer, :num_heads]
            found[layer] = attention_difference(*sides, alignment).distances
    return found


def pair_arithmetic(
    model: str,
    text: str,
    layer: int,
    head: int,
    query_token: int,
    key_token: int,
    pair: str | None = None,
    cut: bool = False,
) -> PairArithmetic:
    """How one attention probability comes about, number by number.

    Args:
        model: its id.
        text: the first text.
        layer: from 0.
        head: from 0.
        query_token: index of the token that looks.
        key_token: index of the token that is looked at.
        pair: the second text.
        cut: leaves out what is beyond the last position.

    Raises:
        TextError: empty, or too long while `cut` is false.
    """
    from bertviz_core.experiments import attention_parts

    trace = whole_trace(model, text, pair, cut)
    return attention_parts.pair_arithmetic(
        explorer(model), trace, layer, head, query_token, key_token
    )


def profile_heads(
    model: str, text: str, pair: str | None = None, cut: bool = False
) -> CorpusProfile:
    """Measures all heads on one text; `language` of the result is empty.

    Args:
        model: its id.
        text: the first text.
        pair: the second text.
        cut: leaves out what is beyond the last position.

    Raises:
        TextError: empty, or too long while `cut` is false.
    """
    trace = whole_trace(model, text, pair, cut)
    read = trace.tokenized
    sums = profile_sums(
        _attention(trace),
        read.input_ids,
        read.token_type_ids,
        read.is_special,
        read.is_word,
        explorer(model).forward.visible(read.num_tokens),
    )
    distances = divergence_sums(_attention(trace)).distances()
    return CorpusProfile(model, "", sums.profile(), distances)


def profile_corpus(progress: Progress, model: str, language: str) -> CorpusProfile:
    """Measures all heads on the bundled sentences of a language."""
    from bertviz_core.experiments import corpus_profiles

    key = ("profile_corpus", model, language)
    opened = explorer(model)
    return ANSWERS.get(
        key, lambda: corpus_profiles.corpus_profile(opened, language, None, progress)
    )


def zero_values(
    progress: Progress,
    model: str,
    text: str,
    layer: int,
    pair: str | None = None,
    cut: bool = False,
) -> np.ndarray:
    """The matrix "value_zeroing" of `attention_matrix`, for a text that takes long."""
    from bertviz_core.experiments import attention_parts

    def scores() -> np.ndarray:
        trace = whole_trace(model, text, pair, cut)
        found = attention_parts.value_zeroing(explorer(model), trace, layer, progress)
        return found.scores.astype("float32")

    return ANSWERS.get(("zero_values", model, text, layer, pair, cut), scores)


def _combined(model: str, trace: Trace, method: str, layer: int) -> np.ndarray:
    attention = _attention(trace)
    if method == "layer":
        return attention[layer].mean(axis=0)
    if method == "mean":
        return mean_of_heads(attention)
    if method == "max":
        return max_of_heads(attention)
    if method == "rollout":
        return rollout(attention)[layer]
    from bertviz_core.experiments import attention_parts

    opened = explorer(model)
    if method == "norms":
        parts = attention_parts.norm_weighted_attention(opened, trace, layer)
        return parts.combined
    return attention_parts.value_zeroing(opened, trace, layer).scores


def _mean_of_chosen(
    attention: np.ndarray, heads: tuple[tuple[int, int], ...]
) -> np.ndarray:
    chosen = np.zeros(attention.shape[:2], bool)
    for place in heads:
        chosen[place] = True
    return mean_of_heads(attention, chosen)


def _max_of_words(attention: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """A layer at a time: all heads of a long text are large."""
    of_layers = [merge_words(layer, groups).max(axis=0) for layer in attention]
    return np.asarray(np.max(of_layers, axis=0))


def _attention(trace: Trace) -> np.ndarray:
    if trace.attention_probs is None:
        raise ValueError("A whole trace always has its attention.")
    return trace.attention_probs


JOB_TASKS = (profile_corpus, zero_values)
