"""What padding costs, by the way in which texts share batches and rows."""

from __future__ import annotations

import numpy as np

from bertviz_core.analysis.padding import PaddingCost, in_batches, padding_cost
from bertviz_core.explorer import Explorer
from bertviz_core.sentences import bundled_sentences
from bertviz_core.tasks import task

NUM_SENTENCES, BATCH_SIZE, ROW_SIZE = 100, 10, 128
WAYS = ("all", "batch", "bucket", "packed")


@task()
def padding_costs(explorer: Explorer, language: str) -> dict[str, PaddingCost]:
    """Counts places and products for the bundled sentences, by the names of `WAYS`.

    "all": every row as long as the longest; "batch": as the longest of ten, in their
    order; "bucket": the same, sorted by length; "packed": several in a row of 128, as
    in pre-training, each seeing itself alone.

    Args:
        explorer: whose tokenizer is asked.
        language: of the sentences, "en" or "zh".
    """
    from bertviz_core.pretrain.sequences import pack_rows

    sentences = bundled_sentences(language)[:NUM_SENTENCES]
    lengths = [explorer.tokenize(s.text, s.pair).num_tokens for s in sentences]
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
