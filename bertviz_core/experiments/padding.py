"""Texts of unequal length in one batch: what a mask keeps apart, what padding costs."""

import functools

import numpy as np

from bertviz_core.analysis.padding import PaddingCost, in_batches, padding_cost
from bertviz_core.experiments.activation_times import median_seconds
from bertviz_core.experiments.masked_rows import padded
from bertviz_core.experiments.read_model_results import PaddedPair
from bertviz_core.explorer import Explorer
from bertviz_core.sentences import bundled_sentences
from bertviz_core.tasks import task

_NUM_RUNS = 5
NUM_SENTENCES, BATCH_SIZE, ROW_SIZE = 100, 10, 128
WAYS = ("all", "batch", "bucket", "packed")


@task()
def padded_pair(explorer: Explorer, text: str, other: str) -> PaddedPair:
    """Reads the shorter of two texts alone, padded with a mask, and without one."""
    both = [explorer.tokenize(one, cut=True) for one in (text, other)]
    short, long = sorted(both, key=lambda one: one.num_tokens)
    inputs = padded((short, long), explorer.tokenizer.pad_token_id)
    is_real = inputs["attention_mask"][0] == 1
    alone = explorer.forward(short.inputs)["hidden_states"][0].astype(np.float64)
    open_inputs = {k: v for k, v in inputs.items() if k != "attention_mask"}
    masked, unmasked = explorer.forward(inputs), explorer.forward(open_inputs)

    def apart(found: np.ndarray) -> np.ndarray:
        return np.abs(found[0][:, is_real] - alone).max(axis=(1, 2))

    def to_padding(probs: np.ndarray) -> np.ndarray:
        seen = probs[0][:, :, is_real][..., ~is_real]
        return seen.astype(np.float64).sum(axis=-1).mean(axis=(1, 2))

    def seconds(inputs: dict[str, np.ndarray]) -> float:
        run = functools.partial(explorer.forward, inputs, ("sequence_output",))
        return median_seconds(run, _NUM_RUNS)

    return PaddedPair(
        tokens=(*short.tokens, *["[PAD]"] * int((~is_real).sum())),
        other_tokens=long.tokens,
        masked_differences=apart(masked["hidden_states"]),
        unmasked_differences=apart(unmasked["hidden_states"]),
        masked_shares=to_padding(masked["attention_probs"]),
        unmasked_shares=to_padding(unmasked["attention_probs"]),
        seconds=(seconds(inputs), seconds(short.inputs) + seconds(long.inputs)),
    )


@task()
def padding_costs(explorer: Explorer, language: str) -> dict[str, PaddingCost]:
    """Counts places and products for the bundled sentences, by the names of `WAYS`.

    "all": every row as long as the longest; "batch": as the longest of ten, in their
    order; "bucket": the same, sorted by length; "packed": several in a row of 128, as
    in pre-training, each seeing itself alone.
    """
    from bertviz_core.training.pretrain.sequences import pack_rows

    sentences = bundled_sentences(language)[:NUM_SENTENCES]
    read = [explorer.tokenize(s.text, s.pair, cut=True) for s in sentences]
    lengths = [one.num_tokens for one in read]
    size = max(ROW_SIZE, *lengths)
    packed = pack_rows(np.array(lengths), size, 8, np.random.default_rng(0))
    rows = [[lengths[i] for i in row if i >= 0] for row in packed.tolist()]
    alone, by_length = ([[n] for n in order] for order in (lengths, sorted(lengths)))
    return {
        "all": padding_cost([alone]),
        "batch": padding_cost(in_batches(alone, BATCH_SIZE)),
        "bucket": padding_cost(in_batches(by_length, BATCH_SIZE)),
        "packed": padding_cost([rows], size),
    }
