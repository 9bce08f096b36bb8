"""What of an attention matrix is shown: filters, word pieces as words.

Every function takes attention `[..., Q, K]` of one text, rows look and columns are
looked at, and returns floats of the same precision. Q and K count tokens; W counts
words.
"""

from collections.abc import Sequence

import numpy as np

from bertviz_core.errors import require_index


def segment_tokens(token_type_ids: np.ndarray, segment: int | None) -> np.ndarray:
    """Marks the tokens of one text of a pair, bool `[T]`; all of them for `None`.

    A picture "A to B" takes rows of segment 0 and columns of segment 1. [CLS] and the
    first [SEP] are of segment 0.
    """
    if segment is None:
        return np.ones(len(token_type_ids), bool)
    return np.asarray(token_type_ids) == segment


def share_of_row(attention: np.ndarray) -> np.ndarray:
    """Divides each entry, at least 0, by the sum of its row; a row of zeros stays 0."""
    total = attention.sum(axis=-1, keepdims=True)
    return np.divide(attention, total, out=np.zeros_like(attention), where=total > 0)


def threshold_weight(attention: np.ndarray, least: float | np.ndarray) -> np.ndarray:
    """Sets weights below `least` to 0; that is one for all, or `[..., 1, 1]`."""
    return np.where(attention >= least, attention, 0).astype(attention.dtype)


def threshold_mass(attention: np.ndarray, mass: float) -> np.ndarray:
    """Keeps the fewest of each row's largest weights that reach a share of it.

    The others become 0. The entry that crosses the line stays. Of equal weights the one
    further left is taken first.

    Args:
        attention: float `[..., Q, K]`, at least 0.
        mass: in (0, 1], share of the row's sum; 1 keeps every weight above 0.
    """
    if not 0 < mass <= 1:
        raise ValueError(f"`mass` must be in (0, 1]. Received: mass={mass}.")
    if mass == 1:  # rounding of the running sum must not cost the smallest weights
        return attention.copy()
    # The values are sorted, not their places: that is many times as fast.
    ordered = -np.sort(-attention, axis=-1)
    before = np.cumsum(ordered, axis=-1, dtype=np.float64)
    before -= ordered
    is_needed = before < mass * ordered.sum(axis=-1, keepdims=True)
    num_kept = is_needed.sum(axis=-1, keepdims=True)
    least = np.take_along_axis(ordered, np.maximum(num_kept, 1) - 1, axis=-1)
    return attention * _largest(attention, least, num_kept)


def _largest(
    attention: np.ndarray, least: np.ndarray, num_kept: np.ndarray
) -> np.ndarray:
    """Which weights are the largest `num_kept` of their rows, bool `[..., Q, K]`.

    Of each row, `[..., Q, 1]`: `least` is the smallest of them.
    """
    kept: np.ndarray = attention >= least
    tied = (kept.sum(axis=-1, keepdims=True) > num_kept)[..., 0]
    rows, last = attention[tied], least[tied]  # [R, K], [R, 1]
    room = num_kept[tied] - (rows > last).sum(axis=-1, keepdims=True)
    is_last = rows == last
    kept[tied] &= ~is_last | (np.cumsum(is_last, axis=-1) <= room)
    return kept


def group_words(word_ids: np.ndarray, token_type_ids: np.ndarray) -> np.ndarray:
    """Numbers the words of a text from left to right, int64 `[T]`, 0 to W - 1.

    Neighbours with one id in one segment are one word. The ids may be a tokenizer's, or
    those of any words one likes, for instance of several Chinese characters; less than
    0 stands alone: [CLS], [SEP].
    """
    word_ids, segments = np.asarray(word_ids), np.asarray(token_type_ids)
    is_same = (np.diff(word_ids) == 0) & (np.diff(segments) == 0) & (word_ids[1:] >= 0)
    return np.concatenate([[0], np.cumsum(~is_same)]).astype(np.int64)


def merge_words(attention: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Makes one row and one column of each word's pieces, float `[..., W, W]`.

    Attention to a word is the sum over its pieces; attention from a word is the mean
    over its pieces. Rows that summed to 1 still do. For `groups` see `group_words`.

    Source: Clark et al. 2019 (arXiv:1906.04341), section 4.1.
    """
    starts = _starts(groups, attention.shape[-1])
    sizes = np.diff(np.append(starts, len(groups)))[:, None]
    to_words = np.add.reduceat(attention, starts, axis=-1)
    from_words = np.add.reduceat(to_words, starts, axis=-2)
    return (from_words / sizes).astype(attention.dtype)


def merge_labels(tokens: Sequence[str], groups: np.ndarray) -> tuple[str, ...]:
    """Writes the pieces of each word together, without their `##`: W labels.

    A piece that begins a word keeps its `##`: it was cut off from what stood before it.
    """
    starts = _starts(groups, len(tokens))
    ends = [*starts[1:], len(tokens)]
    return tuple(
        tokens[start]
        + "".join(piece.removeprefix("##") for piece in tokens[start + 1 : end])
        for start, end in zip(starts, ends, strict=True)
    )


def _starts(groups: np.ndarray, num_tokens: int) -> np.ndarray:
    """Index of each word's first token."""
    steps = np.diff(groups, prepend=-1)
    if len(groups) != num_tokens or steps[0] != 1 or not np.isin(steps, (0, 1)).all():
        raise ValueError(
            f"`groups` must number the words of {num_tokens} tokens from 0, left to "
            f"right. Received: {np.asarray(groups).tolist()}."
        )
    return np.flatnonzero(steps)


def attention_mass(
    attention_probs: np.ndarray, is_special: np.ndarray, position: int
) -> np.ndarray:
    """Share of its attention that a token puts on tokens of the text, float `[L, N]`.

    What is left lies on [CLS] and [SEP], which heads look at when they have
    nothing to do.

    Args:
        attention_probs: float `[L, N, Q, K]`, rows sum to 1.
        is_special: bool `[K]`, true for [CLS] and [SEP].
        position: index of the token that looks.

    Source: Clark et al. 2019 (arXiv:1906.04341), section 3.2, on [SEP] as a place to
    look at without effect.
    """
    num_rows, num_columns = attention_probs.shape[2:]
    if is_special.shape != (num_columns,):
        raise ValueError(
            f"`is_special` must be [{num_columns}]. Received: {is_special.shape}."
        )
    require_index("position", position, num_rows)
    return attention_probs[:, :, position][..., ~is_special].sum(axis=-1)
