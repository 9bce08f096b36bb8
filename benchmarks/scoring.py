"""Scoring a sentence beside one plain batch of as many sentences, BERT-base.

Pseudo-log-likelihood needs a pass for each token; in batches it should cost what
the passes cost and little more. Both run in this process and take turns, with
random weights: the numbers of a model do not change its time.
"""

import functools
import statistics
import time
from collections.abc import Callable

import numpy as np

from benchmarks.machine import OtherWork, wait_until_quiet
from benchmarks.random_model import random_model
from benchmarks.table import Table, met
from bertviz_core.config import BertConfig
from bertviz_core.experiments.scoring import VARIANTS, score_sentence
from bertviz_core.explorer import Explorer

NUM_TOKENS = 64  # [CLS] and [SEP] among them
ROUNDS = 5
TARGET_RATIO = 1.2


def measure() -> Table:
    """Lets the score and the batch alternate."""
    explorer = Explorer(random_model(BertConfig(vocab_size=30_522)))
    text = " ".join(f"w{index}" for index in range(100, 100 + NUM_TOKENS - 2))
    input_ids = explorer.tokenize(text).input_ids
    batch = {
        "input_ids": np.repeat(input_ids[None], NUM_TOKENS, axis=0),
        "token_type_ids": np.zeros((NUM_TOKENS, NUM_TOKENS), "int32"),
    }
    runs: dict[str, Callable[[], object]] = {
        "batch": lambda: explorer.forward(batch, ("sequence_output",))
    }
    for variant in VARIANTS:
        runs[variant] = functools.partial(
            score_sentence, explorer, text, variant=variant
        )
    for run in runs.values():
        run()  # compiled and warm
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    others = 0.0
    for _ in range(ROUNDS):
        wait_until_quiet()
        work = OtherWork()
        for name, run in runs.items():
            began = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - began)
        others = max(others, work.cores())
    return Table(
        f"Score of a sentence of {NUM_TOKENS} tokens, BERT-base, float32",
        ("variant", "score", f"batch of {NUM_TOKENS}", "ratio", "<= 1.2", "others"),
        [_row(variant, seconds, others) for variant in VARIANTS],
        (
            f"The score predicts {NUM_TOKENS - 2} tokens, with the masked-word head, "
            f"ranks and log-probabilities; the batch is {NUM_TOKENS} sentences through "
            "the encoder alone. The ratio is the median over rounds.",
        ),
    )


def _row(
    variant: str, seconds: dict[str, list[float]], others: float
) -> tuple[str, ...]:
    pairs = zip(seconds[variant], seconds["batch"], strict=True)
    ratio = statistics.median(score / batch for score, batch in pairs)
    return (
        variant,
        f"{statistics.median(seconds[variant]):.2f} s",
        f"{statistics.median(seconds['batch']):.2f} s",
        f"{ratio:.2f}",
        met(round(ratio, 2), TARGET_RATIO),
        f"{others:.2f}",
    )
