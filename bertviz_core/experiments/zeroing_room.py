"""How much memory it takes to take values away, and when that is too much."""

from __future__ import annotations

from bertviz_core.config import BertConfig
from bertviz_core.errors import TextError

MOST_TOKENS = 512
MOST_BYTES = 2**30


def zeroing_bytes(config: BertConfig, num_tokens: int, num_vectors: int) -> int:
    """The most that value zeroing holds at once, beside the model and the trace.

    Args:
        config: sizes of the model.
        num_tokens: T.
        num_vectors: that pass the feed-forward network at once.
    """
    heads, hidden = config.num_attention_heads, config.hidden_size
    inner = config.intermediate_size
    return 8 * (
        6 * heads * num_tokens**2  # scores, masked, powers, probabilities, copies
        + 2 * heads * num_tokens * hidden  # what each head brings from each token
        + max(num_vectors, num_tokens) * (4 * inner + 6 * hidden)  # GELU, the norms
        + 4 * hidden * inner  # the network's own weights, twice
    )


def require_room(config: BertConfig, num_tokens: int, num_vectors: int) -> None:
    """Refuses what would take too long, or would not fit into memory.

    Args:
        config: sizes of the model.
        num_tokens: T.
        num_vectors: see `zeroing_bytes`.

    Raises:
        TextError: more than `MOST_TOKENS` tokens, or than `MOST_BYTES` to hold at
            once.
    """
    needed = zeroing_bytes(config, num_tokens, num_vectors)
    if num_tokens > MOST_TOKENS or needed > MOST_BYTES:
        raise TextError(
            "Taking every token's value away is too much for this text and model. "
            "Received: {tokens} tokens, {megabytes} MB to hold at once, where at most "
            "{most_tokens} tokens and {most_megabytes} MB go. Shorten the text.",
            tokens=num_tokens,
            megabytes=needed // 2**20,
            most_tokens=MOST_TOKENS,
            most_megabytes=MOST_BYTES // 2**20,
        )
