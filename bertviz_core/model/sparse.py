"""Sparse attention as a pattern of edges: near tokens, every n-th, a few for all."""

import numpy as np
from keras import ops

from bertviz_core.config import BertConfig
from bertviz_core.model.taps import Tensor


def pattern_edges(config: BertConfig, position_ids: Tensor) -> Tensor | None:
    """Which token may look at which, int `[B or 1, Q, K]`; `None` for full attention.

    An edge is there if the two tokens' blocks are at most `sparse_window` apart, or a
    multiple of `sparse_stride` apart, or one of the two blocks is among the first
    `sparse_global`. Scores are computed for all edges and then masked: the pattern
    shows what sparse attention sees, not how it saves time. `position_ids` are
    int `[B or 1, T]`, a tensor or an array of NumPy.

    Source: Child et al. 2019 (arXiv:1904.10509), "strided"; Beltagy et al. 2020
    (arXiv:2004.05150), window and global tokens; blocks as in DeepSpeed's
    `sparsity_config.py`.
    """
    if not config.is_sparse:
        return None
    blocks = position_ids // config.sparse_block
    looking, looked_at = blocks[:, :, None], blocks[:, None, :]
    distance = abs(looking - looked_at)  # [B, Q, K]
    edges = distance <= config.sparse_window
    if config.sparse_stride:
        edges = edges | (distance % config.sparse_stride == 0)
    if config.sparse_global:
        edges = edges | (looking < config.sparse_global)
        edges = edges | (looked_at < config.sparse_global)
    return ops.cast(edges, "int32") if ops.is_tensor(edges) else edges * 1


def visible_edges(config: BertConfig, num_tokens: int) -> np.ndarray:
    """What each token may look at, bool `[T, T]`; all true without a pattern."""
    edges = pattern_edges(config, np.arange(num_tokens)[None])
    shape = (num_tokens, num_tokens)
    return np.ones(shape, bool) if edges is None else edges[0].astype(bool)
