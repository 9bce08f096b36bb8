"""What attention flow costs beside rollout, from every token to every token.

Random attention of BERT-base's depth and 32 tokens; heads are averaged first, so their
number costs nothing.
"""

import statistics
import time

import numpy as np

from benchmarks.machine import OtherWork, wait_until_quiet
from benchmarks.table import Table, met
from bertviz_core.analysis.aggregation import attention_flow, rollout

NUM_LAYERS, NUM_TOKENS = 12, 32
_SHAPE = (NUM_LAYERS, 12, NUM_TOKENS, NUM_TOKENS)
ROUNDS = 5
TARGET_SECONDS = 2.0


def measure() -> Table:
    """Both, in turns."""
    powers = np.exp(np.random.default_rng(0).normal(scale=2, size=_SHAPE))
    attention = (powers / powers.sum(axis=-1, keepdims=True)).astype("float32")
    wait_until_quiet()
    rows = []
    for name, way in {"flow": attention_flow, "rollout": rollout}.items():
        others, seconds, busy = OtherWork(), [], []
        for _ in range(ROUNDS):
            began, work = time.perf_counter(), time.process_time()
            way(attention)
            seconds.append(time.perf_counter() - began)
            busy.append(time.process_time() - work)
        median = statistics.median(seconds)
        is_aimed = name == "flow"
        rows.append(
            (
                name,
                f"{1000 * median:.1f} ms",
                f"{1000 * statistics.median(busy):.1f} ms",
                f"{1000 * TARGET_SECONDS:.0f} ms" if is_aimed else "",
                met(median, TARGET_SECONDS) if is_aimed else "",
                f"{others.cores():.2f}",
            )
        )
    return Table(
        f"Attention flow: {NUM_LAYERS} layers, {NUM_TOKENS} tokens",
        ("way", "measured", "of the processor", "target", "met", "others"),
        rows,
        (
            f"The median of {ROUNDS}: {NUM_TOKENS**2} maximum flows a time, "
            "on one core.",
        ),
    )
