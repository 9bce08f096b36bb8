"""The logit lens: what each layer would answer if it were the last."""

from collections.abc import Sequence

import numpy as np

from bertviz_core.analysis.logit_rows import (
    entropy_bits_of,
    log_softmax,
    ranks_of,
    top_words,
)
from bertviz_core.errors import require_index
from bertviz_core.experiments.layer_results import LogitLens
from bertviz_core.experiments.masked_rows import piece_names
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import Progress, task, untold


@task()
def read_layers(
    explorer: Explorer,
    text: str,
    pair: str | None = None,
    word_ids: Sequence[int] = (),
    positions: Sequence[int] | None = None,
    top_k: int = 5,
    progress: Progress = untold,
) -> LogitLens:
    """Reads every layer's hidden states of a text, cut, with the masked-word head.

    In a pre-norm model the final norm comes first, as it does at the last layer.

    Args:
        word_ids: words whose probability and rank to follow.
        positions: token indices to look at; `None` for all but [CLS] and [SEP].

    Source: nostalgebraist 2020, "interpreting GPT: the logit lens". Its models have no
    transform between the last layer and the embeddings; BERT's head has one, trained
    for the last layer.
    """
    explorer.require_head("mlm")
    tokenized = explorer.tokenize(text, pair, cut=True)
    asked = np.flatnonzero(~tokenized.is_added) if positions is None else positions
    places = np.asarray(asked, np.int64)
    ids = np.asarray(word_ids, np.int64)
    for place in places.tolist():
        require_index("positions", place, tokenized.num_tokens)
    for index in ids.tolist():
        require_index("word_ids", index, explorer.config.vocab_size)
    found = explorer.forward(tokenized.inputs, ("hidden_states",))
    states, layers = found["hidden_states"][0], []
    for layer, vectors in enumerate(states):  # [T, H]
        logits = explorer.forward.read("mlm", vectors[places])["output"]  # [S, V]
        layers.append(_read(logits, ids, top_k))
        progress((layer + 1) / len(states), "lens")
    top_ids = np.stack([layer["top_ids"] for layer in layers])
    return LogitLens(
        tokenized=tokenized,
        positions=places,
        top_ids=top_ids,
        top_tokens=tuple(
            tuple(piece_names(explorer, row) for row in rows) for rows in top_ids
        ),
        top_log_probs=np.stack([layer["top_log_probs"] for layer in layers]),
        entropy_bits=np.stack([layer["entropy_bits"] for layer in layers]),
        word_ids=ids,
        word_log_probs=np.stack([layer["word_log_probs"] for layer in layers], axis=1),
        word_ranks=np.stack([layer["word_ranks"] for layer in layers], axis=1),
    )


def _read(
    logits: np.ndarray, word_ids: np.ndarray, top_k: int
) -> dict[str, np.ndarray]:
    log_probs = log_softmax(logits)
    top_ids = top_words(logits, top_k)
    rows = len(logits)
    ranks = [ranks_of(logits, np.full(rows, index)) for index in word_ids]
    return {
        "top_ids": top_ids,
        "top_log_probs": np.take_along_axis(log_probs, top_ids, axis=1),
        "entropy_bits": entropy_bits_of(log_probs),
        "word_log_probs": log_probs[:, word_ids].T.copy(),
        "word_ranks": np.array(ranks, np.int64).reshape(len(word_ids), rows),
    }
