"""Time and memory of two choices of pre-training, measured on this machine.

B rows, T tokens, P places to guess in a row, V words.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bertviz_core.config import BertConfig
from bertviz_core.experiments.activation_times import median_seconds
from bertviz_core.experiments.text_objective import hide_text
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import GRADIENT_RESOURCE, Progress, task, untold

NUM_BLOCKS, BLOCKS_TOGETHER = 16, math.isqrt(16)
# Blocks that are computed anew together, by the name of the way; see `objective`.
REMAT = {"kept": 0, "each": 1, "root": BLOCKS_TOGETHER}
_ROWS, _TOKENS, _PLACES, _WORDS, _HIDDEN = 8, 64, 10, 1000, 64
PASSED_BYTES = 4 * _ROWS * _TOKENS * _HIDDEN  # from block to block
_MOST_DECODED = 1024  # pieces of a batch for the decoder
_MOST_SCORES = 2**25  # numbers of the larger way, 134 MB
_NUM_RUNS = 3
_DEVICE = "CPU:0"


@dataclass(frozen=True)
class Cost:
    """What a computation takes."""

    seconds: float  # the median of some runs
    # Most that TensorFlow held at a time beyond what it held before; `None` where it
    # does not count.
    num_bytes: int | None


@dataclass(frozen=True)
class DecodingCosts:
    """The decoder at the places to guess, and at all."""

    num_rows: int  # B
    num_places: int  # P
    num_tokens: int  # T
    num_words: int  # V
    gathered: Cost  # what each takes
    everywhere: Cost  # what each takes
    difference: float  # largest one between -ln p of the same word at the same place


@task(GRADIENT_RESOURCE, is_kept=False)
def decoding_costs(
    explorer: Explorer, text: str, pair: str | None, seed: int, rate: float
) -> DecodingCosts:
    """Decodes rows of one text, cut, each hidden anew, in both ways; on TensorFlow.

    Source: google-research/bert, `run_pretraining.py`, `gather_indexes`.
    """
    from keras import ops

    from bertviz_core.training.pretrain.objective import gathered, losses_of

    explorer.require_head("mlm")
    read = explorer.tokenize(text, pair, cut=True)
    words = explorer.config.vocab_size
    num_rows = max(1, min(_MOST_DECODED, _MOST_SCORES // words) // read.num_tokens)
    rows = hide_text(explorer, read, seed, rate, num_rows)
    found = explorer.forward(rows.inputs, ("sequence_output",))
    states = ops.convert_to_tensor(found["sequence_output"])
    places = rows.positions

    def decode(vectors: Any) -> Any:
        flat = ops.reshape(vectors, (-1, vectors.shape[-1]))
        scores = explorer.loaded.model.read(None, flat)["mlm_logits"]
        return ops.reshape(scores, (*vectors.shape[:-1], words))

    def at_places() -> Any:
        return decode(gathered(states, places))

    def at_all() -> Any:
        return gathered(decode(states), places)

    labels = read.input_ids[places]
    first, second = (losses_of(run(), labels).numpy() for run in (at_places, at_all))
    return DecodingCosts(
        num_rows=num_rows,
        num_places=places.shape[1],
        num_tokens=read.num_tokens,
        num_words=words,
        gathered=_measured(at_places),
        everywhere=_measured(at_all),
        difference=float(np.abs(first - second).max()),
    )


@task(GRADIENT_RESOURCE, is_kept=False)
def remat_costs(progress: Progress = untold) -> dict[str, Cost]:
    """Takes gradients of a small model of random weights in each way of `REMAT`.

    Source: Chen et al. 2016 (arXiv:1604.06174), section 4.
    """
    import tensorflow as tf

    from bertviz_core.model.bert import Bert
    from bertviz_core.training.pretrain.objective import PretrainingModel

    config = BertConfig(
        vocab_size=_WORDS,
        num_hidden_layers=NUM_BLOCKS,
        max_position_embeddings=_TOKENS,
        hidden_size=_HIDDEN,
        intermediate_size=4 * _HIDDEN,
        num_attention_heads=2,
    )
    bert, (inputs, labels) = Bert(config), _random_batch()
    found = {}
    for index, (name, remat) in enumerate(REMAT.items()):
        progress(index / len(REMAT), name)
        model = PretrainingModel(bert, remat)
        weights = [variable.value for variable in model.trainable_variables]

        def step(model: Any = model, weights: Any = weights) -> Any:
            with tf.GradientTape() as tape:
                scores = model(inputs, training=True)
                loss = model.compute_loss(inputs, labels, scores)
            return tape.gradient(loss, weights)

        found[name] = _measured(step)
    return found


def _random_batch() -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Inputs and labels of `PretrainingModel`: a sequence in each row."""
    rng = np.random.default_rng(0)

    def words(size: int) -> np.ndarray:
        return rng.integers(0, _WORDS, (_ROWS, size), "int32")

    def same(array: np.ndarray) -> np.ndarray:
        return np.tile(array, (_ROWS, 1))

    places, first = same(np.arange(_PLACES, dtype="int32")), np.zeros((1, 1), "int32")
    inputs = {
        "input_ids": words(_TOKENS),
        "token_type_ids": same(np.zeros(_TOKENS, "int32")),
        "position_ids": same(np.arange(_TOKENS, dtype="int32")),
        "sequence_ids": same(np.ones(_TOKENS, "int32")),
        "cls_positions": same(first),
        "mlm_positions": places,
    }
    ones = np.ones((_ROWS, _PLACES), "float32")
    labels = {"mlm_labels": words(_PLACES), "mlm_weights": ones}
    labels |= {"nsp_labels": same(first), "nsp_weights": ones[:, :1]}
    return inputs, labels


def _measured(run: Callable[[], object]) -> Cost:
    return Cost(median_seconds(run, _NUM_RUNS), _most_bytes(run))


def _most_bytes(run: Callable[[], object]) -> int | None:
    import tensorflow as tf

    memory = tf.config.experimental
    try:
        memory.reset_memory_stats(_DEVICE)
    except ValueError:  # TensorFlow counts on processors that oneDNN serves
        return None
    before = memory.get_memory_info(_DEVICE)["current"]
    run()
    return int(memory.get_memory_info(_DEVICE)["peak"] - before)
