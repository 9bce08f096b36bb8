"""The exact map of head ablations beside one full pass for each head, BERT-base.

Both run in this process and take turns, on the same random weights, and must give
the same numbers. The slow way is our own compiled forward pass with a head mask and
the masked-word head at the one position that is watched: nothing that it could leave
out is computed.
"""

import statistics
import time
from dataclasses import dataclass

import numpy as np

from benchmarks.machine import OtherWork, wait_until_quiet
from benchmarks.random_model import random_model
from benchmarks.table import Table, met
from bertviz_core.config import BertConfig
from bertviz_core.experiments.ablation import ablate_heads
from bertviz_core.experiments.cause_results import Target
from bertviz_core.explorer import Explorer

NUM_TOKENS = 16  # [CLS] and [SEP] among them
TARGET = Target("mlm", 1234, 7)
ROUNDS = 5
LEAST_RATIO = 3.0  # slow / fast
MOST_DIFFERENCE = 1e-5


@dataclass(frozen=True)
class Round:
    """Both ways once: seconds, and cores busy with other work."""

    slow: float
    fast: float
    others: float


def measure() -> Table:
    """Lets the fast and the slow way alternate."""
    explorer = Explorer(random_model(BertConfig(vocab_size=30_522)))
    text = " ".join(f"w{index}" for index in range(100, 100 + NUM_TOKENS - 2))
    began = time.perf_counter()
    found = ablate_heads(explorer, text, TARGET)  # compiles
    first = time.perf_counter() - began
    slow = _slow_map(explorer, text)
    fast = np.stack([found.logits, found.probabilities])
    difference = float(np.abs(slow - fast).max())
    rounds = [_one_round(explorer, text) for _ in range(ROUNDS)]
    ratio = statistics.median(done.slow / done.fast for done in rounds)
    return Table(
        f"Exact map of {slow[0].size} head ablations, BERT-base, {NUM_TOKENS} tokens",
        (
            *("one pass a head", "exact map", "times faster", ">= 3"),
            *("largest difference", "<= 1e-05", "largest change of a logit"),
            *("first map", "others"),
        ),
        [
            (
                f"{statistics.median(done.slow for done in rounds):.2f} s",
                f"{statistics.median(done.fast for done in rounds):.2f} s",
                f"{ratio:.1f}",
                met(-ratio, -LEAST_RATIO),
                f"{difference:.0e}",
                met(difference, MOST_DIFFERENCE),
                f"{np.abs(found.delta_logits).max():.2f}",
                f"{first:.1f} s",
                f"{max(done.others for done in rounds):.2f}",
            )
        ],
        (
            f"Medians of {ROUNDS} rounds in which both take turns. The difference is "
            "between any two logits or probabilities of the two maps.",
            'The first map of a model compiles as well. "others" is the most that '
            "other work took, in cores.",
        ),
    )


def _one_round(explorer: Explorer, text: str) -> Round:
    wait_until_quiet()
    others = OtherWork()
    marks = [time.perf_counter()]
    for run in (
        lambda: _slow_map(explorer, text),
        lambda: ablate_heads(explorer, text, TARGET),
    ):
        run()
        marks.append(time.perf_counter())
    slow, fast = np.diff(marks)
    return Round(float(slow), float(fast), others.cores())


def _slow_map(explorer: Explorer, text: str) -> np.ndarray:
    """Logits and probabilities of the target, float64 `[2, L, N]`."""
    tokenized, config = explorer.tokenize(text), explorer.config
    shape = (config.num_hidden_layers, config.num_attention_heads)
    found = np.zeros((2, *shape))
    for place in np.ndindex(shape):
        head_mask = np.ones((1, *shape), "float32")
        head_mask[(0, *place)] = 0
        inputs = {
            "input_ids": tokenized.input_ids[None],
            "token_type_ids": tokenized.token_type_ids[None],
            "mlm_positions": np.array([TARGET.position]),
            "head_mask": head_mask,
        }
        logits = explorer.forward(inputs, ("mlm_logits",))["mlm_logits"][0]
        powers = np.exp(logits.astype("float64"))
        found[(0, *place)] = logits[TARGET.index]
        found[(1, *place)] = powers[TARGET.index] / powers.sum()
    return found
