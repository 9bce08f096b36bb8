"""Two texts of unequal length in one batch: what a mask keeps apart."""

from __future__ import annotations

import statistics
import time

import numpy as np

from bertviz_core.experiments.read_model_results import PaddedPair
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import task
from bertviz_core.trace import TokenizedText

_NUM_RUNS = 5


@task()
def padded_pair(explorer: Explorer, text: str, other: str) -> PaddedPair:
    """Reads the shorter of two texts alone, padded with a mask, and without one.

    Args:
        explorer: any model.
        text: one text.
        other: the other; what is beyond the last position is left out.

    Raises:
        TextError: see `Explorer.tokenize`.
    """
    both = [explorer.tokenize(one, cut=True) for one in (text, other)]
    short, long = sorted(both, key=lambda one: one.num_tokens)
    inputs = _batch(explorer, short, long)
    is_real = inputs["attention_mask"][0] == 1
    alone = explorer.forward(short.inputs)["hidden_states"][0].astype(np.float64)
    open_inputs = {k: v for k, v in inputs.items() if k != "attention_mask"}
    masked, unmasked = explorer.forward(inputs), explorer.forward(open_inputs)

    def apart(found: np.ndarray) -> np.ndarray:
        return np.abs(found[0][:, is_real] - alone).max(axis=(1, 2))

    def to_padding(probs: np.ndarray) -> np.ndarray:
        seen = probs[0][:, :, is_real][..., ~is_real]
        return seen.astype(np.float64).sum(axis=-1).mean(axis=(1, 2))

    return PaddedPair(
        tokens=(*short.tokens, *["[PAD]"] * int((~is_real).sum())),
        other_tokens=long.tokens,
        masked_differences=apart(masked["hidden_states"]),
        unmasked_differences=apart(unmasked["hidden_states"]),
        masked_shares=to_padding(masked["attention_probs"]),
        unmasked_shares=to_padding(unmasked["attention_probs"]),
        seconds=(
            _seconds(explorer, inputs),
            _seconds(explorer, short.inputs) + _seconds(explorer, long.inputs),
        ),
    )


def _batch(
    explorer: Explorer, short: TokenizedText, long: TokenizedText
) -> dict[str, np.ndarray]:
    shape = (2, long.num_tokens)
    ids = np.full(shape, explorer.tokenizer.pad_token_id, "int32")
    types, mask = np.zeros((2, *shape), "int32")
    for row, text in enumerate((short, long)):
        size = text.num_tokens
        ids[row, :size], types[row, :size] = text.input_ids, text.token_type_ids
        mask[row, :size] = 1
    return {"input_ids": ids, "token_type_ids": types, "attention_mask": mask}


def _seconds(explorer: Explorer, inputs: dict[str, np.ndarray]) -> float:
    """The median of some passes."""
    found = []
    for _ in range(_NUM_RUNS):
        start = time.perf_counter()
        explorer.forward(inputs, ("sequence_output",))
        found.append(time.perf_counter() - start)
    return statistics.median(found)
