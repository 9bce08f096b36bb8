"""The bundled models, step by step: what the pages show is what the models compute.

Other tests do the same on small random models, where every weight matters, and
`test_read_model` holds all steps to the oracle; these are the numbers that a visitor
sees first.
"""

import numpy as np
import pytest

from bertviz_core.analysis.logit_rows import softmax_rows
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.experiments.attention_parts import pair_arithmetic
from bertviz_core.experiments.embedding_tables import take_input_apart
from bertviz_core.experiments.layer_steps import block_values
from bertviz_core.explorer import Explorer
from bertviz_core.weights import as_numpy
from tests.core.step_reading import close

# A pair of each, and a text of all positions.
TEXTS = {
    DEFAULT_MODEL: (
        ("Where is the bank?", "It is by the river."),
        ("the bank of the river " * 110, None),
    ),
    "bert-mini-zh": (
        ("银行在哪里？", "在河边。"),
        ("今天天气很好" * 90, None),
    ),
}


@pytest.fixture(params=[(DEFAULT_MODEL, 1), ("bert-mini-zh", 4)], ids=str)
def scaled(request):
    """A model of its own with scores times as large, and times."""
    model_id, times = request.param
    explorer = Explorer.open(model_id)
    for block in explorer.loaded.model.blocks:
        for weight in (block.attention.query.kernel, block.attention.query.bias):
            weight.assign(times * as_numpy(weight))
    return explorer, times


def test_every_row_of_attention_is_the_arithmetic_that_is_shown(scaled):
    """To 1e-6, as the page of attention promises it: all heads, all pairs.

    The softmax of the pass's own scores, however large those are; the running sum to
    what float32 leaves of sums of that size.
    """
    explorer, times = scaled
    largest, rounded = 0.0, 0.0
    for text, pair in TEXTS[explorer.model_id]:
        trace = explorer.trace(text, pair, cut=True)
        # As the page of embeddings promises it.
        summed = take_input_apart(explorer, text, pair, cut=True)
        assert summed.largest_difference < 1e-6
        close(summed.normed, trace.hidden_states[0])
        for layer, exposed in enumerate(trace.attention_probs):
            values = block_values(explorer, trace, layer)
            queries, keys, scores = (
                values[f"attention.{name}"].astype("float64")
                for name in ("query", "key", "scores")
            )
            differences = np.abs(softmax_rows(scores) - exposed)
            assert differences.max() < 1e-6
            largest = max(largest, np.abs(scores).max())
            for extreme in (differences, np.abs(scores)):
                row = np.unravel_index(extreme.argmax(), extreme.shape)
                head, query, key = map(int, row)
                found = pair_arithmetic(explorer, trace, layer, head, query, key)
                assert abs(found.prob - found.exposed_prob) < 1e-6
                np.testing.assert_array_equal(found.query, queries[head, query])
                np.testing.assert_array_equal(found.key, keys[head, key])
                np.testing.assert_array_equal(found.scores, scores[head, query])
            root = np.sqrt(len(found.query))
            told = found.running_sums[-1] / root + found.rounding
            assert told == pytest.approx(found.score, abs=1e-12)
            assert abs(found.rounding) <= most_rounded(found.products) / root
            every = most_rounded(queries[head, query] * keys[head]).max() / root
            # A softmax passes on half of what its scores are off, at most.
            apart = np.abs(found.unrounded_probs - exposed[head, query]).max()
            assert apart <= every / 2 + 1e-6
            rounded = max(rounded, abs(found.rounding))
    assert 20 * times < largest
    assert rounded > 1e-7 * times


def most_rounded(products):
    """What float32 loses at most when it multiplies and adds: Higham 2002, (3.5)."""
    half_step = np.finfo(np.float32).eps / 2
    return (products.shape[-1] + 1) * half_step * np.abs(products).sum(axis=-1)
